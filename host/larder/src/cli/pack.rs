//! `larder pack`: turns the core module of a C or Go compiler into a component.

use std::path::PathBuf;

use clap::Args;

use super::error::CommandError;
use super::table::bytes;
use super::{Outcome, out};
use larder_author as author;
use larder_sandbox::unsupported_features;

/// Turn a core module into a component
///
/// For the core modules that C and Go compilers produce. Adds the types of the contract if the module has
/// none, and an adapter from WASI 0.1 to WASI 0.2.
#[derive(Debug, Args)]
#[command(after_help = "Example: larder pack core.wasm -o notes.wasm")]
pub(super) struct Pack {
    /// The core module
    #[arg(value_name = "CORE.wasm")]
    module: PathBuf,
    /// The component to write; an existing file is replaced atomically
    #[arg(long, short, value_name = "OUT.wasm")]
    output: PathBuf,
}

impl Pack {
    pub(super) fn run(self) -> Result<Outcome, CommandError> {
        let path = self.module;
        let module = std::fs::read(&path).map_err(CommandError::input(&path))?;
        let features = unsupported_features(&module);
        if !features.is_empty() {
            return Err(CommandError::UnsupportedFeatures { path, features });
        }
        let component =
            author::pack(&module).map_err(|error| CommandError::Pack { path, error })?;
        author::replace(&self.output, &component)?;
        out::note(&format!(
            "{}: a component, {}",
            self.output.display(),
            bytes(component.len() as u64)
        ));
        Ok(Outcome::Success)
    }
}
