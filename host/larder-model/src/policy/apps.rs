//! What the pages of apps may use in a browser (the extension `io.modelcontextprotocol/ui`): a page requests domains and
//! permissions in its metadata, and clients get only those that are granted.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::resource::Metadata;
use crate::uri::Uri;

/// The key of the metadata of apps, on tools, resources and contents.
pub const UI_KEY: &str = "ui";
/// The older key with only the URI of the page of a tool.
pub const PAGE_KEY: &str = "ui/resourceUri";
/// Maximum length of a domain with its scheme.
const MAX_DOMAIN: usize = 300;

/// The rights that the pages of apps may get.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppGrant(BTreeSet<AppRight>);

/// A right of a page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AppRight {
    /// Sends requests to a domain.
    Connect(AppDomain),
    /// Loads images, scripts, styles, fonts and media from a domain.
    Resource(AppDomain),
    /// Shows frames of a domain.
    Frame(AppDomain),
    /// Uses a domain as the base of its relative URLs.
    BaseUri(AppDomain),
    /// Uses a capability of the browser.
    Permission(AppPermission),
}

/// A scheme and a host, as in a Content Security Policy: `https://api.example.com`, `wss://*.example.com:8443`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AppDomain(String);

/// A capability of the browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AppPermission {
    /// The camera.
    Camera,
    /// The microphone.
    Microphone,
    /// The position of the device.
    Geolocation,
    /// Writing to the clipboard.
    ClipboardWrite,
}

/// The metadata of an app, as far as the extension defines it. Other members are not passed on.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct UiMetadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_uri: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    visibility: Option<Vec<Visibility>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    csp: Option<Csp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permissions: Option<Permissions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefers_border: Option<bool>,
}

/// Who can call a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Visibility {
    Model,
    App,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Csp {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    connect_domains: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_domains: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    frame_domains: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    base_uri_domains: Vec<String>,
}

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Permissions {
    #[serde(skip_serializing_if = "Option::is_none")]
    camera: Option<EmptyObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    microphone: Option<EmptyObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    geolocation: Option<EmptyObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clipboard_write: Option<EmptyObject>,
}

/// An object without members, which the extension defines.
#[derive(Debug, Deserialize, Serialize)]
struct EmptyObject {}

impl AppGrant {
    /// Creates a grant of these rights.
    pub fn new(rights: impl IntoIterator<Item = AppRight>) -> Self {
        Self(rights.into_iter().collect())
    }

    /// Whether nothing is granted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a page may have a right.
    pub fn allows(&self, right: &AppRight) -> bool {
        self.0.iter().any(|granted| granted.covers(right))
    }

    /// The rights of this grant that the other grant allows too.
    pub(super) fn intersection(&self, other: &Self) -> Self {
        let both = self.0.iter().filter(|right| other.allows(right));
        Self(both.cloned().collect())
    }

    /// The rights of both grants.
    pub(super) fn union(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).cloned().collect())
    }

    /// The rights of this grant that the other grant does not allow, as lines.
    pub(super) fn lines_beyond(&self, other: &Self) -> Vec<String> {
        let beyond = self.0.iter().filter(|right| !other.allows(right));
        beyond.map(|right| format!("app {right}")).collect()
    }

    /// The rights, as texts.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(ToString::to_string)
    }

    /// Removes from the metadata of an app what is not granted. Also returns the rights that were removed. Fails if the
    /// metadata does not have the form that the extension defines.
    pub fn restrict(&self, metadata: &RawValue) -> Result<(Box<RawValue>, Vec<String>), String> {
        let value: Value =
            serde_json::from_str(metadata.get()).map_err(|error| error.to_string())?;
        check_objects(&value)?;
        let mut ui = UiMetadata::deserialize(&value).map_err(|error| error.to_string())?;
        if let Some(uri) = &ui.resource_uri {
            check_resource_uri(uri)?;
        }
        let mut removed = Vec::new();
        if let Some(csp) = &mut ui.csp {
            self.retain(&mut csp.connect_domains, AppRight::Connect, &mut removed);
            self.retain(&mut csp.resource_domains, AppRight::Resource, &mut removed);
            self.retain(&mut csp.frame_domains, AppRight::Frame, &mut removed);
            self.retain(&mut csp.base_uri_domains, AppRight::BaseUri, &mut removed);
        }
        if let Some(requested) = &mut ui.permissions {
            for (permission, slot) in requested.slots() {
                let right = AppRight::Permission(permission);
                if slot.is_some() && !self.allows(&right) {
                    removed.push(right.to_string());
                    *slot = None;
                }
            }
        }
        let json = serde_json::value::to_raw_value(&ui).map_err(|error| error.to_string())?;
        Ok((json, removed))
    }

    /// Retains the domains that are granted for this use.
    fn retain(
        &self,
        domains: &mut Vec<String>,
        right: impl Fn(AppDomain) -> AppRight,
        removed: &mut Vec<String>,
    ) {
        domains.retain(|domain| {
            let requested = AppDomain::parse(domain).map(&right);
            let is_granted = requested.as_ref().is_ok_and(|right| self.allows(right));
            if !is_granted {
                removed.push(match requested {
                    Ok(right) => right.to_string(),
                    Err(error) => error,
                });
            }
            is_granted
        });
    }
}

/// Returns the URI of the page that the metadata of a tool names.
pub fn page_of(metadata: &Metadata) -> Option<Uri> {
    let of_key = |key: &str| Some(&*metadata.iter().find(|(known, _)| known == key)?.1);
    let newer = of_key(UI_KEY)
        .and_then(parsed)
        .and_then(|ui| ui.resource_uri);
    let older = || serde_json::from_str(of_key(PAGE_KEY)?.get()).ok();
    Uri::parse(&newer.or_else(older)?).ok()
}

