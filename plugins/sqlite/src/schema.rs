//! Tables, views and their columns.

use larder_provider::{Error, Result};
use rusqlite::{Connection, Row};

use crate::database::{failed, problem};

/// A table or a view.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) is_view: bool,
    pub(crate) is_virtual: bool,
    pub(crate) sql: String,
    pub(crate) columns: Vec<Column>,
    /// Why the table cannot be used: it is a view of a table that does not exist any more, or a virtual table whose
    /// module is missing.
    pub(crate) problem: Option<String>,
    has_rowid: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// The declared type, in upper case; empty if the column has no declared type.
    pub(crate) declared: String,
    is_key: bool,
}

/// All tables and views except SQLite's own, by name. Those that cannot be used are included.
pub(crate) fn all(connection: &Connection) -> Result<Vec<Table>> {
    selected(connection, None)
}

/// The tables and views that can be used.
pub(crate) fn usable(connection: &Connection) -> Result<Vec<Table>> {
    let all = all(connection)?.into_iter();
    Ok(all.filter(|table| table.problem.is_none()).collect())
}

/// The table or view with this name.
pub(crate) fn find(connection: &Connection, name: &str) -> Result<Table> {
    let table = selected(connection, Some(name))?
        .pop()
        .ok_or(Error::NotFound)?;
    match &table.problem {
        Some(problem) => {
            let kind = table.kind();
            Err(Error::Failed(format!(
                "the {kind} `{name}` cannot be used: {problem}"
            )))
        }
        None => Ok(table),
    }
}

fn selected(connection: &Connection, name: Option<&str>) -> Result<Vec<Table>> {
    let sql = "SELECT t.name, t.type, coalesce(s.sql, ''), t.wr FROM pragma_table_list AS t \
               LEFT JOIN sqlite_schema AS s ON s.name = t.name AND s.type IN ('table', 'view') \
               WHERE t.schema = 'main' AND t.type IN ('table', 'view', 'virtual') AND t.name NOT LIKE 'sqlite\\_%' \
               ESCAPE '\\' AND (?1 IS NULL OR t.name = ?1) ORDER BY t.name";
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let rows = statement.query_map([name], Table::read);
    let mut tables: Vec<Table> = rows.and_then(Iterator::collect).map_err(failed)?;
    for table in &mut tables {
        match columns(connection, &table.name) {
            Ok(columns) => table.columns = columns,
            Err(error) => table.problem = Some(problem(error)?),
        }
    }
    Ok(tables)
}

/// The columns of a table or view. Fails if the table or view cannot be read.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<Column>> {
    connection.prepare(&format!("SELECT * FROM {}", quoted(table)))?;
    let sql = "SELECT name, upper(type), pk > 0 FROM pragma_table_info(?1)";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([table], |row| {
        Ok(Column {
            name: row.get(0)?,
            declared: row.get(1)?,
            is_key: row.get(2)?,
        })
    });
    rows.and_then(Iterator::collect)
}

impl Table {
    /// A table without its columns. If its name is not UTF-8, the name is replaced, and then no table has this name.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let text = |column| -> rusqlite::Result<String> {
            Ok(String::from_utf8_lossy(row.get_ref(column)?.as_bytes()?).into_owned())
        };
        let (name, kind, sql) = (text(0)?, text(1)?, text(2)?);
        let (is_view, is_virtual) = (kind == "view", kind == "virtual");
        let has_rowid = !is_view && !row.get::<_, bool>(3)?;
        Ok(Self {
            name,
            is_view,
            is_virtual,
            sql,
            columns: Vec::new(),
            problem: None,
            has_rowid,
        })
    }

    /// The word for the table in texts.
    pub(crate) fn kind(&self) -> &'static str {
        if self.is_view { "view" } else { "table" }
    }

    /// The row id, as SQL, if rows have one in ascending order. A column can have its usual name.
    pub(crate) fn row_id(&self) -> Option<&'static str> {
        let is_free = |name: &&str| {
            self.columns
                .iter()
                .all(|column| !column.name.eq_ignore_ascii_case(name))
        };
        ["rowid", "_rowid_", "oid"]
            .into_iter()
            .find(is_free)
            .filter(|_| self.has_rowid)
    }

    /// The column that identifies a row, as SQL: the primary key if it has one column, otherwise the row id.
    pub(crate) fn key(&self) -> Option<String> {
        let mut keys = self.columns.iter().filter(|column| column.is_key);
        match (keys.next(), keys.next()) {
            (Some(key), None) => Some(quoted(&key.name)),
            _ => self.row_id().map(str::to_owned),
        }
    }

    /// The order of rows, which makes pages complete.
    pub(crate) fn order(&self) -> String {
        let keys: Vec<_> = self
            .columns
            .iter()
            .filter(|it| it.is_key)
            .map(|it| quoted(&it.name))
            .collect();
        match (self.row_id(), keys.is_empty()) {
            (Some(id), _) => format!("ORDER BY {id}"),
            (None, false) => format!("ORDER BY {}", keys.join(", ")),
            (None, true) => String::new(),
        }
    }

    /// The columns that can contain text.
    pub(crate) fn text_columns(&self) -> impl Iterator<Item = &Column> {
        let numeric = [
            "INT", "REAL", "FLOA", "DOUB", "BLOB", "BOOL", "NUMERIC", "DATE",
        ];
        self.columns
            .iter()
            .filter(move |column| numeric.iter().all(|kind| !column.declared.contains(kind)))
    }
}

/// A name as an identifier of SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
