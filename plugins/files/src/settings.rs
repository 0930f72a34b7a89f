//! The settings of this provider and their defaults.

use std::time::Duration;

use larder_provider::{Result, setting, setting_or};

/// Names of folders with generated files, which are often large.
const IGNORED: &str = "target,node_modules,.git,.venv,__pycache__";

/// Settings of the operator.
pub(crate) struct Settings {
    /// `hidden`: whether names that begin with a dot are visible.
    pub(crate) hidden: bool,
    /// `ignore`: names that are never visible, separated by commas.
    pub(crate) ignore: Vec<String>,
    /// `depth`: maximum depth of folders in a list.
    pub(crate) depth: usize,
    /// `max-names`: maximum number of names per folder in a list.
    pub(crate) max_names: usize,
    /// `max-bytes`: maximum size of a file that can be read.
    pub(crate) max_bytes: u64,
    /// `ttl-ms`: how long a response may be cached.
    pub(crate) ttl: Duration,
}

impl Settings {
    pub(crate) fn read() -> Result<Self> {
        let ignore = setting("ignore").unwrap_or_else(|| IGNORED.to_owned());
        let names = ignore.split(',').map(str::trim).filter(|name| !name.is_empty());
        Ok(Self {
            hidden: setting_or("hidden", false)?,
            ignore: names.map(str::to_owned).collect(),
            depth: setting_or("depth", 32)?,
            max_names: setting_or("max-names", 100_000)?,
            // Half of the host's limit of 16 MiB, which applies to the encoded response.
            max_bytes: setting_or("max-bytes", 8 << 20)?,
            ttl: Duration::from_millis(setting_or("ttl-ms", 1000)?),
        })
    }

    /// Whether files and folders with this name are visible, both in lists and in reads.
    pub(crate) fn is_visible(&self, name: &str) -> bool {
        (self.hidden || !name.starts_with('.')) && !self.ignore.iter().any(|ignored| ignored == name)
    }
}
