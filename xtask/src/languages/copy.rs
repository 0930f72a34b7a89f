//! Clean copies of the examples, without build output. Nothing else of the repository is copied: `larder sdk` writes the
//! SDK.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::run::{Output, command, larder, root, target};

/// Output folders of compilers and package managers.
const BUILD_OUTPUT: [&str; 7] =
    ["target", "node_modules", "build", "__pycache__", ".venv", "larder-provider", "larder_provider"];

/// Copies the example of a language, adds the SDK, and returns the path of the copy.
pub(crate) fn with_sdk(output: &Output, language: &str) -> Result<PathBuf> {
    let to = target("examples").join(format!("copy-{language}"));
    if to.exists() {
        fs::remove_dir_all(&to).with_context(|| format!("cannot remove {}", to.display()))?;
    }
    copy(&root().join("examples").join(format!("changelog-{language}")), &to)?;
    output.run(command(larder()).args(["sdk", language]).arg(&to))?;
    Ok(to)
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
