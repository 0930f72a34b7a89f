//! Streamable HTTP from the client's side: one POST for each message, answered with JSON or with a stream of events.

mod events;
mod stream;

use std::error::Error as _;
use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{RequestBuilder, Response, StatusCode, Url};

use super::Hear;
use super::connect::Connect;
use super::error::ClientError;
use super::greeting::Era;
use super::message::{Incoming, Outgoing};
pub(super) use stream::Messages;

/// The largest answer that is taken: what a server may send is larger than what anyone reads.
pub(super) const LARGEST: usize = 256 << 20;

const CONNECT: Duration = Duration::from_secs(10);
/// Longer than the deadline that a server has for a call by default.
const SILENCE: Duration = Duration::from_secs(60);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

#[derive(Debug)]
pub(super) struct Http {
    url: Url,
    client: reqwest::Client,
    session: Option<HeaderValue>,
    /// The request of a session whose answer nobody has seen yet.
    open: Option<u64>,
}

impl Http {
    pub(super) fn new(url: &str, how: &Connect) -> Result<Self, ClientError> {
        let bad = || ClientError::BadUrl(url.escape_debug().to_string());
        let url = Url::parse(url).map_err(|_| bad())?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(bad());
        }
        // An error means that somebody has already chosen a provider, which is as good.
        _ = rustls::crypto::ring::default_provider().install_default();
        let headers = headers(how)?;
        // A redirect would take the token along, and POST would become GET.
        let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let builder = builder.default_headers(headers).connect_timeout(CONNECT).read_timeout(SILENCE);
        // What runs on this machine is not behind the proxy.
        let builder = if is_local(&url) { builder.no_proxy() } else { builder };
        let client = builder.build().map_err(|error| failed(&url, &error))?;
        Ok(Self { url, client, session: None, open: None })
    }

    pub(super) async fn exchange(
        &mut self,
        request: &Outgoing<'_>,
        era: Era,
        hear: Hear<'_>,
    ) -> Result<Incoming, ClientError> {
        // Whoever asked before may have gone in the middle of it; in a session the server would work on.
        let given_up = self.open.take();
        self.cancel(given_up, era).await?;
        self.open = request.id.filter(|_| matches!(era, Era::Legacy(_)));
        let response = self.post(request, era).await?;
        if request.method == "initialize" {
            self.session = response.headers().get(SESSION).cloned();
        }
        let answer = match is_stream(&response) {
            true => self.answer_in_stream(response, request.id, era, hear).await,
            false => self.answer(response).await,
        };
        // What was answered, refused or cancelled is over; what failed otherwise may go on at the server.
        if matches!(answer, Ok(_) | Err(ClientError::Cancelled)) {
            self.open = None;
        }
        answer
    }

    pub(super) async fn tell(&mut self, notification: &Outgoing<'_>, era: Era) -> Result<(), ClientError> {
        let response = self.post(notification, era).await?;
        match response.status().is_success() {
            true => Ok(()),
            false => self.answer(response).await.map(|_| ()),
        }
    }

    /// Gets what is at the URL itself.
    pub(super) async fn page(&self) -> Result<Vec<u8>, ClientError> {
        let response =
            self.client.get(self.url.clone()).send().await.map_err(|error| failed(&self.url, &error))?;
        match response.status() {
            status @ StatusCode::UNAUTHORIZED => Err(self.no_access(status, None)),
            status if !status.is_success() => {
                let hint = "it shows no status to this client".into();
                Err(ClientError::Status { url: self.url.to_string(), status: status.as_u16(), hint })
            }
            _ => self.body(response).await,
        }
    }

    /// The server may have forgotten the session; then it is ended already.
    pub(super) async fn end_session(self, era: Era) {
        if self.session.is_some() {
            _ = self.with_headers(self.client.delete(self.url.clone()), era).send().await;
        }
    }

    async fn post(&self, message: &Outgoing<'_>, era: Era) -> Result<Response, ClientError> {
        let mut post = self.with_headers(self.client.post(self.url.clone()), era);
        if era == Era::Modern {
            post = post.header("mcp-method", header_text(message.method));
            if let Some(name) = message.name {
                post = post.header("mcp-name", header_text(name));
            }
        }
        post.body(message.body.clone()).send().await.map_err(|error| failed(&self.url, &error))
    }

    fn with_headers(&self, mut request: RequestBuilder, era: Era) -> RequestBuilder {
        if let Some(version) = era.header() {
            request = request.header(VERSION, version);
        }
        if let Some(session) = &self.session {
            request = request.header(SESSION, session.clone());
        }
        request
    }

    /// An error of JSON-RPC comes with any status; a status without one has to speak for itself.
    async fn answer(&self, response: Response) -> Result<Incoming, ClientError> {
        let status = response.status();
        let location = response.headers().get("location").and_then(|to| to.to_str().ok()).map(str::to_owned);
        let body = self.body(response).await?;
        let message = Incoming::parse(&body).and_then(|message| match message.method {
            None => Ok(message),
            Some(_) => Err(ClientError::NotMcp("a request where the answer should be".into())),
        });
        match message {
            Ok(message) if is_access(status) => Err(self.no_access(status, message.refusal())),
            Err(_) if status == StatusCode::UNAUTHORIZED => Err(self.no_access(status, None)),
            Ok(message) => Ok(message),
            Err(error) if status.is_success() => Err(error),
            Err(_) => {
                let hint = hint(status, location.as_deref());
                Err(ClientError::Status { url: self.url.to_string(), status: status.as_u16(), hint })
            }
        }
    }

    fn no_access(&self, status: StatusCode, why: Option<String>) -> ClientError {
        let url = self.url.to_string();
        match status {
            StatusCode::UNAUTHORIZED => ClientError::Unauthorized { url, why },
            _ => ClientError::Forbidden { url, why },
        }
    }

    async fn body(&self, response: Response) -> Result<Vec<u8>, ClientError> {
        let mut body = Vec::new();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            body.extend_from_slice(&chunk.map_err(|error| failed(&self.url, &error))?);
            if body.len() > LARGEST {
                return Err(ClientError::TooLarge);
            }
        }
        Ok(body)
    }

    async fn answer_in_stream(
        &self,
        response: Response,
        id: Option<u64>,
        era: Era,
        hear: Hear<'_>,
    ) -> Result<Incoming, ClientError> {
        let mut messages = Messages::of(response, self.url.clone());
        loop {
            let message = self.next(&mut messages, era).await?.ok_or(ClientError::Closed)?;
            if message.answers(id) {
                return Ok(message);
            }
            if let Some(reply) = message.reply() {
                self.reply(reply, era).await?;
            } else if hear(&message).is_break() {
                drop(messages);
                self.cancel(id, era).await?;
                return Err(ClientError::Cancelled);
            }
        }
    }

    /// Where requests stand for themselves, the end of the stream says it.
    async fn cancel(&self, id: Option<u64>, era: Era) -> Result<(), ClientError> {
        match (era, id) {
            (Era::Legacy(_), Some(id)) => self.post(&Outgoing::cancellation(id), era).await.map(|_| ()),
            _ => Ok(()),
        }
    }

    /// The next message of a stream. In a session one that broke is gone on with where it broke, as often as something
    /// comes of it; none when it ends for good. May be dropped and called again without loss.
    pub(super) async fn next(
        &self,
        messages: &mut Messages,
        era: Era,
    ) -> Result<Option<Incoming>, ClientError> {
        loop {
            let ended = match messages.next().await {
                Ok(Some(message)) => return Ok(Some(message)),
                Ok(None) => Ok(None),
                Err(
                    error
                    @ (ClientError::Closed | ClientError::TimedOut(_) | ClientError::Unreachable { .. }),
                ) => Err(error),
                Err(error) => return Err(error),
            };
            if !matches!(era, Era::Legacy(_)) {
                return ended;
            }
            let Some(again) = messages.again() else { return ended };
            tokio::time::sleep(again.pause).await;
            // One that cannot be gone on with ended as it ended.
            match self.get(era, Some(&again.last)).await {
                Ok(response) if response.status().is_success() && is_stream(&response) => {
                    messages.go_on(response);
                }
                Ok(response) if response.status().is_server_error() => {}
                Ok(_) => return ended,
                Err(_) => {}
            }
        }
    }

    /// Asks for something that is answered with messages for as long as the server likes.
    pub(super) async fn open(&self, request: &Outgoing<'_>, era: Era) -> Result<Messages, ClientError> {
        let response = self.post(request, era).await?;
        self.messages(response).await
    }

    /// Opens the stream of a session, on which the server says what nobody asked for.
    pub(super) async fn open_session(&self, era: Era) -> Result<Messages, ClientError> {
        let response = self.get(era, None).await?;
        self.messages(response).await
    }

    async fn get(&self, era: Era, last: Option<&str>) -> Result<Response, ClientError> {
        let mut get = self.with_headers(self.client.get(self.url.clone()), era);
        if let Some(last) = last {
            get = get.header("last-event-id", last);
        }
        get.send().await.map_err(|error| failed(&self.url, &error))
    }

    async fn messages(&self, response: Response) -> Result<Messages, ClientError> {
        if response.status().is_success() && is_stream(&response) {
            return Ok(Messages::of(response, self.url.clone()));
        }
        let answer: serde_json::Value = self.answer(response).await?.result("the request to listen")?;
        Err(ClientError::NotMcp(format!("no stream, but {answer}")))
    }

    /// Answers what the server asks.
    pub(super) async fn reply(&self, body: String, era: Era) -> Result<(), ClientError> {
        let post = self.with_headers(self.client.post(self.url.clone()), era).body(body);
        post.send().await.map(|_| ()).map_err(|error| failed(&self.url, &error))
    }
}

