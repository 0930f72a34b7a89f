//! Listening: in one request of its own where requests stand for themselves, and by subscribing in a session
//! with older servers.

use std::collections::VecDeque;

use futures_util::stream::{self, Stream};
use serde_json::{Value, json};

use super::error::ClientError;
use super::greeting::Era;
use super::http::{Http, Messages};
use super::lines::Lines;
use super::message::{Incoming, Outgoing};
use super::{Client, Transport, unheard};

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

/// A client that listens.
#[derive(Debug)]
pub struct Listening {
    feed: Feed,
    era: Era,
    id: u64,
    honoured: Wanted,
    /// What came while other answers were waited for.
    early: VecDeque<Incoming>,
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
        loop {
            let Some(message) = self.message().await? else { return Ok(None) };
            if self.era == Era::Modern && message.answers(Some(self.id)) {
                return message.result::<Value>("subscriptions/listen").map(|_| None);
            }
            if let Some(news) = self.news(&message) {
                return Ok(Some(news));
            }
        }
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
                lines.send(&request.body).await?;
                Feed::Lines(lines)
            }
        };
        let mut listening = Self { feed, era, id, honoured: Wanted::default(), early: VecDeque::new() };
        listening.acknowledgement().await?;
        Ok(listening)
    }

    async fn acknowledgement(&mut self) -> Result<(), ClientError> {
        let first = self.message().await?.ok_or(ClientError::Closed)?;
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
            Transport::Lines(lines) => Feed::Lines(lines),
        };
        let honoured = Wanted { uris: Vec::new(), list: wanted.list };
        let mut listening = Self { feed, era, id: asked, honoured, early: VecDeque::new() };
        for uri in &wanted.uris {
            match listening.subscribe(uri).await {
                Ok(()) => listening.honoured.uris.push(uri.clone()),
                Err(ClientError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(listening)
    }

    async fn subscribe(&mut self, uri: &str) -> Result<(), ClientError> {
        self.id += 1;
        let params = json!({ "uri": uri });
        let request = Outgoing::request(self.id, self.era, "resources/subscribe", params, Some(uri));
        let answer = match &mut self.feed {
            Feed::Http { http, .. } => http.exchange(&request, self.era, &mut unheard).await?,
            Feed::Lines(lines) => {
                lines.send(&request.body).await?;
                loop {
                    let message = lines.receive().await?;
                    if message.answers(request.id) {
                        break message;
                    }
                    self.early.push_back(message);
                }
            }
        };
        answer.result::<Value>("resources/subscribe").map(|_| ())
    }

    async fn message(&mut self) -> Result<Option<Incoming>, ClientError> {
        if let Some(message) = self.early.pop_front() {
            return Ok(Some(message));
        }
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

    fn news(&self, message: &Incoming) -> Option<News> {
        match message.method.as_deref()? {
            "notifications/resources/updated" => {
                message.params["uri"].as_str().map(|uri| News::Updated(uri.to_owned()))
            }
            // In a session it comes whether it was asked for or not.
            "notifications/resources/list_changed" => self.honoured.list.then_some(News::ListChanged),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Listens to a peer that has these answers; gives what is honoured, what is heard, and what the peer was told.
    async fn hear(answers: &[&str]) -> (Wanted, Vec<News>, String) {
        let (near, mut far) = tokio::io::duplex(64 << 10);
        for answer in answers {
            far.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
        far.shutdown().await.unwrap();
        let (input, output) = tokio::io::split(near);
        let client = Client::lines(input, output).await.unwrap();
        let wanted = Wanted { uris: vec!["x:1".into(), "x:2".into()], list: true };
        let mut listening = client.listen(&wanted).await.unwrap();
        let mut heard = Vec::new();
        while let Some(news) = listening.next().await.unwrap() {
            heard.push(news);
        }
        let honoured = listening.honoured().clone();
        listening.close().await;
        let mut told = String::new();
        far.read_to_string(&mut told).await.unwrap();
        (honoured, heard, told)
    }

    #[tokio::test]
    async fn a_modern_server_says_what_it_honours_and_when_it_ends() {
        let (honoured, heard, told) = hear(&[
            r#"{"id":1,"result":{"supportedVersions":["2026-07-28"]}}"#,
            r#"{"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["x:1"]}}}"#,
            r#"{"method":"notifications/resources/updated","params":{"uri":"x:1"}}"#,
            r#"{"id":2,"result":{"resultType":"complete"}}"#,
            r#"{"method":"notifications/resources/updated","params":{"uri":"x:late"}}"#,
        ])
        .await;
        assert_eq!(honoured, Wanted { uris: vec!["x:1".into()], list: false });
        assert_eq!(heard, [News::Updated("x:1".into())]);
        assert!(told.contains("subscriptions/listen") && !told.contains("resources/subscribe"), "{told}");
    }

    #[tokio::test]
    async fn an_older_server_is_subscribed_to_and_nothing_said_meanwhile_is_lost() {
        let (honoured, heard, told) = hear(&[
            r#"{"id":1,"error":{"code":-32601,"message":"unknown"}}"#,
            r#"{"id":2,"result":{"protocolVersion":"2025-11-25"}}"#,
            r#"{"id":3,"result":{}}"#,
            r#"{"method":"notifications/resources/updated","params":{"uri":"x:1"}}"#,
            r#"{"id":4,"error":{"code":-32002,"message":"not found"}}"#,
            r#"{"id":9,"method":"ping"}"#,
            r#"{"method":"notifications/resources/list_changed"}"#,
        ])
        .await;
        assert_eq!(honoured, Wanted { uris: vec!["x:1".into()], list: true });
        assert_eq!(heard, [News::Updated("x:1".into()), News::ListChanged]);
        assert!(told.contains(r#""id":9,"jsonrpc":"2.0","result":{}"#), "{told}");
    }
}
