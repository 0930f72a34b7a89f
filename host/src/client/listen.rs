//! Listening: in one request of its own where requests stand for themselves, and by subscribing in a session
//! with older servers.

use std::collections::VecDeque;

use futures_util::stream::{self, Stream};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::error::ClientError;
use super::greeting::Era;
use super::http::{Http, Messages};
use super::lines::Lines;
use super::message::{self, Incoming, Outgoing};
use super::{Client, Transport, unheard};

/// What is kept while answers are waited for.
const EARLY: usize = 1_000;

/// What to hear of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// These URIs, when what they hold differs.
    pub uris: Vec<String>,
    /// The lists, when what they show differs.
    pub list: bool,
}

/// What was heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// What this URI holds differs.
    Updated(String),
    /// What can be listed differs.
    ListChanged,
}

/// What a server says without being asked, in its own words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Notification {
    /// Of what it tells.
    pub method: String,
    /// What it tells; null if that is nothing.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub params: Value,
}

/// A client that listens.
#[derive(Debug)]
pub struct Listening {
    feed: Feed,
    era: Era,
    /// The request that listens, where requests stand for themselves.
    id: u64,
    asked: u64,
    honoured: Wanted,
    /// What was heard while other answers were waited for, each once.
    early: VecDeque<Notification>,
}

#[derive(Debug)]
enum Feed {
    Http { http: Box<Http>, messages: Box<Messages> },
    Lines(Lines),
}

impl Listening {
    pub(super) async fn begin(client: Client, wanted: &Wanted) -> Result<Self, ClientError> {
        match client.era {
            Era::Modern => Self::modern(client, wanted).await,
            Era::Greeting(_) | Era::Legacy(_) => Self::legacy(client, wanted).await,
        }
    }

    /// What the server will tell of.
    pub fn honoured(&self) -> &Wanted {
        &self.honoured
    }

    /// The next news; none when the server ends it in order. What is dropped before its answer may have taken
    /// news along: then begin anew.
    pub async fn next(&mut self) -> Result<Option<News>, ClientError> {
        while let Some(said) = self.said().await? {
            if let Some(news) = said.news(self.honoured.list) {
                return Ok(Some(news));
            }
        }
        Ok(None)
    }

    /// The next thing that is said without being asked, whatever it is; none as with [`Listening::next`]. What is
    /// said of a request, such as its progress, is not among it.
    pub async fn said(&mut self) -> Result<Option<Notification>, ClientError> {
        if let Some(early) = self.early.pop_front() {
            return Ok(Some(early));
        }
        loop {
            let Some(message) = self.message().await? else { return Ok(None) };
            if self.is_the_end(&message) {
                return message.result::<Value>("subscriptions/listen").map(|_| None);
            }
            if let Some(said) = message.notification() {
                return Ok(Some(said));
            }
        }
    }

