//! Listens for changes: with one `subscriptions/listen` request in the modern era, and with
//! `resources/subscribe` in a legacy session.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::stream::{self, Stream};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::connection::Client;
use super::era::Era;
use super::error::ClientError;
use super::http::{HttpTransport, MessageStream};
use super::lines::LineTransport;
use super::message::{self, ClientMessage, Notification, ServerMessage, ignore_message};
use super::transport::Transport;

/// How many notifications are kept while the client waits for an answer.
const MAX_EARLY_NOTIFICATIONS: usize = 1_000;

/// The targets to listen to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListenTargets {
    /// The resources whose updates are reported.
    pub uris: Vec<String>,
    /// Whether changes of the lists are reported.
    pub list: bool,
}

/// A change that the server reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceChange {
    /// The content of this URI changed.
    Updated(String),
    /// The list of resources or templates changed.
    ListChanged,
}

/// A client that listens for notifications.
#[derive(Debug)]
pub struct ListeningClient {
    feed: Feed,
    era: Era,
    /// The id of the `subscriptions/listen` request in the modern era.
    listen_id: u64,
    last_id: u64,
    honoured: ListenTargets,
    /// Notifications that arrived while the client waited for an answer, without duplicates.
    early: VecDeque<Notification>,
}

#[derive(Debug)]
enum Feed {
    Http {
        http: Box<HttpTransport>,
        messages: Box<MessageStream>,
    },
    Lines(LineTransport),
}

impl Client {
    /// Starts to listen. A server may omit targets: see [`ListeningClient::honoured`].
    pub async fn listen(self, targets: &ListenTargets) -> Result<ListeningClient, ClientError> {
        match self.era {
            Era::Modern => ListeningClient::modern(self, targets).await,
            Era::Handshake(_) | Era::Legacy(_) => ListeningClient::legacy(self, targets).await,
        }
    }
}

impl ListeningClient {
    /// Returns the targets that the server accepted.
    pub fn honoured(&self) -> &ListenTargets {
        &self.honoured
    }

    /// Returns the next change. None when the server ends the stream regularly. Not cancel safe: if the future is
    /// dropped, a change may be lost. In this case, listen again.
    pub async fn next_change(&mut self) -> Result<Option<ResourceChange>, ClientError> {
        while let Some(notification) = self.next_notification().await? {
            if let Some(change) = notification.change(self.honoured.list) {
                return Ok(Some(change));
            }
        }
        Ok(None)
    }

    /// Returns the next notification of any method, except those that belong to a request, such as progress.
    /// None as in [`ListeningClient::next_change`].
    pub async fn next_notification(&mut self) -> Result<Option<Notification>, ClientError> {
        if let Some(early) = self.early.pop_front() {
            return Ok(Some(early));
        }
        loop {
            let Some(message) = self.message().await? else {
                return Ok(None);
            };
            if self.ends_listening(&message) {
                return message
                    .result::<Value>("subscriptions/listen")
                    .map(|_| None);
            }
            if let Some(notification) = message.notification() {
                return Ok(Some(notification));
            }
        }
    }

