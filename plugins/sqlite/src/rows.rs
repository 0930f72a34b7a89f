//! The rows of a query, with values of SQLite as JSON.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use larder_provider::{Error, Result};
use provider_table::Rows;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ToSql};
use serde_json::{Value, json};

use crate::database::failed;

/// The largest response, in bytes of its values.
const MAX_BYTES: usize = 8 << 20;

/// Runs a query with these parameters, up to a number of rows.
pub(crate) fn query(
    connection: &Connection,
    sql: &str,
    parameters: &[(&str, &dyn ToSql)],
    limit: usize,
) -> Result<Rows> {
    let mut statement = connection.prepare(sql).map_err(failed)?;
    if !statement.readonly() {
        return Err(Error::failed("the query would change the database"));
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let (mut found, mut bytes) = (Rows { columns, ..Rows::default() }, 0);
    let mut rows = statement.query(parameters).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        if found.rows.len() == limit {
            found.has_more = true;
            break;
        }
        let mut values = Vec::with_capacity(found.columns.len());
        for column in 0..found.columns.len() {
            let value = row.get_ref(column).map_err(failed)?;
            bytes += size(value);
            values.push(to_json(value));
        }
        if bytes > MAX_BYTES {
            return Err(Error::too_large("the rows", MAX_BYTES as u64, "use a smaller `limit`"));
        }
        found.rows.push(values);
    }
    Ok(found)
}

fn size(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() + 8,
        _ => 8,
    }
}

/// A blob becomes an object, so that it is not mistaken for a text.
fn to_json(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => json!({ "base64": BASE64_STANDARD.encode(bytes) }),
    }
}
