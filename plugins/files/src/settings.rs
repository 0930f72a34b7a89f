//! What the operator may set, and what holds otherwise.

use std::time::Duration;

use larder_provider::{Result, setting, setting_or};

/// Folders that hold what was made from other files, and much of it.
const IGNORED: &str = "target,node_modules,.git,.venv,__pycache__";

/// What is shown, and how much of it.
pub(crate) struct Settings {
    /// `hidden`: whether names that begin with a dot are shown.
    pub(crate) hidden: bool,
    /// `ignore`: names that are never shown, separated by commas.
    pub(crate) ignore: Vec<String>,
    /// `depth`: how many folders deep a list goes.
    pub(crate) depth: usize,
    /// `max-names`: how many names of one folder a list looks at.
    pub(crate) most_names: usize,
    /// `max-bytes`: the largest file that is read.
    pub(crate) most_bytes: u64,
    /// `ttl-ms`: how long an answer may be reused.
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
            most_names: setting_or("max-names", 100_000)?,
            // The host's own limit of 16 MiB counts what the file becomes on its way.
            most_bytes: setting_or("max-bytes", 8 << 20)?,
            ttl: Duration::from_millis(setting_or("ttl-ms", 1000)?),
        })
    }

    /// Whether something of this name is there at all, for lists and reads alike.
    pub(crate) fn shows(&self, name: &str) -> bool {
        (self.hidden || !name.starts_with('.')) && !self.ignore.iter().any(|ignored| ignored == name)
    }
}
