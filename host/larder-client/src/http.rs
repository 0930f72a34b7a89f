//! The Streamable HTTP transport: one POST per message. The answer is JSON or a stream of server-sent events.

mod admin_api;
mod error;
mod events;
mod options;
mod stream;

use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{ClientBuilder, RequestBuilder, Response, StatusCode, Url};

use super::era::Era;
use super::error::ClientError;
use super::limits::MAX_MESSAGE_BYTES;
use super::message::{ClientMessage, OnMessage, ServerMessage};
use super::sign_in::{BearerChallenge, Credential, is_this_machine};
pub use admin_api::AdminEvents;
use error::{request_error, status_hint};
pub(super) use options::HttpOptions;
use options::{Target, header_text};
pub(super) use stream::MessageStream;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Longer than a server's default deadline for a call.
const READ_TIMEOUT: Duration = Duration::from_secs(60);

const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");

#[derive(Debug)]
pub(super) struct HttpTransport {
    /// The URL that the user entered, for errors.
    url: Url,
    /// The URL to which requests are sent.
    target: Url,
    client: reqwest::Client,
    /// The tokens of a sign-in.
    credential: Option<Box<Credential>>,
    session: Option<HeaderValue>,
    /// The request of a legacy session without an answer yet.
    pending_request: Option<u64>,
}

impl HttpTransport {
    pub(super) fn new(url: &str, options: &HttpOptions) -> Result<Self, ClientError> {
        let target = Target::new(url, options)?;
        let credential = target.credential(options)?;
        Self::with_credential(target, options, credential)
    }

    /// Returns a transport for a new sign-in: it does not use stored tokens.
    pub(super) fn for_login(url: &str, options: &HttpOptions) -> Result<Self, ClientError> {
        let target = Target::new(url, options)?;
        let credential = target.new_credential(options)?;
        Self::with_credential(target, options, Some(credential))
    }

    /// Deletes and revokes the stored tokens for this URL. Returns whether there were any.
    pub(super) async fn log_out(url: &str, options: &HttpOptions) -> Result<bool, ClientError> {
        Target::new(url, options)?.log_out(options).await
    }

    /// The tokens of a sign-in.
    pub(super) fn credential(&self) -> Option<&Credential> {
        self.credential.as_deref()
    }

    fn with_credential(
        target: Target,
        options: &HttpOptions,
        credential: Option<Credential>,
    ) -> Result<Self, ClientError> {
        let Target {
            url,
            request_url: target,
            socket,
        } = target;
        // An error means that a provider is installed already.
        _ = rustls::crypto::ring::default_provider().install_default();
        let headers = options.header_map()?;
        let builder = client_builder(headers);
        // A proxy cannot reach the loopback addresses of this machine.
        let builder = if is_this_machine(&target) {
            builder.no_proxy()
        } else {
            builder
        };
        let certificates = options.certificates()?;
        // Plain HTTP does not need the certificates of the system. Reading them takes time, and fails if there are none, as
        // in a small container.
        let builder = if target.scheme() == "https" {
            builder.tls_certs_merge(certificates)
        } else {
            builder.tls_certs_only(certificates)
        };
        let builder = match socket {
            Some(path) => builder.unix_socket(path),
            None => builder,
        };
        let client = builder
            .build()
            .map_err(|error| request_error(&url, &error))?;
        Ok(Self {
            url,
            target,
            client,
            credential: credential.map(Box::new),
            session: None,
            pending_request: None,
        })
    }

    pub(super) async fn exchange(
        &mut self,
        request: &ClientMessage<'_>,
        era: Era,
        on_message: OnMessage<'_>,
    ) -> Result<ServerMessage, ClientError> {
        // The future of the previous request may have been dropped. In a legacy session, the server continues such a
        // request.
        let abandoned = self.pending_request.take();
        self.cancel(abandoned, era).await?;
        self.pending_request = request.id.filter(|_| matches!(era, Era::Legacy(_)));
        let response = self.post(request, era).await?;
        if request.method == "initialize" {
            self.session = response.headers().get(SESSION_HEADER).cloned();
        }
        let answer = if is_stream(&response) {
            self.answer_in_stream(response, request.id, era, on_message)
                .await
        } else {
            self.answer(response).await
        };
        // After any other error, the server may still be working on the request.
        if matches!(answer, Ok(_) | Err(ClientError::Cancelled)) {
            self.pending_request = None;
        }
        answer
    }

    pub(super) async fn notify(
        &mut self,
        notification: &ClientMessage<'_>,
        era: Era,
    ) -> Result<(), ClientError> {
        let response = self.post(notification, era).await?;
        if response.status().is_success() {
            Ok(())
        } else {
            self.answer(response).await.map(|_| ())
        }
    }

    /// Returns the body of a plain GET of the URL.
    pub(super) async fn get_body(&self) -> Result<Vec<u8>, ClientError> {
        let request = self.client.get(self.target.clone());
        let response = self.send_once(request).await?;
        match response.status() {
            StatusCode::UNAUTHORIZED => Err(self.unauthorized()),
            status if !status.is_success() => {
                Err(self.status_error(status, "no status is available to this client".into()))
            }
            _ => self.body(response).await,
        }
    }

