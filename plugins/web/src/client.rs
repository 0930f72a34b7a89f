//! Requests to an API: credentials, redirects, the time limit and the size limit.

use std::time::Duration;

use larder_provider::http::{self, Failure, Request, Response};
use larder_provider::{Error, Result, time_left};

use crate::base_url::resolve;
use crate::caching::unless_known;
use crate::credentials::is_header;
use crate::{BaseUrl, Credentials, query};

const MAX_REDIRECTS: usize = 5;

/// Sends requests to an API.
#[derive(Debug, Clone)]
pub struct Client {
    /// The URL of the API. Credentials are sent only to its host.
    pub base: BaseUrl,
    /// The credentials.
    pub credentials: Credentials,
    /// Headers of all requests.
    pub headers: Vec<(String, String)>,
    /// The time limit of one request.
    pub timeout: Duration,
    /// The maximum size of a response.
    pub max_bytes: u64,
}

impl Client {
    /// Gets a response with a successful status. Fails with [`Error::NotModified`] if the version is still current.
    pub fn get(&self, url: &str, known_version: Option<&str>) -> Result<Response> {
        let response = self.follow(url, |request| unless_known(request, known_version))?;
        match response.status {
            304 if known_version.is_none() => {
                Err("the API responds with status 304 without a condition".into())
            }
            _ => error_for_status(response),
        }
    }

    /// Gets a response with any status. Follows redirects. `prepare` completes each request.
    pub fn follow(&self, url: &str, prepare: impl Fn(Request) -> Request) -> Result<Response> {
        let mut url = url.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(&prepare(self.request("GET", &url)))?;
            if !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
                return Ok(response);
            }
            let target = response
                .header("location")
                .and_then(|location| resolve(&url, location));
            url = target.ok_or("the API redirects to an invalid or insecure address")?;
        }
        Err(format!("the API redirects more than {MAX_REDIRECTS} times").into())
    }

    /// Sends one request, which may have effects. Redirects are not followed, and any status is returned.
    pub fn send(&self, request: &Request) -> Result<Response> {
        let response = http::send(request).map_err(|failure| match failure {
            // Clients need not repeat the request.
            Failure::TooLarge => {
                Error::invalid("the response is larger than the host allows (`limits.http_body`)")
            }
            other => other.into(),
        })?;
        match response.body.len() as u64 > self.max_bytes {
            true => Err(Error::too_large(
                "the response",
                self.max_bytes,
                "setting `max_bytes`",
            )),
            false => Ok(response),
        }
    }

    /// Gets the headers of several resources. `None` for each request that fails.
    pub fn heads(&self, urls: &[String]) -> Vec<Option<Response>> {
        let requests: Vec<Request> = urls.iter().map(|url| self.request("HEAD", url)).collect();
        let accepted =
            |response: Response| (200..300).contains(&response.status).then_some(response);
        // The host sends at most 32 requests at once.
        let responses = requests.chunks(16).flat_map(http::send_all);
        responses
            .map(|response| response.ok().and_then(accepted))
            .collect()
    }

    /// A request with the headers. If it is for the host of the API, also with the credentials.
    pub fn request(&self, method: &str, url: &str) -> Request {
        let is_api = self.base.is_same_origin(url);
        let url = match &self.credentials.query {
            Some((name, key)) if is_api => with_pair(url, name, key),
            _ => url.to_owned(),
        };
        // The other half of the time is for redirects, and for reading the response. A search has little time.
        let request = Request::new(method, &url).timeout(self.timeout.min(time_left() / 2));
        let credentials = self.credentials.headers.iter().filter(|_| is_api);
        // A header of the settings is not sent to other hosts than the host of the API either, because it may be
        // confidential.
        let headers = self
            .headers
            .iter()
            .filter(|(name, _)| is_api || name.eq_ignore_ascii_case("accept"));
        headers
            .chain(credentials)
            .fold(request, |request, (name, value)| {
                request.header(name, value)
            })
    }

    /// Checks names and values of headers that an operator configured.
    pub fn check_headers(headers: &[(String, String)]) -> Result<()> {
        match headers.iter().find(|(name, value)| !is_header(name, value)) {
            Some((name, _)) => Err(Error::Failed(format!(
                "the header `{}` is invalid",
                name.escape_debug()
            ))),
            None => Ok(()),
        }
    }
}

fn with_pair(url: &str, name: &str, value: &str) -> String {
    let pair = query([(name, value)]);
    match url.contains('?') {
        true => format!("{url}&{}", &pair[1..]),
        false => url.to_owned() + &pair,
    }
}

