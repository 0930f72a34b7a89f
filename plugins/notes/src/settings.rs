//! The settings of this provider and their defaults.

use std::time::Duration;

use larder_provider::{Declaration, Result, Setting};

const MAX_NOTES: Setting<usize> =
    Setting::number("max_notes", "The maximum number of notes.").default("10000");
const MAX_BYTES: Setting<u64> =
    Setting::size("max_bytes", "The maximum size of a note.").default("1MiB");
const DEPTH: Setting<usize> =
    Setting::number("depth", "The maximum depth of folders.").default("32");
const TTL_MS: Setting<u64> =
    Setting::number("ttl_ms", "How many milliseconds a response may be cached.").default("1000");

/// Settings of the operator.
pub(crate) struct Settings {
    /// Maximum number of notes.
    pub(crate) max_notes: usize,
    /// Maximum size of a note.
    pub(crate) max_bytes: u64,
    /// Maximum depth of folders.
    pub(crate) depth: usize,
    /// How long a response may be cached.
    pub(crate) ttl: Duration,
}

impl Settings {
    /// All settings, for the host.
    pub(crate) fn declarations() -> Vec<Declaration> {
        vec![
            MAX_NOTES.declaration(),
            MAX_BYTES.declaration(),
            DEPTH.declaration(),
            TTL_MS.declaration(),
        ]
    }

    pub(crate) fn read() -> Result<Self> {
        Ok(Self {
            max_notes: MAX_NOTES.get()?,
            max_bytes: MAX_BYTES.get()?,
            depth: DEPTH.get()?,
            ttl: Duration::from_millis(TTL_MS.get()?),
        })
    }
}