    /// Returns the body of the response to a POST without a body. Status 422 means that the request had no effect, and
    /// the body says why. `unknown` is the explanation if the server does not have the path.
    pub(super) async fn post_empty(&self, unknown: &'static str) -> Result<Vec<u8>, ClientError> {
        let request = self.client.post(self.target.clone());
        let response = self.send_once(request).await?;
        match response.status() {
            StatusCode::UNAUTHORIZED => Err(self.unauthorized()),
            status if status.is_success() || status == StatusCode::UNPROCESSABLE_ENTITY => {
                self.body(response).await
            }
            status => {
                let hint = match status {
                    StatusCode::FORBIDDEN => {
                        "configure `admin.token` to allow this from other machines"
                    }
                    _ => unknown,
                };
                Err(self.status_error(status, hint.into()))
            }
        }
    }

    /// Ends the session. Ignores errors: if the server does not have the session, the session has already ended.
    pub(super) async fn end_session(self, era: Era) {
        if self.session.is_some() {
            let delete = || self.with_headers(self.client.delete(self.target.clone()), era);
            _ = self.send(delete).await;
        }
    }

    async fn post(&self, message: &ClientMessage<'_>, era: Era) -> Result<Response, ClientError> {
        self.send(|| {
            let mut post = self.post_request(era);
            if era == Era::Modern {
                post = post.header("mcp-method", header_text(message.method));
                if let Some(name) = message.name {
                    post = post.header("mcp-name", header_text(name));
                }
            }
            post.body(message.body.clone())
        })
        .await
    }

    /// Sends a request with the token of the sign-in. Repeats it if the server refuses the token and there is another
    /// one.
    async fn send(&self, request: impl Fn() -> RequestBuilder) -> Result<Response, ClientError> {
        let Some(credential) = &self.credential else {
            return self.send_once(request()).await;
        };
        loop {
            // The futures of a sign-in are large, and rarely needed.
            let token = Box::pin(credential.token()).await?;
            let request = match &token {
                Some(token) => request().bearer_auth(token),
                None => request(),
            };
            let response = self.send_once(request).await?;
            let status = response.status();
            if !is_access(status) {
                return Ok(response);
            }
            let challenge = BearerChallenge::find(response.headers());
            let recovery = credential.recover(token.as_deref(), status, challenge.as_ref());
            if !Box::pin(recovery).await? {
                return Ok(response);
            }
        }
    }

    async fn send_once(&self, request: RequestBuilder) -> Result<Response, ClientError> {
        request
            .send()
            .await
            .map_err(|error| request_error(&self.url, &error))
    }

    fn post_request(&self, era: Era) -> RequestBuilder {
        self.with_headers(self.client.post(self.target.clone()), era)
    }

    fn with_headers(&self, mut request: RequestBuilder, era: Era) -> RequestBuilder {
        if let Some(version) = era.header() {
            request = request.header(VERSION_HEADER, version);
        }
        if let Some(session) = &self.session {
            request = request.header(SESSION_HEADER, session.clone());
        }
        request
    }

    /// Reads an answer. A JSON-RPC error may come with any status; an error status without a JSON-RPC error is an error
    /// too.
    async fn answer(&self, response: Response) -> Result<ServerMessage, ClientError> {
        let status = response.status();
        let location = header(&response, LOCATION).map(str::to_owned);
        let challenge = BearerChallenge::find(response.headers()).unwrap_or_default();
        let body = self.body(response).await?;
        let message = ServerMessage::parse(&body).and_then(|message| match message.method {
            None => Ok(message),
            Some(_) => Err(ClientError::NotMcp("a request instead of an answer".into())),
        });
        match message {
            Ok(message) if is_access(status) => {
                Err(self.access_error(status, message.error_message(), &challenge))
            }
            Err(_) if status == StatusCode::UNAUTHORIZED || challenge.lacks_scopes => {
                Err(self.access_error(status, None, &challenge))
            }
            Ok(message) => Ok(message),
            Err(error) if status.is_success() => Err(error),
            Err(_) => {
                let hint = status_hint(status, location.as_deref());
                Err(self.status_error(status, hint))
            }
        }
    }

    fn status_error(&self, status: StatusCode, hint: String) -> ClientError {
        ClientError::Status {
            url: self.url.to_string(),
            status: status.as_u16(),
            hint,
        }
    }

    fn access_error(
        &self,
        status: StatusCode,
        why: Option<String>,
        challenge: &BearerChallenge,
    ) -> ClientError {
        let url = self.url.to_string();
        match status {
            StatusCode::UNAUTHORIZED if challenge.resource_metadata.is_some() => {
                ClientError::SignInRequired { url, why }
            }
            StatusCode::UNAUTHORIZED => ClientError::Unauthorized { url, why },
            _ if challenge.lacks_scopes => {
                let scopes = challenge.scopes.clone();
                ClientError::InsufficientScope { url, scopes }
            }
            _ => ClientError::Forbidden { url, why },
        }
    }

