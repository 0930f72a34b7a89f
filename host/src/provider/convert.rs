//! WIT types to ours. What does not fit is left out and counted, so that one odd entry costs only itself.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::{CallError, Listed};
use crate::name::Digest;
use crate::policy::Secrets;
use crate::resource::{
    Body, Content, Details, Entry, Freshness, Icon, Match, Metadata, Reading, Role, Scope, Template, Written,
};
use crate::sandbox::bindings::exports::larder::provider::resource_provider as wit;
use crate::sandbox::bindings::larder::provider::provider_types as types;
use crate::template::{BadPattern, Pattern};
use crate::uri::{BadUri, Uri};

/// Bytes of text of one entry or template, its icons and metadata included.
const HEAVIEST: usize = 64 << 10;
/// Bytes of a provider's own cursor. Ours has it inside, and clients send it back in a request.
const LONGEST_CURSOR: usize = 2 << 10;

/// What was left out: a reason, and how often it applied. Nothing that is secret stands in one.
#[derive(Default)]
pub(super) struct Left<'a> {
    reasons: BTreeMap<String, usize>,
    secrets: Option<&'a Secrets>,
}

impl<'a> Left<'a> {
    pub(super) fn new(secrets: &'a Secrets) -> Self {
        Self { reasons: BTreeMap::new(), secrets: Some(secrets) }
    }

    pub(super) fn out(&mut self, reason: impl Into<String>) {
        let mut reason: String = self.clean(&reason.into()).into_owned();
        if self.reasons.len() >= 20 && !self.reasons.contains_key(&reason) {
            reason = "other reasons".into();
        }
        *self.reasons.entry(reason).or_default() += 1;
    }

    /// A text of the provider's own as it may be repeated.
    pub(super) fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.secrets.map_or(Cow::Borrowed(text), |secrets| secrets.redact(text))
    }

    /// A URI of the provider's own. What is said of a bad one is cut, and what is cut cannot be cleaned.
    fn uri(&self, text: &str) -> Result<Uri, BadUri> {
        Uri::parse(text).map_err(|error| error.about(&self.clean(text)))
    }

    fn pattern(&self, text: &str) -> Result<Pattern, BadPattern> {
        Pattern::parse(text).map_err(|error| error.about(&self.clean(text)))
    }

    pub(super) fn notes(&self) -> Vec<String> {
        self.reasons
            .iter()
            .map(|(why, n)| if *n == 1 { why.clone() } else { format!("{why} ({n} times)") })
            .collect()
    }
}

pub(super) fn entry_page(
    page: wit::EntryPage,
    most: u32,
    secrets: &Secrets,
) -> Result<Listed<Entry>, CallError> {
    fits(page.entries.len(), most, "entries")?;
    let mut left = Left::new(secrets);
    let sized = page.entries.into_iter().map(|item| (entry_weight(&item), item));
    let (items, bytes) = weigh(sized, "an entry", &mut left, entry);
    let next = page.next_cursor.filter(|cursor| is_short(cursor, &mut left));
    Ok(Listed { items, next, freshness: page.freshness.map(freshness), left_out: left.notes(), bytes })
}

pub(super) fn template_page(
    page: wit::TemplatePage,
    most: u32,
    secrets: &Secrets,
) -> Result<Listed<Template>, CallError> {
    fits(page.templates.len(), most, "templates")?;
    let mut left = Left::new(secrets);
    let sized = page.templates.into_iter().map(|item| (template_weight(&item), item));
    let (items, bytes) = weigh(sized, "a template", &mut left, template);
    let next = page.next_cursor.filter(|cursor| is_short(cursor, &mut left));
    Ok(Listed { items, next, freshness: page.freshness.map(freshness), left_out: left.notes(), bytes })
}