fn is_access(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn headers(how: &Connect) -> Result<HeaderMap, ClientError> {
    let mut headers = HeaderMap::new();
    for (name, value) in &how.headers {
        let bad = || ClientError::BadHeader(name.escape_debug().to_string());
        let name = HeaderName::try_from(name).map_err(|_| bad())?;
        let mut value = HeaderValue::try_from(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    if let Some(token) = &how.token {
        let value = HeaderValue::try_from(format!("Bearer {token}"));
        let mut value = value.map_err(|_| ClientError::BadToken)?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"))
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn failed(url: &Url, error: &reqwest::Error) -> ClientError {
    if error.is_timeout() && !error.is_connect() {
        return ClientError::TimedOut(url.to_string());
    }
    // The innermost cause is the one that means something to people.
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let why = match (error.source(), cause.downcast_ref::<std::io::Error>()) {
        (_, Some(io)) if io.kind() == std::io::ErrorKind::ConnectionRefused => "connection refused".into(),
        _ if error.is_timeout() => "no answer in time".into(),
        _ => cause.to_string(),
    };
    match error.is_connect() || error.is_builder() || error.is_request() {
        true => ClientError::Unreachable { url: url.to_string(), why },
        false => ClientError::Closed,
    }
}

fn hint(status: StatusCode, location: Option<&str>) -> String {
    match (status, location) {
        (_, Some(to)) if status.is_redirection() => {
            format!("it has moved; try --url {}", to.escape_debug())
        }
        (StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED, _) => {
            "there is no MCP endpoint at this path; Larder's is /mcp".into()
        }
        (StatusCode::FORBIDDEN, _) => {
            "it refuses this client; is its name among the server's `hosts`?".into()
        }
        (status, _) if status.is_server_error() => "it has a problem of its own; its log says more".into(),
        _ => "it does not speak MCP here; is the URL right?".into(),
    }
}

/// A header carries ASCII; the protocol has a form for the rest.
fn header_text(text: &str) -> String {
    let plain = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) && text.trim() == text;
    match plain && !text.starts_with("=?base64?") {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", base64_simd::STANDARD.encode_to_string(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_fits_into_a_header() {
        assert_eq!(header_text("file:///a b"), "file:///a b");
        assert_eq!(header_text("file:///ä"), "=?base64?ZmlsZTovLy/DpA==?=");
        assert_eq!(header_text(" x"), "=?base64?IHg=?=");
        assert_eq!(header_text("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
    }

    #[test]
    fn only_http_is_a_server() {
        for bad in ["", "127.0.0.1:7878", "ftp://x/mcp", "http:", "file:///x"] {
            assert!(matches!(Http::new(bad, &Connect::default()), Err(ClientError::BadUrl(_))), "{bad}");
        }
        let http = |how: Connect| Http::new("http://127.0.0.1:7878/mcp", &how);
        assert!(matches!(http(Connect::default().token("a\nb")), Err(ClientError::BadToken)));
        assert!(matches!(http(Connect::default().header("a b", "c")), Err(ClientError::BadHeader(_))));
        let connect = Connect::default().token("sesame").header("x-key", "crowbar");
        let shown = format!("{connect:?} {:?}", http(connect.clone()).unwrap());
        assert!(shown.contains("x-key") && !shown.contains("sesame"), "{shown}");
        assert!(!shown.contains("crowbar"), "{shown}");
    }

    #[tokio::test]
    async fn nobody_there_is_said_so() {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let url = format!("http://127.0.0.1:{port}/mcp");
        let error = crate::client::Client::http(&url, None).await.unwrap_err();
        let expected = format!("cannot reach {url}: connection refused; is `larder serve` running?");
        assert_eq!(error.to_string(), expected);
    }
}
