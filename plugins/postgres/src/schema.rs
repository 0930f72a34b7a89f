//! Schemas, tables, views and their columns: those that the user may read.

use larder_provider::{Error, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::database::Snapshot;

/// Tables of a database, at most.
const MAX_TABLES: usize = 5000;

/// Tables and views that are not PostgreSQL's own. A partition is part of its table. `$1` is the list of schemas that
/// are offered, `$2` a schema and `$3` a table; NULL means any.
const CONDITION: &str =
    "FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
    AND ($1::json IS NULL OR n.nspname IN (SELECT json_array_elements_text($1::json)))
    AND ($2::text IS NULL OR n.nspname = $2) AND ($3::text IS NULL OR c.relname = $3)
    ORDER BY n.nspname, c.relname";

/// A table as JSON.
const TABLE: &str = "SELECT json_build_object('schema', n.nspname, 'name', c.relname, 'kind', c.relkind,
    'comment', obj_description(c.oid, 'pg_class'), 'columns', (
        SELECT coalesce(json_agg(json_build_object('name', a.attname, 'kind', format_type(a.atttypid, a.atttypmod),
            'is_text', t.typcategory = 'S', 'is_required', a.attnotnull,
            'is_key', coalesce(a.attnum = ANY(i.indkey), false), 'is_indexed', EXISTS (
                SELECT FROM pg_catalog.pg_index AS o WHERE o.indrelid = a.attrelid AND o.indkey[0] = a.attnum
                AND o.indisvalid AND o.indpred IS NULL)) ORDER BY a.attnum), '[]')
        FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
        LEFT JOIN pg_catalog.pg_index AS i ON i.indrelid = a.attrelid AND i.indisprimary
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))";

/// The size of a table in bytes, with its partitions.
const SIZE: &str = "SELECT CASE c.relkind WHEN 'p' THEN
    (SELECT sum(pg_relation_size(t.relid)) FROM pg_catalog.pg_partition_tree(c.oid) AS t)::bigint
    ELSE pg_relation_size(c.oid) END";

/// The definition of a view, and the constraints of a table as a list.
const DEFINITION: &str =
    "SELECT CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid, true) END,
    (SELECT coalesce(json_agg(format('CONSTRAINT %I %s', o.conname, pg_get_constraintdef(o.oid))
        ORDER BY o.contype DESC, o.conname), '[]') FROM pg_catalog.pg_constraint AS o
     WHERE o.conrelid = c.oid AND o.contype IN ('p', 'f', 'u', 'c'))";

/// A table or a view.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Table {
    pub(crate) schema: String,
    pub(crate) name: String,
    /// The letter in `pg_class.relkind`.
    kind: char,
    pub(crate) comment: Option<String>,
    pub(crate) columns: Vec<Column>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    kind: String,
    is_text: bool,
    is_required: bool,
    is_key: bool,
    /// Whether an index begins with the column.
    #[serde(default)]
    is_indexed: bool,
}

/// Which tables are meant.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Selection<'a> {
    /// The schemas that the operator offers; None for all.
    pub(crate) offered: Option<&'a [String]>,
    pub(crate) schema: Option<&'a str>,
    pub(crate) table: Option<&'a str>,
}

/// The selected tables and views, by schema and name.
pub(crate) fn tables(snapshot: &mut Snapshot, selection: Selection<'_>) -> Result<Vec<Table>> {
    let rows = selected(snapshot, TABLE, selection)?;
    let table =
        |row: Vec<Value>| serde_json::from_value(row.into_iter().next().unwrap_or_default());
    rows.into_iter()
        .map(table)
        .collect::<Result<_, _>>()
        .map_err(Error::failed)
}

/// The sizes of the same tables, in bytes.
pub(crate) fn sizes(snapshot: &mut Snapshot, selection: Selection<'_>) -> Result<Vec<u64>> {
    let rows = selected(snapshot, SIZE, selection)?;
    Ok(rows
        .iter()
        .map(|row| row.first().and_then(Value::as_u64).unwrap_or_default())
        .collect())
}

/// The SQL that describes the selected tables and views. It is similar to the statements that created them, and is not
/// complete.
pub(crate) fn sql(snapshot: &mut Snapshot, selection: Selection<'_>) -> Result<String> {
    let tables = tables(snapshot, selection)?;
    let definitions = selected(snapshot, DEFINITION, selection)?;
    let described = tables
        .iter()
        .zip(&definitions)
        .map(|(table, row)| match row.as_slice() {
            [Value::String(view), ..] => table.view_sql(view),
            [_, Value::Array(constraints)] => {
                table.table_sql(constraints.iter().filter_map(Value::as_str))
            }
            _ => String::new(),
        });
    Ok(described.collect())
}