/// Returns the response if its status is a success, or the error that corresponds to the status.
fn error_for_status(response: Response) -> Result<Response> {
    let status = response.status;
    match status {
        400 | 405 | 406 | 414 | 416 | 422 => Err(Error::Invalid(format!(
            "the API rejects the request with status {status}"
        ))),
        401 | 403 | 407 => {
            let hint = "check the secrets of this provider";
            Err(Error::Denied(format!(
                "the API refuses access with status {status}: {hint}"
            )))
        }
        429 | 503 => {
            let seconds = response
                .header("retry-after")
                .filter(|value| value.len() < 40);
            let hint = seconds.and_then(|value| value.trim().parse::<u64>().ok());
            let hint = hint
                .map(|seconds| format!(": try again in {seconds} seconds"))
                .unwrap_or_default();
            Err(Error::Unavailable(format!(
                "the API responds with status {status}{hint}"
            )))
        }
        _ => response.accepted(),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use larder_provider::http::set_responder;

    use super::*;

    fn client() -> Client {
        Client {
            base: BaseUrl::parse("https://api.example").unwrap(),
            credentials: Credentials {
                headers: vec![("authorization".into(), "Bearer hush".into())],
                query: Some(("key".into(), "hush".into())),
            },
            headers: vec![
                ("accept".into(), "*/*".into()),
                ("x-tenant".into(), "7".into()),
            ],
            timeout: Duration::from_secs(1),
            max_bytes: 8,
        }
    }

    fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Response {
        let headers = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Response {
            status,
            headers: headers.collect(),
            body: body.into(),
        }
    }

    /// Sends a request to a server with these responses. Returns the URLs and headers that the server received.
    fn requests(respond: impl Fn(&str) -> Response + 'static) -> (Result<Response>, Vec<Request>) {
        let log = Rc::new(RefCell::new(Vec::new()));
        let seen = log.clone();
        set_responder(move |request| {
            seen.borrow_mut().push(request.clone());
            Ok(respond(&request.url))
        });
        let result = client().get("https://api.example/a", Some("etag:\"1\""));
        (result, log.take())
    }

    #[test]
    fn credentials_do_not_follow_a_redirect_to_another_host() {
        let (result, requests) = requests(|url| match url {
            "https://api.example/a?key=hush" => response(302, &[("Location", "/b?c")], ""),
            "https://api.example/b?c&key=hush" => {
                response(307, &[("Location", "https://cdn.example/d")], "")
            }
            "https://cdn.example/d" => response(200, &[], "done"),
            other => panic!("{other}"),
        });
        assert_eq!(result.map(|response| response.body), Ok(b"done".to_vec()));
        let names = |request: &Request| {
            request
                .headers
                .iter()
                .map(|(name, _)| name.clone())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let all = "accept x-tenant authorization if-none-match";
        assert_eq!(
            requests.iter().map(names).collect::<Vec<_>>(),
            [all, all, "accept if-none-match"]
        );
    }

    #[test]
    fn redirects_end() {
        let (result, requests) = requests(|_| response(302, &[("Location", "/a")], ""));
        assert_eq!(result, Err("the API redirects more than 5 times".into()));
        assert_eq!(requests.len(), MAX_REDIRECTS + 1);
        for location in ["http://api.example/a", "file:///etc/passwd", ""] {
            let headers = [("Location", location)];
            let headers = if location.is_empty() {
                &[]
            } else {
                headers.as_slice()
            };
            let one = response(302, headers, "");
            let (result, requests) = self::requests(move |_| one.clone());
            assert_eq!((result.is_err(), requests.len()), (true, 1), "{location}");
        }
    }

    #[test]
    fn a_status_becomes_an_error() {
        let check = |status: u16, headers: &[(&str, &str)], expected: &str| {
            let one = response(status, headers, "");
            let (result, _) = requests(move |_| one.clone());
            assert_eq!(
                result
                    .map(|_| String::new())
                    .unwrap_or_else(|error| error.to_string()),
                expected
            );
        };
        check(304, &[], "not modified");
        check(404, &[], "not found");
        check(
            422,
            &[],
            "invalid: the API rejects the request with status 422",
        );
        check(
            401,
            &[],
            "denied: the API refuses access with status 401: check the secrets of this provider",
        );
        check(
            429,
            &[("Retry-After", "7")],
            "unavailable: the API responds with status 429: try again in 7 seconds",
        );
        check(
            503,
            &[("Retry-After", "soon")],
            "unavailable: the API responds with status 503",
        );
    }

    #[test]
    fn a_large_response_names_the_limit() {
        let (result, _) = requests(|_| response(200, &[], "123456789"));
        let expected =
            "invalid: the response is larger than the limit of 8 bytes (setting `max_bytes`)";
        assert_eq!(
            result.map_err(|error| error.to_string()),
            Err(expected.to_owned())
        );
        set_responder(|_| Err(Failure::TimedOut));
        assert!(matches!(
            client().get("https://api.example/a", None),
            Err(Error::Unavailable(_))
        ));
    }
}
