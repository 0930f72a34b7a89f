//! Responses that are kept between calls, if the operator grants the key-value store. They are revalidated, so that the
//! server need not send them again.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use larder_provider::http::Response;
use larder_provider::key_value::{self, Failure};
use larder_provider::serde_json::{self, Value, json};
use larder_provider::{Error, Result, warn};

use crate::Client;
use crate::caching;

/// The maximum size of a response that is kept. A bucket has 1 MiB by default.
const MAX_BYTES: usize = 64 << 10;
const PREFIX: &str = "page/";
/// The headers that are kept: headers that describe the body, and headers about caching.
const KEPT: [&str; 8] = [
    "content-type",
    "etag",
    "last-modified",
    "date",
    "cache-control",
    "expires",
    "vary",
    "link",
];

impl Client {
    /// Gets a response with a successful status, like [`Client::get`]. If a response is kept, its version is sent to
    /// the server, and the kept response is used if it is still current.
    pub fn get_kept(&self, url: &str, known_version: Option<&str>) -> Result<Response> {
        let kept = load(url);
        let kept_version = kept.as_ref().and_then(caching::version);
        let condition = known_version.or(kept_version.as_deref());
        match (self.get(url, condition), kept) {
            (Err(Error::NotModified), Some(kept)) if known_version.is_none() => Ok(kept),
            (Ok(response), _) => {
                save(url, &response);
                Ok(response)
            }
            (Err(error), _) => Err(error),
        }
    }
}

fn load(url: &str) -> Option<Response> {
    // Without a grant, no response is kept.
    let data = key_value::shared().get(&key(url)).ok()??;
    let end = data.iter().position(|byte| *byte == b'\n')?;
    let head: Value = serde_json::from_slice(&data[..end]).ok()?;
    // Two URLs can have the same key.
    (head["url"] == url).then_some(())?;
    let header = |pair: &Value| Some((pair[0].as_str()?.to_owned(), pair[1].as_str()?.to_owned()));
    let headers = head["headers"]
        .as_array()?
        .iter()
        .map(header)
        .collect::<Option<_>>()?;
    Some(Response {
        status: 200,
        headers,
        body: data[end + 1..].to_vec(),
    })
}

/// Keeps a response that has a version and that all callers may see.
fn save(url: &str, response: &Response) {
    let is_for_all = |header: &str| {
        !["no-store", "private"]
            .iter()
            .any(|word| header.to_lowercase().contains(word))
    };
    let may_be_kept = response.status == 200
        && response.body.len() <= MAX_BYTES
        && caching::version(response).is_some()
        && caching::values(response, "cache-control").all(is_for_all);
    if !may_be_kept {
        return;
    }
    let headers = response
        .headers
        .iter()
        .filter(|(name, _)| KEPT.contains(&name.to_lowercase().as_str()));
    let headers: Vec<_> = headers.collect();
    let mut data = json!({ "url": url, "headers": headers })
        .to_string()
        .into_bytes();
    data.push(b'\n');
    data.extend_from_slice(&response.body);
    match key_value::shared().set(&key(url), &data) {
        Ok(()) | Err(Failure::NotGranted(_) | Failure::TooLarge) => {}
        Err(Failure::Full | Failure::TooManyKeys) => clear(),
        Err(error) => warn!("a response is not kept: {}", Error::from(error)),
    }
}

/// Removes all kept responses. Responses that are still used are kept again later.
fn clear() {
    let bucket = key_value::shared();
    for key in bucket.keys(PREFIX).unwrap_or_default() {
        if let Err(error) = bucket.delete(&key) {
            return warn!("a kept response cannot be removed: {}", Error::from(error));
        }
    }
}

fn key(url: &str) -> String {
    let mut hasher = DefaultHasher::new();
    url.hash(&mut hasher);
    format!("{PREFIX}{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::time::Duration;

    use larder_provider::http::set_responder;

    use super::*;
    use crate::{BaseUrl, Credentials};

    fn respond(headers: &'static [(&str, &str)]) -> Rc<RefCell<Vec<u16>>> {
        let log = Rc::new(RefCell::new(Vec::new()));
        let seen = log.clone();
        set_responder(move |request| {
            let is_current = request
                .headers
                .contains(&("if-none-match".to_owned(), "\"1\"".to_owned()));
            let status = if is_current { 304 } else { 200 };
            seen.borrow_mut().push(status);
            let headers = headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let body = if is_current {
                Vec::new()
            } else {
                b"line\nline".to_vec()
            };
            Ok(Response {
                status,
                headers: headers.collect(),
                body,
            })
        });
        log
    }

    #[test]
    fn a_kept_response_is_revalidated() {
        let client = Client {
            base: BaseUrl::parse("https://api.example").unwrap(),
            credentials: Credentials::default(),
            headers: Vec::new(),
            timeout: Duration::from_secs(1),
            max_bytes: 100,
        };
        let get = |url: &str, known: Option<&str>| {
            client.get_kept(url, known).map(|response| response.body)
        };
        let log = respond(&[
            ("ETag", "\"1\""),
            ("Content-Type", "text/plain"),
            ("Set-Cookie", "hush"),
        ]);
        let url = "https://api.example/a";
        assert_eq!(
            (get(url, None), get(url, None)),
            (Ok(b"line\nline".to_vec()), Ok(b"line\nline".to_vec()))
        );
        assert_eq!(log.take(), [200, 304]);
        assert_eq!(get(url, Some("etag:\"1\"")), Err(Error::NotModified));
        assert_eq!(load(url).map(|kept| kept.headers.len()), Some(2));
        let log = respond(&[("ETag", "\"1\""), ("Cache-Control", "Private")]);
        let url = "https://api.example/b";
        assert!(get(url, None).is_ok() && get(url, None).is_ok());
        assert_eq!(log.take(), [200, 200]);
        clear();
        assert!(load("https://api.example/a").is_none());
    }
}
