//! Search in the text columns of all tables, with one statement, so that one time limit applies to all of it.

use larder_provider::{Details, Entry, Hit, Result, SearchQuery};
use provider_table::address::is_addressable;
use provider_table::{excerpt, pattern};
use serde_json::Value;

use crate::address::Addresses;
use crate::database::Snapshot;
use crate::schema::{Selection, Table, quoted, tables};

/// Words of a search; others are ignored.
const MAX_WORDS: usize = 8;
/// Tables in which is searched.
const MAX_TABLES: usize = 500;
/// Hits in one table.
const MAX_HITS: u32 = 100;
/// Characters of the text of a row, whose beginning is searched and may become the excerpt.
const MAX_TEXT: usize = 10_000;

/// Rows that contain all words, first those of tables with the fewest hits, since these are the most specific.
pub(crate) fn hits(
    snapshot: &mut Snapshot,
    addresses: &Addresses,
    offered: Option<&[String]>,
    search: &SearchQuery,
) -> Result<Vec<Hit>> {
    let words: Vec<&str> = search.text.split_whitespace().take(MAX_WORDS).collect();
    let mut tables = tables(snapshot, Selection { offered, ..Selection::default() })?;
    tables.retain(|table| !table.is_view() && table.key().is_some() && table.text_columns().next().is_some());
    tables.truncate(MAX_TABLES);
    if words.is_empty() || tables.is_empty() {
        return Ok(Vec::new());
    }
    let limit = search.limit.clamp(1, MAX_HITS);
    let parts: Vec<_> = tables
        .iter()
        .enumerate()
        .filter_map(|(number, table)| select(number, table, words.len(), limit))
        .collect();
    let patterns: Vec<String> = words.iter().map(|word| pattern(word)).collect();
    let parameters: Vec<_> = patterns.iter().map(|pattern| Some(pattern.as_str())).collect();
    let most = parts.len() * usize::try_from(limit).unwrap_or(1);
    let rows = snapshot.query(&parts.join(" UNION ALL "), &parameters, most)?;

    let mut found: Vec<Vec<Hit>> = tables.iter().map(|_| Vec::new()).collect();
    for row in &rows.rows {
        let [Value::Number(number), Value::String(key), Value::String(text)] = row.as_slice() else {
            continue;
        };
        let number = number.as_u64().and_then(|number| usize::try_from(number).ok()).unwrap_or(usize::MAX);
        if let (Some(table), Some(hits), true) =
            (tables.get(number), found.get_mut(number), is_addressable(key))
        {
            hits.push(hit(addresses, table, key, excerpt(text, words[0])));
        }
    }
    found.sort_by_key(Vec::len);
    Ok(found.into_iter().flatten().collect())
}

/// The SQL for one table. The parameters are the patterns of the words.
fn select(number: usize, table: &Table, words: usize, limit: u32) -> Option<String> {
    let columns: Vec<_> = table.text_columns().map(|column| quoted(&column.name)).collect();
    let conditions: Vec<_> = (1..=words).map(|word| format!("text ILIKE ${word}")).collect();
    Some(format!(
        "(SELECT {number} AS number, key, text FROM (SELECT {}::text AS key, left(concat_ws(' ', {}), {MAX_TEXT}) AS text \
         FROM {}) AS rows WHERE {} LIMIT {limit})",
        table.key()?,
        columns.join(", "),
        table.quoted(),
        conditions.join(" AND ")
    ))
}

fn hit(addresses: &Addresses, table: &Table, key: &str, excerpt: String) -> Hit {
    let entry = Entry::new(addresses.row(&table.schema, &table.name, key), format!("{} {key}", table.name));
    Hit::new(entry.mime("application/json").details(Details::kind("row"))).excerpt(excerpt)
}
