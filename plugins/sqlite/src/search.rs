//! Search in the text columns of all tables.

use larder_provider::{Details, Entry, Hit, Result, SearchQuery};
use provider_table::address::is_addressable;
use provider_table::{excerpt, pattern};
use rusqlite::{Connection, ToSql};

use crate::address::Addresses;
use crate::rows::query;
use crate::schema::{Table, quoted, tables};

/// Words of a search; others are ignored.
const MAX_WORDS: usize = 8;

/// Rows that contain all words, first those of tables with the fewest hits, since these are the most specific.
pub(crate) fn hits(connection: &Connection, addresses: &Addresses, search: &SearchQuery) -> Result<Vec<Hit>> {
    let words: Vec<&str> = search.text.split_whitespace().take(MAX_WORDS).collect();
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for table in tables(connection)?.iter().filter(|table| !table.is_view) {
        let hits = in_table(connection, addresses, table, &words, search.limit)?;
        found.push(hits);
    }
    found.sort_by_key(Vec::len);
    Ok(found.into_iter().flatten().collect())
}

fn in_table(
    connection: &Connection,
    addresses: &Addresses,
    table: &Table,
    words: &[&str],
    limit: u32,
) -> Result<Vec<Hit>> {
    let columns: Vec<_> =
        table.text_columns().map(|column| format!("coalesce({}, '')", quoted(&column.name))).collect();
    let (Some(key), false) = (table.key(), columns.is_empty()) else { return Ok(Vec::new()) };
    let text = columns.join(" || ' ' || ");
    let names: Vec<String> = (0..words.len()).map(|number| format!(":word{number}")).collect();
    let patterns: Vec<String> = words.iter().map(|word| pattern(word)).collect();
    let conditions: Vec<_> = names.iter().map(|name| format!("text LIKE {name} ESCAPE '\\'")).collect();
    let sql = format!(
        "SELECT key, text FROM (SELECT CAST({key} AS TEXT) AS key, {text} AS text FROM {}) WHERE {}",
        quoted(&table.name),
        conditions.join(" AND ")
    );
    let parameters: Vec<(&str, &dyn ToSql)> =
        names.iter().zip(&patterns).map(|(name, pattern)| (name.as_str(), pattern as &dyn ToSql)).collect();
    let rows = query(connection, &sql, &parameters, usize::try_from(limit).unwrap_or(usize::MAX))?;
    let hit = |row: &Vec<serde_json::Value>| {
        let (key, text) = (row.first()?.as_str()?, row.get(1)?.as_str()?);
        if !is_addressable(key) {
            return None;
        }
        let entry = Entry::new(addresses.row(&table.name, key), format!("{} {key}", table.name));
        let entry = entry.mime("application/json").details(Details::kind("row"));
        Some(Hit::new(entry).excerpt(excerpt(text, words[0])))
    };
    Ok(rows.rows.iter().filter_map(hit).collect())
}
