//! Which items of a list are wanted. The host decides by what it was shown; providers that are asked beyond what
//! the catalog holds are told what they can make use of, and are not believed.

use serde::{Deserialize, Serialize};

use crate::catalog::Offer;
use crate::provider::ListQuery;
use crate::resource::{Entry, Template};

/// What the items of a list must have in common. Without any of it, all are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// What their URIs begin with. Of templates: what the URIs of one may begin with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri_prefix: Option<String>,
    /// Their category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Their media type: `text/plain` with any parameters, or `image/*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Whose they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// Which provider offers them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// What stands in their name, title, description or URI, in capitals or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Filter {
    /// Whether everything passes.
    pub(super) fn is_open(&self) -> bool {
        *self == Self::default()
    }
}

/// A filter at work.
pub(super) struct Sieve {
    filter: Filter,
    open: bool,
    /// The text that is looked for, in small letters.
    text: Option<String>,
}

impl Sieve {
    pub(super) fn new(filter: Filter) -> Self {
        Self { open: filter.is_open(), text: filter.text.as_ref().map(|text| text.to_lowercase()), filter }
    }

    pub(super) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Whether everything passes.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    /// Whether anything of this provider's may pass.
    pub(super) fn takes_from(&self, offer: &Offer) -> bool {
        let is = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
        is(&self.filter.provider, offer.name().as_str())
            && is(&self.filter.team, offer.provider.team().as_str())
    }

    pub(super) fn takes(&self, entry: &Entry) -> bool {
        let Entry { uri, name, title, description, mime_type, details, .. } = entry;
        let begins = |prefix: &String| uri.as_str().starts_with(prefix);
        self.open
            || self.filter.uri_prefix.as_ref().is_none_or(begins)
                && self.is_like(details.kind.as_deref(), mime_type.as_deref())
                && self.tells_of([Some(name), title.as_ref(), description.as_ref()], uri.as_str())
    }

    pub(super) fn takes_template(&self, template: &Template) -> bool {
        let Template { pattern, name, title, description, mime_type, details, .. } = template;
        let literal = pattern.literal_prefix();
        let may_begin = |prefix: &String| literal.starts_with(prefix) || prefix.starts_with(literal);
        self.open
            || self.filter.uri_prefix.as_ref().is_none_or(may_begin)
                && self.is_like(details.kind.as_deref(), mime_type.as_deref())
                && self.tells_of([Some(name), title.as_ref(), description.as_ref()], pattern.as_str())
    }

    fn is_like(&self, kind: Option<&str>, mime_type: Option<&str>) -> bool {
        let Filter { kind: wanted, mime_type: media, .. } = &self.filter;
        wanted.as_ref().is_none_or(|wanted| kind == Some(wanted))
            && media
                .as_ref()
                .is_none_or(|media| mime_type.is_some_and(|mime_type| is_media(mime_type, media)))
    }

    fn tells_of(&self, texts: [Option<&String>; 3], uri: &str) -> bool {
        let Some(wanted) = &self.text else { return true };
        let texts = texts.into_iter().flatten().map(String::as_str).chain([uri]);
        texts.map(str::to_lowercase).any(|text| text.contains(wanted))
    }

    /// Whether a provider that is asked for its list can be told something of what is wanted.
    pub(super) fn has_hints(&self) -> bool {
        self.filter.uri_prefix.is_some() || self.filter.kind.is_some()
    }

    /// A question for a part of a provider's list, with what is wanted of it.
    pub(super) fn hint(&self, query: ListQuery) -> ListQuery {
        let Filter { uri_prefix, kind, .. } = self.filter.clone();
        ListQuery { uri_prefix, kind, ..query }
    }
}

fn is_media(mime_type: &str, wanted: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    match wanted.strip_suffix("/*") {
        Some(family) => essence.split('/').next().is_some_and(|of| of.eq_ignore_ascii_case(family)),
        None if wanted.contains(';') => mime_type.eq_ignore_ascii_case(wanted),
        None => essence.eq_ignore_ascii_case(wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Details;
    use crate::resource::Written;
    use crate::template::Pattern;
    use crate::uri::Uri;

    fn entry() -> Entry {
        Entry {
            uri: Uri::parse("file:///docs/a.md").unwrap(),
            name: "a.md".into(),
            title: Some("Größe".into()),
            description: Some("About SIZE".into()),
            mime_type: Some("text/markdown; charset=utf-8".into()),
            size: None,
            version: None,
            details: Details { kind: Some("file".into()), ..Details::default() },
            written: Written::default(),
        }
    }

    fn check(change: impl FnOnce(&mut Filter), expected: bool) {
        let mut filter = Filter::default();
        change(&mut filter);
        let shown = format!("{filter:?}");
        assert_eq!(Sieve::new(filter).takes(&entry()), expected, "{shown}");
    }

    #[test]
    fn an_entry_passes_when_all_that_is_said_holds() {
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
        for (text, passes) in
            [("GRÖSSE", false), ("GRÖßE", true), ("size", true), ("A.MD", true), ("wiki", false)]
        {
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
    fn a_template_passes_when_one_of_its_uris_might() {
        let template = Template {
            pattern: Pattern::parse("file:///docs/{+path}").unwrap(),
            name: "docs".into(),
            title: None,
            description: None,
            mime_type: None,
            details: Details::default(),
            written: Written::default(),
        };
        for (prefix, passes) in
            [("file:///", true), ("file:///docs/a/", true), ("file:///other/", false), ("http:", false)]
        {
            let sieve = Sieve::new(Filter { uri_prefix: Some(prefix.into()), ..Filter::default() });
            assert_eq!(sieve.takes_template(&template), passes, "{prefix}");
        }
    }
}
