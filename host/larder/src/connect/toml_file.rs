//! Edits of TOML files. A new table is appended to the text, and a table is removed from the text by its lines, so that
//! comments around it stay where they are.

use std::ops::Range;

use toml_edit::{Array, Document, DocumentMut, InlineTable, Item, Table, TableLike, TomlError};

use super::entry::{Entry, Value};
use super::error::EditError;

/// Adds the entry, or changes those of its keys that differ.
pub(super) fn set(text: &str, section: &str, name: &str, entry: &Entry) -> Result<String, EditError> {
    let document = parse(text)?;
    match servers(&document, section)? {
        Some(servers) if servers.contains_key(name) || !is_header_table(document.get(section)) => {
            edit(text, |document| update(document, section, name, entry))
        }
        _ => Ok(append(text, section, name, entry)),
    }
}

/// Removes the entry.
pub(super) fn remove(text: &str, section: &str, name: &str) -> Result<String, EditError> {
    let document = parse(text)?;
    let Some(servers) = servers(&document, section)? else { return Ok(text.to_owned()) };
    match servers.get(name) {
        None => Ok(text.to_owned()),
        Some(Item::Table(table)) if !table.is_dotted() => Ok(without_table(text, table)),
        Some(_) => edit(text, |document| {
            if let Some(servers) = document.get_mut(section).and_then(Item::as_table_like_mut) {
                servers.remove(name);
            }
            Ok(())
        }),
    }
}

/// Returns the entry, if there is one.
pub(super) fn entry(text: &str, section: &str, name: &str) -> Result<Option<Entry>, EditError> {
    let document = parse(text)?;
    let Some(found) = servers(&document, section)?.and_then(|servers| servers.get(name)) else {
        return Ok(None);
    };
    let table = table_like(found, name)?;
    Ok(Some(Entry(table.iter().map(|(key, item)| (key.to_owned(), value(item))).collect())))
}

fn parse(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|error| invalid(&error))
}

fn invalid(error: &TomlError) -> EditError {
    // The message has an excerpt of the file in several lines.
    EditError::Invalid(error.to_string().trim_end().to_owned())
}

fn servers<'a>(document: &'a Document<&str>, section: &str) -> Result<Option<&'a dyn TableLike>, EditError> {
    document.get(section).map(|item| table_like(item, section)).transpose()
}

fn table_like<'a>(item: &'a Item, name: &str) -> Result<&'a dyn TableLike, EditError> {
    item.as_table_like().ok_or_else(|| EditError::NotATable(format!("its `{name}`")))
}

/// Whether tables with headers may be added to it.
fn is_header_table(item: Option<&Item>) -> bool {
    item.and_then(Item::as_table).is_some_and(|table| !table.is_dotted())
}

fn append(text: &str, section: &str, name: &str, entry: &Entry) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut table = Table::new();
    for (key, value) in &entry.0 {
        table.insert(key, item(value));
    }
    let mut servers = Table::new();
    servers.set_implicit(true);
    servers.insert(name, Item::Table(table));
    let mut added = DocumentMut::new();
    added.insert(section, Item::Table(servers));
    let before = match text {
        "" => "",
        text if text.ends_with('\n') => end,
        _ => &[end, end].concat(),
    };
    format!("{text}{before}{}", added.to_string().replace('\n', end))
}

/// Edits the parsed document. It is written with line feeds.
fn edit(
    text: &str,
    change: impl FnOnce(&mut DocumentMut) -> Result<(), EditError>,
) -> Result<String, EditError> {
    let is_windows = text.contains("\r\n");
    let mut document: DocumentMut =
        text.replace("\r\n", "\n").parse().map_err(|error: TomlError| invalid(&error))?;
    change(&mut document)?;
    let mut edited = document.to_string();
    if !text.ends_with('\n') {
        edited.truncate(edited.trim_end_matches('\n').len());
    }
    Ok(if is_windows { edited.replace('\n', "\r\n") } else { edited })
}

