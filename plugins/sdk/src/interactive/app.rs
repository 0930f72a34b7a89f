//! Apps: pages that clients show for tools (the extension `io.modelcontextprotocol/ui`).

use serde_json::{Map, Value, json};

use crate::Content;

/// The media type of the page of an app.
pub const APP_PAGE: &str = "text/html;profile=mcp-app";
/// The metadata key of apps.
pub(super) const KEY: &str = "ui";

/// The page of an app: HTML, and what the page uses in the browser. The host passes on only what the operator grants
/// (`apps` in `[provider.NAME]`, or requested in `NAME.toml`).
///
/// ```
/// # use larder_provider::{AppPage, Reading};
/// let page = AppPage::new("<!doctype html><title>Weather</title>")
///     .connects_to("https://api.weather.example")
///     .prefers_border(true);
/// let reading = Reading::from(page.content());
/// # assert_eq!(reading.contents[0].mime_type.as_deref(), Some("text/html;profile=mcp-app"));
/// ```
#[derive(Debug, Clone)]
pub struct AppPage {
    html: String,
    domains: Map<String, Value>,
    permissions: Map<String, Value>,
    prefers_border: Option<bool>,
}

impl AppPage {
    /// Creates a page that uses nothing.
    pub fn new(html: impl Into<String>) -> Self {
        Self {
            html: html.into(),
            domains: Map::new(),
            permissions: Map::new(),
            prefers_border: None,
        }
    }

    /// The page sends requests to this domain, such as `https://api.example.com`.
    pub fn connects_to(self, domain: &str) -> Self {
        self.domain("connectDomains", domain)
    }

    /// The page loads images, scripts, styles, fonts and media from this domain.
    pub fn loads_from(self, domain: &str) -> Self {
        self.domain("resourceDomains", domain)
    }

    /// The page shows frames of this domain.
    pub fn frames(self, domain: &str) -> Self {
        self.domain("frameDomains", domain)
    }

    fn domain(mut self, list: &str, domain: &str) -> Self {
        let list = self.domains.entry(list).or_insert_with(|| json!([]));
        if let Some(list) = list.as_array_mut() {
            list.push(domain.into());
        }
        self
    }

    /// The page uses a capability of the browser: `camera`, `microphone`, `geolocation` or `clipboardWrite`.
    pub fn permission(mut self, permission: &str) -> Self {
        self.permissions.insert(permission.to_owned(), json!({}));
        self
    }

    /// Whether the client should show a border around the page.
    pub fn prefers_border(mut self, prefers: bool) -> Self {
        self.prefers_border = Some(prefers);
        self
    }

    /// The content for the resource that a tool names with [`Tool::app_page`](crate::Tool::app_page).
    pub fn content(self) -> Content {
        let mut ui = Map::new();
        if !self.domains.is_empty() {
            ui.insert("csp".to_owned(), self.domains.into());
        }
        if !self.permissions.is_empty() {
            ui.insert("permissions".to_owned(), self.permissions.into());
        }
        if let Some(prefers) = self.prefers_border {
            ui.insert("prefersBorder".to_owned(), prefers.into());
        }
        let content = Content::text(self.html).mime(APP_PAGE);
        if ui.is_empty() {
            content
        } else {
            content.metadata(KEY, Value::Object(ui).to_string())
        }
    }
}
