//! The URIs of this provider. The name of a reference has a colon for each slash, because the name of a reference
//! contains no colon, and an encoded slash is not allowed in a URI.

use larder_provider::{Error, Result};
use provider_support::uri;

use crate::log::Range;

/// The templates of a repository, below its URI.
pub(crate) const FILE: &str = "/{rev}/{+path}";
pub(crate) const COMMIT: &str = "/{rev}";
pub(crate) const DIFF: &str = "/{rev}{?since,path}";
pub(crate) const LOG: &str = "/{rev}{?log,skip}";
pub(crate) const SCHEME: &str = "git://";
/// The maximum number of commits in a log.
const MAX_LOG: usize = 500;

/// What a URI identifies.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) repository: String,
    pub(crate) target: Target,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Repository,
    Commit {
        revision: String,
    },
    File {
        revision: String,
        path: Vec<String>,
    },
    Diff {
        revision: String,
        since: String,
        path: Vec<String>,
    },
    Log {
        revision: String,
        range: Range,
    },
}

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let rest = text.strip_prefix(SCHEME).ok_or(Error::NotFound)?;
        let (path, query) = rest
            .split_once('?')
            .map_or((rest, None), |(path, query)| (path, Some(query)));
        let (repository, below) = path
            .split_once('/')
            .map_or((path, None), |(name, below)| (name, Some(below)));
        let (revision, path) = match below.map(|below| below.split_once('/').unwrap_or((below, "")))
        {
            None if query.is_none() => (None, ""),
            None | Some(("", _)) => return Err(Error::NotFound),
            Some((revision, path)) => (Some(decode_revision(revision)?), path),
        };
        let is_commit = below.is_some_and(|below| !below.contains('/'));
        let target = match (revision, query) {
            (None, _) => Target::Repository,
            (Some(revision), None) if is_commit => Target::Commit { revision },
            (Some(revision), None) => Target::File {
                revision,
                path: uri::names(path)?,
            },
            (Some(revision), Some(query)) if is_commit => with_query(revision, query)?,
            _ => return Err(Error::NotFound),
        };
        Ok(Self {
            repository: repository.to_owned(),
            target,
        })
    }
}

fn with_query(revision: String, query: &str) -> Result<Target> {
    let (mut since, mut path, mut log, mut skip) = (None, Vec::new(), None, None);
    for pair in query.split('&') {
        match pair.split_once('=').ok_or(Error::NotFound)? {
            ("since", value) => since = Some(decode_revision(value)?),
            ("path", value) => path = uri::names(&value.replace("%2F", "/").replace("%2f", "/"))?,
            ("log", value) => log = Some(value.parse::<usize>().map_err(|_| invalid_count())?),
            ("skip", value) => skip = Some(value.parse::<usize>().map_err(|_| invalid_skip())?),
            _ => return Err(Error::NotFound),
        }
    }
    match (since, log) {
        (Some(since), None) if skip.is_none() => Ok(Target::Diff {
            revision,
            since,
            path,
        }),
        (None, Some(count)) if (1..=MAX_LOG).contains(&count) => Ok(Target::Log {
            revision,
            range: Range {
                skip: skip.unwrap_or_default(),
                count,
            },
        }),
        (None, Some(_)) => Err(invalid_count()),
        _ => Err(Error::NotFound),
    }
}

fn invalid_count() -> Error {
    Error::Invalid(format!("`log` must be a number from 1 to {MAX_LOG}"))
}

fn invalid_skip() -> Error {
    Error::invalid("`skip` must be a number of commits")
}

fn decode_revision(text: &str) -> Result<String> {
    let decoded = uri::decode(text).filter(|name| !name.is_empty() && !name.contains('/'));
    Ok(decoded.ok_or(Error::NotFound)?.replace(':', "/"))
}

/// The name of a reference as a value of a template.
pub(crate) fn value(reference: &str) -> String {
    reference.replace('/', ":")
}

/// The URI of a repository.
pub(crate) fn repository(name: &str) -> String {
    format!("{SCHEME}{name}")
}

/// The URI of a commit, from the name of a reference or from an id.
pub(crate) fn commit(repository: &str, revision: &str) -> String {
    format!("{SCHEME}{repository}/{}", uri::segment(&value(revision)))
}

/// Whether a name can be the name of a repository. The name is the host of the repository's URIs.
pub(crate) fn is_repository_name(name: &str) -> bool {
    let is_allowed =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_');
    name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_uris() {
        let check = |uri: &str, expected: Target| {
            let address = Address {
                repository: "r".to_owned(),
                target: expected,
            };
            assert_eq!(Address::parse(uri), Ok(address), "{uri}");
        };
        let revision = || "main".to_owned();
        let path = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
        check("git://r", Target::Repository);
        check(
            "git://r/main",
            Target::Commit {
                revision: revision(),
            },
        );
        check(
            "git://r/a:b%5E2",
            Target::Commit {
                revision: "a/b^2".to_owned(),
            },
        );
        check(
            "git://r/main/",
            Target::File {
                revision: revision(),
                path: Vec::new(),
            },
        );
        check(
            "git://r/main/a/b%20c",
            Target::File {
                revision: revision(),
                path: path("a/b c"),
            },
        );
        let diff = |since: &str, path| Target::Diff {
            revision: revision(),
            since: since.to_owned(),
            path,
        };
        check("git://r/main?since=main~1", diff("main~1", Vec::new()));
        check("git://r/main?since=x:y&path=a/b", diff("x/y", path("a/b")));
        let log = |skip, count| Target::Log {
            revision: revision(),
            range: Range { skip, count },
        };
        check("git://r/main?log=20", log(0, 20));
        check("git://r/main?log=20&skip=40", log(40, 20));
        assert_eq!(commit("r", "a/b#c"), "git://r/a:b%23c");
    }

    #[test]
    fn rejects_other_uris() {
        let not_found = [
            "git:r",
            "git://r/",
            "git://r//x",
            "git://r?log=1",
            "git://r/main?x=1",
            "git://r/main?path=a",
        ];
        for uri in not_found.into_iter().chain([
            "git://r/main/a?log=1",
            "git://r/a%2Fb",
            "git://r/main?since=a&log=1",
            "git://r/main?since=a&skip=1",
            "git://r/main?skip=1",
        ]) {
            assert_eq!(Address::parse(uri), Err(Error::NotFound), "{uri}");
        }
        for uri in [
            "git://r/main/../x",
            "git://r/main?log=0",
            "git://r/main?log=x",
            "git://r/main?log=1&skip=x",
            "git://r/main?since=a&path=../x",
        ] {
            assert!(
                matches!(Address::parse(uri), Err(Error::Invalid(_))),
                "{uri}"
            );
        }
    }
}
