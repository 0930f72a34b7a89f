//! Providers in other languages than Rust: the folders of `plugins/` with a `larder-dev.toml`, as `larder new` creates
//! them. Each project is built in the same way as by an author: with the commands of that file, from a copy with the
//! SDK.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::run::{Output, command, root, target};
use crate::step::Outcome;
use crate::{sources, tools};

/// Builds all projects. Returns the names and the files of their components. If the tools for a project are missing,
/// the project is reported and not built; in CI, this is an error.
pub(super) fn build(output: &Output) -> Result<Vec<(String, PathBuf)>> {
    let mut built = Vec::new();
    for name in names()? {
        if let Outcome::Skipped(reason) = tools::author_tools(output)? {
            output.write_line(&format!("{name:<24} not built: {reason}"))?;
            continue;
        }
        let project = target("authors/projects").join(&name);
        let component = project.join(format!("{name}.wasm"));
        build_once(output, &name, &project)
            .with_context(|| format!("cannot build plugins/{name}"))?;
        ensure!(
            component.exists(),
            "the commands of plugins/{name} did not create {}",
            component.display()
        );
        built.push((name, component));
    }
    Ok(built)
}

fn names() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for item in fs::read_dir(root().join("plugins"))? {
        let item = item?;
        if item.path().join("larder-dev.toml").exists() {
            names.push(item.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Builds a project, unless its component was built from the same files.
fn build_once(output: &Output, name: &str, project: &Path) -> Result<()> {
    let (from, sdk) = (
        root().join("plugins").join(name),
        root().join("sdk/python/larder_provider"),
    );
    let mut hasher = DefaultHasher::new();
    for folder in [&from, &sdk, &root().join("examples/requirements.txt")] {
        hash(folder, &mut hasher)?;
    }
    let (marker, digest) = (project.join(".built"), format!("{:016x}", hasher.finish()));
    if fs::read_to_string(&marker).is_ok_and(|built| built == digest) {
        return Ok(());
    }
    if project.exists() {
        fs::remove_dir_all(project)?;
    }
    sources::copy(&from, project)?;
    sources::copy(&sdk, &project.join("larder_provider"))?;
    for words in commands(&from)? {
        let (program, arguments) = words.split_first().context("a build command is empty")?;
        output.run(
            command(tools::author_tool(program))
                .args(arguments)
                .current_dir(project),
        )?;
    }
    fs::write(marker, digest).map_err(Into::into)
}

/// The commands in `build = [["program", "argument"]]`. The value is also valid as JSON.
fn commands(project: &Path) -> Result<Vec<Vec<String>>> {
    let text = fs::read_to_string(project.join("larder-dev.toml"))?;
    let value = text.lines().find_map(|line| line.strip_prefix("build = "));
    let value = value.context("larder-dev.toml has no line `build = …`")?;
    serde_json::from_str(value).context("`build` of larder-dev.toml")
}

/// Hashes the names and contents of all files.
fn hash(path: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    if path.is_file() {
        fs::read(path)?.hash(hasher);
        return Ok(());
    }
    let mut items = fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
    items.sort_by_key(fs::DirEntry::file_name);
    for item in items
        .into_iter()
        .filter(|item| item.file_name() != "__pycache__")
    {
        item.file_name().hash(hasher);
        hash(&item.path(), hasher)?;
    }
    Ok(())
}
