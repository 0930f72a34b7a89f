//! The rows of a query as JSON and as CSV.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use larder_provider::{Content, Error, Result};
use postgres_protocol::Oid;
use serde_json::{Map, Value, json};

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

/// A value that the server sent as a text. Exact decimal numbers, times and other types stay texts.
pub(crate) fn to_json(kind: Oid, bytes: Option<&[u8]>) -> Value {
    /// The numbers of types that every server has, from `pg_type.dat`.
    const BOOL: Oid = 16;
    const BYTEA: Oid = 17;
    const INTEGERS: [Oid; 4] = [20, 21, 23, 26];
    const FLOATS: [Oid; 2] = [700, 701];
    const JSON: [Oid; 2] = [114, 3802];
    let Some(bytes) = bytes else { return Value::Null };
    let text = String::from_utf8_lossy(bytes);
    let value = match kind {
        BOOL => Some(Value::Bool(text == "t")),
        // A blob becomes an object, so that it is not mistaken for a text.
        BYTEA => blob(&text).map(|bytes| json!({ "base64": BASE64_STANDARD.encode(bytes) })),
        _ if INTEGERS.contains(&kind) => text.parse::<i64>().ok().map(Value::from),
        // Infinity and NaN are no numbers in JSON.
        _ if FLOATS.contains(&kind) => text.parse::<f64>().ok().filter(|it| it.is_finite()).map(Value::from),
        _ if JSON.contains(&kind) => serde_json::from_str(&text).ok(),
        _ => None,
    };
    value.unwrap_or_else(|| Value::from(text))
}

/// The bytes of a value of the type `bytea`: `\x` and two hexadecimal digits for each byte.
fn blob(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    let pairs = digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    pairs.collect()
}

impl Rows {
    /// The texts in a column; other values are left out.
    pub(crate) fn texts(&self, column: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(move |row| row.get(column)?.as_str())
    }

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
            Some(next) => content.metadata("dev.larder.postgres/next", json!(next).to_string()),
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
        Value::Object(blob) if blob.len() == 1 && blob.contains_key("base64") => {
            blob["base64"].as_str().unwrap_or_default().to_owned()
        }
        other => other.to_string(),
    }
}
