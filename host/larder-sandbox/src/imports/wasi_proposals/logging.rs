//! Implements `wasi:logging` with the log of the provider, which limits and filters its lines.

use wasmtime::component::{ComponentType, Lift, Linker};

use crate::guest::log::LogLevel;
use crate::guest::state::GuestState;

/// The version of the proposal, and the name that it had before it had a version.
pub(super) const INTERFACES: [&str; 2] =
    ["wasi:logging/logging@0.1.0-draft", "wasi:logging/logging"];

#[derive(ComponentType, Lift, Clone, Copy)]
#[component(enum)]
#[repr(u8)]
#[expect(dead_code, reason = "the engine makes the values")]
enum Level {
    #[component(name = "trace")]
    Trace,
    #[component(name = "debug")]
    Debug,
    #[component(name = "info")]
    Info,
    #[component(name = "warn")]
    Warn,
    #[component(name = "error")]
    Error,
    #[component(name = "critical")]
    Critical,
}

impl From<Level> for LogLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Trace | Level::Debug => Self::Debug,
            Level::Info => Self::Info,
            Level::Warn => Self::Warn,
            Level::Error | Level::Critical => Self::Error,
        }
    }
}

pub(super) fn add_to_linker(linker: &mut Linker<GuestState>) -> wasmtime::Result<()> {
    for interface in INTERFACES {
        linker.instance(interface)?.func_wrap(
            "log",
            |store, (level, context, message): (Level, String, String)| {
                let line = if context.is_empty() {
                    message
                } else {
                    format!("{context}: {message}")
                };
                store.data().log.line(level.into(), &line);
                Ok(())
            },
        )?;
    }
    Ok(())
}
