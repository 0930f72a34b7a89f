//! Edits of TOML files. A new table is appended to the text, and a table is removed from the text by its lines, so that
//! comments around it stay where they are.

use toml_edit::{Array, Document, DocumentMut, InlineTable, Item, Table, TableLike};

use super::entry::{Entry, Value};
use super::error::EditError;
use crate::toml_text;

/// Adds the entry, or changes its keys that differ.
pub(super) fn set(
    text: &str,
    section: &str,
    name: &str,
    entry: &Entry,
) -> Result<String, EditError> {
    let document = toml_text::parse(text)?;
    match servers(&document, section)? {
        Some(servers)
            if servers.contains_key(name)
                || !toml_text::accepts_headers(&document, &[section])? =>
        {
            toml_text::edit(text, |document| update(document, section, name, entry))
        }
        _ => Ok(append(text, section, name, entry)),
    }
}

/// Removes the entry.
pub(super) fn remove(text: &str, section: &str, name: &str) -> Result<String, EditError> {
    let document = toml_text::parse(text)?;
    let Some(servers) = servers(&document, section)? else {
        return Ok(text.to_owned());
    };
    match servers.get(name) {
        None => Ok(text.to_owned()),
        Some(Item::Table(table)) if !table.is_dotted() => Ok(toml_text::without_table(text, table)),
        Some(_) => toml_text::edit(text, |document| {
            if let Some(servers) = document.get_mut(section).and_then(Item::as_table_like_mut) {
                servers.remove(name);
            }
            Ok(())
        }),
    }
}

/// Returns the entry; none if it does not exist.
pub(super) fn entry(text: &str, section: &str, name: &str) -> Result<Option<Entry>, EditError> {
    let document = toml_text::parse(text)?;
    let Some(found) = servers(&document, section)?.and_then(|servers| servers.get(name)) else {
        return Ok(None);
    };
    let table = toml_text::table_like(found, name)?;
    Ok(Some(Entry(
        table
            .iter()
            .map(|(key, item)| (key.to_owned(), value(item)))
            .collect(),
    )))
}

fn servers<'a>(
    document: &'a Document<&str>,
    section: &str,
) -> Result<Option<&'a dyn TableLike>, EditError> {
    Ok(document
        .get(section)
        .map(|item| toml_text::table_like(item, section))
        .transpose()?)
}

fn append(text: &str, section: &str, name: &str, entry: &Entry) -> String {
    let mut table = Table::new();
    for (key, value) in &entry.0 {
        table.insert(key, item(value));
    }
    toml_text::append(text, &[section, name], table)
}

fn update(
    document: &mut DocumentMut,
    section: &str,
    name: &str,
    entry: &Entry,
) -> Result<(), EditError> {
    let not_a_table = |name: &str| EditError::NotATable(format!("its `{name}`"));
    let servers = document.get_mut(section).and_then(Item::as_table_like_mut);
    let servers = servers.ok_or_else(|| not_a_table(section))?;
    let found = servers
        .entry(name)
        .or_insert_with(|| Item::Value(InlineTable::new().into()));
    let table = found.as_table_like_mut().ok_or_else(|| not_a_table(name))?;
    let old: Vec<_> = table
        .iter()
        .map(|(key, _)| key.to_owned())
        .filter(|key| entry.replaces(key))
        .collect();
    for key in old {
        table.remove(&key);
    }
    for (key, wanted) in &entry.0 {
        match table.get_mut(key) {
            Some(existing) if value(existing) == *wanted => {}
            Some(existing) => toml_text::replace(existing, item(wanted)),
            None => {
                table.insert(key, item(wanted));
            }
        }
    }
    Ok(())
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
    let known = if let Some(array) = item.as_array() {
        list_value(array)
    } else if let Some(table) = item.as_inline_table() {
        map_value(table)
    } else {
        item.as_value().and_then(string).map(Value::Text)
    };
    known.unwrap_or(Value::Other)
}

fn list_value(array: &Array) -> Option<Value> {
    let texts: Option<_> = array.iter().map(string).collect();
    texts.map(Value::List)
}

fn map_value(table: &InlineTable) -> Option<Value> {
    let pairs = table
        .iter()
        .map(|(key, value)| Some((key.to_owned(), string(value)?)));
    pairs.collect::<Option<_>>().map(Value::Map)
}

fn string(item: &toml_edit::Value) -> Option<String> {
    item.as_str().map(ToOwned::to_owned)
}