fn selected(
    snapshot: &mut Snapshot,
    what: &str,
    selection: Selection<'_>,
) -> Result<Vec<Vec<Value>>> {
    let offered = selection
        .offered
        .map(|names| Value::from(names).to_string());
    let parameters = [offered.as_deref(), selection.schema, selection.table];
    let found = snapshot.query(&format!("{what} {CONDITION}"), &parameters, MAX_TABLES)?;
    match found.has_more {
        false => Ok(found.rows),
        true => Err(Error::Failed(format!(
            "there are more than {MAX_TABLES} tables: set `schemas`"
        ))),
    }
}

impl Table {
    pub(crate) fn is_view(&self) -> bool {
        matches!(self.kind, 'v' | 'm')
    }

    /// The name in SQL.
    pub(crate) fn quoted(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.name))
    }

    /// The column that identifies a row, as SQL: the primary key, if it has one column.
    pub(crate) fn key(&self) -> Option<String> {
        let mut keys = self.columns.iter().filter(|column| column.is_key);
        match (keys.next(), keys.next()) {
            (Some(key), None) => Some(quoted(&key.name)),
            _ => None,
        }
    }

    /// The order of rows, which makes pages complete. A view without keys has none.
    pub(crate) fn order(&self) -> String {
        let keys: Vec<_> = self
            .columns
            .iter()
            .filter(|it| it.is_key)
            .map(|it| quoted(&it.name))
            .collect();
        match (keys.is_empty(), self.kind) {
            (false, _) => format!("ORDER BY {}", keys.join(", ")),
            (true, 'r' | 'm') => "ORDER BY ctid".to_owned(),
            (true, 'p') => "ORDER BY tableoid, ctid".to_owned(),
            (true, _) => String::new(),
        }
    }

    /// The columns of text with an index, and the key if the key can have this value: a text can be compared with these
    /// columns at once.
    pub(crate) fn columns_to_compare<'a>(
        &'a self,
        text: &str,
    ) -> impl Iterator<Item = (String, &'a str)> {
        let is_comparable = move |column: &&'a Column| match column.kind.as_str() {
            "smallint" => column.is_key && text.parse::<i16>().is_ok(),
            "integer" => column.is_key && text.parse::<i32>().is_ok(),
            "bigint" => column.is_key && text.parse::<i64>().is_ok(),
            "uuid" => column.is_key && is_uuid(text),
            "text" => column.is_indexed,
            kind => column.is_indexed && kind.starts_with("character varying"),
        };
        let found = self.columns.iter().filter(is_comparable);
        let kind = |column: &'a Column| {
            if column.is_text {
                "text"
            } else {
                column.kind.as_str()
            }
        };
        found.map(move |column| (quoted(&column.name), kind(column)))
    }

    /// The columns that contain text.
    pub(crate) fn text_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| column.is_text)
    }

    fn view_sql(&self, definition: &str) -> String {
        let kind = if self.kind == 'm' {
            "MATERIALIZED VIEW"
        } else {
            "VIEW"
        };
        format!(
            "{}CREATE {kind} {} AS\n{definition}\n\n",
            self.comment_sql(),
            self.quoted()
        )
    }

    fn table_sql<'a>(&self, constraints: impl Iterator<Item = &'a str>) -> String {
        let columns = self.columns.iter().map(|column| {
            let required = if column.is_required { " NOT NULL" } else { "" };
            format!("    {} {}{required}", quoted(&column.name), column.kind)
        });
        let lines: Vec<_> = columns
            .chain(constraints.map(|it| format!("    {it}")))
            .collect();
        let kind = if self.kind == 'f' {
            "FOREIGN TABLE"
        } else {
            "TABLE"
        };
        format!(
            "{}CREATE {kind} {} (\n{}\n);\n\n",
            self.comment_sql(),
            self.quoted(),
            lines.join(",\n")
        )
    }

    fn comment_sql(&self) -> String {
        let lines = self.comment.iter().flat_map(|comment| comment.lines());
        lines.map(|line| format!("-- {line}\n")).collect()
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// A name as an identifier of SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
