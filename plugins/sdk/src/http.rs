//! Outgoing HTTP requests through the host, limited to the hosts that the operator granted.

use std::time::Duration;

pub use crate::bindings::http_client::{Failure, Request, Response};
use crate::content::milliseconds;
use crate::{Error, Result};

/// Sends a GET request.
///
/// ```no_run
/// # use larder_provider::{Content, Reading, Request, Result, http};
/// fn read(request: &Request) -> Result<Reading> {
///     let response = http::get(&format!("https://example.org/notes/{}", request.var("id")?))?;
///     Ok(Content::text(response.accepted()?.text()?).mime("text/plain").into())
/// }
/// ```
pub fn get(url: &str) -> Result<Response, Failure> {
    send(&Request::new("GET", url))
}

/// Sends a request and waits for the complete response.
pub fn send(request: &Request) -> Result<Response, Failure> {
    #[cfg(target_family = "wasm")]
    return crate::bindings::http_client::send(request);
    #[cfg(not(target_family = "wasm"))]
    native::send(request)
}

/// Sends several requests at once, and returns when all of them have ended. The results are in the order of
/// the requests.
///
/// ```no_run
/// # use std::time::Duration;
/// # use larder_provider::{Result, http::{self, Request}};
/// # fn run() -> Result<()> {
/// let pages = ["https://example.org/a", "https://example.org/b"];
/// let requests = pages.map(|url| Request::new("GET", url).timeout(Duration::from_secs(2)));
/// for response in http::send_all(&requests) {
///     let text = response?.accepted()?.text()?;
/// }
/// # Ok(())
/// # }
/// ```
pub fn send_all(requests: &[Request]) -> Vec<Result<Response, Failure>> {
    #[cfg(target_family = "wasm")]
    return crate::bindings::http_client::send_all(requests);
    #[cfg(not(target_family = "wasm"))]
    requests.iter().map(native::send).collect()
}

/// Sets a function that answers the requests of native tests on this thread. Only available on native targets, where
/// there is no network otherwise.
///
/// ```
/// # use larder_provider::http::{self, Response};
/// http::set_responder(|request| {
///     Ok(Response { status: 200, headers: Vec::new(), body: request.url.clone().into_bytes() })
/// });
/// assert_eq!(http::get("https://example.org").unwrap().body, b"https://example.org");
/// ```
#[cfg(not(target_family = "wasm"))]
pub fn set_responder(respond: impl Fn(&Request) -> Result<Response, Failure> + 'static) {
    native::RESPONDER.set(Some(Box::new(respond)));
}

/// The substitute for the host in native tests.
#[cfg(not(target_family = "wasm"))]
mod native {
    use std::cell::RefCell;

    use super::{Failure, Request, Response};

    type Responder = Box<dyn Fn(&Request) -> Result<Response, Failure>>;

    thread_local! {
        pub(super) static RESPONDER: RefCell<Option<Responder>> = const { RefCell::new(None) };
    }

    pub(super) fn send(request: &Request) -> Result<Response, Failure> {
        RESPONDER.with_borrow(|respond| match respond {
            Some(respond) => respond(request),
            None => Err(Failure::Unreachable(format!(
                "{}: HTTP is available only in a host",
                request.url
            ))),
        })
    }
}

impl Request {
    /// Creates a request without headers and body.
    pub fn new(method: &str, url: &str) -> Self {
        Self {
            method: method.to_owned(),
            url: url.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout_ms: None,
        }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Limits the time for the whole exchange. The host has a limit too, and the end of the call is always a
    /// limit; see [`time_left`](crate::time_left).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout_ms = Some(milliseconds(timeout));
        self
    }
}

impl Response {
    /// The first value of a header. Names are case-insensitive.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the response if its status is a success, or the error that corresponds to the status.
    pub fn accepted(self) -> Result<Self> {
        let status = self.status;
        let reason = || format!("the remote server responded with status {status}");
        match status {
            200..=299 => Ok(self),
            304 => Err(Error::NotModified),
            404 | 410 => Err(Error::NotFound),
            401 | 403 => Err(Error::Denied(reason())),
            408 | 425 | 429 | 500..=599 => Err(Error::Unavailable(reason())),
            _ => Err(Error::Failed(reason())),
        }
    }

    /// The body as text.
    pub fn text(self) -> Result<String> {
        String::from_utf8(self.body).map_err(|_| Error::from("the response is not UTF-8"))
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Denied(reason) => Self::Denied(reason),
            Failure::Unreachable(reason) => Self::Unavailable(reason),
            Failure::TimedOut => {
                Self::Unavailable("the remote server did not respond in time".to_owned())
            }
            Failure::TooLarge => {
                Self::Failed("the response is larger than the host allows".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_status_codes_to_errors() {
        let check = |status: u16, expected: Result<(), &str>| {
            let response = Response {
                status,
                headers: Vec::new(),
                body: Vec::new(),
            };
            let actual = response
                .accepted()
                .map(drop)
                .map_err(|error| error.to_string());
            assert_eq!(actual, expected.map_err(str::to_owned), "{status}");
        };
        check(204, Ok(()));
        check(304, Err("not modified"));
        check(404, Err("not found"));
        check(
            403,
            Err("denied: the remote server responded with status 403"),
        );
        check(
            503,
            Err("unavailable: the remote server responded with status 503"),
        );
        check(418, Err("the remote server responded with status 418"));
    }

    #[test]
    fn a_timeout_is_passed_in_milliseconds() {
        let timeout = |time| {
            Request::new("GET", "https://example.org")
                .timeout(time)
                .timeout_ms
        };
        assert_eq!(timeout(Duration::from_millis(1500)), Some(1500));
        assert_eq!(timeout(Duration::MAX), Some(u64::MAX));
        assert_eq!(Request::new("GET", "https://example.org").timeout_ms, None);
    }

    #[test]
    fn several_requests_have_results_in_their_order() {
        let requests = ["a", "b"].map(|url| Request::new("GET", url));
        let failure = |url: &str| {
            Err(Failure::Unreachable(format!(
                "{url}: HTTP is available only in a host"
            )))
        };
        assert_eq!(send_all(&requests), [failure("a"), failure("b")]);
    }

    #[test]
    fn header_names_are_case_insensitive() {
        let headers = vec![("ETag".to_owned(), "7".to_owned())];
        let response = Response {
            status: 200,
            headers,
            body: b"\xff".to_vec(),
        };
        assert_eq!(response.header("etag"), Some("7"));
        assert_eq!(
            response.text(),
            Err(Error::from("the response is not UTF-8"))
        );
    }
}
