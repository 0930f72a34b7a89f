//! Copies of sources, without build output.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Output folders of compilers and package managers, and SDKs that were added to a project.
const BUILD_OUTPUT: [&str; 7] = [
    "target",
    "node_modules",
    "build",
    "__pycache__",
    ".venv",
    "larder-provider",
    "larder_provider",
];

/// Copies a folder, without components and other build output. Follows links, such as those to the contract.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for item in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let item = item?;
        let name = item.file_name();
        let is_component = Path::new(&name)
            .extension()
            .is_some_and(|extension| extension == "wasm");
        if is_component || BUILD_OUTPUT.iter().any(|output| name == *output) {
            continue;
        }
        if item.path().is_dir() {
            copy(&item.path(), &to.join(name))?;
        } else {
            fs::copy(item.path(), to.join(name))?;
        }
    }
    Ok(())
}
