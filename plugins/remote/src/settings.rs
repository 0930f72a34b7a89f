//! The settings of this provider, and their defaults.

use std::time::Duration;

use larder_provider::{Declaration, Error, Result, Setting};
use larder_web::{BaseUrl, Client, Credentials};

use crate::session::Era;

const URL: Setting<String> = Setting::text(
    "url",
    "The address of the MCP server, such as `https://example.com/mcp`.",
)
.required();
const ERA: Setting<String> = Setting::text(
    "era",
    "The protocol of the server: `modern` (2026-07-28), `legacy` (with a handshake), or `auto`.",
)
.default("auto");
const TITLE: Setting<String> = Setting::text("title", "The title of this provider.");
const SEARCH_TOOL: Setting<String> = Setting::text(
    "search_tool",
    "A tool of the server that is called for searches, such as `search_resources`. A Larder needs none.",
);
const TTL: Setting<Duration> = Setting::duration(
    "ttl",
    "How long a response may be cached if the server does not say it. Lists that must not be cached are requested again \
     after this time.",
)
.default("5s");
const TIMEOUT: Setting<Duration> =
    Setting::duration("timeout", "The time limit of one request.").default("8s");
const MAX_BYTES: Setting<u64> =
    Setting::size("max_bytes", "The maximum size of a response.").default("4MiB");

/// Settings of the operator.
pub(crate) struct Settings {
    pub(crate) url: String,
    /// The era of the server, if it need not be detected.
    pub(crate) era: Option<Era>,
    pub(crate) client: Client,
    pub(crate) title: Option<String>,
    /// A tool that finds resources.
    pub(crate) search_tool: Option<String>,
    pub(crate) ttl: Duration,
}

impl Settings {
    /// All settings, for the host.
    pub(crate) fn declarations() -> Vec<Declaration> {
        let texts = [URL, ERA, TITLE, SEARCH_TOOL].map(|it| it.declaration());
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
        let url = URL.get()?.trim().to_owned();
        let base = BaseUrl::origin_of(&url)
            .ok_or("the setting `url` is not the URL of a web server without a user")?;
        let era = match ERA.get()?.as_str() {
            "auto" => None,
            "modern" => Some(Era::Modern),
            "legacy" => Some(Era::Legacy),
            _ => {
                return Err(Error::failed(
                    "the setting `era` is not `auto`, `modern` or `legacy`",
                ));
            }
        };
        let (credentials, headers) = (Credentials::read("X-API-Key")?, Vec::new());
        let (timeout, max_bytes) = (TIMEOUT.get()?, MAX_BYTES.get()?);
        let client = Client {
            base,
            credentials,
            headers,
            timeout,
            max_bytes,
        };
        let (title, search_tool) = (TITLE.find()?, SEARCH_TOOL.find()?);
        Ok(Self {
            url,
            era,
            client,
            title,
            search_tool,
            ttl: TTL.get()?,
        })
    }
}
