//! A temporary plugins folder with one component, for commands that load a component alone.

use std::path::Path;

use tempfile::TempDir;

use super::error::CommandError;
use larder_builtin::PREFIX;
use larder_model::name::ProviderName;

/// Reads a component: a file, or one that is inside the program.
pub(super) fn read(file: &Path) -> Result<Vec<u8>, CommandError> {
    match file.to_str().and_then(|text| text.strip_prefix(PREFIX)) {
        Some(name) if !file.exists() => {
            let component = larder_builtin::find(name)?.component();
            component.map_err(CommandError::input(file))
        }
        _ => std::fs::read(file).map_err(CommandError::input(file)),
    }
}

/// Creates the folder for a component that is inside the program. `None` for a path.
pub(super) fn of_builtin(plugins: &Path) -> Result<Option<TempDir>, CommandError> {
    let text = plugins.to_str().filter(|_| !plugins.exists());
    if text.is_none_or(|text| !text.starts_with(PREFIX)) {
        return Ok(None);
    }
    create(plugins, &read(plugins)?).map(Some)
}

/// Creates the folder. It is deleted when the result is dropped.
pub(super) fn create(file: &Path, component: &[u8]) -> Result<TempDir, CommandError> {
    let folder = tempfile::tempdir()?;
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    let stem = stem.map(|stem| stem.strip_prefix(PREFIX).unwrap_or(stem));
    let stem = stem
        .filter(|stem| ProviderName::parse(stem).is_ok())
        .unwrap_or("component");
    let copy = folder.path().join(format!("{stem}.wasm"));
    std::fs::write(&copy, component).map_err(CommandError::file(copy))?;
    Ok(folder)
}
