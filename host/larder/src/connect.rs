//! Entries for this server in the configuration files of MCP clients: which file, which keys, and edits that keep all
//! other text unchanged.

mod client;
mod config_file;
mod entry;
mod error;
mod json_file;
mod location;
mod plan;
mod toml_file;

pub(crate) use client::Client;
#[cfg(feature = "registry")]
pub(crate) use config_file::{ConfigFile, Readers};
pub(crate) use entry::{Server, Token};
pub(crate) use error::ConnectError;
pub(crate) use location::{Platform, Scope, file_of};
pub(crate) use plan::{Change, Plan};

#[cfg(test)]
mod tests;
