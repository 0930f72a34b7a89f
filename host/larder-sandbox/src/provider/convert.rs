//! Converts WIT types to types of the host. Invalid items are omitted and counted, so that one of them does
//! not affect the others.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::omissions::Omissions;
use super::{CallError, ListPage};
use crate::bindings::exports::larder::provider::resource_provider as wit;
use crate::bindings::larder::provider::provider_types as types;
use larder_model::name::Digest;
use larder_model::policy::Secrets;
use larder_model::resource::{
    Body, Content, Details, Entry, Freshness, Icon, Match, Metadata, ReadResult, Rendered, Role, Scope,
    Template,
};
use larder_model::uri::Uri;

/// Maximum size of one entry or template in bytes of text, including icons and metadata.
const MAX_ITEM_BYTES: usize = 64 << 10;
/// Maximum size of a provider's cursor in bytes. The host's cursors contain it, and clients send them back in
/// requests.
const MAX_CURSOR_BYTES: usize = 2 << 10;

pub(super) fn entry_page(
    page: wit::EntryPage,
    max: u32,
    secrets: &Secrets,
) -> Result<ListPage<Entry>, CallError> {
    check_count(page.entries.len(), max, "entries")?;
    let mut omissions = Omissions::new(secrets);
    let sized = page.entries.into_iter().map(|item| (entry_size(&item), item));
    let (items, bytes) = convert_items(sized, "an entry", &mut omissions, entry);
    let next = page.next_cursor.filter(|cursor| check_cursor(cursor, &mut omissions));
    Ok(ListPage {
        items,
        next,
        freshness: page.freshness.map(freshness),
        omitted: omissions.summary(),
        bytes,
    })
}

pub(super) fn template_page(
    page: wit::TemplatePage,
    max: u32,
    secrets: &Secrets,
) -> Result<ListPage<Template>, CallError> {
    check_count(page.templates.len(), max, "templates")?;
    let mut omissions = Omissions::new(secrets);
    let sized = page.templates.into_iter().map(|item| (template_size(&item), item));
    let (items, bytes) = convert_items(sized, "a template", &mut omissions, template);
    let next = page.next_cursor.filter(|cursor| check_cursor(cursor, &mut omissions));
    Ok(ListPage {
        items,
        next,
        freshness: page.freshness.map(freshness),
        omitted: omissions.summary(),
        bytes,
    })
}

