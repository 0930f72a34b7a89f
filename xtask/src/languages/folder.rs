//! The folders of a language in `target`. The example and the projects are built in the same folder, one after another,
//! so that they share installed packages and compiled files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::plugins::components_target;
use crate::run::{Output, command, larder, root, target};
use crate::sources;

/// Folders that the next project also uses.
const KEPT: [&str; 2] = ["node_modules", "target"];

/// The path of a folder of this language.
pub(super) fn of(language: &str, folder: &str) -> PathBuf {
    target("languages").join(language).join(folder)
}

/// An empty folder of this language.
pub(super) fn empty(language: &str, folder: &str) -> Result<PathBuf> {
    let folder = of(language, folder);
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The folder in which the example and the projects of this language are built.
pub(super) fn project(language: &str) -> PathBuf {
    of(language, "project")
}

/// Replaces the project by a clean copy of the example, with the SDK. Other files of the repository are not copied.
pub(super) fn replace_with_example(output: &Output, language: &str) -> Result<PathBuf> {
    let here = remove_project(language)?;
    sources::copy(
        &root()
            .join("examples")
            .join(format!("changelog-{language}")),
        &here,
    )?;
    output.run(command(larder()).args(["sdk", language]).arg(&here))?;
    Ok(here)
}

/// Replaces the project by a new one of `larder new`.
pub(super) fn replace_with_new(
    output: &Output,
    language: &str,
    name: &str,
    options: &[&str],
) -> Result<PathBuf> {
    let here = remove_project(language)?;
    let new = empty(language, "new")?.join(name);
    let mut larder = command(larder());
    larder
        .args(["new", name, "--lang", language])
        .args(options)
        .arg("--path")
        .arg(&new);
    output.run(&mut larder)?;
    for item in fs::read_dir(&new)? {
        let item = item?;
        fs::rename(item.path(), here.join(item.file_name()))?;
    }
    Ok(here)
}

/// Removes the project, except for folders that the next project also uses.
fn remove_project(language: &str) -> Result<PathBuf> {
    let here = project(language);
    fs::create_dir_all(&here)?;
    for item in fs::read_dir(&here)? {
        let item = item?;
        if !KEPT.iter().any(|kept| item.file_name() == *kept) {
            remove(&item.path())?;
        }
    }
    if language == "rust" {
        share_target(&here)?;
    }
    Ok(here)
}

/// Makes `target` of a project a link to the target folder of the providers, which need the same macros. The commands of a
/// README build in `target`.
fn share_target(project: &Path) -> Result<()> {
    let shared = components_target();
    // After `cargo clean`, a link from before leads nowhere.
    fs::create_dir_all(&shared)?;
    let link = project.join("target");
    if link.exists() {
        return Ok(());
    }
    Ok(symlink(shared, link)?)
}

fn remove(path: &Path) -> Result<()> {
    let removed = if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    removed.with_context(|| format!("cannot remove {}", path.display()))
}
