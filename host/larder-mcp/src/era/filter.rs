//! Reads the filter of a list request from its `_meta`: keys with the prefix `dev.larder/`, which standard
//! clients do not send.

use crate::render::KIND_KEY;
use crate::wire::fields::Fields;
use crate::wire::rpc_error::{INVALID_PARAMS, RpcError, clip};
use larder_core::gateway::Filter;
use larder_model::size;

/// The prefix of this server's keys in `_meta` of requests and results.
const PREFIX: &str = "dev.larder/";
/// Maximum bytes of a value. Cursors contain all values of the filter.
const MAX_VALUE: usize = 1024;

type FilterField = fn(&mut Filter) -> &mut Option<String>;

/// The filter keys. `kind` uses the same key as in entries.
const KEYS: [(&str, FilterField); 6] = [
    ("dev.larder/uriPrefix", |filter| &mut filter.uri_prefix),
    (KIND_KEY, |filter| &mut filter.kind),
    ("dev.larder/mimeType", |filter| &mut filter.mime_type),
    ("dev.larder/team", |filter| &mut filter.team),
    ("dev.larder/provider", |filter| &mut filter.provider),
    ("dev.larder/text", |filter| &mut filter.text),
];

/// Reads the filter. An unknown key with the prefix is an error: otherwise the client would assume that the whole list
/// is a filtered list.
pub(crate) fn read(meta: &Fields<'_>) -> Result<Filter, RpcError> {
    let is_known = |key: &str| KEYS.iter().any(|(known, _)| *known == key);
    if let Some((key, _)) = meta
        .iter()
        .find(|(key, _)| key.starts_with(PREFIX) && !is_known(key))
    {
        let supported: Vec<_> = KEYS.iter().map(|(supported, _)| *supported).collect();
        let key = clip(key, 100);
        let supported = supported.join("`, `");
        return Err(RpcError::new(
            INVALID_PARAMS,
            format!("a list has no filter `{key}`: use `{supported}`"),
        ));
    }
    let mut filter = Filter::default();
    for (key, field) in KEYS {
        let value = meta.text(key)?;
        if value.as_ref().is_some_and(|value| value.len() > MAX_VALUE) {
            return Err(RpcError::new(
                INVALID_PARAMS,
                format!("`{key}` has more than {}", size::show(MAX_VALUE as u64)),
            ));
        }
        *field(&mut filter) = value.map(Into::into);
    }
    Ok(filter)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(meta: &str, expected: Expect) {
        expected.assert_eq(&match read(&Fields::parse(meta).unwrap()) {
            Ok(filter) => serde_json::to_string(&filter).unwrap(),
            Err(rpc_error) => format!("{} {}", rpc_error.code, rpc_error.message),
        });
    }

    #[test]
    fn reads_filter_keys() {
        check(
            r#"{"progressToken":1,"com.example/kind":"x"}"#,
            expect!["{}"],
        );
        check(
            r#"{"dev.larder/uriPrefix":"file:///","dev.larder/kind":"file","dev.larder/mimeType":"text/*","dev.larder/team":"default","dev.larder/provider":"wiki","dev.larder/text":"é"}"#,
            expect![[
                r#"{"uri_prefix":"file:///","kind":"file","mime_type":"text/*","team":"default","provider":"wiki","text":"é"}"#
            ]],
        );
        check(
            r#"{"dev.larder/colour":"red"}"#,
            expect![
                "-32602 a list has no filter `dev.larder/colour`: use `dev.larder/uriPrefix`, `dev.larder/kind`, `dev.larder/mimeType`, `dev.larder/team`, `dev.larder/provider`, `dev.larder/text`"
            ],
        );
        check(
            r#"{"dev.larder/kind":["file"]}"#,
            expect!["-32602 `dev.larder/kind` must be a string"],
        );
        let long = format!(r#"{{"dev.larder/text":"{}"}}"#, "x".repeat(MAX_VALUE + 1));
        check(
            &long,
            expect!["-32602 `dev.larder/text` has more than 1 KiB"],
        );
    }
}
