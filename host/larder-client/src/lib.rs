//! An MCP client for resources: lists, templates, reads, completion, change notifications, and any other
//! method by its name. It supports revision 2026-07-28, whose requests are self-contained, and falls back to
//! the `initialize` handshake for older servers. Transports: Streamable HTTP, and one JSON message per line.
//!
//! Results are small structs. Fields without a name in these structs are in `rest`.
//!
//! ```no_run
//! # async fn list() -> Result<(), Box<dyn std::error::Error>> {
//! use larder_client::{Client, Filter};
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
//! A server in the same process can be used in the same way, without a network. This example runs the
//! `conformance` provider:
//!
//! ```
//! # const TARGET: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target");
//! # fn config(plugins: &std::path::Path) -> Result<larder_config::Config, Box<dyn std::error::Error>> {
//! #     let overrides = larder_config::Overrides { plugins: Some(plugins.into()), ..Default::default() };
//! #     let mut config = larder_config::load(&overrides)?.require_plugins_folders()?;
//! #     // Components are compiled by the `larder` program, which this is not.
//! #     config.sandbox.compiler.program = format!("{TARGET}/debug/larder").into();
//! #     let cache = larder_sandbox::CacheLocation::Configured(format!("{TARGET}/tmp/cache").into());
//! #     config.sandbox.compiler.cache.location = cache;
//! #     Ok(config)
//! # }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! #     tokio::runtime::Runtime::new()?.block_on(read())
//! # }
//! # async fn read() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let plugins = folder.path();
//! # std::fs::copy(format!("{TARGET}/plugins/conformance.wasm"), plugins.join("conformance.wasm"))?;
//! use larder::app::App;
//! use larder_client::Client;
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

// Numbers that a server sends, such as delays, must not overflow.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod admin;
mod builder;
mod child;
mod connection;
mod era;
mod error;
mod filter;
mod handshake;
mod http;
mod limits;
mod lines;
mod listen;
mod login;
mod message;
mod results;
mod revision;
mod search;
mod sign_in;
mod tool_call;
mod transport;
mod watch;

pub use builder::ClientBuilder;
pub use connection::Client;
pub use error::{ClientError, RpcError};
pub use filter::Filter;
pub use http::AdminEvents;
pub use listen::{ListenTargets, ListeningClient, ResourceChange};
pub use login::Login;
pub use message::Notification;
pub use results::{
    Answer, Completion, Content, InputRequest, InputRequired, NotBase64, Page, Progress, Prompt,
    PromptArgument, PromptMessage, PromptResult, ReadResult, Resource, ResourceTemplate,
    SearchResult, Skill, Tool, ToolResult,
};
pub use revision::{Revision, UnknownRevision};
pub use search::Search;
pub use sign_in::{
    ClientIdentity, IsPublicAddress, SignIn, SignInError, TokenStore, UserAction, UserPrompt,
};
pub use tool_call::ToolCall;
pub use watch::{Event, watch};
