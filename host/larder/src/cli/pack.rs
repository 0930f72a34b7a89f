//! `larder pack`: turns the core module of a C or Go compiler into a component, and adds documentation to a component.

use std::path::PathBuf;

use clap::Args;

use super::error::CommandError;
use super::table::bytes;
use super::{Outcome, out};
use larder_author::{self as author, PackError};
use larder_sandbox::unsupported_features;

/// Turn a core module into a component
///
/// For the core modules that C and Go compilers produce. Adds the types of the contract if the module has
/// none, and an adapter from WASI 0.1 to WASI 0.2. With `--docs`, the comments of WIT files become a part of the
/// component, also of one that is a component already: they describe functions that are tools.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  larder pack core.wasm -o notes.wasm
  larder pack component.wasm --docs wit -o tools.wasm")]
pub(super) struct Pack {
    /// The core module; with `--docs`, a core module or a component
    #[arg(value_name = "CORE.wasm")]
    module: PathBuf,
    /// The component to write; an existing file is replaced atomically
    #[arg(long, short, value_name = "OUT.wasm")]
    output: PathBuf,
    /// Add the comments of the WIT files in this folder
    #[arg(long, value_name = "WIT")]
    docs: Option<PathBuf>,
}

impl Pack {
    pub(super) fn run(self) -> Result<Outcome, CommandError> {
        let path = self.module;
        let module = std::fs::read(&path).map_err(CommandError::input(&path))?;
        let features = unsupported_features(&module);
        if !features.is_empty() {
            return Err(CommandError::UnsupportedFeatures { path, features });
        }
        let component = match (author::pack(&module), &self.docs) {
            (Err(PackError::Component), Some(_)) => module,
            (packed, _) => packed.map_err(|error| CommandError::Pack {
                path: path.clone(),
                error,
            })?,
        };
        let component = match &self.docs {
            Some(wit) => author::add_package_docs(&component, wit)
                .map_err(|error| CommandError::PackageDocs { path, error })?,
            None => component,
        };
        author::replace(&self.output, &component)?;
        out::note(&format!(
            "{}: a component, {}",
            self.output.display(),
            bytes(component.len() as u64)
        ));
        Ok(Outcome::Success)
    }
}
