//! HTTP caching (RFC 9110 and 9111) as freshness and versions of the contract.

use std::time::{Duration, SystemTime};

use larder_provider::http::{Request, Response};
use larder_provider::{Freshness, Scope};

/// The longest time that a response is cached. A server can announce any number of seconds.
const MAX_AGE: Duration = Duration::from_secs(24 * 3600);
/// The longest header that becomes a version.
const MAX_VALIDATOR: usize = 900;

/// How long a response may be cached, and for whom. `default` is the time if the server does not declare a time.
///
/// All requests have the credentials of the operator. So the responses may be shared, unless the server declares them
/// `private`.
pub fn freshness(response: &Response, default: Duration) -> Option<Freshness> {
    let directives = directives(response);
    let has = |name: &str| directives.iter().any(|(key, _)| key == name);
    let varies = values(response, "vary").any(|value| value.contains('*'));
    if has("no-store") || has("no-cache") || varies {
        return None;
    }
    let time = lifetime(response, &directives, default)?.min(MAX_AGE);
    let scope = if has("private") {
        Scope::Caller
    } else {
        Scope::Everyone
    };
    let freshness = Freshness {
        scope,
        ..Freshness::everyone(time)
    };
    (!time.is_zero()).then_some(freshness)
}

fn lifetime(
    response: &Response,
    directives: &[(String, String)],
    default: Duration,
) -> Option<Duration> {
    let seconds = |name: &str| {
        let value = &directives.iter().find(|(key, _)| key == name)?.1;
        // Other texts mean that the response is not fresh.
        Some(Duration::from_secs(value.parse().unwrap_or_default()))
    };
    let age = header(response, "age")
        .and_then(|age| age.parse().ok())
        .map_or(Duration::ZERO, Duration::from_secs);
    if let Some(time) = seconds("s-maxage").or_else(|| seconds("max-age")) {
        return Some(time.saturating_sub(age));
    }
    let Some(expires) = header(response, "expires") else {
        return Some(default);
    };
    // An invalid date, such as 0, means that the response is not fresh.
    let expires = httpdate::parse_http_date(expires).ok()?;
    let date = date(response, "date")?;
    Some(
        expires
            .duration_since(date)
            .unwrap_or_default()
            .saturating_sub(age),
    )
}

/// The version of a response: its entity tag, or the time of its last modification. `None` if there is neither, or if
/// the resource may change again within the second of its last modification.
pub fn version(response: &Response) -> Option<String> {
    if let Some(tag) = header(response, "etag").filter(|tag| is_entity_tag(tag)) {
        return Some(format!("etag:{tag}"));
    }
    let modified =
        header(response, "last-modified").filter(|value| value.len() <= MAX_VALIDATOR)?;
    let time = httpdate::parse_http_date(modified).ok()?;
    let is_final = date(response, "date")? > time.checked_add(Duration::from_secs(1))?;
    is_final.then(|| format!("date:{modified}"))
}

/// Requests that the server respond only if the version differs from this version.
pub fn unless_known(request: Request, version: Option<&str>) -> Request {
    match version.and_then(|version| version.split_once(':')) {
        Some(("etag", tag)) if is_entity_tag(tag) => request.header("if-none-match", tag),
        Some(("date", date)) if httpdate::parse_http_date(date).is_ok() => {
            request.header("if-modified-since", date)
        }
        _ => request,
    }
}

fn is_entity_tag(tag: &str) -> bool {
    let opaque = tag.strip_prefix("W/").unwrap_or(tag);
    let opaque = opaque
        .strip_prefix('"')
        .and_then(|opaque| opaque.strip_suffix('"'));
    tag.len() <= MAX_VALIDATOR
        && opaque.is_some_and(|opaque| opaque.bytes().all(|b| b.is_ascii_graphic() && b != b'"'))
}

fn date(response: &Response, name: &str) -> Option<SystemTime> {
    httpdate::parse_http_date(header(response, name)?).ok()
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.header(name).map(str::trim)
}

