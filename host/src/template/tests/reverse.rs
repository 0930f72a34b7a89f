//! Generated templates and values: expanding and then matching gives the values back.

use percent_encoding::percent_decode_str;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::pattern;

type Values = Vec<(String, String)>;

/// A piece of a template and the values for its variables, in order.
type Piece = (String, Vec<(&'static str, Vec<String>)>);

fn any_text() -> impl Strategy<Value = String> {
    vec(prop_oneof![any::<char>(), proptest::char::range(' ', '~')], 0..12).prop_map(String::from_iter)
}

fn some_text() -> impl Strategy<Value = String> {
    any_text().prop_filter("empty", |text| !text.is_empty())
}

/// What `{+x}` gives back: `%41` would come back as `A`, `?` and `#` begin what follows, and
/// brackets would stand where RFC 3986 has none.
fn plain_text() -> impl Strategy<Value = String> {
    some_text().prop_map(|text| text.replace(['%', '?', '#', '[', ']'], "/"))
}

fn dotless(text: String) -> String {
    text.replace('.', "-")
}

/// Segments between literal text, where every operator's own delimiters keep values apart.
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
        .prop_filter("`&` without `?` is a URI of another kind", |(_, k, l, m)| {
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

/// Parts that make many ambiguous templates. Without `{;x}`, as `;x` and `;x=` are the same.
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
    fn matching_reverses_expanding(pieces in (head(), tail(), query(), fragment())) {
        let pieces = [pieces.0, pieces.1, pieces.2, pieces.3];
        let template: String = pieces.iter().map(|piece| &*piece.0).collect();
        let pattern = pattern(&format!("x://h/{template}"));
        let values: Values = pieces
            .into_iter()
            .flat_map(|piece| piece.1)
            .flat_map(|(name, texts)| texts.into_iter().map(move |text| (name.to_owned(), text)))
            .collect();
        let uri = pattern.expand(&values);
        prop_assert!(fluent_uri::Uri::parse(&*uri).is_ok(), "{uri}");
        let matched = pattern.matches(&uri).map(|captures| captures.values);
        prop_assert_eq!(matched, Some(values), "{} {}", pattern.as_str(), uri);
    }

    /// Nothing is made up: the values of any match give a URI that says the same.
    #[test]
    fn expanding_reverses_matching(
        parts in vec(select(PARTS), 0..6),
        uri in vec(select(PIECES), 0..12),
    ) {
        let (pattern, uri) = (pattern(&format!("x:{}", parts.concat())), format!("x:{}", uri.concat()));
        if let Some(captures) = pattern.matches(&uri) {
            let decoded = |text: &str| percent_decode_str(text).decode_utf8().unwrap().into_owned();
            prop_assert_eq!(decoded(&pattern.expand(&captures.values)), decoded(&uri), "{}", pattern.as_str());
        }
    }

    #[test]
    fn no_text_panics(template in "[a-c:{}+?#*,%/.3é]{0,40}", uri in "x:[a-c:?#%,/.&;=3é]{0,40}") {
        for text in [template.clone(), format!("x:{template}")] {
            if let Ok(pattern) = super::Pattern::parse(&text) {
                let _ = pattern.matches(&uri).map(|captures| captures.screen());
            }
        }
    }
}
