//! Edits of TOML files that keep all other text unchanged: comments, order, and the kind of line breaks.

use std::ops::Range;

use larder_model::toml_depth::{TooDeep, check_depth};
use toml_edit::{Document, DocumentMut, Item, Table, TableLike, TomlError};

/// Why a text cannot be edited.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum TomlTextError {
    #[error("it is not valid: {0}")]
    Invalid(String),
    #[error("{0} is not a table of keys and values")]
    NotATable(String),
}

impl From<TooDeep> for TomlTextError {
    fn from(error: TooDeep) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// Parses a text for reading.
pub(crate) fn parse(text: &str) -> Result<Document<&str>, TomlTextError> {
    check_depth(text)?;
    Document::parse(text).map_err(|error| invalid(&error))
}

fn invalid(error: &TomlError) -> TomlTextError {
    // The message has an excerpt of the file in several lines.
    TomlTextError::Invalid(error.to_string().trim_end().to_owned())
}

/// Returns any form of a table.
pub(crate) fn table_like<'a>(
    item: &'a Item,
    name: &str,
) -> Result<&'a dyn TableLike, TomlTextError> {
    item.as_table_like()
        .ok_or_else(|| TomlTextError::NotATable(format!("its `{name}`")))
}

/// Returns the table at this path. None if the path does not exist.
pub(crate) fn find<'a>(
    document: &'a Document<&str>,
    path: &[&str],
) -> Result<Option<&'a Item>, TomlTextError> {
    let Some((first, rest)) = path.split_first() else {
        return Ok(Some(document.as_item()));
    };
    let Some(mut found) = document.get(first) else {
        return Ok(None);
    };
    let mut name = (*first).to_owned();
    for key in rest {
        match table_like(found, &name)?.get(key) {
            Some(item) => found = item,
            None => return Ok(None),
        }
        name = format!("{name}.{key}");
    }
    table_like(found, &name)?;
    Ok(Some(found))
}

/// Whether tables with a header of their own can be added to the table at this path.
pub(crate) fn accepts_headers(
    document: &Document<&str>,
    path: &[&str],
) -> Result<bool, TomlTextError> {
    for length in 1..=path.len() {
        match find(document, &path[..length])? {
            None => return Ok(true),
            Some(Item::Table(table)) if !table.is_dotted() => {}
            Some(_) => return Ok(false),
        }
    }
    Ok(true)
}

/// Appends a table with a header to the text.
pub(crate) fn append(text: &str, path: &[&str], table: Table) -> String {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut item = Item::Table(table);
    for key in path.iter().skip(1).rev() {
        item = Item::Table(implicit(key, item));
    }
    let mut added = DocumentMut::new();
    if let Some(first) = path.first() {
        added.insert(first, item);
    }
    let before = match text {
        "" => "",
        text if text.ends_with('\n') => end,
        _ => &[end, end].concat(),
    };
    format!("{text}{before}{}", added.to_string().replace('\n', end))
}

fn implicit(key: &str, item: Item) -> Table {
    let mut table = Table::new();
    table.set_implicit(true);
    table.insert(key, item);
    table
}

/// Edits the parsed document.
pub(crate) fn edit<E: From<TomlTextError>>(
    text: &str,
    change: impl FnOnce(&mut DocumentMut) -> Result<(), E>,
) -> Result<String, E> {
    check_depth(text).map_err(TomlTextError::from)?;
    let is_windows = text.contains("\r\n");
    let mut document: DocumentMut = text
        .replace("\r\n", "\n")
        .parse()
        .map_err(|error: TomlError| invalid(&error))?;
    change(&mut document)?;
    // The library writes line feeds.
    let mut edited = document.to_string();
    if !text.ends_with('\n') {
        edited.truncate(edited.trim_end_matches('\n').len());
    }
    Ok(if is_windows {
        edited.replace('\n', "\r\n")
    } else {
        edited
    })
}

/// Replaces a value, and keeps the space and the comment next to it.
pub(crate) fn replace(existing: &mut Item, wanted: Item) {
    let decor = existing.as_value().map(|value| value.decor().clone());
    *existing = wanted;
    if let (Some(value), Some(decor)) = (existing.as_value_mut(), decor) {
        *value.decor_mut() = decor;
    }
}

/// Removes the lines of a table, the lines of the tables in it, and the blank line that `append` writes before it.
pub(crate) fn without_table(text: &str, table: &Table) -> String {
    let mut ranges = Vec::new();
    line_ranges(text, table, &mut ranges);
    ranges.sort_by_key(|range| range.start);
    let mut kept = String::new();
    let mut at = 0;
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
    let inner = table
        .iter()
        .filter_map(|(_, item)| item.as_table())
        .filter(|inner| !inner.is_dotted());
    inner.for_each(|inner| line_ranges(text, inner, ranges));
    let arrays = table
        .iter()
        .filter_map(|(_, item)| item.as_array_of_tables());
    arrays
        .flat_map(|array| array.iter())
        .for_each(|inner| line_ranges(text, inner, ranges));
    // A table that exists only because of the headers of other tables has no lines.
    let Some(header) = table.span().filter(|_| !table.is_implicit()) else {
        return;
    };
    let last = end_of_values(table).unwrap_or(header.end);
    ranges.push(line_start(text, header.start)..line_end(text, last));
}

fn end_of_values(table: &Table) -> Option<usize> {
    let values = table.get_values().into_iter();
    let spans = values.filter_map(|(_, value)| value.span());
    spans.map(|span| span.end).max()
}

fn line_start(text: &str, position: usize) -> usize {
    text[..position].rfind('\n').map_or(0, |at| at + 1)
}

/// Returns the position after the line break.
fn line_end(text: &str, position: usize) -> usize {
    let end = text[position..].find('\n');
    end.map_or(text.len(), |at| position + at + 1)
}
