//! The rows of a query, with values of SQLite as JSON.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use larder_provider::{Error, Result};
use provider_table::Rows;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, ToSql};
use serde_json::{Value, json};

use crate::database::{MAX_LENGTH, failed};
use crate::schema::quoted;

/// The largest response, in bytes of its values.
const MAX_BYTES: usize = 8 << 20;

/// Why a result has no more rows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// There are no further rows.
    Complete,
    /// The response has the requested number of rows.
    Limit,
    /// The next row would make the response larger than [`MAX_BYTES`].
    Bytes,
}

/// Runs a query with these parameters, up to a number of rows.
pub(crate) fn query(
    connection: &Connection,
    sql: &str,
    parameters: &[(&str, &dyn ToSql)],
    limit: usize,
) -> Result<Rows> {
    let mut found = Rows::default();
    match read(connection, sql, parameters, limit, &mut found).map_err(failed)? {
        End::Bytes => Err(too_large()),
        _ => Ok(found),
    }
}

/// Returns rows of a table or view, as many as fit into a response, after their row ids if `id` is not empty. `rest` is
/// the SQL after the name of the table. A value that is too large is replaced by its size, so that it does not affect
/// the other values.
pub(crate) fn page(
    connection: &Connection,
    id: &str,
    table: &str,
    rest: &str,
    parameters: &[(&str, &dyn ToSql)],
    limit: usize,
) -> Result<Rows> {
    let from = format!("FROM {} {rest}", quoted(table));
    let ids = if id.is_empty() {
        String::new()
    } else {
        format!("{id}, ")
    };
    let mut found = Rows::default();
    let end = match read(
        connection,
        &format!("SELECT {ids}* {from}"),
        parameters,
        limit,
        &mut found,
    ) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::TooBig) => {
            found = Rows::default();
            let columns = without_large_values(connection, &from).map_err(failed)?;
            let sql = format!("SELECT {ids}{columns} {from}");
            let end = read(connection, &sql, parameters, limit, &mut found).map_err(failed)?;
            replace_large_values(&mut found, usize::from(!id.is_empty()));
            end
        }
        end => end.map_err(failed)?,
    };
    match end == End::Bytes && found.rows.is_empty() {
        true => Err(too_large()),
        false => Ok(found),
    }
}

/// Runs a query and adds its rows to the result. Rows before an error are also added.
pub(crate) fn read(
    connection: &Connection,
    sql: &str,
    parameters: &[(&str, &dyn ToSql)],
    limit: usize,
    found: &mut Rows,
) -> rusqlite::Result<End> {
    let mut statement = connection.prepare(sql)?;
    if !statement.readonly() {
        return Err(rusqlite::Error::InvalidQuery);
    }
    found.columns = statement.column_names().map(str::to_owned).collect();
    let mut bytes = 0;
    let mut rows = statement.query(parameters)?;
    while let Some(row) = rows.next()? {
        if found.rows.len() == limit {
            found.has_more = true;
            return Ok(End::Limit);
        }
        let mut values = Vec::with_capacity(found.columns.len());
        for column in 0..found.columns.len() {
            let value = row.get_ref(column)?;
            bytes += size(value);
            values.push(to_json(value));
        }
        if bytes > MAX_BYTES {
            found.has_more = true;
            return Ok(End::Bytes);
        }
        found.rows.push(values);
    }
    Ok(End::Complete)
}

/// The SQL for the columns of a table, followed by the size of each value. A value that is too large is replaced by
/// NULL. SQLite can determine a size without reading the value.
fn without_large_values(connection: &Connection, from: &str) -> rusqlite::Result<String> {
    let statement = connection.prepare(&format!("SELECT * {from}"))?;
    let columns: Vec<_> = statement.column_names().map(quoted).collect();
    let is_large = |column: &String| format!("octet_length({column}) > {MAX_LENGTH}");
    let values = columns
        .iter()
        .map(|it| format!("iif({}, NULL, {it}) AS {it}", is_large(it)));
    let sizes = columns
        .iter()
        .map(|it| format!("iif({}, octet_length({it}), NULL)", is_large(it)));
    Ok(values.chain(sizes).collect::<Vec<_>>().join(", "))
}

/// Puts the sizes of large values in their places. `ids` is the number of columns before the values.
fn replace_large_values(found: &mut Rows, ids: usize) {
    let count = ids + (found.columns.len() - ids) / 2;
    found.columns.truncate(count);
    for row in &mut found.rows {
        let sizes = row.split_off(count);
        for (value, size) in row.iter_mut().skip(ids).zip(sizes) {
            if size.is_number() {
                *value = json!({ "omittedBytes": size });
            }
        }
    }
}

fn too_large() -> Error {
    Error::too_large("the rows", MAX_BYTES as u64, "use a smaller `limit`")
}

fn size(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.len() + 8,
        _ => 8,
    }
}

/// A blob becomes an object, so that it cannot be confused with a text.
fn to_json(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => json!({ "base64": BASE64_STANDARD.encode(bytes) }),
    }
}
