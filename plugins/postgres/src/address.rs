//! The URIs of a database: `postgres://NAME/schemas/SCHEMA`, `…/tables/TABLE`, `…/tables/TABLE/rows/KEY` and
//! `postgres://NAME/queries/QUERY`.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All characters except those that are unreserved in RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The addresses of one database.
#[derive(Debug, Clone)]
pub(crate) struct Addresses(String);

impl Addresses {
    /// For a database with this name.
    pub(crate) fn new(name: &str) -> Self {
        Self(format!("postgres://{}", encoded(name)))
    }

    pub(crate) fn schema(&self, name: &str) -> String {
        format!("{}/schemas/{}", self.0, encoded(name))
    }

    pub(crate) fn table(&self, schema: &str, name: &str) -> String {
        format!("{}/tables/{}", self.schema(schema), encoded(name))
    }

    pub(crate) fn row(&self, schema: &str, table: &str, key: &str) -> String {
        format!("{}/rows/{}", self.table(schema, table), encoded(key))
    }

    pub(crate) fn query(&self, name: &str) -> String {
        format!("{}/queries/{name}", self.0)
    }

    pub(crate) fn schemas_template(&self) -> String {
        format!("{}/schemas/{{schema}}", self.0)
    }

    pub(crate) fn tables_template(&self) -> String {
        format!("{}/schemas/{{schema}}/tables/{{table}}{{?format,limit,offset}}", self.0)
    }

    pub(crate) fn rows_template(&self) -> String {
        format!("{}/schemas/{{schema}}/tables/{{table}}/rows/{{key}}", self.0)
    }

    /// The template of a saved query with these parameters.
    pub(crate) fn query_template(&self, name: &str, parameters: &[String]) -> String {
        let variables: Vec<&str> = parameters.iter().map(String::as_str).chain(["format"]).collect();
        format!("{}{{?{}}}", self.query(name), variables.join(","))
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}
