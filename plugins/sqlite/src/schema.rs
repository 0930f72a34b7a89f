//! Tables, views and their columns.

use larder_provider::Result;
use rusqlite::Connection;

use crate::database::failed;

/// A table or a view.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) is_view: bool,
    pub(crate) sql: String,
    pub(crate) columns: Vec<Column>,
    has_rowid: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The declared type, in upper case; empty if there is none.
    pub(crate) declared: String,
    is_key: bool,
}

/// All tables and views that are not SQLite's own, by name.
pub(crate) fn tables(connection: &Connection) -> Result<Vec<Table>> {
    let sql = "SELECT t.name, t.type = 'view', coalesce(s.sql, ''), t.wr FROM pragma_table_list AS t \
               LEFT JOIN sqlite_schema AS s ON s.name = t.name AND s.type IN ('table', 'view') \
               WHERE t.schema = 'main' AND t.type IN ('table', 'view', 'virtual') AND t.name NOT LIKE 'sqlite\\_%' \
               ESCAPE '\\' ORDER BY t.name";
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let rows = statement.query_map([], |row| {
        let (name, is_view, sql, is_without_rowid) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, bool>(3)?);
        Ok(Table { name, is_view, sql, columns: Vec::new(), has_rowid: !is_view && !is_without_rowid })
    });
    let mut tables: Vec<Table> = rows.and_then(Iterator::collect).map_err(failed)?;
    for table in &mut tables {
        table.columns = columns(connection, &table.name)?;
    }
    Ok(tables)
}

fn columns(connection: &Connection, table: &str) -> Result<Vec<Column>> {
    let sql = "SELECT name, upper(type), pk > 0 FROM pragma_table_info(?1)";
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let rows = statement.query_map([table], |row| {
        Ok(Column { name: row.get(0)?, declared: row.get(1)?, is_key: row.get(2)? })
    });
    rows.and_then(Iterator::collect).map_err(failed)
}

impl Table {
    /// The column that identifies a row, as SQL: the primary key if it is one column, or the row id.
    pub(crate) fn key(&self) -> Option<String> {
        let mut keys = self.columns.iter().filter(|column| column.is_key);
        match (keys.next(), keys.next()) {
            (Some(key), None) => Some(quoted(&key.name)),
            _ if self.has_rowid => Some("rowid".to_owned()),
            _ => None,
        }
    }

    /// The order of rows, which makes pages complete.
    pub(crate) fn order(&self) -> String {
        let keys: Vec<_> = self.columns.iter().filter(|it| it.is_key).map(|it| quoted(&it.name)).collect();
        match (self.has_rowid, keys.is_empty()) {
            (true, _) => "ORDER BY rowid".to_owned(),
            (false, false) => format!("ORDER BY {}", keys.join(", ")),
            (false, true) => String::new(),
        }
    }

    /// The columns that can contain text.
    pub(crate) fn text_columns(&self) -> impl Iterator<Item = &Column> {
        let numeric = ["INT", "REAL", "FLOA", "DOUB", "BLOB", "BOOL", "NUMERIC", "DATE"];
        self.columns.iter().filter(move |column| numeric.iter().all(|kind| !column.declared.contains(kind)))
    }
}

/// A name as an identifier of SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
