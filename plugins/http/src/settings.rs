//! The settings of this provider, and their defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use larder_provider::{Declaration, Error, Result, Setting};
use larder_web::{BaseUrl, Client, Credentials};
use serde::Deserialize;
use serde::de::DeserializeOwned;

const BASE_URL: Setting<String> = Setting::text(
    "base_url",
    "The URL of the API, such as `https://api.example.com/v1`.",
)
.required();
const RESOURCES: Setting<String> =
    Setting::text("resources", "The resources of the API: a list of tables.").required();
const HEADERS: Setting<String> = Setting::text(
    "headers",
    "Headers of all requests: a table of names and values.",
)
.default("{}");
const TITLE: Setting<String> =
    Setting::text("title", "The title of this provider.").default("Web API");
const SUMMARY: Setting<String> = Setting::text("summary", "What the API offers, for people.");
const INSTRUCTIONS: Setting<String> =
    Setting::text("instructions", "When to use the API, for models.");
const TTL: Setting<Duration> = Setting::duration(
    "ttl",
    "How long a response may be cached if the API does not say it.",
)
.default("10s");
const TIMEOUT: Setting<Duration> =
    Setting::duration("timeout", "The time limit of one request.").default("5s");
const MAX_BYTES: Setting<u64> =
    Setting::size("max_bytes", "The maximum size of a response.").default("4MiB");

/// Settings of the operator.
pub(crate) struct Settings {
    pub(crate) client: Client,
    pub(crate) resources: Vec<Resource>,
    pub(crate) title: String,
    pub(crate) summary: Option<String>,
    pub(crate) instructions: Option<String>,
    /// How long a response may be cached if the API does not say it.
    pub(crate) ttl: Duration,
}

/// A resource, or a set of resources, in the operator's description.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Resource {
    pub(crate) uri: String,
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) name: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) mime_type: Option<String>,
    /// A JSON pointer to the part of the response that is the content.
    pub(crate) content: Option<String>,
    pub(crate) list: Option<List>,
    /// A path that returns the resources that match a text.
    pub(crate) search: Option<List>,
}

/// A path that returns a list of the resources of a template.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) query: BTreeMap<String, String>,
    /// The parameter with the text of a search.
    pub(crate) parameter: Option<String>,
    /// A JSON pointer to the items in a response.
    #[serde(default)]
    pub(crate) items: String,
    /// For each variable of the template, a JSON pointer into an item, or a fixed value.
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) name: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) last_modified: Option<String>,
    #[serde(default)]
    pub(crate) paging: Paging,
}

/// How the next page of a list is requested.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Paging {
    /// There is only one page.
    #[default]
    None,
    /// A header `Link` with the relation `next`.
    Link,
    /// A parameter with the number of the page. The list ends with a page that has fewer items than `size`, or none.
    Page {
        parameter: String,
        #[serde(default = "one")]
        first: u64,
        size: Option<usize>,
    },
    /// A parameter with a value that the previous page contains.
    Cursor { parameter: String, next: String },
}

fn one() -> u64 {
    1
}

impl Settings {
    /// All settings, for the host.
    pub(crate) fn declarations() -> Vec<Declaration> {
        let texts =
            [BASE_URL, RESOURCES, HEADERS, TITLE, SUMMARY, INSTRUCTIONS].map(|it| it.declaration());
        let limits = [
            TTL.declaration(),
            TIMEOUT.declaration(),
            MAX_BYTES.declaration(),
        ];
        texts
            .into_iter()
            .chain(limits)
            .chain(Credentials::declarations())
            .collect()
    }

    pub(crate) fn read() -> Result<Self> {
        let base = BaseUrl::parse(BASE_URL.get()?.trim());
        let base = base.map_err(|why| Error::Failed(format!("the setting `base_url` {why}")))?;
        let headers: BTreeMap<String, String> = json(&HEADERS, "a table of names and values")?;
        let headers: Vec<_> = headers.into_iter().collect();
        Client::check_headers(&headers)?;
        let credentials = Credentials::read("X-API-Key")?;
        let (timeout, max_bytes) = (TIMEOUT.get()?, MAX_BYTES.get()?);
        Ok(Self {
            client: Client {
                base,
                credentials,
                headers,
                timeout,
                max_bytes,
            },
            resources: json(&RESOURCES, "a list of tables")?,
            title: TITLE.get()?,
            summary: SUMMARY.find()?,
            instructions: INSTRUCTIONS.find()?,
            ttl: TTL.get()?,
        })
    }
}

/// A setting that is a list or a table, which the host passes as JSON.
fn json<T: DeserializeOwned>(setting: &Setting<String>, expected: &str) -> Result<T> {
    let name = setting.declaration().name;
    let invalid = |error| Error::Failed(format!("the setting `{name}` is not {expected}: {error}"));
    serde_json::from_str(&setting.get()?).map_err(invalid)
}