    /// Asks by the name of a method, as [`Client::request`] does, and goes on listening: so one subscribes to what no
    /// revision of the protocol knows.
    ///
    /// ```no_run
    /// # async fn subscribe() -> Result<(), Box<dyn std::error::Error>> {
    /// use larder::client::{Client, Revision, Wanted};
    /// use serde_json::{Value, from_str};
    ///
    /// let client = Client::connect().revision(Revision::LEGACY).http("http://127.0.0.1:7878/mcp").await?;
    /// let mut listening = client.listen(&Wanted::default()).await?;
    /// let both = from_str(r#"{ "uris": ["file:///docs/a.md", "file:///docs/b.md"] }"#)?;
    /// listening.request::<Value>("resources/subscribe", both).await?;
    /// while let Some(said) = listening.said().await? {
    ///     println!("{} {}", said.method, said.params);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn request<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<T, ClientError> {
        self.ask(method, params, |_| true).await
    }

    /// The same as a stream, which ends when the server ends it in order, or after the first error.
    ///
    /// ```no_run
    /// # async fn hear() -> Result<(), Box<dyn std::error::Error>> {
    /// use futures_util::TryStreamExt as _;
    /// use larder::client::{Client, News, Wanted};
    ///
    /// let client = Client::http("http://127.0.0.1:7878/mcp", None).await?;
    /// let wanted = Wanted { uris: vec!["file:///docs/hello.md".into()], list: true };
    /// let mut news = std::pin::pin!(client.listen(&wanted).await?.stream());
    /// while let Some(news) = news.try_next().await? {
    ///     match news {
    ///         News::Updated(uri) => println!("{uri} differs"),
    ///         News::ListChanged => println!("the list differs"),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn stream(self) -> impl Stream<Item = Result<News, ClientError>> + Send {
        stream::try_unfold(self, |mut listening| async move {
            Ok(listening.next().await?.map(|news| (news, listening)))
        })
    }

    /// Ends it, and the session if there is one.
    pub async fn close(self) {
        match self.feed {
            Feed::Http { http, messages } => {
                drop(messages);
                http.end_session(self.era).await;
            }
            Feed::Lines(lines) => lines.close().await,
        }
    }

    async fn modern(client: Client, wanted: &Wanted) -> Result<Self, ClientError> {
        let Client { transport, era, asked } = client;
        let id = asked + 1;
        let notifications =
            json!({ "resourcesListChanged": wanted.list, "resourceSubscriptions": wanted.uris });
        let params = json!({ "notifications": notifications });
        let request = Outgoing::request(id, era, "subscriptions/listen", params, None);
        let feed = match transport {
            Transport::Http(http) => {
                let messages = http.open(&request, era).await?;
                Feed::Http { http: Box::new(http), messages: Box::new(messages) }
            }
            Transport::Lines(mut lines) => {
                lines.cancel_open().await?;
                lines.send(&request.body).await?;
                Feed::Lines(lines)
            }
        };
        let honoured = Wanted::default();
        let mut listening = Self { feed, era, id, asked: id, honoured, early: VecDeque::new() };
        listening.acknowledgement().await?;
        Ok(listening)
    }

    async fn acknowledgement(&mut self) -> Result<(), ClientError> {
        // What belongs to a request that was given up may come first.
        let first = loop {
            let message = self.message().await?.ok_or(ClientError::Closed)?;
            if message.answers(Some(self.id)) || !message.is_of_another_request() {
                break message;
            }
        };
        if first.answers(Some(self.id)) {
            first.result::<Value>("subscriptions/listen")?;
            return Err(ClientError::Closed);
        }
        if first.method.as_deref() != Some("notifications/subscriptions/acknowledged") {
            return Err(ClientError::NotMcp("it does not acknowledge what it will tell of".into()));
        }
        let honoured = &first.params["notifications"];
        let uris = honoured["resourceSubscriptions"].as_array().map(Vec::as_slice).unwrap_or_default();
        self.honoured = Wanted {
            uris: uris.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            list: honoured["resourcesListChanged"].as_bool().unwrap_or(false),
        };
        Ok(())
    }

    async fn legacy(client: Client, wanted: &Wanted) -> Result<Self, ClientError> {
        let Client { transport, era, asked } = client;
        let feed = match transport {
            // Before anything is subscribed to, so that nothing is said to nobody.
            Transport::Http(http) => {
                let messages = http.open_session(era).await?;
                Feed::Http { http: Box::new(http), messages: Box::new(messages) }
            }
            Transport::Lines(mut lines) => {
                lines.cancel_open().await?;
                Feed::Lines(lines)
            }
        };
        let honoured = Wanted { uris: Vec::new(), list: wanted.list };
        let mut listening = Self { feed, era, id: asked, asked, honoured, early: VecDeque::new() };
        for uri in &wanted.uris {
            let params = Map::from_iter([("uri".to_owned(), json!(uri))]);
            let is_news = |said: &Notification| said.news(wanted.list).is_some();
            match listening.ask::<Value>("resources/subscribe", params, is_news).await {
                Ok(_) => listening.honoured.uris.push(uri.clone()),
                Err(ClientError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(listening)
    }

    /// Over HTTP, what is said meanwhile waits in the stream. On a pipe it comes first, and is kept if it is worth it.
    async fn ask<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Map<String, Value>,
        is_kept: impl Fn(&Notification) -> bool,
    ) -> Result<T, ClientError> {
        self.asked += 1;
        let name = message::name(method, &params);
        let request = Outgoing::request(self.asked, self.era, method, params.into(), name.as_deref());
        match &mut self.feed {
            Feed::Http { http, .. } => {
                return http.exchange(&request, self.era, &mut unheard).await?.result(method);
            }
            Feed::Lines(lines) => lines.send(&request.body).await?,
        }
        loop {
            let message = self.message().await?.ok_or(ClientError::Closed)?;
            if message.answers(request.id) {
                return message.result(method);
            }
            if self.is_the_end(&message) {
                return Err(ClientError::Closed);
            }
            if let Some(said) = message.notification().filter(&is_kept) {
                self.keep_for_later(said)?;
            }
        }
    }

    fn keep_for_later(&mut self, said: Notification) -> Result<(), ClientError> {
        if self.early.contains(&said) {
            return Ok(());
        }
        if self.early.len() >= EARLY {
            return Err(ClientError::NotMcp("it tells of more and more, and does not answer".into()));
        }
        self.early.push_back(said);
        Ok(())
    }

    /// Whether this answers the request that listens. In a session there is none.
    fn is_the_end(&self, message: &Incoming) -> bool {
        self.era == Era::Modern && message.answers(Some(self.id))
    }

    /// The next message that is not to be answered.
    async fn message(&mut self) -> Result<Option<Incoming>, ClientError> {
        loop {
            let message = match &mut self.feed {
                Feed::Http { http, messages } => http.next(messages, self.era).await?,
                Feed::Lines(lines) => match lines.receive().await {
                    Err(ClientError::Closed) => None,
                    received => Some(received?),
                },
            };
            let Some(reply) = message.as_ref().and_then(Incoming::reply) else { return Ok(message) };
            match &mut self.feed {
                Feed::Http { http, .. } => http.reply(reply, self.era).await?,
                Feed::Lines(lines) => lines.send(&reply).await?,
            }
        }
    }
}

impl Notification {
    /// Those of the lists come in a session whether they were asked for or not.
    fn news(&self, list: bool) -> Option<News> {
        match &*self.method {
            "notifications/resources/updated" => {
                self.params["uri"].as_str().map(|uri| News::Updated(uri.to_owned()))
            }
            "notifications/resources/list_changed" => list.then_some(News::ListChanged),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
