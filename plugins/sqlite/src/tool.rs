//! The tool `query`: the rows of a saved query, a table or a view, which clients with apps show as a table.

use std::collections::BTreeMap;

use larder_provider::{
    APP_PAGE, AppPage, Call, Details, Entry, Error, Reading, Result, Tool, ToolResult, Tools,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::database::Database;
use crate::settings::SavedQuery;
use crate::{DEFAULT_ROWS, Rows, Sqlite, parameters, rows, saved_rows, schema};

/// The page that shows the rows. It uses nothing outside of itself.
const PAGE: &str = include_str!("table.html");
/// The version of the page.
pub(crate) const PAGE_VERSION: &str = env!("CARGO_PKG_VERSION");
/// The largest integer that JavaScript does not round.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueryArguments {
    /// The name of a saved query, a table or a view.
    name: String,
    /// The values of the parameters of a saved query, by their names.
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    /// The maximum number of rows; 100 by default.
    limit: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct QueryResult {
    columns: Vec<String>,
    /// The values of each row, in the order of the columns. Integers that JavaScript would round are strings.
    rows: Vec<Vec<Value>>,
    /// Whether there are more rows than `limit`.
    more: bool,
}

impl Sqlite {
    pub(crate) fn query_tools(&self) -> Tools<Self> {
        let tool = Tool::new("query", Self::run_query)
            .title("Show rows")
            .description(self.tool_description())
            .read_only(true)
            .open_world(false)
            .app_page(self.addresses.page());
        Tools::new().tool(tool)
    }

    /// Depends only on the settings, so that a change of the database is not a change of the tool.
    fn tool_description(&self) -> String {
        let schema = self.addresses.schema();
        let queries = self.settings.queries.iter().map(|(name, saved)| {
            let about = saved.description.as_deref().unwrap_or("a saved query");
            format!("\n- `{name}`: {about}")
        });
        format!("Reads rows of a saved query, table or view. The tables are in {schema}.")
            + &queries.collect::<String>()
    }

    pub(crate) fn page_entry(&self) -> Entry {
        Entry::new(self.addresses.page(), "table")
            .description("the page of the tool `query`")
            .mime(APP_PAGE)
            .version(PAGE_VERSION)
            .details(Details::kind("app").priority(0.0))
    }

    pub(crate) fn page() -> Reading {
        Reading::from(AppPage::new(PAGE).content()).version(PAGE_VERSION)
    }

    pub(crate) fn run_query(&self, call: &Call<QueryArguments>) -> Result<ToolResult<QueryResult>> {
        let limit = call.arguments.limit.unwrap_or(DEFAULT_ROWS);
        let limit = limit.clamp(1, self.settings.max_rows);
        let database = Database::open(&self.path)?;
        let found = database.consistent(|_| self.rows(&database, &call.arguments, limit))?;
        Ok(match found {
            Ok(rows) => ToolResult::structured(QueryResult {
                columns: rows.columns,
                rows: rows.rows.into_iter().map(exact_integers).collect(),
                more: rows.has_more,
            }),
            Err(why) => ToolResult::error(why),
        })
    }

    /// The rows, or what is wrong with the arguments.
    fn rows(
        &self,
        database: &Database,
        arguments: &QueryArguments,
        limit: usize,
    ) -> Result<Result<Rows, String>> {
        let name = &arguments.name;
        if let Some(saved) = self.settings.queries.get(name) {
            return query_rows(database, saved, arguments, limit);
        }
        match schema::find(&database.connection, name) {
            Ok(table) => {
                let order = table.order();
                rows::page(&database.connection, "", name, &order, &[], limit).map(Ok)
            }
            Err(Error::NotFound) => {
                let why = format!("There is no saved query, table or view `{name}`.");
                Ok(Err(why))
            }
            Err(error) => Err(error),
        }
    }
}

fn query_rows(
    database: &Database,
    saved: &SavedQuery,
    arguments: &QueryArguments,
    limit: usize,
) -> Result<Result<Rows, String>> {
    let QueryArguments {
        name,
        parameters: values,
        ..
    } = arguments;
    let names = match parameters(database, saved)? {
        Ok(names) => names,
        Err(why) => return Ok(Err(format!("The query `{name}` cannot be used: {why}"))),
    };
    let is_complete = names.iter().all(|name| values.contains_key(name));
    if !is_complete || values.len() != names.len() {
        let names = names.join(", ");
        return Ok(Err(format!(
            "The query `{name}` has these parameters: {names}"
        )));
    }
    let value = |name: &str| values.get(name).cloned();
    saved_rows(database, saved, &names, value, limit).map(Ok)
}

fn exact_integers(row: Vec<Value>) -> Vec<Value> {
    let exact = |value: Value| match value.as_i64() {
        Some(integer) if integer.unsigned_abs() > MAX_SAFE_INTEGER => integer.to_string().into(),
        _ => value,
    };
    row.into_iter().map(exact).collect()
}
