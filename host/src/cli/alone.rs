//! A component in a folder of its own, to be loaded as `larder serve` would and by nobody else.

use std::path::Path;

use tempfile::TempDir;

use super::failure::Failure;
use crate::name::ProviderName;

/// The folder goes with what is given.
pub(super) fn folder(file: &Path, component: &[u8]) -> Result<TempDir, Failure> {
    let folder = tempfile::tempdir()?;
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    let stem = stem.filter(|stem| ProviderName::parse(stem).is_ok()).unwrap_or("component");
    let copy = folder.path().join(format!("{stem}.wasm"));
    std::fs::write(&copy, component).map_err(|error| Failure::File { path: copy, error })?;
    Ok(folder)
}
