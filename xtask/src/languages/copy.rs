//! Clean copies of the examples, without build output. Nothing else of the repository is copied: `larder sdk` writes the
//! SDK.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::run::{Output, command, larder, root, target};
use crate::sources;

/// The path of the copy of an example.
pub(crate) fn folder(language: &str) -> PathBuf {
    target("examples").join(format!("copy-{language}"))
}

/// Copies the example of a language, adds the SDK, and returns the path of the copy.
pub(crate) fn with_sdk(output: &Output, language: &str) -> Result<PathBuf> {
    let to = folder(language);
    if to.exists() {
        fs::remove_dir_all(&to).with_context(|| format!("cannot remove {}", to.display()))?;
    }
    sources::copy(&root().join("examples").join(format!("changelog-{language}")), &to)?;
    output.run(command(larder()).args(["sdk", language]).arg(&to))?;
    Ok(to)
}
