//! The folders in which the server keeps its files, as plain data.

use serde::{Deserialize, Serialize};

/// The folders in which the server keeps its files. Commands on the same machine use the same folders.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Folders {
    /// The configuration file; `None` if it does not exist.
    pub configuration: Option<String>,
    /// The folder for approvals, pins of tools, stored values and sessions.
    pub state: String,
    /// The folder for compiled components; `None` if it is temporary.
    pub cache: Option<String>,
}