/// Converts the items that are not too large, and returns them with their total size. The size is limited
/// because the catalog holds them and pages are made of them.
fn convert_items<W, T>(
    sized: impl Iterator<Item = (usize, W)>,
    what: &str,
    omissions: &mut Omissions<'_>,
    convert: impl Fn(W, &mut Omissions<'_>) -> Option<T>,
) -> (Vec<T>, u64) {
    let mut bytes = 0;
    let mut items = Vec::new();
    for (size, item) in sized {
        if size > MAX_ITEM_BYTES {
            omissions.add(format!("{what} of more than {MAX_ITEM_BYTES} bytes"));
        } else if let Some(item) = convert(item, omissions) {
            bytes += size as u64;
            items.push(item);
        }
    }
    (items, bytes)
}

fn check_cursor(cursor: &str, omissions: &mut Omissions<'_>) -> bool {
    let is_short = cursor.len() <= MAX_CURSOR_BYTES;
    if !is_short {
        omissions.add(format!("the rest of a list: its cursor has more than {MAX_CURSOR_BYTES} bytes"));
    }
    is_short
}

fn text_size(fields: [&Option<String>; 4]) -> usize {
    fields.into_iter().flatten().map(String::len).sum()
}

fn entry_size(item: &types::Entry) -> usize {
    let texts = text_size([&item.title, &item.description, &item.mime_type, &item.version]);
    item.uri.len() + item.name.len() + texts + item.details.as_ref().map_or(0, details_size)
}

fn template_size(item: &types::Template) -> usize {
    let texts = text_size([&item.title, &item.description, &item.mime_type, &None]);
    item.uri_template.len() + item.name.len() + texts + item.details.as_ref().map_or(0, details_size)
}

fn details_size(details: &types::Details) -> usize {
    let icon = |icon: &types::Icon| {
        icon.src.len() + icon.sizes.iter().map(|size| size.len() + 8).sum::<usize>() + 64
    };
    let metadata = details.metadata.iter().map(|(key, json)| key.len() + json.len() + 32).sum::<usize>();
    text_size([&details.kind, &details.last_modified, &None, &None])
        + details.icons.iter().map(icon).sum::<usize>()
        + metadata
        + details.audience.len()
}

fn check_count(count: usize, max: u32, what: &str) -> Result<(), CallError> {
    if count <= max as usize {
        return Ok(());
    }
    Err(CallError::Failed(format!("a page has {count} {what}; the limit is {max} (`limits.page_entries`)")))
}

fn entry(item: types::Entry, omissions: &mut Omissions<'_>) -> Option<Entry> {
    let uri = omissions.uri(&item.uri).map_err(|error| omissions.add(format!("an entry: {error}"))).ok()?;
    Some(Entry {
        uri,
        name: item.name,
        title: item.title,
        description: item.description,
        mime_type: item.mime_type,
        size: item.size,
        version: item.version,
        details: details(item.details, omissions),
        rendered: Rendered::default(),
    })
}

fn template(item: types::Template, omissions: &mut Omissions<'_>) -> Option<Template> {
    let uri_template = omissions.uri_template(&item.uri_template);
    let uri_template = uri_template.map_err(|error| omissions.add(format!("a template: {error}"))).ok()?;
    Some(Template {
        uri_template,
        name: item.name,
        title: item.title,
        description: item.description,
        mime_type: item.mime_type,
        details: details(item.details, omissions),
        rendered: Rendered::default(),
    })
}

fn details(details: Option<types::Details>, omissions: &mut Omissions<'_>) -> Details {
    let Some(details) = details else {
        return Details::default();
    };
    Details {
        kind: details.kind,
        audience: details.audience.into_iter().map(role).collect(),
        priority: details.priority.and_then(|priority| clamp_priority(priority, omissions)),
        last_modified: details.last_modified,
        icons: details.icons.into_iter().filter_map(|icon| self::icon(icon, omissions)).collect(),
        metadata: metadata(details.metadata, omissions),
    }
}

fn role(role: types::Role) -> Role {
    match role {
        types::Role::User => Role::User,
        types::Role::Assistant => Role::Assistant,
    }
}

fn clamp_priority(priority: f64, omissions: &mut Omissions<'_>) -> Option<f64> {
    if priority.is_nan() {
        omissions.add("a priority that is not a number");
        return None;
    }
    let clipped = priority.clamp(0.0, 1.0);
    if clipped != priority {
        omissions.add(format!("a priority of {priority} became {clipped}"));
    }
    Some(clipped)
}

fn icon(icon: types::Icon, omissions: &mut Omissions<'_>) -> Option<Icon> {
    // Clients fetch or decode icons by themselves, so only these schemes are safe.
    if !["https:", "http:", "data:"].iter().any(|scheme| icon.src.starts_with(scheme)) {
        omissions.add("an icon whose `src` is neither http(s) nor data");
        return None;
    }
    Some(Icon { src: icon.src, mime_type: icon.mime_type, sizes: icon.sizes })
}

/// Parses and reserializes the JSON texts of metadata, so that only valid JSON is passed on.
fn metadata(pairs: Vec<(String, String)>, omissions: &mut Omissions<'_>) -> Metadata {
    let mut metadata = Metadata::new();
    for (key, json) in pairs {
        let value = serde_json::from_str::<serde_json::Value>(&json).ok();
        let reserialized = value.and_then(|value| serde_json::value::to_raw_value(&value).ok());
        match reserialized {
            _ if !is_key(&key) => omissions.add("metadata with a reserved or invalid key"),
            None => omissions.add("metadata that is not JSON"),
            Some(_) if metadata.iter().any(|(known, _): &(String, Box<RawValue>)| *known == key) => {
                omissions.add("metadata with a duplicate key");
            }
            Some(value) => metadata.push((key, value)),
        }
    }
    metadata
}

/// Whether a metadata key is valid: `name` or `reverse.dns/name`. Prefixes that are reserved by the protocol
/// or by Larder are rejected: otherwise a provider could forge metadata of the host.
fn is_key(key: &str) -> bool {
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("", key));
    let is_word = |text: &str, marks: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.ends_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || marks.contains(c))
    };
    let labels: Vec<&str> = prefix.split('.').collect();
    let reserved = labels.get(1).is_some_and(|label| matches!(*label, "modelcontextprotocol" | "mcp"))
        || prefix == "dev.larder"
        || (prefix.is_empty() && matches!(key, "progressToken" | "traceparent" | "tracestate" | "baggage"));
    key.len() <= 200
        && !reserved
        && is_word(name, "-_.")
        && (!key.contains('/') || labels.iter().all(|label| is_word(label, "-")))
}

