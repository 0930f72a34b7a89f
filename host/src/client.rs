//! An MCP client for resources: lists, templates, reads, completion. It speaks the era of requests that
//! stand for themselves (2026-07-28) and falls back to `initialize` where the server is older.
//! Over HTTP, or over lines of JSON. Besides the endpoint the only room that knows MCP.
//!
//! Answers are small typed structs; what they do not name is kept in `rest`, so that nothing gets lost.

mod answer;
mod error;
mod filter;
mod greeting;
mod http;
mod lines;
mod listen;
mod message;
mod watch;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

pub use answer::{
    Completion, Content, NotBase64, Reading, Resource, ResourcePage, ResourceTemplate, TemplatePage,
};
pub use error::{ClientError, Refusal};
pub use filter::Filter;
pub use listen::{Listening, News, Wanted};
pub use watch::{Event, watch};

use greeting::Era;
use http::Http;
use lines::Lines;
use message::Outgoing;

/// A connection to one server.
#[derive(Debug)]
pub struct Client {
    transport: Transport,
    era: Era,
    asked: u64,
}

#[derive(Debug)]
enum Transport {
    Http(Http),
    Lines(Lines),
}

impl Client {
    /// Connects to an endpoint such as `http://127.0.0.1:7878/mcp`, with a bearer token if there is one.
    pub async fn http(url: &str, token: Option<&str>) -> Result<Self, ClientError> {
        greeting::greet(Transport::Http(Http::new(url, token)?)).await
    }

    /// Speaks to a server that reads and writes one message per line.
    pub async fn lines<R, W>(input: R, output: W) -> Result<Self, ClientError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        greeting::greet(Transport::Lines(Lines::new(input, output))).await
    }

    /// The revision of the protocol that is spoken.
    pub fn revision(&self) -> &str {
        self.era.version()
    }

    /// One page of the resources that a filter takes.
    pub async fn resources(
        &mut self,
        filter: &Filter,
        cursor: Option<&str>,
    ) -> Result<ResourcePage, ClientError> {
        self.ask("resources/list", page(filter, cursor), None).await
    }

    /// One page of the templates that a filter takes.
    pub async fn templates(
        &mut self,
        filter: &Filter,
        cursor: Option<&str>,
    ) -> Result<TemplatePage, ClientError> {
        self.ask("resources/templates/list", page(filter, cursor), None).await
    }

    /// What a URI holds.
    pub async fn read(&mut self, uri: &str) -> Result<Reading, ClientError> {
        self.ask("resources/read", json!({ "uri": uri }), Some(uri)).await
    }

    /// What a URI holds, unless it is still the version that is held. None if it is.
    pub async fn read_newer(&mut self, uri: &str, held: &str) -> Result<Option<Reading>, ClientError> {
        let params = json!({ "uri": uri, "_meta": { message::VERSION_KEY: held } });
        match self.ask("resources/read", params, Some(uri)).await {
            Err(ClientError::Refused(refusal)) if refusal.code == message::NOT_MODIFIED => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// Values for a variable of a template, given what has been typed and what is already filled in.
    pub async fn complete(
        &mut self,
        template: &str,
        variable: &str,
        prefix: &str,
        filled: &[(String, String)],
    ) -> Result<Completion, ClientError> {
        let mut params = json!({
            "ref": { "type": "ref/resource", "uri": template },
            "argument": { "name": variable, "value": prefix },
        });
        if !filled.is_empty() {
            let filled: Map<_, _> = filled.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            params["context"] = json!({ "arguments": filled });
        }
        let answer: answer::Completed = self.ask("completion/complete", params, None).await?;
        Ok(answer.completion)
    }

    /// Listens from now on. What a server does not let this client watch is left out: see [`Listening::honoured`].
    pub async fn listen(self, wanted: &Wanted) -> Result<Listening, ClientError> {
        Listening::begin(self, wanted).await
    }

    /// Ends the session, if the server keeps one.
    pub async fn close(self) {
        if let Transport::Http(http) = self.transport {
            http.end_session(&self.era).await;
        }
    }

    async fn ask<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Value,
        name: Option<&str>,
    ) -> Result<T, ClientError> {
        self.asked += 1;
        let request = Outgoing::request(self.asked, &self.era, method, params, name);
        self.transport.exchange(&request, &self.era).await?.result(method)
    }
}

impl Transport {
    async fn exchange(
        &mut self,
        request: &Outgoing<'_>,
        era: &Era,
    ) -> Result<message::Incoming, ClientError> {
        match self {
            Self::Http(http) => http.exchange(request, era).await,
            Self::Lines(lines) => lines.exchange(request).await,
        }
    }

    async fn tell(&mut self, notification: &Outgoing<'_>, era: &Era) -> Result<(), ClientError> {
        match self {
            Self::Http(http) => http.tell(notification, era).await,
            Self::Lines(lines) => lines.send(&notification.body).await,
        }
    }
}

fn page(filter: &Filter, cursor: Option<&str>) -> Value {
    let mut params = json!({});
    if *filter != Filter::default() {
        params["_meta"] = json!(filter);
    }
    if let Some(cursor) = cursor {
        params["cursor"] = json!(cursor);
    }
    params
}