/// Takes what is small enough: everybody's page is made of it, and the catalog holds it.
fn weigh<W, T>(
    sized: impl Iterator<Item = (usize, W)>,
    what: &str,
    left: &mut Left<'_>,
    take: impl Fn(W, &mut Left<'_>) -> Option<T>,
) -> (Vec<T>, u64) {
    let mut bytes = 0;
    let mut items = Vec::new();
    for (weight, item) in sized {
        if weight > HEAVIEST {
            left.out(format!("{what} of more than {HEAVIEST} bytes"));
        } else if let Some(item) = take(item, left) {
            bytes += weight as u64;
            items.push(item);
        }
    }
    (items, bytes)
}

fn is_short(cursor: &str, left: &mut Left<'_>) -> bool {
    let is_short = cursor.len() <= LONGEST_CURSOR;
    if !is_short {
        left.out(format!("the rest of a list: its cursor has more than {LONGEST_CURSOR} bytes"));
    }
    is_short
}

fn texts(some: [&Option<String>; 4]) -> usize {
    some.into_iter().flatten().map(String::len).sum()
}

fn entry_weight(item: &types::Entry) -> usize {
    let texts = texts([&item.title, &item.description, &item.mime_type, &item.version]);
    item.uri.len() + item.name.len() + texts + item.details.as_ref().map_or(0, details_weight)
}

fn template_weight(item: &types::Template) -> usize {
    let texts = texts([&item.title, &item.description, &item.mime_type, &None]);
    item.uri_template.len() + item.name.len() + texts + item.details.as_ref().map_or(0, details_weight)
}

fn details_weight(details: &types::Details) -> usize {
    let icon = |icon: &types::Icon| {
        icon.src.len() + icon.sizes.iter().map(|size| size.len() + 8).sum::<usize>() + 64
    };
    let metadata = details.metadata.iter().map(|(key, json)| key.len() + json.len() + 32).sum::<usize>();
    texts([&details.kind, &details.last_modified, &None, &None])
        + details.icons.iter().map(icon).sum::<usize>()
        + metadata
        + details.audience.len()
}

fn fits(count: usize, most: u32, what: &str) -> Result<(), CallError> {
    if count <= most as usize {
        return Ok(());
    }
    Err(CallError::Failed(format!("it gave {count} {what} on one page; at most {most} are taken")))
}

fn entry(item: types::Entry, left: &mut Left<'_>) -> Option<Entry> {
    let uri = left.uri(&item.uri).map_err(|error| left.out(format!("an entry: {error}"))).ok()?;
    Some(Entry {
        uri,
        name: item.name,
        title: item.title,
        description: item.description,
        mime_type: item.mime_type,
        size: item.size,
        version: item.version,
        details: details(item.details, left),
        written: Written::default(),
    })
}

fn template(item: types::Template, left: &mut Left<'_>) -> Option<Template> {
    let pattern = left.pattern(&item.uri_template);
    let pattern = pattern.map_err(|error| left.out(format!("a template: {error}"))).ok()?;
    Some(Template {
        pattern,
        name: item.name,
        title: item.title,
        description: item.description,
        mime_type: item.mime_type,
        details: details(item.details, left),
        written: Written::default(),
    })
}

fn details(details: Option<types::Details>, left: &mut Left<'_>) -> Details {
    let Some(details) = details else {
        return Details::default();
    };
    Details {
        kind: details.kind,
        audience: details.audience.into_iter().map(role).collect(),
        priority: details.priority.and_then(|priority| clip(priority, left)),
        last_modified: details.last_modified,
        icons: details.icons.into_iter().filter_map(|icon| self::icon(icon, left)).collect(),
        metadata: metadata(details.metadata, left),
    }
}

fn role(role: types::Role) -> Role {
    match role {
        types::Role::User => Role::User,
        types::Role::Assistant => Role::Assistant,
    }
}

fn clip(priority: f64, left: &mut Left<'_>) -> Option<f64> {
    if priority.is_nan() {
        left.out("a priority that is not a number");
        return None;
    }
    let clipped = priority.clamp(0.0, 1.0);
    if clipped != priority {
        left.out(format!("a priority of {priority} became {clipped}"));
    }
    Some(clipped)
}

fn icon(icon: types::Icon, left: &mut Left<'_>) -> Option<Icon> {
    // An icon is something that a client fetches or decodes by itself.
    if !["https:", "http:", "data:"].iter().any(|scheme| icon.src.starts_with(scheme)) {
        left.out("an icon whose `src` is neither http(s) nor data");
        return None;
    }
    Some(Icon { src: icon.src, mime_type: icon.mime_type, sizes: icon.sizes })
}

/// Keys and JSON text of a provider: parsed, so that nothing but JSON passes, and written anew.
fn metadata(pairs: Vec<(String, String)>, left: &mut Left<'_>) -> Metadata {
    let mut metadata = Metadata::new();
    for (key, json) in pairs {
        let value = serde_json::from_str::<serde_json::Value>(&json).ok();
        let written = value.and_then(|value| serde_json::value::to_raw_value(&value).ok());
        match written {
            _ if !is_key(&key) => left.out("metadata under a key that is reserved or not a key"),
            None => left.out("metadata that is not JSON"),
            Some(_) if metadata.iter().any(|(known, _): &(String, Box<RawValue>)| *known == key) => {
                left.out("metadata under a key that was there already");
            }
            Some(value) => metadata.push((key, value)),
        }
    }
    metadata
}

/// `name` or `reverse.dns/name`. The protocol keeps some prefixes to itself, and we keep ours:
/// else a provider could say in the host's name what only the host knows.
fn is_key(key: &str) -> bool {
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("", key));
    let word = |text: &str, marks: &str| {
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
        && word(name, "-_.")
        && (!key.contains('/') || labels.iter().all(|label| word(label, "-")))
}

fn freshness(freshness: types::Freshness) -> Freshness {
    let scope = match freshness.scope {
        types::Scope::Everyone => Scope::Everyone,
        types::Scope::Caller => Scope::Caller,
    };
    // A day is as long as anybody should trust an answer; it also keeps sums of times small.
    let ttl = Duration::from_millis(freshness.ttl_ms).min(Duration::from_secs(24 * 60 * 60));
    Freshness { ttl, scope }
}

pub(super) fn template_match(found: wit::TemplateMatch) -> Match {
    Match { template: found.uri_template, values: found.variables }
}

/// A version that is longer than any sensible one is stood for by its digest.
pub(super) fn versions(answer: Vec<Option<String>>, asked: usize) -> Result<Vec<Option<String>>, CallError> {
    if answer.len() != asked {
        let given = answer.len();
        return Err(CallError::Failed(format!("it gave {given} versions for {asked} URIs")));
    }
    let bounded = |version: String| match version.len() {
        0..=1_024 => version,
        _ => Digest::of(version.as_bytes()).to_string(),
    };
    Ok(answer.into_iter().map(|version| version.map(bounded)).collect())
}

pub(super) fn reading(answer: wit::Reading, asked: &Uri, left: &mut Left<'_>) -> Result<Reading, CallError> {
    if answer.contents.is_empty() {
        return Err(CallError::Failed("it gave no content, and did not say why".into()));
    }
    let contents = answer.contents.into_iter().map(|item| content(item, asked, left));
    Ok(Reading {
        contents: Arc::new(contents.collect::<Result<_, _>>()?),
        version: answer.version,
        freshness: answer.freshness.map_or(Freshness::UNKNOWN, freshness),
        kept: false,
    })
}

fn content(item: types::Content, asked: &Uri, left: &mut Left<'_>) -> Result<Content, CallError> {
    let uri = match item.uri {
        None => asked.clone(),
        Some(uri) => left
            .uri(&uri)
            .map_err(|error| CallError::Failed(format!("it gave a content whose URI is bad: {error}")))?,
    };
    let body = match item.body {
        types::Body::Text(text) => Body::Text(text),
        types::Body::Blob(blob) => Body::Blob(blob),
    };
    Ok(Content { uri, mime_type: item.mime_type, body, metadata: metadata(item.metadata, left) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_reserved_or_odd_are_not_taken() {
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
    fn metadata_is_parsed_and_written_anew() {
        let mut left = Left::default();
        let pair = |key: &str, json: &str| (key.to_owned(), json.to_owned());
        let pairs = vec![
            pair("a", "{ \"x\":\n 1 }"),
            pair("b", "{oops"),
            pair("a", "2"),
            pair("dev.larder/kind", "1"),
        ];
        let kept = metadata(pairs, &mut left);
        let kept: Vec<_> = kept.iter().map(|(key, json)| (key.as_str(), json.get())).collect();
        assert_eq!(kept, [("a", r#"{"x":1}"#)]);
        assert_eq!(left.notes().len(), 3);
    }

    #[test]
    fn versions_are_as_many_as_were_asked_for() {
        let long = Some("x".repeat(2_000));
        let taken = versions(vec![Some("1".into()), None, long], 3).unwrap();
        assert_eq!((taken[0].as_deref(), taken[1].as_deref()), (Some("1"), None));
        assert_eq!(taken[2].as_ref().map(String::len), Some(64));
        assert!(matches!(versions(vec![None], 2), Err(CallError::Failed(_))));
    }

    #[test]
    fn a_priority_is_clipped() {
        let mut left = Left::default();
        assert_eq!([7.0, -1.0, 0.5].map(|p| clip(p, &mut left)), [Some(1.0), Some(0.0), Some(0.5)]);
        assert_eq!(clip(f64::NAN, &mut left), None);
        assert_eq!(left.notes().len(), 3);
    }
}
