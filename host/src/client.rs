//! An MCP client for resources: lists, templates, reads, completion, listening, and other methods by their names. It
//! speaks the era of requests that stand for themselves (2026-07-28) and falls back to `initialize` where the server is
//! older.
//! Over HTTP, or over lines of JSON. Besides the endpoint the only room that knows MCP.
//!
//! Answers are small typed structs; what they do not name is kept in `rest`, so that nothing gets lost.
//!
//! ```no_run
//! # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
//! use larder::client::{Client, Filter};
//!
//! let mut client = Client::http("http://127.0.0.1:7878/mcp", None).await?;
//! let mut cursor = None;
//! loop {
//!     let page = client.resources(&Filter::default(), cursor.as_deref()).await?;
//!     for resource in &page.items {
//!         println!("{} ({})", resource.uri, resource.name);
//!     }
//!     cursor = page.next_cursor;
//!     if cursor.is_none() {
//!         break;
//!     }
//! }
//! let reading = client.read("file:///docs/hello.md").await?;
//! println!("{}", String::from_utf8(reading.contents[0].bytes()?)?);
//! client.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! A server in the same process is asked in the same way, without a network between. This runs the `conformance`
//! provider:
//!
//! ```
//! # const TARGET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target");
//! # fn config(plugins: &std::path::Path) -> Result<larder::config::Config, Box<dyn std::error::Error>> {
//! #     let overrides = larder::config::Overrides { plugins: Some(plugins.into()), ..Default::default() };
//! #     let mut config = larder::config::load(&overrides)?.with_folder()?;
//! #     // This program is not `larder`, which compiles components.
//! #     config.sandbox.compiler.program = format!("{TARGET}/debug/larder").into();
//! #     config.sandbox.compiler.cache.place = larder::sandbox::Place::Named(format!("{TARGET}/tmp/cache").into());
//! #     Ok(config)
//! # }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! #     tokio::runtime::Runtime::new()?.block_on(ask())
//! # }
//! # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let plugins = folder.path();
//! # std::fs::copy(format!("{TARGET}/plugins/conformance.wasm"), plugins.join("conformance.wasm"))?;
//! use larder::app::App;
//! use larder::client::Client;
//!
//! let app = App::build(config(plugins)?).await?;
//! let (input, output) = tokio::io::split(app.connect());
//! let mut client = Client::lines(input, output).await?;
//!
//! let reading = client.read("test://static-text").await?;
//! assert_eq!(reading.contents[0].text.as_deref(), Some("This is the content of the static text resource."));
//!
//! let values = client.complete("test://template/{id}/data", "id", "12", &[]).await?.values;
//! assert_eq!(values, ["12", "120"]);
//!
//! client.close().await;
//! app.finish().await;
//! # Ok(())
//! # }
//! ```

mod admin;
mod answer;
mod child;
mod connect;
mod error;
mod filter;
mod greeting;
mod http;
mod lines;
mod listen;
mod message;
mod revision;
mod watch;

use std::ops::ControlFlow;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Command;

pub use admin::status;
pub use answer::{Completion, Content, NotBase64, Page, Progress, Reading, Resource, ResourceTemplate};
pub use connect::Connect;
pub use error::{ClientError, Refusal};
pub use filter::Filter;
pub use listen::{Listening, News, Notification, Wanted};
pub use revision::{Revision, UnknownRevision};
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

/// Told of what comes before the answer; it says whether the answer is still wanted.
type Hear<'a> = &'a mut (dyn FnMut(&message::Incoming) -> ControlFlow<()> + Send);

fn unheard(_: &message::Incoming) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

impl Client {
    /// A connection with more to say about it than where to.
    pub fn connect() -> Connect {
        Connect::default()
    }

    /// Connects to an endpoint such as `http://127.0.0.1:7878/mcp`, with a bearer token if there is one.
    pub async fn http(url: &str, token: Option<&str>) -> Result<Self, ClientError> {
        let connect = Self::connect();
        token.into_iter().fold(connect, |connect, token| connect.token(token)).http(url).await
    }

