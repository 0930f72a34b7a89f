//! The filter of a list, in the metadata of its request: keys under our own prefix, which no standard client sends.

use super::fields::Fields;
use super::refusal::{PARAMS, Refusal, clip};
use super::show::KIND_KEY;
use crate::gateway::Filter;

/// What is ours in a request's metadata, and in an answer's.
const PREFIX: &str = "dev.larder/";
/// The longest value: the cursor of the list has all of them inside.
const LONGEST: usize = 1024;

type Place = fn(&mut Filter) -> &mut Option<String>;

/// The keys. `kind` is the word under which entries say theirs.
const KEYS: [(&str, Place); 6] = [
    ("dev.larder/uriPrefix", |filter| &mut filter.uri_prefix),
    (KIND_KEY, |filter| &mut filter.kind),
    ("dev.larder/mimeType", |filter| &mut filter.mime_type),
    ("dev.larder/team", |filter| &mut filter.team),
    ("dev.larder/provider", |filter| &mut filter.provider),
    ("dev.larder/text", |filter| &mut filter.text),
];

/// What is wanted of a list. A word of ours that is not known is refused: else a client would take everything for
/// what it asked for.
pub(super) fn read(meta: &Fields<'_>) -> Result<Filter, Refusal> {
    let is_known = |key: &str| KEYS.iter().any(|(known, _)| *known == key);
    if let Some((key, _)) = meta.iter().find(|(key, _)| key.starts_with(PREFIX) && !is_known(key)) {
        let known: Vec<_> = KEYS.iter().map(|(known, _)| *known).collect();
        let (key, known) = (clip(key, 100), known.join("`, `"));
        return Err(Refusal::new(PARAMS, format!("a list has no filter `{key}`: use `{known}`")));
    }
    let mut filter = Filter::default();
    for (key, place) in KEYS {
        let value = meta.text(key)?;
        if value.as_ref().is_some_and(|value| value.len() > LONGEST) {
            return Err(Refusal::new(PARAMS, format!("`{key}` has more than {LONGEST} bytes")));
        }
        *place(&mut filter) = value.map(Into::into);
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
            Err(refusal) => format!("{} {}", refusal.code, refusal.message),
        });
    }

    #[test]
    fn a_filter_is_in_words_of_ours() {
        check(r#"{"progressToken":1,"com.example/kind":"x"}"#, expect!["{}"]);
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
        check(r#"{"dev.larder/kind":["file"]}"#, expect!["-32602 `dev.larder/kind` must be a string"]);
        let long = format!(r#"{{"dev.larder/text":"{}"}}"#, "x".repeat(LONGEST + 1));
        check(&long, expect!["-32602 `dev.larder/text` has more than 1024 bytes"]);
    }
}
