//! Property tests: matching an expanded template returns the values.

use percent_encoding::percent_decode_str;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::parse_template;

type Values = Vec<(String, String)>;

/// A part of a template and the values for its variables, in order.
type Piece = (String, Vec<(&'static str, Vec<String>)>);

fn any_text() -> impl Strategy<Value = String> {
    vec(prop_oneof![any::<char>(), proptest::char::range(' ', '~')], 0..12).prop_map(String::from_iter)
}

fn some_text() -> impl Strategy<Value = String> {
    any_text().prop_filter("empty", |text| !text.is_empty())
}

/// Text that `{+x}` round-trips. `%41` would be decoded to `A`, `?` and `#` would begin the query and the
/// fragment, and brackets are not valid there by RFC 3986.
fn plain_text() -> impl Strategy<Value = String> {
    some_text().prop_map(|text| text.replace(['%', '?', '#', '[', ']'], "/"))
}

fn dotless(text: String) -> String {
    text.replace('.', "-")
}

/// Segments between literal text, so that the delimiters of each operator separate the values.
fn head() -> impl Strategy<Value = Piece> {
    let middle = (some_text(), some_text(), some_text()).prop_map(|(a, b, c)| {
        ("{a}/b{b}/{c:9999}/".to_owned(), vec![("a", vec![a]), ("b", vec![b]), ("c", vec![c])])
    });
    let list = vec(some_text(), 1..4).prop_map(|list| ("{a*}/".to_owned(), vec![("a", list)]));
    let pair = (some_text(), some_text())
        .prop_map(|(a, b)| ("{a,b}/{a}/".to_owned(), vec![("a", vec![a]), ("b", vec![b])]));
    let label = (some_text(), some_text())
        .prop_map(|(a, b)| ("{a}.{b}/".to_owned(), vec![("a", vec![dotless(a)]), ("b", vec![dotless(b)])]));
    prop_oneof![Just((String::new(), vec![])), middle, list, pair, label]
}

fn tail() -> impl Strategy<Value = Piece> {
    let reserved = plain_text().prop_map(|text| ("{+p}".to_owned(), vec![("p", vec![text])]));
    let path = vec(any_text(), 0..4).prop_map(|list| ("z{/p*}".to_owned(), vec![("p", list)]));
    let labels =
        vec(any_text().prop_map(dotless), 0..4).prop_map(|list| ("z{.p*}".to_owned(), vec![("p", list)]));
    let label = any_text().prop_map(|text| ("z{.p}".to_owned(), vec![("p", vec![text])]));
    let parameters = subsequence(vec!["p", "q", "r"], 0..=3).prop_flat_map(|names| {
        vec(any_text(), names.len()).prop_map(move |texts| {
            ("z{;p,q,r}".to_owned(), names.iter().copied().zip(texts.into_iter().map(|t| vec![t])).collect())
        })
    });
    prop_oneof![Just(("z".to_owned(), vec![])), reserved, path, labels, label, parameters]
}

fn query() -> impl Strategy<Value = Piece> {
    let lists = (vec(any_text(), 0..3), vec(any_text(), 0..2), vec(any_text(), 0..2))
        .prop_map(|(k, l, m)| ("{?k*,l}{&m}".to_owned(), k, l, m))
        .prop_filter("`&` without `?` cannot be matched", |(_, k, l, m)| {
            m.is_empty() || !(k.is_empty() && l.is_empty())
        })
        .prop_map(|(text, k, l, m)| (text, vec![("k", k), ("l", l), ("m", m)]));
    let fixed = vec(any_text(), 0..2).prop_map(|k| ("?fixed=1{&l}".to_owned(), vec![("l", k)]));
    prop_oneof![Just((String::new(), vec![])), lists, fixed]
}

fn fragment() -> impl Strategy<Value = Piece> {
    prop_oneof![
        Just((String::new(), vec![])),
        vec(plain_text(), 0..2).prop_map(|f| ("{#f}".to_owned(), vec![("f", f)])),
    ]
}

/// Parts that form many ambiguous templates. `{;x}` is not included, because `;x` and `;x=` have the same
/// value.
const PARTS: &[&str] = &[
    "a", "/", ".", ",", "{a}", "{b}", "{+c}", "{.d}", "{/e}", "{/f*}", "{g:2}", "{h,i}", "{+j,k}", "{l*}",
    "{.m*}", "{?n}", "{&o}", "{?p*}", "{+q*}", "{/r,s}",
];

const PIECES: &[&str] = &[
    "a", "b", "/", ".", ",", "%41", "%C3%A4", "%2F", "?n=", "&o=", "?p=", "&p=", "1", ";", "=", "?", "&",
    "%FF",
];

proptest! {
    #[test]
    fn matching_inverts_expansion(pieces in (head(), tail(), query(), fragment())) {
        let pieces = [pieces.0, pieces.1, pieces.2, pieces.3];
        let template: String = pieces.iter().map(|piece| &*piece.0).collect();
        let template = parse_template(&format!("x://h/{template}"));
        let values: Values = pieces
            .into_iter()
            .flat_map(|piece| piece.1)
            .flat_map(|(name, texts)| texts.into_iter().map(move |text| (name.to_owned(), text)))
            .collect();
        let uri = template.expand(&values);
        prop_assert!(fluent_uri::Uri::parse(&*uri).is_ok(), "{uri}");
        let matched = template.matches(&uri).map(|captures| captures.values);
        prop_assert_eq!(matched, Some(values), "{} {}", template.as_str(), uri);
    }

    /// Expanding the values of a match returns an equivalent URI.
    #[test]
    fn expansion_inverts_matching(
        parts in vec(select(PARTS), 0..6),
        uri in vec(select(PIECES), 0..12),
    ) {
        let template = parse_template(&format!("x:{}", parts.concat()));
        let uri = format!("x:{}", uri.concat());
        if let Some(captures) = template.matches(&uri) {
            let decoded = |text: &str| percent_decode_str(text).decode_utf8().unwrap().into_owned();
            let expanded = template.expand(&captures.values);
            prop_assert_eq!(decoded(&expanded), decoded(&uri), "{}", template.as_str());
        }
    }

    #[test]
    fn never_panics(template in "[a-c:{}+?#*,%/.3é]{0,40}", uri in "x:[a-c:?#%,/.&;=3é]{0,40}") {
        for text in [template.clone(), format!("x:{template}")] {
            if let Ok(template) = super::UriTemplate::parse(&text) {
                let _ = template.matches(&uri).map(|captures| captures.check_safety());
            }
        }
    }
}