fn update(document: &mut DocumentMut, section: &str, name: &str, entry: &Entry) -> Result<(), EditError> {
    let not_a_table = |name: &str| EditError::NotATable(format!("its `{name}`"));
    let servers = document.get_mut(section).and_then(Item::as_table_like_mut);
    let servers = servers.ok_or_else(|| not_a_table(section))?;
    let found = servers.entry(name).or_insert_with(|| Item::Value(InlineTable::new().into()));
    let table = found.as_table_like_mut().ok_or_else(|| not_a_table(name))?;
    let old: Vec<_> = table.iter().map(|(key, _)| key.to_owned()).filter(|key| entry.replaces(key)).collect();
    for key in old {
        table.remove(&key);
    }
    for (key, wanted) in &entry.0 {
        match table.get_mut(key) {
            Some(existing) if value(existing) == *wanted => {}
            Some(existing) => replace(existing, wanted),
            None => {
                table.insert(key, item(wanted));
            }
        }
    }
    Ok(())
}

/// Replaces a value, and keeps the space and the comment beside it.
fn replace(existing: &mut Item, wanted: &Value) {
    let decor = existing.as_value().map(|value| value.decor().clone());
    *existing = item(wanted);
    if let (Some(value), Some(decor)) = (existing.as_value_mut(), decor) {
        *value.decor_mut() = decor;
    }
}

fn item(value: &Value) -> Item {
    match value {
        Value::Text(text) => toml_edit::value(text),
        Value::List(items) => toml_edit::value(items.iter().collect::<Array>()),
        Value::Map(pairs) => toml_edit::value(pairs.iter().cloned().collect::<InlineTable>()),
        Value::Other => Item::None,
    }
}

fn value(item: &Item) -> Value {
    let string = |item: &toml_edit::Value| item.as_str().map(ToOwned::to_owned);
    let known = if let Some(array) = item.as_array() {
        array.iter().map(string).collect::<Option<_>>().map(Value::List)
    } else if let Some(table) = item.as_inline_table() {
        let pairs = table.iter().map(|(key, value)| Some((key.to_owned(), string(value)?)));
        pairs.collect::<Option<_>>().map(Value::Map)
    } else {
        item.as_value().and_then(string).map(Value::Text)
    };
    known.unwrap_or(Value::Other)
}

/// Removes the lines of a table and of the tables in it, and the blank line that `append` writes before it.
fn without_table(text: &str, table: &Table) -> String {
    let mut ranges = Vec::new();
    line_ranges(text, table, &mut ranges);
    ranges.sort_by_key(|range| range.start);
    let (mut kept, mut at) = (String::new(), 0);
    for range in ranges {
        kept += &text[at..range.start];
        at = range.end;
        let is_last = text[at..].is_empty();
        for end in ["\r\n", "\n"] {
            if is_last && kept.ends_with(&[end, end].concat()) {
                kept.truncate(kept.len() - end.len());
                break;
            }
        }
    }
    kept + &text[at..]
}

/// The lines of each table, from its header to its last value.
fn line_ranges(text: &str, table: &Table, ranges: &mut Vec<Range<usize>>) {
    let inner = table.iter().filter_map(|(_, item)| item.as_table()).filter(|inner| !inner.is_dotted());
    inner.for_each(|inner| line_ranges(text, inner, ranges));
    let arrays = table.iter().filter_map(|(_, item)| item.as_array_of_tables());
    arrays.flat_map(|array| array.iter()).for_each(|inner| line_ranges(text, inner, ranges));
    // A table that is only implied by the headers of others has no lines.
    let Some(header) = table.span().filter(|_| !table.is_implicit()) else { return };
    let values = table.get_values().into_iter();
    let last = values.filter_map(|(_, value)| value.span()).map(|span| span.end).max();
    let last = last.unwrap_or(header.end);
    let start = text[..header.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[last..].find('\n').map_or(text.len(), |at| last + at + 1);
    ranges.push(start..end);
}
