//! Resources of the protocol as values of the contract.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use larder_provider::{
    Body, Content, Details, Entry, Error, Freshness, Icon, Result, Role, Scope, Template, Theme,
};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Keys in `_meta` that Larder sets itself.
const VERSION: &str = "dev.larder/version";
const KIND: &str = "dev.larder/kind";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Common {
    name: String,
    title: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
    #[serde(default)]
    annotations: Annotations,
    #[serde(default)]
    icons: Vec<RemoteIcon>,
    #[serde(default, rename = "_meta")]
    meta: Map<String, Value>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Annotations {
    pub(crate) audience: Vec<String>,
    pub(crate) priority: Option<f64>,
    pub(crate) last_modified: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RemoteIcon {
    src: String,
    mime_type: Option<String>,
    #[serde(default)]
    sizes: Vec<String>,
    theme: Option<String>,
}

/// An entry of the list. `None` if the entry is not valid.
pub(crate) fn entry(value: &Value) -> Option<Entry> {
    let (uri, size) = (value["uri"].as_str()?, value["size"].as_u64());
    let Common {
        name,
        title,
        description,
        mime_type,
        annotations,
        icons,
        meta,
    } = common(value)?;
    let version = version(&value["_meta"]);
    let details = Some(details(annotations, icons, meta));
    Some(Entry {
        title,
        description,
        mime_type,
        size,
        version,
        details,
        ..Entry::new(uri, name)
    })
}

/// The version that another Larder has set in this metadata.
pub(crate) fn version(meta: &Value) -> Option<String> {
    meta[VERSION].as_str().map(str::to_owned)
}

/// A template of the list. `None` if the template is not valid.
pub(crate) fn template(value: &Value) -> Option<Template> {
    let uri_template = value["uriTemplate"].as_str()?;
    let Common {
        name,
        title,
        description,
        mime_type,
        annotations,
        icons,
        meta,
    } = common(value)?;
    let details = Some(details(annotations, icons, meta));
    Some(Template {
        title,
        description,
        mime_type,
        details,
        ..Template::new(uri_template, name)
    })
}

fn common(value: &Value) -> Option<Common> {
    Common::deserialize(value).ok()
}

fn details(annotations: Annotations, icons: Vec<RemoteIcon>, meta: Map<String, Value>) -> Details {
    Details {
        kind: meta.get(KIND).and_then(Value::as_str).map(str::to_owned),
        audience: annotations
            .audience
            .iter()
            .filter_map(|role| self::role(role))
            .collect(),
        priority: annotations.priority,
        last_modified: annotations.last_modified,
        icons: icons.into_iter().map(icon).collect(),
        metadata: metadata(meta),
    }
}

fn icon(
    RemoteIcon {
        src,
        mime_type,
        sizes,
        theme,
    }: RemoteIcon,
) -> Icon {
    let theme = match theme.as_deref() {
        Some("light") => Some(Theme::Light),
        Some("dark") => Some(Theme::Dark),
        _ => None,
    };
    Icon {
        src,
        mime_type,
        sizes,
        theme,
    }
}

pub(crate) fn role(name: &str) -> Option<Role> {
    match name {
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        _ => None,
    }
}

/// `_meta` without the keys that Larder sets itself.
pub(crate) fn metadata(meta: Map<String, Value>) -> Vec<(String, String)> {
    let own = meta
        .into_iter()
        .filter(|(key, _)| !key.starts_with("dev.larder/"));
    own.filter(|(key, _)| !key.starts_with("io.modelcontextprotocol/"))
        .map(|(key, value)| (key, value.to_string()))
        .collect()
}

/// A content of a reading.
pub(crate) fn content(value: &Value) -> Result<Content> {
    let invalid = |what: &str| Error::Failed(format!("the server returned a content {what}"));
    let uri = value["uri"]
        .as_str()
        .ok_or_else(|| invalid("without a URI"))?;
    let body = match (value["text"].as_str(), value["blob"].as_str()) {
        (Some(text), _) => Body::Text(text.to_owned()),
        (None, Some(blob)) => Body::Blob(bytes(blob).ok_or_else(|| invalid("that is not base64"))?),
        (None, None) => return Err(invalid("without text and blob")),
    };
    let meta = value["_meta"].as_object().cloned().unwrap_or_default();
    let mime_type = value["mimeType"].as_str().map(str::to_owned);
    Ok(Content {
        mime_type,
        body,
        metadata: metadata(meta),
        ..Content::text("").uri(uri)
    })
}

pub(crate) fn bytes(base64: &str) -> Option<Vec<u8>> {
    BASE64_STANDARD.decode(base64).ok()
}

/// How long a list may be used. A server may say that its list must not be cached. The host would never request such a
/// list again, so it is requested again after the default time.
pub(crate) fn list_freshness(result: &Value, default: Duration) -> Freshness {
    let freshness = freshness(result, default);
    let ttl_ms = match freshness.ttl_ms {
        0 => Freshness::everyone(default).ttl_ms.max(1),
        ttl_ms => ttl_ms,
    };
    Freshness {
        ttl_ms,
        ..freshness
    }
}

/// How long a result may be cached.
pub(crate) fn freshness(result: &Value, default: Duration) -> Freshness {
    let scope = if result["cacheScope"] == "private" {
        Scope::Caller
    } else {
        Scope::Everyone
    };
    let default = Freshness::everyone(default);
    Freshness {
        ttl_ms: result["ttlMs"].as_u64().unwrap_or(default.ttl_ms),
        scope,
    }
}
