//! Search in the text columns of all tables. A search has little time, so it begins with the parts that cost the least:
//! names, then values that an index finds, then the rows of small tables. The hits so far are returned when the time is
//! over.

use std::time::{Duration, Instant};

use larder_provider::{Error, Hit, Hits, Result, SearchQuery};
use provider_table::{Rows, TIME_IS_OVER, TableHits, words};
use serde_json::Value;

use crate::Postgres;
use crate::database::Snapshot;
use crate::failure::Failure;
use crate::schema::{self, Selection, Table, quoted};

/// Tables in which is searched.
const MAX_TABLES: usize = 500;
/// Hits in one table.
const MAX_HITS: u32 = 100;
/// Characters of the text of a row that may become the excerpt.
const MAX_TEXT: usize = 10_000;
/// Tables that are searched with one statement: at most this number, and this size in bytes.
const BATCH_TABLES: usize = 50;
const BATCH_BYTES: u64 = 4 << 20;
/// Less time than this is not worth a statement.
const MIN_TIME: Duration = Duration::from_millis(20);

struct Search<'a> {
    provider: &'a Postgres,
    limit: u32,
    end: Instant,
    found: TableHits<'a>,
}

/// The values that a statement searches for in several tables.
struct Lookup<'a> {
    tables: &'a [Table],
    /// One statement for each table that can contain the value, with the number of the table.
    selects: Vec<(usize, String)>,
    parameters: Vec<Option<&'a str>>,
}

impl Postgres {
    /// Entries and rows that contain all words: first entries, then rows with this value, then rows of tables with the
    /// fewest hits, since these are the most specific.
    pub(crate) fn hits(&self, snapshot: &mut Snapshot, query: &SearchQuery) -> Result<Hits> {
        let words = words(query);
        if words.is_empty() {
            return Ok(Hits::default());
        }
        let end = query.end();
        let all = self.tables(snapshot, None)?;
        let found = TableHits::new(words, self.entries(snapshot, &all));
        let tables = by_size(snapshot, self.selection(), all)?;
        let limit = query.limit.clamp(1, MAX_HITS);
        let mut search = Search {
            provider: self,
            limit,
            end,
            found,
        };
        search.run(snapshot, query.text.trim(), tables)?;
        search.found.hits(query)
    }
}

/// The tables that can be searched, the smallest first, with their sizes.
fn by_size(
    snapshot: &mut Snapshot,
    selection: Selection<'_>,
    all: Vec<Table>,
) -> Result<Vec<(u64, Table)>> {
    let sizes = schema::sizes(snapshot, selection)?;
    let mut tables: Vec<_> = sizes.into_iter().zip(all).collect();
    tables.retain(|(_, table)| {
        !table.is_view() && table.key().is_some() && table.text_columns().next().is_some()
    });
    tables.sort_by_key(|(size, _)| *size);
    Ok(tables)
}

