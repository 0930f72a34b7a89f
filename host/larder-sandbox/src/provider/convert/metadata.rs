//! Converts metadata: keys with JSON values.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::json;
use crate::provider::omissions::Omissions;
use larder_model::format::is_metadata_key;
use larder_model::policy::{AppGrant, UI_KEY};
use larder_model::resource::Metadata;

/// Maximum number of metadata pairs of one item.
const MAX_PAIRS: usize = 64;
const TOO_MANY: &str = "metadata beyond the first 64 pairs of an item";
/// Maximum size of the metadata of one item in bytes.
const MAX_METADATA_BYTES: usize = super::MAX_ITEM_BYTES;
const TOO_LARGE: &str = "metadata beyond the first 64 KiB of an item";

/// Keys with which clients of one vendor let pages of apps request domains.
const OTHER_APPS: [&str; 2] = ["openai/widgetCSP", "openai/widgetDomain"];

/// The size of metadata in bytes.
pub(super) fn metadata_size(pairs: &[(String, String)]) -> usize {
    pairs.iter().map(|(key, json)| pair_size(key, json)).sum()
}

fn pair_size(key: &str, json: &str) -> usize {
    key.len() + json.len() + 32
}

/// Checks the keys and the JSON texts of metadata, so that only valid JSON is passed on.
pub(super) fn metadata(pairs: Vec<(String, String)>, omissions: &mut Omissions<'_>) -> Metadata {
    if pairs.len() > MAX_PAIRS {
        omissions.add(TOO_MANY);
    }
    let mut metadata = Metadata::new();
    let mut bytes = 0;
    for (key, json) in pairs.into_iter().take(MAX_PAIRS) {
        bytes += pair_size(&key, &json);
        let value = value(&key, &json, bytes, &metadata).map_err(Cow::Borrowed);
        let value = value.and_then(|value| match &*key {
            UI_KEY => restricted_app(&value, omissions).map_err(Cow::Owned),
            _ => Ok(value),
        });
        match value {
            Ok(value) => metadata.push((key, value)),
            Err(why) => omissions.add(why),
        }
    }
    metadata
}

/// Returns the value of a pair, or why it cannot be used. `bytes` is the size of all pairs up to this one.
fn value(
    key: &str,
    json: &str,
    bytes: usize,
    accepted: &Metadata,
) -> Result<Box<RawValue>, &'static str> {
    if bytes > MAX_METADATA_BYTES {
        return Err(TOO_LARGE);
    }
    if !is_metadata_key(key) {
        return Err("metadata with a reserved or invalid key");
    }
    if OTHER_APPS.contains(&key) {
        return Err("metadata of apps in another form than `ui`, which cannot be bounded");
    }
    // At most `MAX_PAIRS` comparisons.
    if accepted.iter().any(|(known, _)| known == key) {
        return Err("metadata with a duplicate key");
    }
    json::value(json).ok_or("metadata that is not JSON")
}

/// Removes from the metadata of an app what is not granted.
fn restricted_app(
    value: &RawValue,
    omissions: &mut Omissions<'_>,
) -> Result<Box<RawValue>, String> {
    let nothing = AppGrant::default();
    let granted = omissions.apps().unwrap_or(&nothing);
    let restricted = granted.restrict(value);
    let (restricted, removed) =
        restricted.map_err(|error| format!("metadata `{UI_KEY}` of an app: {error}"))?;
    for right in removed {
        omissions.add(format!("app {right}: `apps` does not grant this"));
    }
    Ok(restricted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::policy::Grant;

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
        let accepted: Vec<_> = accepted
            .iter()
            .map(|(key, json)| (key.as_str(), json.get()))
            .collect();
        assert_eq!(accepted, [("a", r#"{"x":1}"#)]);
        assert_eq!(omissions.summary().len(), 3);
    }
    #[test]
    fn the_metadata_of_apps_is_restricted() {
        let grant = Grant::default();
        let mut omissions = Omissions::new(&grant);
        let pair = |key: &str, json: &str| (key.to_owned(), json.to_owned());
        let domains = r#"{"csp":{"connectDomains":["https://a.test"]}}"#;
        let pairs = vec![
            pair("ui", domains),
            pair(
                "openai/widgetCSP",
                r#"{"connect_domains":["https://a.test"]}"#,
            ),
            pair("openai/widgetDomain", r#""https://a.test""#),
            pair("openai/outputTemplate", r#""ui://a""#),
        ];
        let accepted = metadata(pairs, &mut omissions);
        let accepted: Vec<_> = accepted
            .iter()
            .map(|(key, json)| (key.as_str(), json.get()))
            .collect();
        let expected = [
            ("ui", r#"{"csp":{}}"#),
            ("openai/outputTemplate", r#""ui://a""#),
        ];
        assert_eq!(accepted, expected);
        let domain = "app connects to https://a.test: `apps` does not grant this";
        assert!(omissions.summary().contains(&domain.to_owned()));
    }

    #[test]
    fn metadata_is_bounded() {
        let accepted = |pairs: Vec<(String, String)>| {
            let mut omissions = Omissions::default();
            (metadata(pairs, &mut omissions).len(), omissions.summary())
        };
        let many = (0..200_000)
            .map(|n| (format!("k{n}"), "1".to_owned()))
            .collect();
        assert_eq!(accepted(many), (MAX_PAIRS, vec![TOO_MANY.to_owned()]));
        let large = ["a", "b"].map(|key| (key.to_owned(), format!("\"{}\"", "x".repeat(40 << 10))));
        assert_eq!(accepted(large.to_vec()), (1, vec![TOO_LARGE.to_owned()]));
    }
}
