//! The URIs of this provider, and the paths of notes. The path of a note is the path of its file without `.md`.

use larder_provider::{Error, Result};
use provider_support::uri;

pub(crate) const PAGE: &str = "notes:///{+page}{?section}";
pub(crate) const LINKS: &str = "notes://links/{+page}";
pub(crate) const BACKLINKS: &str = "notes://backlinks/{+page}";
pub(crate) const TAG: &str = "notes://tags/{+tag}";
pub(crate) const TAGS: &str = "notes://tags";
/// The beginning of every URI.
pub(crate) const CLAIM: &str = "notes:";
const PAGE_PREFIX: &str = "notes:///";

/// What a URI identifies.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Page {
        path: Vec<String>,
        section: Option<String>,
    },
    Links(Vec<String>),
    Backlinks(Vec<String>),
    Tags,
    Tag(String),
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        if text == TAGS {
            return Ok(Self::Tags);
        }
        let (path, query) = text
            .split_once('?')
            .map_or((text, None), |(path, query)| (path, Some(query)));
        if let Some(page) = path.strip_prefix(PAGE_PREFIX) {
            let section = query.map(section).transpose()?;
            return Ok(Self::Page {
                path: names(page)?,
                section,
            });
        }
        if query.is_some() {
            return Err(Error::NotFound);
        }
        let below = |kind: &str| {
            path.strip_prefix("notes://")?
                .strip_prefix(kind)?
                .strip_prefix('/')
        };
        if let Some(page) = below("links") {
            Ok(Self::Links(names(page)?))
        } else if let Some(page) = below("backlinks") {
            Ok(Self::Backlinks(names(page)?))
        } else if let Some(tag) = below("tags") {
            Ok(Self::Tag(names(tag)?.join("/")))
        } else {
            Err(Error::NotFound)
        }
    }
}

/// The names in a path, of which there is at least one.
fn names(path: &str) -> Result<Vec<String>> {
    let names = uri::names(path)?;
    if names.is_empty() || path.ends_with('/') {
        Err(Error::NotFound)
    } else {
        Ok(names)
    }
}

fn section(query: &str) -> Result<String> {
    let value = query.strip_prefix("section=").ok_or(Error::NotFound)?;
    uri::decode(value).ok_or(Error::NotFound)
}

/// The URI of a note.
pub(crate) fn page(path: &[String]) -> String {
    join(PAGE_PREFIX, path)
}

/// The URI of a tag.
pub(crate) fn tag(tag: &str) -> String {
    join(
        "notes://tags/",
        &tag.split('/').map(str::to_owned).collect::<Vec<_>>(),
    )
}

fn join(prefix: &str, names: &[String]) -> String {
    let segments: Vec<_> = names.iter().map(|name| uri::segment(name)).collect();
    format!("{prefix}{}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_it_writes() {
        let check = |uri: &str, expected: Result<Address>| {
            assert_eq!(Address::parse(uri), expected, "{uri}")
        };
        let path = vec!["a b".to_owned(), "ü?".to_owned()];
        check(
            &page(&path),
            Ok(Address::Page {
                path: path.clone(),
                section: None,
            }),
        );
        check(
            "notes:///x?section=a%20b",
            Ok(Address::Page {
                path: vec!["x".into()],
                section: Some("a b".into()),
            }),
        );
        check(
            "notes://links/x/y",
            Ok(Address::Links(vec!["x".into(), "y".into()])),
        );
        check(
            "notes://backlinks/x",
            Ok(Address::Backlinks(vec!["x".into()])),
        );
        check("notes://tags", Ok(Address::Tags));
        check(&tag("a/b c"), Ok(Address::Tag("a/b c".into())));
        for unknown in [
            "notes:///",
            "notes:///a/",
            "notes:///x?other=1",
            "notes://links/",
            "notes://x/y",
            "notes:x",
        ] {
            check(unknown, Err(Error::NotFound));
        }
        assert!(matches!(
            Address::parse("notes:///../x"),
            Err(Error::Invalid(_))
        ));
        assert!(matches!(
            Address::parse("notes:///a%2Fb"),
            Err(Error::Invalid(_))
        ));
    }
}