/// Checks the older key: its value must be the URI of a page, and the same URI as in the metadata of apps.
pub fn check_page_key(metadata: &Metadata) -> Result<(), String> {
    let Some((_, older)) = metadata.iter().find(|(key, _)| key == PAGE_KEY) else {
        return Ok(());
    };
    let text: String = serde_json::from_str(older.get()).map_err(|error| error.to_string())?;
    check_resource_uri(&text)?;
    if page_of(metadata).is_some_and(|page| page.as_str() == text) {
        Ok(())
    } else {
        Err(format!("it names another page than `{UI_KEY}`"))
    }
}

/// Whether a client may show content of this media type as a page. Spaces and quotes do not matter.
pub fn is_page_type(mime_type: &str) -> bool {
    let profile = b"mcp-app";
    let mut parts = mime_type.as_bytes().windows(profile.len());
    parts.any(|part| part.eq_ignore_ascii_case(profile))
}

/// Whether only apps can call a tool with this metadata.
pub fn is_for_apps_only(metadata: &RawValue) -> bool {
    let visibility = parsed(metadata).and_then(|ui| ui.visibility);
    visibility.is_some_and(|visibility| !visibility.contains(&Visibility::Model))
}

fn parsed(metadata: &RawValue) -> Option<UiMetadata> {
    serde_json::from_str(metadata.get()).ok()
}

/// Fails if a member is no object that must be one: an empty list would be read as an empty object.
fn check_objects(ui: &Value) -> Result<(), String> {
    let permissions = ui.get("permissions");
    let each = permissions.and_then(Value::as_object);
    let each = each.into_iter().flat_map(serde_json::Map::values);
    let objects = [Some(ui), ui.get("csp"), permissions];
    if objects
        .into_iter()
        .flatten()
        .chain(each)
        .all(Value::is_object)
    {
        Ok(())
    } else {
        Err("it, `csp`, `permissions` and each permission must be objects".into())
    }
}

fn check_resource_uri(text: &str) -> Result<(), String> {
    let uri = Uri::parse(text).map_err(|error| error.to_string())?;
    if uri.as_str().starts_with("ui://") {
        Ok(())
    } else {
        Err(format!("the page of an app is `ui://…`, not `{uri}`"))
    }
}

impl AppRight {
    /// Whether this granted right includes another one.
    fn covers(&self, requested: &Self) -> bool {
        match (self, requested) {
            (Self::Connect(granted), Self::Connect(domain))
            | (Self::Resource(granted), Self::Resource(domain))
            | (Self::Frame(granted), Self::Frame(domain))
            | (Self::BaseUri(granted), Self::BaseUri(domain)) => granted.covers(domain),
            (granted, requested) => granted == requested,
        }
    }
}

impl fmt::Display for AppRight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(domain) => write!(f, "connects to {domain}"),
            Self::Resource(domain) => write!(f, "loads from {domain}"),
            Self::Frame(domain) => write!(f, "shows frames of {domain}"),
            Self::BaseUri(domain) => write!(f, "has the base {domain}"),
            Self::Permission(AppPermission::Camera) => f.write_str("uses the camera"),
            Self::Permission(AppPermission::Microphone) => f.write_str("uses the microphone"),
            Self::Permission(AppPermission::Geolocation) => f.write_str("uses the position"),
            Self::Permission(AppPermission::ClipboardWrite) => {
                f.write_str("writes to the clipboard")
            }
        }
    }
}

impl AppDomain {
    /// Parses a domain. The text becomes a part of a Content Security Policy, so only these characters are allowed that
    /// cannot end a source or a directive.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_valid = text.len() <= MAX_DOMAIN
            && text
                .split_once("://")
                .is_some_and(|(scheme, rest)| is_scheme(scheme) && is_host_and_port(rest));
        if is_valid {
            Ok(Self(text.to_owned()))
        } else {
            let text: String = text.chars().take(100).collect();
            Err(format!(
                "`{text}` is no domain of an app: write a scheme and a host in lower case, such as \
                 https://api.example.com or https://*.example.com"
            ))
        }
    }

    /// Whether this domain is the other domain, or a wildcard that includes the other domain.
    fn covers(&self, other: &Self) -> bool {
        let suffix = self.0.split_once("://*").map(|(scheme, suffix)| {
            let rest = other.0.strip_prefix(scheme);
            rest.and_then(|rest| rest.strip_prefix("://"))
                .is_some_and(|host| host.len() > suffix.len() && host.ends_with(suffix))
        });
        self == other || suffix == Some(true)
    }
}

impl fmt::Display for AppDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_scheme(scheme: &str) -> bool {
    matches!(scheme, "https" | "wss" | "http" | "ws")
}

fn is_host_and_port(text: &str) -> bool {
    let (host, port) = text.split_once(':').unwrap_or((text, "1"));
    let name = host.strip_prefix("*.").unwrap_or(host);
    let is_label = |label: &str| {
        let is_known =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty() && label.bytes().all(is_known)
    };
    // A wildcard for all hosts of a top-level domain would grant nearly everything.
    let has_dot = name.contains('.') || host == name;
    has_dot && name.split('.').all(is_label) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

impl Permissions {
    fn slots(&mut self) -> [(AppPermission, &mut Option<EmptyObject>); 4] {
        [
            (AppPermission::Camera, &mut self.camera),
            (AppPermission::Microphone, &mut self.microphone),
            (AppPermission::Geolocation, &mut self.geolocation),
            (AppPermission::ClipboardWrite, &mut self.clipboard_write),
        ]
    }
}

#[cfg(test)]
mod tests;
