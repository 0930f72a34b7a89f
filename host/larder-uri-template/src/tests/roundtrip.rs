//! Property tests: matching an expanded template returns the values.

use percent_encoding::percent_decode_str;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::{Variable, parse_template};

/// A part of a template and the values of its variables, in order.
type Piece = (String, Vec<Variable>);

fn any_text() -> impl Strategy<Value = String> {
    vec(
        prop_oneof![any::<char>(), proptest::char::range(' ', '~')],
        0..12,
    )
    .prop_map(String::from_iter)
}

fn some_text() -> impl Strategy<Value = String> {
    any_text().prop_filter("empty", |text| !text.is_empty())
}

/// Text that is the same after expansion and matching with `{+x}`. Other text is not: `%41` would be decoded to `A`,
/// `?` and `#` would begin the query and the fragment, and brackets are not valid at this place by RFC 3986.
fn plain_text() -> impl Strategy<Value = String> {
    some_text().prop_map(|text| text.replace(['%', '?', '#', '[', ']'], "/"))
}

fn dotless(text: String) -> String {
    text.replace('.', "-")
}

/// A part with a value for each name.
fn values(template: &str, names: &[&str], texts: Vec<String>) -> Piece {
    (
        template.to_owned(),
        names
            .iter()
            .zip(texts)
            .map(|(name, text)| Variable::new(*name, text))
            .collect(),
    )
}

/// A part with a list of the variable `name`.
fn list(
    template: &'static str,
    name: &'static str,
    items: impl Strategy<Value = Vec<String>>,
) -> impl Strategy<Value = Piece> {
    items.prop_map(move |items| values(template, &vec![name; items.len()], items))
}

/// Items that `{x}` separates with commas. The variable is undefined if it has no text.
fn items() -> impl Strategy<Value = Vec<String>> {
    vec(any_text(), 1..4).prop_filter("no text", |items| !items.join(",").is_empty())
}

/// A part with a map of the variable `name`. Its keys are not names of variables.
fn map(
    template: &'static str,
    name: &'static str,
    key: impl Strategy<Value = String>,
    value: impl Strategy<Value = String>,
) -> impl Strategy<Value = Piece> {
    vec((key, value), 1..4).prop_map(move |pairs| {
        let pair = |(key, value)| Variable {
            key: Some(format!("_{key}")),
            ..Variable::new(name, value)
        };
        (template.to_owned(), pairs.into_iter().map(pair).collect())
    })
}

/// Segments between literal text, so that the delimiters of each operator separate the values.
fn head() -> impl Strategy<Value = Piece> {
    let several = |count| vec(some_text(), count);
    let dotless = vec(some_text().prop_map(dotless), 2);
    prop_oneof![
        Just((String::new(), vec![])),
        several(3).prop_map(|texts| values("{a}/b{b}/{c:9999}/", &["a", "b", "c"], texts)),
        several(2).prop_map(|texts| values("{a,b}/{a}/", &["a", "b"], texts)),
        dotless.prop_map(|texts| values("{a}.{b}/", &["a", "b"], texts)),
        list("{a}/{a}/", "a", items()),
        list("{a*}/{a}/", "a", items()),
        map("{a*}/{a}/", "a", any_text(), any_text()),
    ]
}

fn tail() -> impl Strategy<Value = Piece> {
    let texts = || vec(any_text(), 0..4);
    let dotless = || any_text().prop_map(dotless);
    // `{+p*}` does not encode the delimiters of keys and values.
    let plain = || plain_text().prop_map(|text| text.replace('=', "-"));
    let parameters = subsequence(vec!["p", "q", "r"], 0..=3).prop_flat_map(|names| {
        vec(any_text(), names.len()).prop_map(move |texts| values("z{;p,q,r}", &names, texts))
    });
    prop_oneof![
        Just(("z".to_owned(), vec![])),
        plain_text().prop_map(|text| values("{+p}", &["p"], vec![text])),
        any_text().prop_map(|text| values("z{.p}", &["p"], vec![text])),
        list("z{/p*}", "p", texts()),
        list("z{.p*}", "p", vec(dotless(), 0..4)),
        list("z{;p*}", "p", texts()),
        list("z{/p}", "p", items()),
        list("z{;p}", "p", items()),
        map("z{/p*}", "p", any_text(), any_text()),
        map("z{.p*}", "p", dotless(), any_text()),
        map(
            "{+p*}",
            "p",
            plain().prop_map(|text| text.replace(',', "-")),
            plain()
        ),
        map("z{;q,p*}", "p", any_text(), any_text()),
        parameters,
    ]
}

fn query() -> impl Strategy<Value = Piece> {
    let lists = (
        vec(any_text(), 0..3),
        vec(any_text(), 0..2),
        items(),
        any::<bool>(),
    )
        .prop_map(|(k, l, m, has_m)| (k, l, if has_m { m } else { vec![] }))
        .prop_filter("`&` without `?` cannot be matched", |(k, l, m)| {
            m.is_empty() || !(k.is_empty() && l.is_empty())
        })
        .prop_map(|(k, l, m)| {
            let names = [vec!["k"; k.len()], vec!["l"; l.len()], vec!["m"; m.len()]].concat();
            values("{?k*,l}{&m}", &names, [k, l, m].concat())
        });
    prop_oneof![
        Just((String::new(), vec![])),
        lists,
        list("?fixed=1{&l}", "l", items()),
        map("{?k,l*}{&m}", "l", any_text(), any_text()),
        map("?fixed=1{&l*,m}", "l", any_text(), any_text()),
    ]
}

fn fragment() -> impl Strategy<Value = Piece> {
    prop_oneof![
        Just((String::new(), vec![])),
        list("{#f}", "f", vec(plain_text(), 0..2))
    ]
}

/// Parts that form many ambiguous templates. `{;x}` is not included, because `;x` and `;x=` have the same
/// value.
const PARTS: &[&str] = &[
    "a", "/", ".", ",", "{a}", "{b}", "{+c}", "{.d}", "{/e}", "{/f*}", "{g:2}", "{h,i}", "{+j,k}",
    "{l*}", "{.m*}", "{?n}", "{&o}", "{?p*}", "{+q*}", "{/r,s}", "{/t*}", "{u,v*}", "{&w*}",
    "{#x*}",
];

const PIECES: &[&str] = &[
    "a", "b", "/", ".", ",", "%41", "%C3%A4", "%2F", "?n=", "&o=", "?p=", "&p=", "1", ";", "=",
    "?", "&", "%FF", "k=", "?k=", "&k=", "#",
];

proptest! {
    #[test]
    fn matching_inverts_expansion(pieces in (head(), tail(), query(), fragment())) {
        let pieces = [pieces.0, pieces.1, pieces.2, pieces.3];
        let template: String = pieces.iter().map(|piece| &*piece.0).collect();
        let template = parse_template(&format!("x://h/{template}"));
        let values: Vec<Variable> = pieces.into_iter().flat_map(|piece| piece.1).collect();
        let uri = template.expand(&values);
        prop_assert!(fluent_uri::Uri::parse(&*uri).is_ok(), "{uri}");
        let matched = template.matches(&uri).map(|captures| captures.variables);
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
            let expanded = template.expand(&captures.variables);
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
