//! Converts metadata: keys with JSON values.

use serde_json::value::RawValue;

use super::json;
use crate::provider::omissions::Omissions;
use larder_model::resource::Metadata;

/// The size of metadata in bytes.
pub(super) fn metadata_size(pairs: &[(String, String)]) -> usize {
    pairs.iter().map(|(key, json)| key.len() + json.len() + 32).sum()
}

/// Checks the keys and the JSON texts of metadata, so that only valid JSON is passed on.
pub(super) fn metadata(pairs: Vec<(String, String)>, omissions: &mut Omissions<'_>) -> Metadata {
    let mut metadata = Metadata::new();
    for (key, json) in pairs {
        match json::value(&json) {
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
}
