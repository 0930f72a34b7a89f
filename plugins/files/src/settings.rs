//! The settings of this provider and their defaults.

use std::time::Duration;

use larder_provider::{Declaration, Result, Setting};

const HIDDEN: Setting<bool> =
    Setting::boolean("hidden", "Whether names that begin with a dot are visible.").default("false");
const IGNORE: Setting<String> = Setting::text("ignore", "Names that are never visible, separated by commas.")
    // Folders with generated files, which are often large.
    .default("target,node_modules,.git,.venv,__pycache__");
const DEPTH: Setting<usize> =
    Setting::number("depth", "The maximum depth of folders in a list.").default("32");
const MAX_NAMES: Setting<usize> =
    Setting::number("max_names", "The maximum number of names per folder in a list.").default("100000");
const MAX_BYTES: Setting<u64> = Setting::size("max_bytes", "The maximum size of a file that can be read.")
    // Half of the host's limit of 16 MiB, which applies to the encoded response.
    .default("8MiB");
const TTL_MS: Setting<u64> =
    Setting::number("ttl_ms", "How many milliseconds a response may be cached.").default("1000");

/// Settings of the operator.
pub(crate) struct Settings {
    /// Whether names that begin with a dot are visible.
    pub(crate) hidden: bool,
    /// Names that are never visible.
    pub(crate) ignore: Vec<String>,
    /// Maximum depth of folders in a list.
    pub(crate) depth: usize,
    /// Maximum number of names per folder in a list.
    pub(crate) max_names: usize,
    /// Maximum size of a file that can be read.
    pub(crate) max_bytes: u64,
    /// How long a response may be cached.
    pub(crate) ttl: Duration,
}

impl Settings {
    /// All settings, for the host.
    pub(crate) fn declarations() -> Vec<Declaration> {
        vec![
            HIDDEN.declaration(),
            IGNORE.declaration(),
            DEPTH.declaration(),
            MAX_NAMES.declaration(),
            MAX_BYTES.declaration(),
            TTL_MS.declaration(),
        ]
    }

    pub(crate) fn read() -> Result<Self> {
        let ignore = IGNORE.get()?;
        let names = ignore.split(',').map(str::trim).filter(|name| !name.is_empty());
        Ok(Self {
            hidden: HIDDEN.get()?,
            ignore: names.map(str::to_owned).collect(),
            depth: DEPTH.get()?,
            max_names: MAX_NAMES.get()?,
            max_bytes: MAX_BYTES.get()?,
            ttl: Duration::from_millis(TTL_MS.get()?),
        })
    }

    /// Whether files and folders with this name are visible, both in lists and in reads.
    pub(crate) fn is_visible(&self, name: &str) -> bool {
        (self.hidden || !name.starts_with('.')) && !self.ignore.iter().any(|ignored| ignored == name)
    }
}
