//! Filters of lists. The server decides by the metadata in the lists. If a provider is called because the catalog does
//! not hold its whole list, it receives the filter as a hint, and their responses are filtered again.

use serde::{Deserialize, Serialize};

use crate::catalog::Offer;
use larder_model::resource::{Entry, Template};
use larder_provider::ListQuery;

/// Conditions on the items of a list. Every item passes an empty filter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// A prefix of the URIs. A template passes if one of its URIs may have the prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri_prefix: Option<String>,
    /// The category of the items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The media type of the items: `text/plain` with any parameters, or `image/*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The team of the items' provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The provider of the items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// A text in the name, title, description or URI of the items. The case is ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Filter {
    /// Whether every item passes.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A filter that is prepared for matching.
pub(super) struct CompiledFilter {
    filter: Filter,
    is_empty: bool,
    /// The text to search for, in lower case.
    text: Option<String>,
}

impl CompiledFilter {
    pub(super) fn new(filter: Filter) -> Self {
        Self {
            is_empty: filter.is_empty(),
            text: filter.text.as_ref().map(|text| text.to_lowercase()),
            filter,
        }
    }

    pub(super) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Whether every item passes.
    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Whether any item of this provider may pass.
    pub(super) fn allows_provider(&self, offer: &Offer) -> bool {
        let is = |expected: &Option<String>, name: &str| {
            expected.as_ref().is_none_or(|expected| expected == name)
        };
        is(&self.filter.provider, offer.name().as_str())
            && is(&self.filter.team, offer.team().as_str())
    }

    pub(super) fn matches(&self, entry: &Entry) -> bool {
        let Entry {
            uri,
            name,
            title,
            description,
            mime_type,
            details,
            ..
        } = entry;
        let begins = |prefix: &String| uri.as_str().starts_with(prefix);
        self.is_empty
            || self.filter.uri_prefix.as_ref().is_none_or(begins)
                && self.matches_type(details.kind.as_deref(), mime_type.as_deref())
                && self.contains_text(
                    [Some(name), title.as_ref(), description.as_ref()],
                    uri.as_str(),
                )
    }

    pub(super) fn matches_template(&self, template: &Template) -> bool {
        let Template {
            uri_template,
            name,
            title,
            description,
            mime_type,
            details,
            ..
        } = template;
        let literal = uri_template.literal_prefix();
        let may_begin =
            |prefix: &String| literal.starts_with(prefix) || prefix.starts_with(literal);
        self.is_empty
            || self.filter.uri_prefix.as_ref().is_none_or(may_begin)
                && self.matches_type(details.kind.as_deref(), mime_type.as_deref())
                && self.contains_text(
                    [Some(name), title.as_ref(), description.as_ref()],
                    uri_template.as_str(),
                )
    }

    fn matches_type(&self, kind: Option<&str>, mime_type: Option<&str>) -> bool {
        let Filter {
            kind: expected,
            mime_type: media,
            ..
        } = &self.filter;
        expected
            .as_ref()
            .is_none_or(|expected| kind == Some(expected))
            && media.as_ref().is_none_or(|media| {
                mime_type.is_some_and(|mime_type| matches_media_type(mime_type, media))
            })
    }

    fn contains_text(&self, texts: [Option<&String>; 3], uri: &str) -> bool {
        let Some(expected) = &self.text else {
            return true;
        };
        let texts = texts.into_iter().flatten().map(String::as_str).chain([uri]);
        texts
            .map(str::to_lowercase)
            .any(|text| text.contains(expected))
    }

    /// Whether the filter contains a condition that providers support as a hint.
    pub(super) fn has_hints(&self) -> bool {
        self.filter.uri_prefix.is_some() || self.filter.kind.is_some()
    }

    /// Adds the conditions that providers support as hints to a query.
    pub(super) fn add_hints(&self, query: ListQuery) -> ListQuery {
        let Filter {
            uri_prefix, kind, ..
        } = self.filter.clone();
        ListQuery {
            uri_prefix,
            kind,
            ..query
        }
    }
}

fn matches_media_type(mime_type: &str, expected: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    match expected.strip_suffix("/*") {
        Some(top_level) => essence
            .split('/')
            .next()
            .is_some_and(|of| of.eq_ignore_ascii_case(top_level)),
        None if expected.contains(';') => mime_type.eq_ignore_ascii_case(expected),
        None => essence.eq_ignore_ascii_case(expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::resource::Details;
    use larder_model::resource::RenderCache;
    use larder_model::uri::Uri;
    use larder_uri_template::UriTemplate;

    fn entry() -> Entry {
        Entry {
            uri: Uri::parse("file:///docs/a.md").unwrap(),
            name: "a.md".into(),
            title: Some("Größe".into()),
            description: Some("ServerInstructions SIZE".into()),
            mime_type: Some("text/markdown; charset=utf-8".into()),
            size: None,
            version: None,
            details: Details {
                kind: Some("file".into()),
                ..Details::default()
            },
            rendered: RenderCache::default(),
        }
    }

    fn check(change: impl FnOnce(&mut Filter), expected: bool) {
        let mut filter = Filter::default();
        change(&mut filter);
        let filter_text = format!("{filter:?}");
        assert_eq!(
            CompiledFilter::new(filter).matches(&entry()),
            expected,
            "{filter_text}"
        );
    }

    #[test]
    fn an_entry_has_to_meet_all_conditions() {
        check(|_| {}, true);
        check(|f| f.uri_prefix = Some("file:///docs/".into()), true);
        check(|f| f.uri_prefix = Some("FILE:///docs/".into()), false);
        check(|f| f.kind = Some("file".into()), true);
        check(|f| f.kind = Some("fil".into()), false);
        for (media, passes) in [
            ("text/markdown", true),
            ("TEXT/Markdown", true),
            ("text/markdown; charset=utf-8", true),
            ("text/markdown; charset=latin1", false),
            ("text/*", true),
            ("tex/*", false),
            ("text/plain", false),
        ] {
            check(|f| f.mime_type = Some(media.into()), passes);
        }
        for (text, passes) in [
            ("GRÖSSE", false),
            ("GRÖßE", true),
            ("size", true),
            ("A.MD", true),
            ("wiki", false),
        ] {
            check(|f| f.text = Some(text.into()), passes);
        }
        check(
            |f| {
                f.text = Some("size".into());
                f.kind = Some("other".into());
            },
            false,
        );
    }

    #[test]
    fn a_template_passes_if_one_of_its_uris_may() {
        let template = Template {
            uri_template: UriTemplate::parse("file:///docs/{+path}").unwrap(),
            name: "docs".into(),
            title: None,
            description: None,
            mime_type: None,
            details: Details::default(),
            rendered: RenderCache::default(),
        };
        for (prefix, passes) in [
            ("file:///", true),
            ("file:///docs/a/", true),
            ("file:///other/", false),
            ("http:", false),
        ] {
            let filter = Filter {
                uri_prefix: Some(prefix.into()),
                ..Filter::default()
            };
            let compiled = CompiledFilter::new(filter);
            assert_eq!(compiled.matches_template(&template), passes, "{prefix}");
        }
    }
}
