//! The settings of this provider and their defaults.

use std::time::Duration;

use larder_provider::{Declaration, Result, Setting};

use crate::patterns::Patterns;

const HIDDEN: Setting<bool> =
    Setting::boolean("hidden", "Whether names that begin with a dot are visible.").default("false");
const IGNORE: Setting<String> = Setting::text(
    "ignore",
    "Names that are never visible, separated by commas.",
)
// Folders with generated files, which are often large.
.default("target,node_modules,.git,.venv,__pycache__");
const INCLUDE: Setting<String> = Setting::text(
    "include",
    "Patterns as in .gitignore, separated by commas: only files that match are visible.",
)
.default("");
const EXCLUDE: Setting<String> = Setting::text(
    "exclude",
    "Patterns as in .gitignore, separated by commas: files and folders that match are not visible.",
)
.default("");
const IGNORE_FILES: Setting<String> = Setting::text(
    "ignore_files",
    "Names of files with patterns of what is not visible, separated by commas.",
)
.default(".gitignore");
const FOLDERS: Setting<bool> =
    Setting::boolean("folders", "Whether folders are in the list too.").default("false");
const DEPTH: Setting<usize> =
    Setting::number("depth", "The maximum depth of folders in a list.").default("32");
const MAX_NAMES: Setting<usize> = Setting::number(
    "max_names",
    "The maximum number of names per folder in a list.",
)
.default("100000");
const MAX_BYTES: Setting<u64> =
    Setting::size("max_bytes", "The maximum size of a file that can be read.")
        // Half of the host's limit of 16 MiB, which applies to the encoded response.
        .default("8MiB");
const SEARCH_FILES: Setting<usize> = Setting::number(
    "search_files",
    "The maximum number of files whose content is searched at once.",
)
.default("100000");
const SEARCH_BYTES: Setting<u64> = Setting::size(
    "search_bytes",
    "The maximum size of what is searched at once.",
)
.default("64MiB");
const TTL_MS: Setting<u64> =
    Setting::number("ttl_ms", "How many milliseconds a response may be cached.").default("1000");

/// Settings of the operator.
pub(crate) struct Settings {
    /// Whether names that begin with a dot are visible.
    pub(crate) hidden: bool,
    /// Names that are never visible.
    pub(crate) ignore: Vec<String>,
    /// If there are any, only files that match are visible.
    pub(crate) include: Patterns,
    /// Files and folders that match are not visible.
    pub(crate) exclude: Patterns,
    /// Names of files with patterns, in the folder to which they apply.
    pub(crate) ignore_files: Vec<String>,
    /// Whether folders are listed.
    pub(crate) folders: bool,
    /// Maximum depth of folders in a list.
    pub(crate) depth: usize,
    /// Maximum number of names per folder in a list.
    pub(crate) max_names: usize,
    /// Maximum size of a file that can be read.
    pub(crate) max_bytes: u64,
    /// Maximum number of files whose content a search reads.
    pub(crate) search_files: usize,
    /// Maximum number of bytes that a search reads.
    pub(crate) search_bytes: u64,
    /// How long a response may be cached.
    pub(crate) ttl: Duration,
}

impl Settings {
    /// All settings, for the host.
    pub(crate) fn declarations() -> Vec<Declaration> {
        vec![
            HIDDEN.declaration(),
            IGNORE.declaration(),
            INCLUDE.declaration(),
            EXCLUDE.declaration(),
            IGNORE_FILES.declaration(),
            FOLDERS.declaration(),
            DEPTH.declaration(),
            MAX_NAMES.declaration(),
            MAX_BYTES.declaration(),
            SEARCH_FILES.declaration(),
            SEARCH_BYTES.declaration(),
            TTL_MS.declaration(),
        ]
    }

    pub(crate) fn read() -> Result<Self> {
        Ok(Self {
            hidden: HIDDEN.get()?,
            ignore: items(&IGNORE.get()?),
            include: Patterns::from_setting(&items(&INCLUDE.get()?)),
            exclude: Patterns::from_setting(&items(&EXCLUDE.get()?)),
            ignore_files: items(&IGNORE_FILES.get()?),
            folders: FOLDERS.get()?,
            depth: DEPTH.get()?,
            max_names: MAX_NAMES.get()?,
            max_bytes: MAX_BYTES.get()?,
            search_files: SEARCH_FILES.get()?,
            search_bytes: SEARCH_BYTES.get()?,
            ttl: Duration::from_millis(TTL_MS.get()?),
        })
    }

    /// Whether files and folders with this name are visible, according to the name alone.
    pub(crate) fn is_visible_name(&self, name: &str) -> bool {
        (self.hidden || !name.starts_with('.'))
            && !self.ignore.iter().any(|ignored| ignored == name)
    }
}

/// The items of a list that is separated by commas or line breaks.
fn items(list: &str) -> Vec<String> {
    let items = list
        .split([',', '\n'])
        .map(str::trim)
        .filter(|item| !item.is_empty());
    items.map(str::to_owned).collect()
}