fn freshness(freshness: types::Freshness) -> Freshness {
    let scope = match freshness.scope {
        types::Scope::Everyone => Scope::Everyone,
        types::Scope::Caller => Scope::Caller,
    };
    // At most a day: longer times are not useful, and sums of times stay small.
    let ttl = Duration::from_millis(freshness.ttl_ms).min(Duration::from_secs(24 * 60 * 60));
    Freshness { ttl, scope }
}

pub(super) fn template_match(found: wit::TemplateMatch) -> Match {
    Match { template: found.uri_template, values: found.variables }
}

/// Checks the number of versions. A very long version is replaced by its digest.
pub(super) fn versions(
    response: Vec<Option<String>>,
    expected: usize,
) -> Result<Vec<Option<String>>, CallError> {
    if response.len() != expected {
        let given = response.len();
        return Err(CallError::Failed(format!("it returned {given} versions for {expected} URIs")));
    }
    let bounded = |version: String| match version.len() {
        0..=1_024 => version,
        _ => Digest::of(version.as_bytes()).to_string(),
    };
    Ok(response.into_iter().map(|version| version.map(bounded)).collect())
}

pub(super) fn read_result(
    response: wit::Reading,
    requested_uri: &Uri,
    omissions: &mut Omissions<'_>,
) -> Result<ReadResult, CallError> {
    if response.contents.is_empty() {
        return Err(CallError::Failed("it returned no content and no error".into()));
    }
    let contents = response.contents.into_iter().map(|item| content(item, requested_uri, omissions));
    Ok(ReadResult {
        contents: Arc::new(contents.collect::<Result<_, _>>()?),
        version: response.version,
        freshness: response.freshness.map_or(Freshness::UNKNOWN, freshness),
        shared: false,
    })
}

fn content(
    item: types::Content,
    requested_uri: &Uri,
    omissions: &mut Omissions<'_>,
) -> Result<Content, CallError> {
    let uri = match item.uri {
        None => requested_uri.clone(),
        Some(uri) => omissions.uri(&uri).map_err(|error| {
            CallError::Failed(format!("it returned content with an invalid URI: {error}"))
        })?,
    };
    let body = match item.body {
        types::Body::Text(text) => Body::Text(text),
        types::Body::Blob(blob) => Body::Blob(blob),
    };
    Ok(Content { uri, mime_type: item.mime_type, body, metadata: metadata(item.metadata, omissions) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_reserved_and_invalid_keys() {
        for good in ["name", "a.b", "com.example/x-y", "example/name"] {
            assert!(is_key(good), "{good}");
        }
        for bad in [
            "",
            "-x",
            "a b",
            "io.modelcontextprotocol/x",
            "dev.mcp/x",
            "dev.larder/version",
            "progressToken",
            "/x",
            "com..example/x",
            "x/",
            "a\nb",
        ] {
            assert!(!is_key(bad), "{bad:?}");
        }
    }

    #[test]
    fn metadata_is_parsed_and_reserialized() {
        let mut omissions = Omissions::default();
        let pair = |key: &str, json: &str| (key.to_owned(), json.to_owned());
        let pairs = vec![
            pair("a", "{ \"x\":\n 1 }"),
            pair("b", "{oops"),
            pair("a", "2"),
            pair("dev.larder/kind", "1"),
        ];
        let accepted = metadata(pairs, &mut omissions);
        let accepted: Vec<_> = accepted.iter().map(|(key, json)| (key.as_str(), json.get())).collect();
        assert_eq!(accepted, [("a", r#"{"x":1}"#)]);
        assert_eq!(omissions.summary().len(), 3);
    }

    #[test]
    fn checks_the_number_of_versions() {
        let long = Some("x".repeat(2_000));
        let taken = versions(vec![Some("1".into()), None, long], 3).unwrap();
        assert_eq!((taken[0].as_deref(), taken[1].as_deref()), (Some("1"), None));
        assert_eq!(taken[2].as_ref().map(String::len), Some(64));
        assert!(matches!(versions(vec![None], 2), Err(CallError::Failed(_))));
    }

    #[test]
    fn clamps_priorities() {
        let mut omissions = Omissions::default();
        assert_eq!(
            [7.0, -1.0, 0.5].map(|p| clamp_priority(p, &mut omissions)),
            [Some(1.0), Some(0.0), Some(0.5)]
        );
        assert_eq!(clamp_priority(f64::NAN, &mut omissions), None);
        assert_eq!(omissions.summary().len(), 3);
    }
}
