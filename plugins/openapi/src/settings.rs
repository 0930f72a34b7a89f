//! The settings of this provider, and their defaults.

use std::collections::BTreeMap;
use std::time::Duration;

use larder_provider::{Declaration, Error, Result, Setting};
use larder_web::{BaseUrl, Client};

const DOCUMENT: Setting<String> = Setting::text(
    "document",
    "The OpenAPI document: a path in a granted folder, such as `/api/openapi.yaml`, or a URL.",
)
.required();
const NAME: Setting<String> =
    Setting::text("name", "The name of the API in URIs: `openapi://NAME/`.").default("api");
const SERVER: Setting<String> = Setting::text(
    "server",
    "The URL of the API. Without it, tools use the first server of the document, but send it no secrets.",
);
const HEADERS: Setting<String> = Setting::text(
    "headers",
    "Headers of all requests to the API: a table of names and values.",
)
.default("{}");
const OUTPUT_SCHEMAS: Setting<bool> = Setting::boolean(
    "output_schemas",
    "Whether tools declare the schemas of their results. A result that does not match is then an error.",
)
.default("false");
const TTL: Setting<Duration> = Setting::duration(
    "ttl",
    "How long the document may be cached if its server does not say it.",
)
.default("1m");
const TIMEOUT: Setting<Duration> =
    Setting::duration("timeout", "The time limit of one request.").default("5s");
const MAX_BYTES: Setting<u64> =
    Setting::size("max_bytes", "The maximum size of a response.").default("1MiB");
const MAX_DOCUMENT: Setting<u64> =
    Setting::size("max_document", "The maximum size of the document.").default("4MiB");

/// Settings of the operator.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) document: String,
    /// The URI prefix of all resources: `openapi://NAME/`.
    pub(crate) prefix: String,
    pub(crate) server: Option<BaseUrl>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) output_schemas: bool,
    pub(crate) ttl: Duration,
    pub(crate) timeout: Duration,
    pub(crate) max_bytes: u64,
    pub(crate) max_document: u64,
}

impl Settings {
    /// All settings except the credentials, for the host.
    pub(crate) fn declarations() -> Vec<Declaration> {
        let texts = [DOCUMENT, NAME, SERVER, HEADERS].map(|it| it.declaration());
        let others = [
            OUTPUT_SCHEMAS.declaration(),
            TTL.declaration(),
            TIMEOUT.declaration(),
        ];
        let sizes = [MAX_BYTES, MAX_DOCUMENT].map(|it| it.declaration());
        texts.into_iter().chain(others).chain(sizes).collect()
    }

    pub(crate) fn read() -> Result<Self> {
        let name = NAME.get()?;
        let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_valid) {
            return Err(
                "the setting `name` must consist of lower-case letters, digits and `-`".into(),
            );
        }
        let server = SERVER
            .find()?
            .map(|text| BaseUrl::parse(text.trim()))
            .transpose();
        let server = server.map_err(|why| Error::Failed(format!("the setting `server` {why}")))?;
        let headers: BTreeMap<String, String> =
            larder_provider::serde_json::from_str(&HEADERS.get()?).map_err(|error| {
                format!("the setting `headers` is not a table of names and values: {error}")
            })?;
        let headers: Vec<_> = headers.into_iter().collect();
        Client::check_headers(&headers)?;
        Ok(Self {
            document: DOCUMENT.get()?,
            prefix: format!("openapi://{name}/"),
            server,
            headers,
            output_schemas: OUTPUT_SCHEMAS.get()?,
            ttl: TTL.get()?,
            timeout: TIMEOUT.get()?,
            max_bytes: MAX_BYTES.get()?,
            max_document: MAX_DOCUMENT.get()?,
        })
    }
}
