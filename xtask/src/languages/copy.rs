//! A clean copy of an example, with the SDKs where it expects them: nothing that was built before is in it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::run::{root, target};

/// What compilers and package managers leave behind.
const LEFT: [&str; 5] = ["target", "node_modules", "build", "__pycache__", ".venv"];

/// Where the copy of this example is.
pub(crate) fn fresh(example: &str) -> Result<PathBuf> {
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
        let built = Path::new(&name).extension().is_some_and(|extension| extension == "wasm");
        if built || LEFT.iter().any(|left| name == *left) {
            continue;
        }
        match item.file_type()?.is_dir() {
            true => copy(&item.path(), &to.join(name))?,
            false => drop(fs::copy(item.path(), to.join(name))?),
        }
    }
    Ok(())
}
