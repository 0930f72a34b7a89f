//! `larder pack`: from what a C or Go compiler makes to a component.

use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use super::table::bytes;
use super::{Answer, out};
use crate::author;

/// Makes a component out of a core module, as compilers of C and Go write it
///
/// The contract is put into modules that carry no types, and WASI 0.1 is led to 0.2.
#[derive(Debug, Args)]
#[command(after_help = "Example: larder pack core.wasm -o notes.wasm")]
pub(super) struct Pack {
    /// The core module
    #[arg(value_name = "CORE.wasm")]
    module: PathBuf,
    /// The component; it is replaced in one step
    #[arg(long, short, value_name = "OUT.wasm")]
    output: PathBuf,
}

impl Pack {
    pub(super) fn run(self) -> Result<Answer, Failure> {
        let path = self.module;
        let module = std::fs::read(&path).map_err(|error| Failure::Input { path: path.clone(), error })?;
        let component = author::pack(&module).map_err(|error| Failure::Pack { path, error })?;
        author::replace(&self.output, &component)?;
        out::note(&format!("{}: a component, {}", self.output.display(), bytes(component.len() as u64)));
        Ok(Answer::Yes)
    }
}