/// The values of all headers with this name.
pub(crate) fn values<'a>(response: &'a Response, name: &str) -> impl Iterator<Item = &'a str> {
    let found = response
        .headers
        .iter()
        .filter(move |(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// The directives of `Cache-Control`, in lower case.
fn directives(response: &Response) -> Vec<(String, String)> {
    let directives = values(response, "cache-control").flat_map(|value| value.split(','));
    let pair = |directive: &str| {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        (
            name.trim().to_ascii_lowercase(),
            value.trim().trim_matches('"').to_owned(),
        )
    };
    directives.map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATE: (&str, &str) = ("Date", "Sun, 06 Nov 1994 08:49:37 GMT");

    fn response(headers: &[(&str, &str)]) -> Response {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Response {
            status: 200,
            headers: headers.collect(),
            body: Vec::new(),
        }
    }

    #[test]
    fn follows_the_cache_headers() {
        let check = |headers: &[(&str, &str)], expected: Option<(u64, Scope)>| {
            let actual = freshness(&response(headers), Duration::from_secs(5));
            assert_eq!(
                actual.map(|it| (it.ttl_ms / 1000, it.scope)),
                expected,
                "{headers:?}"
            );
        };
        let everyone = |seconds| Some((seconds, Scope::Everyone));
        check(&[], everyone(5));
        check(&[("Cache-Control", "max-age=60")], everyone(60));
        check(
            &[("cache-control", "public, MAX-AGE=\"60\""), ("Age", "20")],
            everyone(40),
        );
        check(&[("Cache-Control", "max-age=60"), ("Age", "90")], None);
        check(
            &[("Cache-Control", "max-age=60, s-maxage=10")],
            everyone(10),
        );
        check(
            &[("Cache-Control", "private, max-age=60")],
            Some((60, Scope::Caller)),
        );
        check(
            &[
                ("Cache-Control", "max-age=60"),
                ("Cache-Control", "no-store"),
            ],
            None,
        );
        check(&[("Cache-Control", "no-cache")], None);
        check(&[("Cache-Control", "max-age=soon")], None);
        check(&[("Cache-Control", "max-age=99999999999999999999")], None);
        check(
            &[("Cache-Control", "max-age=9999999999")],
            everyone(24 * 3600),
        );
        check(&[("Vary", "*"), ("Cache-Control", "max-age=60")], None);
        check(
            &[DATE, ("Expires", "Sun, 06 Nov 1994 08:50:37 GMT")],
            everyone(60),
        );
        check(&[DATE, ("Expires", "Sun, 06 Nov 1994 08:00:00 GMT")], None);
        check(&[DATE, ("Expires", "0")], None);
        check(
            &[
                DATE,
                ("Expires", "Sun, 06 Nov 1994 08:50:37 GMT"),
                ("Cache-Control", "max-age=7"),
            ],
            everyone(7),
        );
    }

    #[test]
    fn a_version_is_a_validator_that_is_sent_back() {
        let check =
            |headers: &[(&str, &str)], expected: Option<&str>, sent: Option<(&str, &str)>| {
                let version = version(&response(headers));
                assert_eq!(version.as_deref(), expected, "{headers:?}");
                let request = unless_known(
                    Request::new("GET", "https://example.org"),
                    version.as_deref(),
                );
                let sent = sent.map(|(name, value)| (name.to_owned(), value.to_owned()));
                assert_eq!(request.headers, sent.into_iter().collect::<Vec<_>>());
            };
        check(&[], None, None);
        check(
            &[("ETag", "\"a\"")],
            Some("etag:\"a\""),
            Some(("if-none-match", "\"a\"")),
        );
        check(
            &[("ETag", "W/\"a\"")],
            Some("etag:W/\"a\""),
            Some(("if-none-match", "W/\"a\"")),
        );
        let modified = ("Last-Modified", "Sun, 06 Nov 1994 08:00:00 GMT");
        check(
            &[DATE, modified],
            Some("date:Sun, 06 Nov 1994 08:00:00 GMT"),
            Some(("if-modified-since", "Sun, 06 Nov 1994 08:00:00 GMT")),
        );
        // The file may change again in the same second.
        check(&[DATE, ("Last-Modified", DATE.1)], None, None);
        check(&[modified], None, None);
        check(&[("ETag", "a")], None, None);
        check(&[("ETag", "\"a\r\nx\"")], None, None);
        check(&[DATE, ("Last-Modified", "yesterday")], None, None);
    }

    #[test]
    fn a_version_of_another_kind_is_not_sent() {
        for version in ["etag:a\r\nx: y", "date:now", "7", "", "etag:"] {
            let request = unless_known(Request::new("GET", "https://example.org"), Some(version));
            assert_eq!(request.headers, [], "{version:?}");
        }
    }
}
