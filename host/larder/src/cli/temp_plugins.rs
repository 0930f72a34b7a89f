//! A temporary plugins folder with one component, for commands that load a component alone.

use std::path::Path;

use tempfile::TempDir;

use super::error::CommandError;
use larder_model::name::ProviderName;

/// Creates the folder. It is deleted when the result is dropped.
pub(super) fn create(file: &Path, component: &[u8]) -> Result<TempDir, CommandError> {
    let folder = tempfile::tempdir()?;
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    let stem = stem
        .filter(|stem| ProviderName::parse(stem).is_ok())
        .unwrap_or("component");
    let copy = folder.path().join(format!("{stem}.wasm"));
    std::fs::write(&copy, component).map_err(|error| CommandError::File { path: copy, error })?;
    Ok(folder)
}