    fn unauthorized(&self) -> ClientError {
        let url = self.url.to_string();
        ClientError::Unauthorized { url, why: None }
    }

    async fn body(&self, response: Response) -> Result<Vec<u8>, ClientError> {
        let mut body = Vec::new();
        let mut chunks = response.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            body.extend_from_slice(&chunk.map_err(|error| request_error(&self.url, &error))?);
            if body.len() > MAX_MESSAGE_BYTES {
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
        on_message: OnMessage<'_>,
    ) -> Result<ServerMessage, ClientError> {
        let mut messages = MessageStream::new(response, self.url.clone());
        loop {
            let message = self
                .next(&mut messages, era)
                .await?
                .ok_or(ClientError::Closed)?;
            if message.answers(id) {
                return Ok(message);
            }
            if let Some(reply) = message.reply() {
                self.reply(reply, era).await?;
            } else if on_message(&message).is_break() {
                drop(messages);
                self.cancel(id, era).await?;
                return Err(ClientError::Cancelled);
            }
        }
    }

    /// Sends a cancellation in a legacy session. In the modern era, closing the stream cancels the request.
    async fn cancel(&self, id: Option<u64>, era: Era) -> Result<(), ClientError> {
        match (era, id) {
            (Era::Legacy(_), Some(id)) => self
                .post(&ClientMessage::cancellation(id), era)
                .await
                .map(|_| ()),
            _ => Ok(()),
        }
    }

    /// Returns the next message of a stream; none when the stream ends. In a legacy session, resumes a broken stream at
    /// the last event. Fails after several attempts without a message. Cancel safe.
    pub(super) async fn next(
        &self,
        messages: &mut MessageStream,
        era: Era,
    ) -> Result<Option<ServerMessage>, ClientError> {
        loop {
            let ended = match messages.next().await {
                Ok(Some(message)) => return Ok(Some(message)),
                Ok(None) => Ok(None),
                Err(error) if is_disconnection(&error) => Err(error),
                Err(error) => return Err(error),
            };
            if !matches!(era, Era::Legacy(_)) {
                return ended;
            }
            let Some(resume_point) = messages.resume_point() else {
                return ended;
            };
            tokio::time::sleep(resume_point.delay).await;
            // If the server does not resume the stream, its end is the result.
            match self
                .get_stream(era, Some(&resume_point.last_event_id))
                .await
            {
                Ok(response) if response.status().is_success() && is_stream(&response) => {
                    messages.resume(response);
                }
                Ok(response) if response.status().is_server_error() => {}
                Ok(_) => return ended,
                Err(_) => {}
            }
        }
    }

    /// Sends a request whose answer is an open-ended stream of messages.
    pub(super) async fn open_stream(
        &self,
        request: &ClientMessage<'_>,
        era: Era,
    ) -> Result<MessageStream, ClientError> {
        let response = self.post(request, era).await?;
        self.messages(response).await
    }

    /// Opens the notification stream of a legacy session.
    pub(super) async fn open_session_stream(&self, era: Era) -> Result<MessageStream, ClientError> {
        let response = self.get_stream(era, None).await?;
        self.messages(response).await
    }

    async fn get_stream(
        &self,
        era: Era,
        last_event_id: Option<&str>,
    ) -> Result<Response, ClientError> {
        self.send(|| {
            let get = self.with_headers(self.client.get(self.target.clone()), era);
            match last_event_id {
                Some(id) => get.header("last-event-id", id),
                None => get,
            }
        })
        .await
    }

    async fn messages(&self, response: Response) -> Result<MessageStream, ClientError> {
        if response.status().is_success() && is_stream(&response) {
            return Ok(MessageStream::new(response, self.url.clone()));
        }
        let answer: serde_json::Value = self
            .answer(response)
            .await?
            .result("the request to listen")?;
        Err(ClientError::NotMcp(format!(
            "expected a stream, got {answer}"
        )))
    }

    /// Sends the reply to a request of the server.
    pub(super) async fn reply(&self, body: String, era: Era) -> Result<(), ClientError> {
        let post = || self.post_request(era).body(body.clone());
        self.send(post).await.map(|_| ())
    }
}

fn is_access(status: StatusCode) -> bool {
    matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
}

fn is_stream(response: &Response) -> bool {
    let kind = header(response, CONTENT_TYPE);
    kind.is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"))
}

fn header(response: &Response, name: HeaderName) -> Option<&str> {
    response.headers().get(name)?.to_str().ok()
}

/// Whether the connection failed, so that a stream can be resumed.
fn is_disconnection(error: &ClientError) -> bool {
    matches!(
        error,
        ClientError::Closed | ClientError::TimedOut(_) | ClientError::Unreachable { .. }
    )
}

/// A redirect would forward the token and turn POST into GET.
fn client_builder(headers: HeaderMap) -> ClientBuilder {
    reqwest::Client::builder()
        .redirect(Policy::none())
        .default_headers(headers)
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
}
