//! Outgoing HTTP through the host, which lets through what the operator granted.

pub use crate::bindings::http_client::{Failure, Request, Response};
use crate::{Error, Result};

/// Gets what a URL holds.
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

/// Sends a request and waits for the whole answer.
pub fn send(request: &Request) -> Result<Response, Failure> {
    #[cfg(target_family = "wasm")]
    return crate::bindings::http_client::send(request);
    #[cfg(not(target_family = "wasm"))]
    Err(Failure::Unreachable(format!("{}: there is HTTP only inside a host", request.url)))
}

impl Request {
    /// A request without headers or body.
    pub fn new(method: &str, url: &str) -> Self {
        Self { method: method.to_owned(), url: url.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// What is sent along.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }
}

impl Response {
    /// The first value of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The response if its status means success, else the error that its status means.
    pub fn accepted(self) -> Result<Self> {
        let status = self.status;
        let says = || format!("the other side answered with status {status}");
        match status {
            200..=299 => Ok(self),
            304 => Err(Error::NotModified),
            404 | 410 => Err(Error::NotFound),
            401 | 403 => Err(Error::Denied(says())),
            408 | 425 | 429 | 500..=599 => Err(Error::Unavailable(says())),
            _ => Err(Error::Failed(says())),
        }
    }

    /// The body as text.
    pub fn text(self) -> Result<String> {
        String::from_utf8(self.body).map_err(|_| Error::from("the answer is not UTF-8"))
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Denied(reason) => Self::Denied(reason),
            Failure::Unreachable(reason) => Self::Unavailable(reason),
            Failure::TimedOut => Self::Unavailable("the other side did not answer in time".to_owned()),
            Failure::TooLarge => Self::Failed("the answer is larger than the host accepts".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_becomes_what_it_means() {
        let check = |status: u16, expected: Result<(), &str>| {
            let response = Response { status, headers: Vec::new(), body: Vec::new() };
            let met = response.accepted().map(drop).map_err(|error| error.to_string());
            assert_eq!(met, expected.map_err(str::to_owned), "{status}");
        };
        check(204, Ok(()));
        check(304, Err("not modified"));
        check(404, Err("not found"));
        check(403, Err("denied: the other side answered with status 403"));
        check(503, Err("unavailable: the other side answered with status 503"));
        check(418, Err("the other side answered with status 418"));
    }

    #[test]
    fn headers_are_found_in_any_case() {
        let headers = vec![("ETag".to_owned(), "7".to_owned())];
        let response = Response { status: 200, headers, body: b"\xff".to_vec() };
        assert_eq!(response.header("etag"), Some("7"));
        assert_eq!(response.text(), Err(Error::from("the answer is not UTF-8")));
    }
}
