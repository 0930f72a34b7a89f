//! Search in the text columns of all tables. A search has little time, so it begins with the parts that cost the least:
//! names, then keys, then the rows of small tables. The hits so far are returned when the time is over.

use larder_provider::{Hit, Hits, Result, SearchQuery};
use provider_table::{Rows, TIME_IS_OVER, TableHits, pattern, words};
use rusqlite::{Connection, ErrorCode, ToSql};

use crate::Sqlite;
use crate::database::{Database, MAX_LENGTH, problem};
use crate::rows::read;
use crate::schema::{Table, quoted, usable};

struct Search<'a> {
    provider: &'a Sqlite,
    query: &'a SearchQuery,
    found: TableHits<'a>,
}

impl Sqlite {
    /// Entries and rows that contain all words: first entries, then rows with this key, then rows of tables with the
    /// fewest hits, since these are the most specific.
    pub(crate) fn hits(&self, database: &mut Database, query: &SearchQuery) -> Result<Hits> {
        let words = words(query);
        if words.is_empty() {
            return Ok(Hits::default());
        }
        let end = query.end();
        let mut tables = usable(&database.connection)?;
        let found = TableHits::new(words, self.entries(database, &tables)?);
        tables.retain(|table| !table.is_view && table.key().is_some());
        tables.sort_by_cached_key(|table| size(&database.connection, table));
        database.stop_at(end)?;
        let mut search = Search {
            provider: self,
            query,
            found,
        };
        database.consistent(|connection| search.run(connection, &tables))?;
        search.found.hits(query)
    }
}

impl Search<'_> {
    fn run(&mut self, connection: &Connection, tables: &[Table]) -> Result<()> {
        for table in tables.iter().filter(|table| !table.is_virtual) {
            let hits = self.with_key(connection, table)?;
            self.found.add(hits);
        }
        let mut found = Vec::new();
        for table in tables {
            found.push(self.with_words(connection, table)?);
        }
        self.found.add_tables(found);
        Ok(())
    }

    /// The row whose key is the text of the search.
    fn with_key(&mut self, connection: &Connection, table: &Table) -> Result<Vec<Hit>> {
        let text = self.query.text.trim();
        self.rows(
            connection,
            table,
            &format!("{} = :key", table.key().unwrap_or_default()),
            &[(":key", &text)],
        )
    }

    /// The rows whose text columns contain all words.
    fn with_words(&mut self, connection: &Connection, table: &Table) -> Result<Vec<Hit>> {
        let Some(text) = text(table) else {
            return Ok(Vec::new());
        };
        let patterns: Vec<String> = self
            .found
            .words()
            .iter()
            .map(|word| pattern(word))
            .collect();
        let names: Vec<String> = (0..patterns.len())
            .map(|number| format!(":word{number}"))
            .collect();
        let conditions: Vec<_> = names
            .iter()
            .map(|name| format!("{text} LIKE {name} ESCAPE '\\'"))
            .collect();
        let pairs = names.iter().zip(&patterns);
        let parameters: Vec<(&str, &dyn ToSql)> = pairs
            .map(|(name, pattern)| (name.as_str(), pattern as &dyn ToSql))
            .collect();
        self.rows(connection, table, &conditions.join(" AND "), &parameters)
    }

    /// The rows of a table for which a condition is true. A table that cannot be searched takes away only itself.
    fn rows(
        &mut self,
        connection: &Connection,
        table: &Table,
        condition: &str,
        parameters: &[(&str, &dyn ToSql)],
    ) -> Result<Vec<Hit>> {
        let key = table.key().unwrap_or_default();
        let text = text(table).unwrap_or_else(|| "''".to_owned());
        let name = quoted(&table.name);
        let sql = format!("SELECT CAST({key} AS TEXT), {text} FROM {name} WHERE {condition}");
        let limit = usize::try_from(self.query.limit).unwrap_or(usize::MAX);
        let mut found = Rows::default();
        if let Err(error) = read(connection, &sql, parameters, limit, &mut found) {
            self.miss(table, error)?;
        }
        Ok(found
            .rows
            .iter()
            .filter_map(|row| self.hit(table, row))
            .collect())
    }

    fn miss(&mut self, table: &Table, error: rusqlite::Error) -> Result<()> {
        match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => self.found.miss(TIME_IS_OVER.to_owned()),
            _ => self.found.miss_table(&table.name, &problem(error)?),
        }
        Ok(())
    }

    fn hit(&self, table: &Table, row: &[serde_json::Value]) -> Option<Hit> {
        let key = row.first()?.as_str()?;
        let text = row.get(1)?.as_str()?;
        self.found.row(&table.name, key, text, || {
            self.provider.addresses.row(&table.name, key)
        })
    }
}

/// The text columns of a row as one text, as SQL; `None` if the table has no text columns. Values that would make the
/// text too long for SQLite are omitted.
fn text(table: &Table) -> Option<String> {
    let names: Vec<_> = table
        .text_columns()
        .map(|column| quoted(&column.name))
        .collect();
    let most = MAX_LENGTH as usize / (names.len() + 1);
    let value =
        |name: &String| format!("coalesce(iif(octet_length({name}) > {most}, NULL, {name}), '')");
    let values: Vec<_> = names.iter().map(value).collect();
    (!values.is_empty()).then(|| format!("({})", values.join(" || ' ' || ")))
}

/// The approximate number of rows of a table. The greatest row id can be found without reading rows.
fn size(connection: &Connection, table: &Table) -> i64 {
    let Some(id) = table.row_id().filter(|_| !table.is_virtual) else {
        return i64::MAX;
    };
    let sql = format!("SELECT coalesce(max({id}), 0) FROM {}", quoted(&table.name));
    connection
        .query_row(&sql, [], |row| row.get(0))
        .unwrap_or(i64::MAX)
}