impl Search<'_> {
    fn run(
        &mut self,
        snapshot: &mut Snapshot,
        text: &str,
        mut tables: Vec<(u64, Table)>,
    ) -> Result<()> {
        if tables.len() > MAX_TABLES {
            self.found.miss(format!(
                "only the {MAX_TABLES} smallest tables are searched"
            ));
            tables.truncate(MAX_TABLES);
        }
        let batches = batches(tables);
        for tables in &batches {
            let hits = self.with_value(snapshot, text, tables)?;
            self.found.add(hits.into_iter().flatten().collect());
        }
        let mut found = Vec::new();
        for (number, tables) in batches.iter().enumerate() {
            // A slow table leaves time for the following tables.
            let parts = if number + 1 == batches.len() { 1 } else { 2 };
            found.extend(self.with_words(snapshot, tables, parts)?);
        }
        self.found.add_tables(found);
        Ok(())
    }

    /// The rows with a value that an index finds: the key, or an indexed column, is the text of the search.
    fn with_value(
        &mut self,
        snapshot: &mut Snapshot,
        text: &str,
        tables: &[Table],
    ) -> Result<Vec<Vec<Hit>>> {
        let select = |(number, table): (usize, &Table)| {
            let compared = table.columns_to_compare(text);
            let conditions: Vec<_> = compared
                .map(|(name, kind)| format!("{name} = $1::text::{kind}"))
                .collect();
            (!conditions.is_empty())
                .then(|| self.select(number, table, &conditions.join(" OR ")))?
        };
        let selects = tables.iter().enumerate().filter_map(select).collect();
        self.look_up(
            snapshot,
            &Lookup {
                tables,
                selects,
                parameters: vec![Some(text)],
            },
            2,
        )
    }

    /// The rows whose text columns contain all words. A regular expression takes half of the time of `ILIKE`.
    fn with_words(
        &mut self,
        snapshot: &mut Snapshot,
        tables: &[Table],
        parts: u32,
    ) -> Result<Vec<Vec<Hit>>> {
        let patterns: Vec<String> = self
            .found
            .words()
            .iter()
            .map(|word| pattern(word))
            .collect();
        let parameters: Vec<_> = patterns
            .iter()
            .map(|pattern| Some(pattern.as_str()))
            .collect();
        let select = |(number, table): (usize, &Table)| {
            let text = text(table);
            let conditions: Vec<_> = (1..=patterns.len())
                .map(|word| format!("{text} ~* ${word}"))
                .collect();
            self.select(number, table, &conditions.join(" AND "))
        };
        let selects = tables.iter().enumerate().filter_map(select).collect();
        self.look_up(
            snapshot,
            &Lookup {
                tables,
                selects,
                parameters,
            },
            parts,
        )
    }

    /// The SQL for rows of one table, with the number of the table.
    fn select(&self, number: usize, table: &Table, condition: &str) -> Option<(usize, String)> {
        let (key, text, name) = (table.key()?, text(table), table.quoted());
        let sql = format!(
            "(SELECT {number} AS number, {key}::text, left({text}, {MAX_TEXT}) FROM {name} WHERE {condition} LIMIT {})",
            self.limit
        );
        Some((number, sql))
    }

    /// The hits in each table, in a part of the time that is left. If the database refuses the statement, its tables
    /// are searched one by one, so that one that fails takes away only itself.
    fn look_up(
        &mut self,
        snapshot: &mut Snapshot,
        lookup: &Lookup<'_>,
        parts: u32,
    ) -> Result<Vec<Vec<Hit>>> {
        let mut found = vec![Vec::new(); lookup.tables.len()];
        if lookup.selects.is_empty() {
            return Ok(found);
        }
        let selects: Vec<_> = lookup
            .selects
            .iter()
            .map(|(_, select)| select.as_str())
            .collect();
        let all = selects.join(" UNION ALL ");
        let Some(why) = self.ask(snapshot, lookup, &all, parts, &mut found)? else {
            return Ok(found);
        };
        if let [(number, _)] = lookup.selects.as_slice() {
            self.found.miss_table(&lookup.tables[*number].name, &why);
            return Ok(found);
        }
        found.iter_mut().for_each(Vec::clear);
        for (number, select) in &lookup.selects {
            if let Some(why) = self.ask(snapshot, lookup, select, 2, &mut found)? {
                self.found.miss_table(&lookup.tables[*number].name, &why);
            }
        }
        Ok(found)
    }

    /// Runs a statement and adds its hits. If the database refuses the statement, returns why.
    fn ask(
        &mut self,
        snapshot: &mut Snapshot,
        lookup: &Lookup<'_>,
        sql: &str,
        parts: u32,
        found: &mut [Vec<Hit>],
    ) -> Result<Option<Error>> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left < MIN_TIME {
            self.found.miss(TIME_IS_OVER.to_owned());
            return Ok(None);
        }
        let time = (left / parts).min(self.provider.database.statement_timeout());
        let most = lookup.selects.len() * usize::try_from(self.limit).unwrap_or(1);
        let (rows, refusal) = match snapshot.attempt(sql, &lookup.parameters, most, time) {
            Ok(answer) => answer,
            Err(failure) => return self.after(failure),
        };
        self.collect(lookup.tables, &rows, found);
        match refusal {
            Some(refusal) if refusal.is_timeout() => {
                self.found.miss(TIME_IS_OVER.to_owned());
                Ok(None)
            }
            refusal => Ok(refusal.map(Error::from)),
        }
    }

    /// The hits so far are returned although the connection failed.
    fn after(&mut self, failure: Failure) -> Result<Option<Error>> {
        let error = Error::from(failure);
        if self.found.is_empty() {
            return Err(error);
        }
        self.found.miss(error.to_string());
        self.end = Instant::now();
        Ok(None)
    }

    fn collect(&self, tables: &[Table], rows: &Rows, found: &mut [Vec<Hit>]) {
        for row in &rows.rows {
            let [
                Value::Number(number),
                Value::String(key),
                Value::String(text),
            ] = row.as_slice()
            else {
                continue;
            };
            let number = number
                .as_u64()
                .and_then(|number| usize::try_from(number).ok())
                .unwrap_or(usize::MAX);
            if let (Some(table), Some(hits)) = (tables.get(number), found.get_mut(number)) {
                let uri = || self.provider.addresses.row(&table.schema, &table.name, key);
                hits.extend(self.found.row(&table.name, key, text, uri));
            }
        }
    }
}

/// Groups of tables that are searched with one statement.
fn batches(tables: Vec<(u64, Table)>) -> Vec<Vec<Table>> {
    let (mut batches, mut bytes) = (Vec::<Vec<Table>>::new(), 0);
    for (size, table) in tables {
        bytes += size;
        match batches.last_mut() {
            Some(last) if last.len() < BATCH_TABLES && bytes <= BATCH_BYTES => last.push(table),
            _ => {
                batches.push(vec![table]);
                bytes = size;
            }
        }
    }
    batches
}

/// The text columns of a row as one text, as SQL.
fn text(table: &Table) -> String {
    let columns = table
        .text_columns()
        .map(|column| format!("coalesce({}::text, '')", quoted(&column.name)));
    format!("({})", columns.collect::<Vec<_>>().join(" || ' ' || "))
}

/// The regular expression for texts that contain a word.
fn pattern(word: &str) -> String {
    let is_plain = |c: &char| c.is_alphanumeric() || !c.is_ascii();
    word.chars()
        .map(|c| {
            if is_plain(&c) {
                c.to_string()
            } else {
                format!("\\{c}")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_no_expression() {
        assert_eq!(pattern("a.b*\\ü_1%"), "a\\.b\\*\\\\ü\\_1\\%");
        assert_eq!(pattern("***:("), "\\*\\*\\*\\:\\(");
    }
}
