//! The URIs of a database: `sqlite://NAME/schema`, `…/tables/TABLE`, `…/tables/TABLE/rows/KEY` and `…/queries/QUERY`;
//! `…/table?table=TABLE` and `…/row?table=TABLE&key=KEY` for names and keys that cannot be in a path.

use provider_table::address::{encoded, segment};

/// The addresses of one database.
#[derive(Debug, Clone)]
pub(crate) struct Addresses {
    database: String,
    page: String,
}

impl Addresses {
    /// For a database with this name.
    pub(crate) fn new(name: &str) -> Self {
        let name = encoded(name);
        Self {
            database: format!("sqlite://{name}"),
            page: format!("ui://sqlite/{name}/table.html"),
        }
    }

    /// The page of the tool `query`. It has the name of the database, so that several databases do not share a URI.
    pub(crate) fn page(&self) -> &str {
        &self.page
    }

    pub(crate) fn schema(&self) -> String {
        format!("{}/schema", self.database)
    }

    pub(crate) fn table(&self, name: &str) -> String {
        match segment(name) {
            Some(segment) => format!("{}/tables/{segment}", self.database),
            None => format!("{}/table?table={}", self.database, encoded(name)),
        }
    }

    /// Some rows of a table, from a place on: `offset=NUMBER` or `after=ROW_ID`.
    pub(crate) fn rows(&self, table: &str, format: &str, limit: usize, place: &str) -> String {
        let table = self.table(table);
        let separator = if table.contains('?') { '&' } else { '?' };
        format!("{table}{separator}format={format}&limit={limit}&{place}")
    }

    pub(crate) fn row(&self, table: &str, key: &str) -> String {
        match (segment(table), segment(key)) {
            (Some(table), Some(key)) => format!("{}/tables/{table}/rows/{key}", self.database),
            _ => format!(
                "{}/row?table={}&key={}",
                self.database,
                encoded(table),
                encoded(key)
            ),
        }
    }

    pub(crate) fn query(&self, name: &str) -> String {
        format!("{}/queries/{name}", self.database)
    }

    pub(crate) fn tables_template(&self) -> String {
        format!(
            "{}/tables/{{table}}{{?format,limit,offset,after}}",
            self.database
        )
    }

    pub(crate) fn rows_template(&self) -> String {
        format!("{}/tables/{{table}}/rows/{{key}}", self.database)
    }

    /// The template of a table of any name.
    pub(crate) fn any_table_template(&self) -> String {
        format!(
            "{}/table{{?table,format,limit,offset,after}}",
            self.database
        )
    }

    /// The template of a row with any key.
    pub(crate) fn any_row_template(&self) -> String {
        format!("{}/row{{?table,key}}", self.database)
    }

    /// Whether the variables of a template are in its path.
    pub(crate) fn is_in_path(&self, template: &str) -> bool {
        template != self.any_table_template() && template != self.any_row_template()
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
