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

/// News that are kept while answers are waited for.
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

/// A client that listens.
#[derive(Debug)]
pub struct Listening {
    feed: Feed,
    era: Era,
    id: u64,
    honoured: Wanted,
    /// What was heard while other answers were waited for, each once.
    early: VecDeque<News>,
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
        if let Some(news) = self.early.pop_front() {
            return Ok(Some(news));
        }
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
                lines.cancel_open().await?;
                lines.send(&request.body).await?;
                Feed::Lines(lines)
            }
        };
        let mut listening = Self { feed, era, id, honoured: Wanted::default(), early: VecDeque::new() };
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
        if let Feed::Http { http, .. } = &mut self.feed {
            let answer = http.exchange(&request, self.era, &mut unheard).await?;
            return answer.result::<Value>("resources/subscribe").map(|_| ());
        }
        if let Feed::Lines(lines) = &mut self.feed {
            lines.send(&request.body).await?;
        }
        let answer = loop {
            let message = self.message().await?.ok_or(ClientError::Closed)?;
            if message.answers(request.id) {
                break message;
            }
            self.keep_for_later(&message)?;
        };
        answer.result::<Value>("resources/subscribe").map(|_| ())
    }

    fn keep_for_later(&mut self, message: &Incoming) -> Result<(), ClientError> {
        let Some(news) = self.news(message).filter(|news| !self.early.contains(news)) else { return Ok(()) };
        if self.early.len() >= EARLY {
            return Err(ClientError::NotMcp("it tells of more and more, and does not answer".into()));
        }
        self.early.push_back(news);
        Ok(())
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
    async fn what_belongs_to_a_read_that_was_given_up_is_passed_over() {
        let (near, mut far) = tokio::io::duplex(64 << 10);
        let mut say = async |answer: &str| far.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        say(r#"{"id":1,"result":{"supportedVersions":["2026-07-28"]}}"#).await;
        let (input, output) = tokio::io::split(near);
        let mut client = Client::lines(input, output).await.unwrap();
        let left = tokio::time::timeout(std::time::Duration::from_millis(10), client.read("x:1")).await;
        assert!(left.is_err());
        say(r#"{"method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#).await;
        say(r#"{"id":2,"result":{"contents":[]}}"#).await;
        say(r#"{"method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}"#).await;
        let listening = client.listen(&Wanted::default()).await.unwrap();
        listening.close().await;
        let mut told = String::new();
        far.read_to_string(&mut told).await.unwrap();
        let methods = ["notifications/cancelled", "subscriptions/listen"].map(|method| told.find(method));
        assert!(methods[0].is_some() && methods[0] < methods[1], "{told}");
    }

    #[tokio::test]
    async fn who_talks_instead_of_answering_is_not_listened_to_for_ever() {
        let (near, mut far) = tokio::io::duplex(1 << 20);
        let mut lines = String::from(
            "{\"id\":1,\"error\":{\"code\":-32601,\"message\":\"unknown\"}}\n\
             {\"id\":2,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n",
        );
        for n in 0..=EARLY {
            let params = format!("{{\"uri\":\"x:{n}\"}}");
            lines += &format!("{{\"method\":\"notifications/resources/updated\",\"params\":{params}}}\n")
                .repeat(2);
        }
        far.write_all(lines.as_bytes()).await.unwrap();
        let (input, output) = tokio::io::split(near);
        let client = Client::lines(input, output).await.unwrap();
        let wanted = Wanted { uris: vec!["x:1".into()], list: false };
        let error = client.listen(&wanted).await.unwrap_err().to_string();
        assert!(error.contains("more and more"), "{error}");
    }

    #[tokio::test]
    async fn an_older_server_is_subscribed_to_and_nothing_said_meanwhile_is_lost() {
        let (honoured, heard, told) = hear(&[
            r#"{"id":1,"error":{"code":-32601,"message":"unknown"}}"#,
            r#"{"id":2,"result":{"protocolVersion":"2025-11-25"}}"#,
            r#"{"id":8,"method":"ping"}"#,
            r#"{"id":3,"result":{}}"#,
            r#"{"method":"notifications/resources/updated","params":{"uri":"x:1"}}"#,
            r#"{"id":4,"error":{"code":-32002,"message":"not found"}}"#,
            r#"{"id":9,"method":"ping"}"#,
            r#"{"method":"notifications/resources/list_changed"}"#,
        ])
        .await;
        assert_eq!(honoured, Wanted { uris: vec!["x:1".into()], list: true });
        assert_eq!(heard, [News::Updated("x:1".into()), News::ListChanged]);
        for id in [8, 9] {
            assert!(told.contains(&format!(r#""id":{id},"jsonrpc":"2.0","result":{{}}"#)), "{told}");
        }
    }
}
