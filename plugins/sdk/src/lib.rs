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
mod page;
mod provider;
mod request;

#[doc(inline)]
pub use content::{Body, Content, Freshness, Reading, Scope};
#[doc(inline)]
pub use entry::{Description, Details, Entry, Icon, Role, Template};
pub use error::{Error, Result};
#[doc(hidden)]
pub use export::{Exported, start};
#[cfg(not(target_family = "wasm"))]
pub use host::set_setting;
#[doc(inline)]
pub use host::{
    Caller, Level, caller, cancelled, log, metadata, progress, resource_updated, resources_changed, setting,
    setting_or,
};
#[doc(inline)]
pub use page::{Completion, EntryPage, TemplatePage, paginate};
pub use provider::Provider;
#[doc(inline)]
pub use request::{CompletionRequest, Query, Request, TemplateMatch};
