//! The settings of this provider and their defaults.

use std::time::Duration;

use larder_provider::{Declaration, Result, Setting};

const MAX_BYTES: Setting<u64> =
    Setting::size("max_bytes", "The maximum size of an object and of a diff.")
        // Half of the host's limit of 16 MiB, which applies to the encoded response.
        .default("8MiB");
const LIST_FILES: Setting<bool> =
    Setting::boolean("list_files", "Whether the files of HEAD are in the list.").default("true");
const MAX_REFS: Setting<usize> =
    Setting::number("max_refs", "The maximum number of branches and tags.").default("10000");
const TTL_MS: Setting<u64> =
    Setting::number("ttl_ms", "How many milliseconds a response may be cached.").default("1000");

/// Settings of the operator.
pub(crate) struct Settings {
    /// Maximum size of an object and of a diff.
    pub(crate) max_bytes: u64,
    /// Whether the files of `HEAD` are listed.
    pub(crate) list_files: bool,
    /// Maximum number of branches and tags.
    pub(crate) max_refs: usize,
    /// How long a response may be cached.
    pub(crate) ttl: Duration,
}

impl Settings {
    /// All settings, for the host.
    pub(crate) fn declarations() -> Vec<Declaration> {
        vec![
            MAX_BYTES.declaration(),
            LIST_FILES.declaration(),
            MAX_REFS.declaration(),
            TTL_MS.declaration(),
        ]
    }

    pub(crate) fn read() -> Result<Self> {
        Ok(Self {
            max_bytes: MAX_BYTES.get()?,
            list_files: LIST_FILES.get()?,
            max_refs: MAX_REFS.get()?,
            ttl: Duration::from_millis(TTL_MS.get()?),
        })
    }
}
