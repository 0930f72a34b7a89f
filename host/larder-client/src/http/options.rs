//! The address for requests, and the options that apply to all requests.

use std::path::PathBuf;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, Url};

use crate::error::ClientError;
use crate::sign_in::{Connection, Credential, SignIn, is_this_machine};

/// The URL of requests over a Unix socket. The path is the path of the endpoint.
const SOCKET_TARGET: &str = "http://localhost/mcp";

/// The options that apply to all requests.
#[derive(Clone, Default)]
pub(crate) struct HttpOptions {
    /// A bearer token.
    pub(crate) token: Option<String>,
    /// Additional headers.
    pub(crate) headers: Vec<(String, String)>,
    /// Certificates (PEM) that are trusted in addition to the certificates of the system.
    pub(crate) ca: Option<Vec<u8>>,
    /// Whether credentials may be sent over plain HTTP to another machine.
    pub(crate) insecure: bool,
    /// How to sign in, and where the tokens are stored. Not used if there is another credential.
    pub(crate) sign_in: Option<SignIn>,
}

/// Where requests are sent.
pub(super) struct Target {
    /// The URL that the user entered, for errors.
    pub(super) url: Url,
    /// The URL to which requests are sent.
    pub(super) request_url: Url,
    pub(super) socket: Option<PathBuf>,
}

impl Target {
    /// Parses a URL. Fails if credentials would be sent to another machine without encryption.
    pub(super) fn new(url: &str, options: &HttpOptions) -> Result<Self, ClientError> {
        let bad = || ClientError::BadUrl(url.escape_debug().to_string());
        let url = Url::parse(url).map_err(|_| bad())?;
        let socket = (url.scheme() == "unix").then(|| PathBuf::from(url.path()));
        let request_url = match &socket {
            Some(path) if path.as_os_str().is_empty() => return Err(bad()),
            Some(_) => Url::parse(SOCKET_TARGET).map_err(|_| bad())?,
            None if !matches!(url.scheme(), "http" | "https") || !url.has_host() => {
                return Err(bad());
            }
            None => url.clone(),
        };
        let target = Self {
            url,
            request_url,
            socket,
        };
        if options.has_credential() {
            target.require_encryption(options)?;
        }
        Ok(target)
    }

    /// Returns the stored tokens for this URL, unless the options have another credential.
    pub(super) fn credential(
        &self,
        options: &HttpOptions,
    ) -> Result<Option<Credential>, ClientError> {
        let sign_in = match &options.sign_in {
            Some(sign_in) if self.socket.is_none() && !options.has_credential() => sign_in,
            _ => return Ok(None),
        };
        let credential = Credential::load(&self.request_url, sign_in, options.connection()?)?;
        if credential.is_some() {
            self.require_encryption(options)?;
        }
        Ok(credential)
    }

    /// Returns a credential for a new sign-in.
    pub(super) fn new_credential(&self, options: &HttpOptions) -> Result<Credential, ClientError> {
        let sign_in = self.sign_in(options)?;
        self.require_encryption(options)?;
        let connection = options.connection()?;
        Ok(Credential::without_tokens(
            &self.request_url,
            sign_in,
            connection,
        ))
    }

    /// Deletes and revokes the stored tokens. Returns whether there were any.
    pub(super) async fn log_out(&self, options: &HttpOptions) -> Result<bool, ClientError> {
        let sign_in = self.sign_in(options)?;
        let connection = options.connection()?;
        Ok(Credential::log_out(&self.request_url, sign_in, connection).await?)
    }

    fn sign_in<'a>(&self, options: &'a HttpOptions) -> Result<&'a SignIn, ClientError> {
        let sign_in = options.sign_in.as_ref().filter(|_| self.socket.is_none());
        sign_in.ok_or_else(|| ClientError::NoLogin(self.url.to_string()))
    }

    fn require_encryption(&self, options: &HttpOptions) -> Result<(), ClientError> {
        if self.is_unencrypted() && !options.insecure {
            return Err(ClientError::PlainHttp(self.url.to_string()));
        }
        Ok(())
    }

    /// Whether anyone on the way to the server can read requests.
    fn is_unencrypted(&self) -> bool {
        self.request_url.scheme() == "http" && !is_this_machine(&self.request_url)
    }
}

impl HttpOptions {
    fn has_credential(&self) -> bool {
        let is_credential = |name: &str| name.eq_ignore_ascii_case(AUTHORIZATION.as_str());
        self.token.is_some() || self.headers.iter().any(|(name, _)| is_credential(name))
    }

