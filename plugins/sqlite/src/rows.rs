//! The rows of a query as JSON and as CSV.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use larder_provider::{Content, Error, Result};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ToSql};
use serde_json::{Map, Value, json};

use crate::database::failed;

/// The largest response, in bytes of its values.
const MAX_BYTES: usize = 8 << 20;

/// The form of rows in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Csv,
}

impl Format {
    pub(crate) const NAMES: [&str; 2] = ["csv", "json"];

    pub(crate) fn parse(name: Option<&str>) -> Result<Self> {
        match name {
            None | Some("json" | "") => Ok(Self::Json),
            Some("csv") => Ok(Self::Csv),
            Some(_) => Err(Error::invalid("the format is not `json` or `csv`")),
        }
    }
}

/// The rows of a query.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Rows {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
    /// Whether the query has more rows than were asked for.
    pub(crate) has_more: bool,
}

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

impl Rows {
    /// The rows as objects.
    pub(crate) fn objects(&self) -> Vec<Value> {
        let object = |row: &Vec<Value>| {
            let pairs = self.columns.iter().cloned().zip(row.iter().cloned());
            Value::Object(pairs.collect::<Map<_, _>>())
        };
        self.rows.iter().map(object).collect()
    }

    /// The content of a response; `next` is the URI of the next rows.
    pub(crate) fn content(&self, format: Format, next: Option<String>) -> Result<Content> {
        let content = match format {
            Format::Json => {
                let mut json = json!({ "columns": self.columns, "rows": self.objects() });
                if let Some(next) = &next {
                    json["next"] = json!(next);
                }
                Content::text(format!("{json:#}")).mime("application/json")
            }
            Format::Csv => Content::text(self.csv()?).mime("text/csv"),
        };
        Ok(match next {
            Some(next) => content.metadata("dev.larder.sqlite/next", json!(next).to_string()),
            None => content,
        })
    }

    fn csv(&self) -> Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.columns).map_err(Error::failed)?;
        for row in &self.rows {
            writer.write_record(row.iter().map(to_text)).map_err(Error::failed)?;
        }
        let bytes = writer.into_inner().map_err(Error::failed)?;
        String::from_utf8(bytes).map_err(Error::failed)
    }
}

fn to_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(blob) => blob["base64"].as_str().unwrap_or_default().to_owned(),
        other => other.to_string(),
    }
}
