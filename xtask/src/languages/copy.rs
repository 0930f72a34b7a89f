//! Clean copies of the examples, without build output and with the SDKs at the expected relative paths.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::run::{root, target};

/// Output folders of compilers and package managers.
const BUILD_OUTPUT: [&str; 5] = ["target", "node_modules", "build", "__pycache__", ".venv"];

/// Copies an example and returns the path of the copy.
pub(crate) fn clean_copy(example: &str) -> Result<PathBuf> {
    let tree = target("examples").join(format!("tree-{example}"));
    if tree.exists() {
        fs::remove_dir_all(&tree).with_context(|| format!("cannot remove {}", tree.display()))?;
    }
    let example = Path::new("examples").join(example);
    for part in [&example, Path::new("sdk"), Path::new("plugins")] {
        copy(&root().join(part), &tree.join(part))?;
    }
    Ok(tree.join(example))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for item in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let item = item?;
        let name = item.file_name();
        let is_component = Path::new(&name).extension().is_some_and(|extension| extension == "wasm");
        if is_component || BUILD_OUTPUT.iter().any(|output| name == *output) {
            continue;
        }
        match item.file_type()?.is_dir() {
            true => copy(&item.path(), &to.join(name))?,
            false => drop(fs::copy(item.path(), to.join(name))?),
        }
    }
    Ok(())
}
