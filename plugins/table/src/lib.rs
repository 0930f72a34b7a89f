//! Functions that the providers of databases share: the rows of a query as JSON and as CSV, names and keys in URIs, and
//! the hits of a search.

pub mod address;
mod search;
mod table_hits;

use larder_provider::{Content, Error, Result};
use serde_json::{Map, Value, json};

pub use search::pattern;
use search::{excerpt, named};
pub use table_hits::{TIME_IS_OVER, TableHits, words};

/// The form of rows in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Objects, with the columns and the address of the next rows.
    Json,
    /// A header and one line for each row.
    Csv,
}

impl Format {
    /// The names of the forms, for completion.
    pub const NAMES: [&str; 2] = ["csv", "json"];

    /// Parses the name of a format. Without a name, the format is JSON.
    pub fn parse(name: Option<&str>) -> Result<Self> {
        match name {
            None | Some("json" | "") => Ok(Self::Json),
            Some("csv") => Ok(Self::Csv),
            Some(_) => Err(Error::invalid("the format is not `json` or `csv`")),
        }
    }
}

/// The rows of a query.
#[derive(Debug, Default, PartialEq)]
pub struct Rows {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The values of each row, in the order of the columns. Bytes are an object with the key `base64`.
    pub rows: Vec<Vec<Value>>,
    /// Whether the query has more rows than were requested.
    pub has_more: bool,
}

impl Rows {
    /// The texts in a column; other values are left out.
    pub fn texts(&self, column: usize) -> impl Iterator<Item = &str> {
        self.rows
            .iter()
            .filter_map(move |row| row.get(column)?.as_str())
    }

    /// The rows as objects.
    pub fn objects(&self) -> Vec<Value> {
        let object = |row: &Vec<Value>| {
            let pairs = self.columns.iter().cloned().zip(row.iter().cloned());
            Value::Object(pairs.collect::<Map<_, _>>())
        };
        self.rows.iter().map(object).collect()
    }

    /// The content of a response; `next` is the URI of the next rows, and its key in the metadata.
    pub fn content(&self, format: Format, next: Option<(&str, String)>) -> Result<Content> {
        let content = match format {
            Format::Json => {
                let mut json = json!({ "columns": self.columns, "rows": self.objects() });
                if let Some((_, next)) = &next {
                    json["next"] = json!(next);
                }
                Content::text(format!("{json:#}")).mime("application/json")
            }
            Format::Csv => Content::text(self.csv()?).mime("text/csv"),
        };
        Ok(match next {
            Some((key, next)) => content.metadata(key, json!(next).to_string()),
            None => content,
        })
    }

    fn csv(&self) -> Result<String> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&self.columns).map_err(Error::failed)?;
        for row in &self.rows {
            writer
                .write_record(row.iter().map(to_text))
                .map_err(Error::failed)?;
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
