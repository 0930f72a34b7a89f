#![doc = include_str!("../README.md")]

#[doc(hidden)]
pub mod bindings;
mod content;
mod entry;
mod error;
mod export;
mod greedy;
mod host;
pub mod http;
#[cfg(feature = "interactive")]
mod interactive;
pub mod key_value;
mod page;
mod provider;
mod request;

#[doc(inline)]
pub use content::{Body, Content, Freshness, Reading, Scope};
#[doc(inline)]
pub use entry::{Description, Details, Entry, Icon, Role, Template, Theme};
pub use error::{Error, Result};
#[doc(hidden)]
pub use export::{ProviderExport, start};
#[doc(inline)]
pub use host::{
    Caller, Level, caller, cancelled, log, metadata, progress, resource_updated, resources_changed,
    setting, setting_or, time_left,
};
#[cfg(not(target_family = "wasm"))]
pub use host::{set_setting, set_time_left};
#[cfg(feature = "interactive")]
#[doc(inline)]
pub use interactive::{
    APP_PAGE, Annotations, Answer, AppPage, Argument, ArgumentQuery, Block, BlockValue, Call,
    Declaration, ElicitOutcome, EmbeddedResource, Hints, Hit, Hits, Input, InputRequest,
    InputRequired, InputResponse, Kind, Media, Message, NoArguments, Prompt, PromptAnswer,
    PromptRequest, PromptResult, Prompts, SearchQuery, Setting, Severity, Tool, ToolOutput,
    ToolResult, Tools, client_log_level, client_supports, log_to_client, prompts_changed,
    tools_changed,
};
#[doc(inline)]
pub use page::{Completion, EntryPage, TemplatePage, paginate, paginate_from};
pub use provider::Provider;
#[doc(inline)]
pub use request::{CompletionRequest, DirectoryQuery, Query, Request, TemplateMatch, Variable};
#[cfg(feature = "interactive")]
pub use {schemars, serde, serde_json};
