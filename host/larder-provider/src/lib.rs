//! The interface between the core and the engines that run providers: the traits that an engine implements, and the
//! plain values that pass through them. Nothing in this crate runs a guest.

#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables are long"))]

mod compilation;
mod engine;
mod error;
mod facts;
#[cfg(feature = "test-util")]
pub mod fake;
mod fault;
mod load_error;
mod log;
mod pages;
mod probe;
mod provider;
mod rejection;
mod signal_queue;
mod tool_schemas;

pub use self::compilation::{CompileJob, CompilePhases, HashedComponent, Priority};
pub use self::engine::{CachedComponent, Compilation, CompiledComponent, Engine, ProviderParts};
pub use self::error::CallError;
pub use self::facts::{CircuitStates, GrantSources, OptionalInterfaces, ProviderFacts};
pub use self::fault::{Fault, FaultKind};
pub use self::load_error::LoadError;
pub use self::pages::{ListPage, ListQuery, fetch_pages};
pub use self::probe::ProbeResult;
pub use self::provider::{Provider, ProviderCall, UriFilter};
pub use self::rejection::{CONTRACT_VERSION, Rejection};
pub use self::signal_queue::{Signal, SignalReceiver, SignalSender, signal_channel};
pub use self::tool_schemas::{MAX_EFFORT, ToolSchemas, ToolValidation};