    /// Speaks to a server that reads and writes one message per line.
    pub async fn lines<R, W>(input: R, output: W) -> Result<Self, ClientError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::connect().lines(input, output).await
    }

    /// Starts a server and speaks to it over its standard input and output: see [`Connect::spawn`].
    ///
    /// ```no_run
    /// # async fn start() -> Result<(), larder::client::ClientError> {
    /// let mut larder = tokio::process::Command::new("larder");
    /// larder.args(["serve", "--stdio", "--config", "/path/to/larder.toml"]);
    /// let mut client = larder::client::Client::spawn(larder).await?;
    /// println!("{:?}", client.templates(&Default::default(), None).await?);
    /// client.close().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn spawn(command: Command) -> Result<Self, ClientError> {
        Self::connect().spawn(command).await
    }

    /// The revision of the protocol that is spoken.
    pub fn revision(&self) -> &str {
        self.era.revision().as_str()
    }

    /// One page of the resources that a filter takes.
    pub async fn resources(
        &mut self,
        filter: &Filter,
        cursor: Option<&str>,
    ) -> Result<Page<Resource>, ClientError> {
        self.ask("resources/list", page(filter, cursor), None).await
    }

    /// One page of the templates that a filter takes.
    pub async fn templates(
        &mut self,
        filter: &Filter,
        cursor: Option<&str>,
    ) -> Result<Page<ResourceTemplate>, ClientError> {
        self.ask("resources/templates/list", page(filter, cursor), None).await
    }

    /// What a URI holds.
    pub async fn read(&mut self, uri: &str) -> Result<Reading, ClientError> {
        self.ask("resources/read", json!({ "uri": uri }), Some(uri)).await
    }

    /// What a URI holds, with reports of how far the server is, until one is answered with [`ControlFlow::Break`]:
    /// then the read is cancelled, which is [`ClientError::Cancelled`]. Dropping the future cancels it as well: at once
    /// where requests stand for themselves, and with the next request, or the end, of a session or a pipe.
    ///
    /// ```no_run
    /// # async fn read(client: &mut larder::client::Client) -> Result<(), larder::client::ClientError> {
    /// use std::ops::ControlFlow;
    ///
    /// let reading = client.read_with_progress("big://thing", |progress| {
    ///     println!("{} of {:?}", progress.progress, progress.total);
    ///     ControlFlow::Continue(())
    /// });
    /// println!("{} pieces", reading.await?.contents.len());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read_with_progress(
        &mut self,
        uri: &str,
        mut tell: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<Reading, ClientError> {
        let token = self.asked + 1;
        let params = json!({ "uri": uri, "_meta": { "progressToken": token } });
        let mut hear = |message: &message::Incoming| match message.progress(token) {
            Some(progress) => tell(progress),
            None => ControlFlow::Continue(()),
        };
        self.ask_and_hear("resources/read", params, Some(uri), &mut hear).await
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

    /// Asks by the name of a method, for what there is no function for. The result is read as it is wanted.
    ///
    /// ```no_run
    /// # async fn get(client: &mut larder::client::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let params = serde_json::from_str(r#"{ "uri": "file:///docs/hello.md" }"#)?;
    /// let got: serde_json::Value = client.request("resources/get", params).await?;
    /// println!("{}", got["contents"]["content"]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn request<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Map<String, Value>,
    ) -> Result<T, ClientError> {
        let name = message::name(method, &params);
        self.ask(method, params.into(), name.as_deref()).await
    }

    /// Listens from now on. What a server does not let this client watch is left out: see [`Listening::honoured`].
    pub async fn listen(self, wanted: &Wanted) -> Result<Listening, ClientError> {
        Listening::begin(self, wanted).await
    }

    /// Ends the session if the server keeps one, and the server if this client started it.
    pub async fn close(self) {
        match self.transport {
            Transport::Http(http) => http.end_session(self.era).await,
            Transport::Lines(lines) => lines.close().await,
        }
    }

    async fn ask<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Value,
        name: Option<&str>,
    ) -> Result<T, ClientError> {
        self.ask_and_hear(method, params, name, &mut unheard).await
    }

    async fn ask_and_hear<T: DeserializeOwned>(
        &mut self,
        method: &str,
        params: Value,
        name: Option<&str>,
        hear: Hear<'_>,
    ) -> Result<T, ClientError> {
        self.asked += 1;
        let request = Outgoing::request(self.asked, self.era, method, params, name);
        self.transport.exchange(&request, self.era, hear).await?.result(method)
    }
}

impl Transport {
    async fn exchange(
        &mut self,
        request: &Outgoing<'_>,
        era: Era,
        hear: Hear<'_>,
    ) -> Result<message::Incoming, ClientError> {
        match self {
            Self::Http(http) => http.exchange(request, era, hear).await,
            Self::Lines(lines) => lines.exchange(request, hear).await,
        }
    }

    async fn tell(&mut self, notification: &Outgoing<'_>, era: Era) -> Result<(), ClientError> {
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
