//! The URIs of a database: `postgres://NAME/schemas/SCHEMA`, `…/tables/TABLE`, `…/tables/TABLE/rows/KEY` and
//! `postgres://NAME/queries/QUERY`; `…/schema?schema=SCHEMA`, `…/table?schema=SCHEMA&table=TABLE` and
//! `…/row?schema=SCHEMA&table=TABLE&key=KEY` for names and keys that cannot be in a path.

use provider_table::address::{encoded, segment};

/// The addresses of one database.
#[derive(Debug, Clone)]
pub(crate) struct Addresses(String);

impl Addresses {
    /// For a database with this name.
    pub(crate) fn new(name: &str) -> Self {
        Self(format!("postgres://{}", encoded(name)))
    }

    pub(crate) fn schema(&self, name: &str) -> String {
        match segment(name) {
            Some(segment) => format!("{}/schemas/{segment}", self.0),
            None => format!("{}/schema?schema={}", self.0, encoded(name)),
        }
    }

    pub(crate) fn table(&self, schema: &str, name: &str) -> String {
        match (segment(schema), segment(name)) {
            (Some(schema), Some(name)) => format!("{}/schemas/{schema}/tables/{name}", self.0),
            _ => format!(
                "{}/table?schema={}&table={}",
                self.0,
                encoded(schema),
                encoded(name)
            ),
        }
    }

    /// Some rows of a table.
    pub(crate) fn rows(
        &self,
        (schema, table): (&str, &str),
        format: &str,
        limit: usize,
        offset: usize,
    ) -> String {
        let table = self.table(schema, table);
        let separator = if table.contains('?') { '&' } else { '?' };
        format!("{table}{separator}format={format}&limit={limit}&offset={offset}")
    }

    pub(crate) fn row(&self, schema: &str, table: &str, key: &str) -> String {
        match (segment(schema), segment(table), segment(key)) {
            (Some(schema), Some(table), Some(key)) => {
                format!("{}/schemas/{schema}/tables/{table}/rows/{key}", self.0)
            }
            _ => {
                let (schema, table, key) = (encoded(schema), encoded(table), encoded(key));
                format!("{}/row?schema={schema}&table={table}&key={key}", self.0)
            }
        }
    }

    pub(crate) fn query(&self, name: &str) -> String {
        format!("{}/queries/{name}", self.0)
    }

    pub(crate) fn schemas_template(&self) -> String {
        format!("{}/schemas/{{schema}}", self.0)
    }

    pub(crate) fn tables_template(&self) -> String {
        format!(
            "{}/schemas/{{schema}}/tables/{{table}}{{?format,limit,offset}}",
            self.0
        )
    }

    pub(crate) fn rows_template(&self) -> String {
        format!(
            "{}/schemas/{{schema}}/tables/{{table}}/rows/{{key}}",
            self.0
        )
    }

    /// The template of a schema of any name.
    pub(crate) fn any_schema_template(&self) -> String {
        format!("{}/schema{{?schema}}", self.0)
    }

    /// The template of a table of any name.
    pub(crate) fn any_table_template(&self) -> String {
        format!("{}/table{{?schema,table,format,limit,offset}}", self.0)
    }

    /// The template of a row with any key.
    pub(crate) fn any_row_template(&self) -> String {
        format!("{}/row{{?schema,table,key}}", self.0)
    }

    /// Whether the variables of a template are in its path.
    pub(crate) fn is_in_path(&self, template: &str) -> bool {
        let any = [
            self.any_schema_template(),
            self.any_table_template(),
            self.any_row_template(),
        ];
        !any.iter().any(|other| other == template)
    }

    /// The template of a saved query with these parameters.
    pub(crate) fn query_template(&self, name: &str, parameters: &[String]) -> String {
        let variables: Vec<&str> = parameters
            .iter()
            .map(String::as_str)
            .chain(["format"])
            .collect();
        format!("{}{{?{}}}", self.query(name), variables.join(","))
    }
}