    /// Calls a method by its name, as [`Client::request`] does, and continues to listen. This allows
    /// subscriptions that the protocol does not define.
    ///
    /// ```no_run
    /// # async fn subscribe() -> Result<(), Box<dyn std::error::Error>> {
    /// use larder_client::{Client, ListenTargets, Revision};
    /// use serde_json::{Value, from_str};
    ///
    /// let client = Client::builder().revision(Revision::LEGACY).http("http://127.0.0.1:7878/mcp").await?;
    /// let mut listening = client.listen(&ListenTargets::default()).await?;
    /// let both = from_str(r#"{ "uris": ["file:///docs/a.md", "file:///docs/b.md"] }"#)?;
    /// listening.request::<Value>("resources/subscribe", both).await?;
    /// while let Some(notification) = listening.next_notification().await? {
    ///     println!("{} {}", notification.method, notification.params);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn request<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<T, ClientError> {
        self.send_request(method, params, |_| true).await
    }

    /// Returns the changes as a stream. The stream ends when the server ends it regularly, or after the first error.
    ///
    /// ```no_run
    /// # async fn listen() -> Result<(), Box<dyn std::error::Error>> {
    /// use futures_util::TryStreamExt as _;
    /// use larder_client::{Client, ListenTargets, ResourceChange};
    ///
    /// let client = Client::http("http://127.0.0.1:7878/mcp", None).await?;
    /// let targets = ListenTargets { uris: vec!["file:///docs/hello.md".into()], list: true };
    /// let mut changes = std::pin::pin!(client.listen(&targets).await?.stream());
    /// while let Some(change) = changes.try_next().await? {
    ///     match change {
    ///         ResourceChange::Updated(uri) => println!("{uri} changed"),
    ///         ResourceChange::ListChanged => println!("the list changed"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(self) -> impl Stream<Item = Result<ResourceChange, ClientError>> + Send {
        stream::try_unfold(self, |mut listening| async move {
            Ok(listening
                .next_change()
                .await?
                .map(|change| (change, listening)))
        })
    }

    /// Whether the server is connected over HTTP, so that the connection may end before the server does.
    pub(super) fn is_http(&self) -> bool {
        matches!(self.feed, Feed::Http { .. })
    }

    /// Returns how long to wait before listening again; none if the server did not say so.
    pub(super) fn reconnect_delay(&self) -> Option<Duration> {
        match &self.feed {
            Feed::Http { messages, .. } => messages.retry_delay(),
            Feed::Lines(_) => None,
        }
    }

    /// Stops listening, and ends the session if there is one.
    pub async fn close(self) {
        match self.feed {
            Feed::Http { http, messages } => {
                drop(messages);
                http.end_session(self.era).await;
            }
            Feed::Lines(lines) => lines.close().await,
        }
    }

    async fn modern(client: Client, targets: &ListenTargets) -> Result<Self, ClientError> {
        let Client {
            transport,
            era,
            last_id,
        } = client;
        let id = last_id.saturating_add(1);
        let notifications =
            json!({ "resourcesListChanged": targets.list, "resourceSubscriptions": targets.uris });
        let params = json!({ "notifications": notifications });
        let request = ClientMessage::request(id, era, "subscriptions/listen", params, None);
        let feed = match transport {
            Transport::Http(http) => {
                let messages = http.open_stream(&request, era).await?;
                Feed::http(http, messages)
            }
            Transport::Lines(mut lines) => {
                lines.cancel_pending().await?;
                lines.send(&request.body).await?;
                Feed::Lines(lines)
            }
        };
        let mut listening = Self::new(feed, era, id);
        listening.receive_acknowledgement().await?;
        Ok(listening)
    }

    fn new(feed: Feed, era: Era, last_id: u64) -> Self {
        Self {
            feed,
            era,
            listen_id: last_id,
            last_id,
            honoured: ListenTargets::default(),
            early: VecDeque::new(),
        }
    }

    async fn receive_acknowledgement(&mut self) -> Result<(), ClientError> {
        // Messages of an abandoned request may arrive first.
        let first = loop {
            let message = self.message().await?.ok_or(ClientError::Closed)?;
            if message.answers(Some(self.listen_id)) || !message.belongs_to_a_request() {
                break message;
            }
        };
        if first.answers(Some(self.listen_id)) {
            first.result::<Value>("subscriptions/listen")?;
            return Err(ClientError::Closed);
        }
        if first.method.as_deref() != Some("notifications/subscriptions/acknowledged") {
            return Err(ClientError::NotMcp(
                "it does not acknowledge the subscriptions".into(),
            ));
        }
        self.honoured = ListenTargets::from_json(&first.params["notifications"]);
        Ok(())
    }

    async fn legacy(client: Client, targets: &ListenTargets) -> Result<Self, ClientError> {
        let Client {
            transport,
            era,
            last_id,
        } = client;
        let feed = match transport {
            // The stream is opened before the first subscription, so that no notification is lost.
            Transport::Http(http) => {
                let messages = http.open_session_stream(era).await?;
                Feed::http(http, messages)
            }
            Transport::Lines(mut lines) => {
                lines.cancel_pending().await?;
                Feed::Lines(lines)
            }
        };
        let mut listening = Self::new(feed, era, last_id);
        listening.honoured.list = targets.list;
        for uri in &targets.uris {
            let params = Map::from_iter([("uri".to_owned(), json!(uri))]);
            let is_change = |one: &Notification| one.change(targets.list).is_some();
            match listening
                .send_request::<Value>("resources/subscribe", params, is_change)
                .await
            {
                Ok(_) => listening.honoured.uris.push(uri.clone()),
                Err(ClientError::Rpc(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(listening)
    }

    /// Sends a request. Over HTTP, notifications that arrive before the answer stay in the stream. On a pipe, they are
    /// kept if `keep` returns true.
    async fn send_request<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Map<String, Value>,
        keep: impl Fn(&Notification) -> bool,
    ) -> Result<T, ClientError> {
        self.last_id = self.last_id.saturating_add(1);
        let name = message::header_name(method, &params);
        let request = ClientMessage::request(
            self.last_id,
            self.era,
            method,
            params.into(),
            name.as_deref(),
        );
        match &mut self.feed {
            Feed::Http { http, .. } => {
                return http
                    .exchange(&request, self.era, &mut ignore_message)
                    .await?
                    .result(method);
            }
            Feed::Lines(lines) => lines.send(&request.body).await?,
        }
        loop {
            let message = self.message().await?.ok_or(ClientError::Closed)?;
            if message.answers(request.id) {
                return message.result(method);
            }
            if self.ends_listening(&message) {
                return Err(ClientError::Closed);
            }
            if let Some(notification) = message.notification().filter(&keep) {
                self.keep_for_later(notification)?;
            }
        }
    }

    fn keep_for_later(&mut self, notification: Notification) -> Result<(), ClientError> {
        if self.early.contains(&notification) {
            return Ok(());
        }
        if self.early.len() >= MAX_EARLY_NOTIFICATIONS {
            return Err(ClientError::NotMcp(
                "it sends too many notifications before its answer".into(),
            ));
        }
        self.early.push_back(notification);
        Ok(())
    }

    /// Returns whether this is the answer to the `subscriptions/listen` request. A legacy session has no such request.
    fn ends_listening(&self, message: &ServerMessage) -> bool {
        self.era == Era::Modern && message.answers(Some(self.listen_id))
    }

    /// Returns the next message that is not a request. Requests are replied to.
    async fn message(&mut self) -> Result<Option<ServerMessage>, ClientError> {
        loop {
            let message = match &mut self.feed {
                Feed::Http { http, messages } => http.next(messages, self.era).await?,
                Feed::Lines(lines) => match lines.receive().await {
                    Err(ClientError::Closed) => None,
                    received => Some(received?),
                },
            };
            let Some(reply) = message.as_ref().and_then(ServerMessage::reply) else {
                return Ok(message);
            };
            match &mut self.feed {
                Feed::Http { http, .. } => http.reply(reply, self.era).await?,
                Feed::Lines(lines) => lines.send(&reply).await?,
            }
        }
    }
}

impl Notification {
    /// Returns the change that this notification reports. A legacy session always reports changes of the lists, so
    /// these changes are ignored unless `list` is set.
    fn change(&self, list: bool) -> Option<ResourceChange> {
        match &*self.method {
            "notifications/resources/updated" => self.update(),
            "notifications/resources/list_changed" => list.then_some(ResourceChange::ListChanged),
            _ => None,
        }
    }

    fn update(&self) -> Option<ResourceChange> {
        let uri = self.params["uri"].as_str()?;
        Some(ResourceChange::Updated(uri.to_owned()))
    }
}

impl Feed {
    fn http(http: HttpTransport, messages: MessageStream) -> Self {
        Self::Http {
            http: Box::new(http),
            messages: Box::new(messages),
        }
    }
}

impl ListenTargets {
    fn from_json(targets: &Value) -> Self {
        Self {
            uris: texts(&targets["resourceSubscriptions"]),
            list: targets["resourcesListChanged"].as_bool().unwrap_or(false),
        }
    }
}

fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    let texts = items.filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
