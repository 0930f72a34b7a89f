//! The settings of this provider, and their defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use larder_provider::{Declaration, Error, Result, Setting};
use serde::Deserialize;

const FILE: Setting<String> = Setting::text(
    "file",
    "The database, as a path in the granted folder. Without one, the folder must contain exactly one database.",
);
const NAME: Setting<String> = Setting::text(
    "name",
    "The name of the database in URIs. Without one, it is the name of the file.",
);
const TITLE: Setting<String> =
    Setting::text("title", "The title of this provider.").default("SQLite");
const QUERIES: Setting<String> = Setting::text(
    "queries",
    "Saved queries: a table with a table for each of them.",
)
.default("{}");
const MAX_ROWS: Setting<u32> =
    Setting::number("max_rows", "The maximum number of rows in one response.").default("1000");
const TTL: Setting<Duration> =
    Setting::duration("ttl", "How long a response may be cached.").default("1s");

/// Settings of the operator.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) file: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) title: String,
    pub(crate) queries: BTreeMap<String, SavedQuery>,
    pub(crate) max_rows: usize,
    pub(crate) ttl: Duration,
}

/// A query that the operator wrote. Each of its parameters becomes a variable of a template.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedQuery {
    pub(crate) sql: String,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
}

impl Settings {
    /// All settings, for the host.
    pub(crate) fn declarations() -> Vec<Declaration> {
        let texts = [FILE, NAME, TITLE, QUERIES].map(|it| it.declaration());
        texts
            .into_iter()
            .chain([MAX_ROWS.declaration(), TTL.declaration()])
            .collect()
    }

    pub(crate) fn read() -> Result<Self> {
        let queries: BTreeMap<String, SavedQuery> =
            serde_json::from_str(&QUERIES.get()?).map_err(|error| {
                Error::Failed(format!(
                    "the setting `queries` is not a table of queries: {error}"
                ))
            })?;
        let is_name = |name: &str| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        };
        let name = NAME.find()?;
        if let Some(wrong) = queries.keys().chain(&name).find(|name| !is_name(name)) {
            return Err(Error::Failed(format!(
                "`{}` is not a name: use letters, digits, - and _",
                wrong.escape_debug()
            )));
        }
        let max_rows = usize::try_from(MAX_ROWS.get()?)
            .unwrap_or(usize::MAX)
            .max(1);
        Ok(Self {
            file: FILE.find()?,
            name,
            title: TITLE.get()?,
            queries,
            max_rows,
            ttl: TTL.get()?,
        })
    }
}