    /// How to connect to an authorization server.
    pub(crate) fn connection(&self) -> Result<Connection, ClientError> {
        Ok(Connection {
            certificates: self.certificates()?,
            insecure: self.insecure,
        })
    }

    /// The headers of each request.
    pub(super) fn header_map(&self) -> Result<HeaderMap, ClientError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let bad = || ClientError::BadHeader(name.escape_debug().to_string());
            let name = HeaderName::try_from(name).map_err(|_| bad())?;
            let value = sensitive_value(value).ok_or_else(bad)?;
            headers.append(name, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(
            ACCEPT,
            HeaderValue::from_static("application/json, text/event-stream"),
        );
        if let Some(token) = &self.token {
            let value = sensitive_value(&format!("Bearer {token}"));
            headers.insert(AUTHORIZATION, value.ok_or(ClientError::BadToken)?);
        }
        Ok(headers)
    }

    /// The certificates that are trusted in addition to the certificates of the system.
    pub(super) fn certificates(&self) -> Result<Vec<Certificate>, ClientError> {
        let Some(pem) = &self.ca else {
            return Ok(Vec::new());
        };
        match Certificate::from_pem_bundle(pem) {
            Ok(certificates) if !certificates.is_empty() => Ok(certificates),
            _ => Err(ClientError::BadCertificates),
        }
    }
}

fn sensitive_value(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Encodes a header value. Values that are not plain ASCII use the base64 form that the protocol defines.
pub(super) fn header_text(text: &str) -> String {
    if is_plain(text) {
        return text.to_owned();
    }
    let encoded = base64_simd::STANDARD.encode_to_string(text);
    format!("=?base64?{encoded}?=")
}

fn is_plain(text: &str) -> bool {
    let is_printable = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e));
    is_printable && text.trim() == text && !text.starts_with("=?base64?")
}

#[cfg(test)]
mod tests {
    use super::super::HttpTransport;
    use super::*;

    #[test]
    fn encodes_header_values() {
        assert_eq!(header_text("file:///a b"), "file:///a b");
        assert_eq!(header_text("file:///ä"), "=?base64?ZmlsZTovLy/DpA==?=");
        assert_eq!(header_text(" x"), "=?base64?IHg=?=");
        assert_eq!(
            header_text("=?base64?eA==?="),
            "=?base64?PT9iYXNlNjQ/ZUE9PT89?="
        );
    }

    #[test]
    fn rejects_invalid_urls_and_headers() {
        for bad in ["", "127.0.0.1:7878", "ftp://x/mcp", "http:", "file:///x"] {
            let transport = HttpTransport::new(bad, &HttpOptions::default());
            assert!(matches!(transport, Err(ClientError::BadUrl(_))), "{bad}");
        }
        let new = |token: Option<&str>, header: Option<(&str, &str)>| {
            let token = token.map(str::to_owned);
            let headers = header.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let headers = headers.into_iter().collect();
            let options = HttpOptions {
                token,
                headers,
                ..HttpOptions::default()
            };
            HttpTransport::new("http://127.0.0.1:7878/mcp", &options)
        };
        assert!(matches!(
            new(Some("a\nb"), None),
            Err(ClientError::BadToken)
        ));
        assert!(matches!(
            new(None, Some(("a b", "c"))),
            Err(ClientError::BadHeader(_))
        ));
    }

    #[test]
    fn sends_a_token_to_another_machine_only_over_tls() {
        let is_refused = |url: &str, insecure: bool, options: HttpOptions| {
            let transport = HttpTransport::new(
                url,
                &HttpOptions {
                    insecure,
                    ..options
                },
            );
            matches!(transport, Err(ClientError::PlainHttp(_)))
        };
        let token = || HttpOptions {
            token: Some("t".into()),
            ..HttpOptions::default()
        };
        let header = || HttpOptions {
            headers: vec![("Authorization".into(), "Bearer t".into())],
            ..HttpOptions::default()
        };
        for url in [
            "http://docs.example.com/mcp",
            "http://192.0.2.1/mcp",
            "http://localhost.example.com/mcp",
        ] {
            assert!(
                is_refused(url, false, token()) && is_refused(url, false, header()),
                "{url}"
            );
            assert!(
                !is_refused(url, true, token()) && !is_refused(url, false, HttpOptions::default()),
                "{url}"
            );
        }
        for url in [
            "https://docs.example.com/mcp",
            "http://localhost:1/mcp",
            "http://[::1]/mcp",
            "unix:/x",
        ] {
            assert!(!is_refused(url, false, token()), "{url}");
        }
    }
}
