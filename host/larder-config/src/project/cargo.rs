//! Rust projects: the information about the component in `Cargo.toml`, and the crates in other folders from which it is
//! built.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Project;
use larder_model::name::ProviderName;
use larder_model::toml_depth::check_depth;

/// The name of the manifest.
const MANIFEST: &str = "Cargo.toml";
/// The tables of a manifest that can name crates in other folders.
const DEPENDENCIES: [&str; 2] = ["dependencies", "build-dependencies"];

/// The command that builds a component. An explicit target folder overrides the target folder in the configuration of
/// the workspace or the machine.
const BUILD: [&str; 7] = [
    "cargo",
    "build",
    "--release",
    "--target",
    "wasm32-wasip2",
    "--target-dir",
    "target",
];

/// Derives the project from `Cargo.toml`: a Rust project needs no `larder-dev.toml`.
pub(super) fn project(folder: &Path) -> Option<Project> {
    let manifest = manifest(folder)?;
    let package = manifest.get("package")?.get("name")?.as_str()?;
    let lib = library_name(&manifest).unwrap_or(package);
    let file = lib.replace('-', "_");
    Some(Project {
        folder: folder.to_owned(),
        name: ProviderName::parse(package).ok()?,
        build: vec![BUILD.map(str::to_owned).to_vec()],
        component: folder.join(format!("target/wasm32-wasip2/release/{file}.wasm")),
        ignore: Vec::new(),
        watch: path_dependencies(folder),
        development: None,
    })
}

fn library_name(manifest: &toml::Table) -> Option<&str> {
    manifest.get("lib")?.get("name")?.as_str()
}

/// The folders of all crates on which the crate in this folder depends by path, directly or indirectly, if these
/// folders are outside of this folder. Empty if there is no manifest. Paths that do not exist are omitted: cargo
/// reports them.
pub(super) fn path_dependencies(folder: &Path) -> Vec<PathBuf> {
    let mut found = BTreeSet::new();
    let mut next = vec![folder.to_owned()];
    while let Some(one) = next.pop() {
        for dependency in direct_dependencies(&one) {
            if found.insert(dependency.clone()) {
                next.push(dependency);
            }
        }
    }
    found
        .into_iter()
        .filter(|path| !path.starts_with(folder))
        .collect()
}

/// The folders of the crates on which a crate depends by path.
fn direct_dependencies(folder: &Path) -> Vec<PathBuf> {
    let Some(manifest) = manifest(folder) else {
        return Vec::new();
    };
    let tables = DEPENDENCIES
        .iter()
        .filter_map(|table| manifest.get(*table)?.as_table());
    let dependencies = tables.flatten().filter_map(|(name, dependency)| {
        let (folder, dependency) = if is_of_workspace(dependency) {
            of_workspace_above(folder, name)?
        } else {
            (folder.to_owned(), dependency.clone())
        };
        folder
            .join(dependency.get("path")?.as_str()?)
            .canonicalize()
            .ok()
    });
    dependencies.collect()
}

fn is_of_workspace(dependency: &toml::Value) -> bool {
    dependency.get("workspace").and_then(toml::Value::as_bool) == Some(true)
}

/// The folder of the workspace of this crate, and how the workspace specifies a dependency.
fn of_workspace_above(folder: &Path, dependency: &str) -> Option<(PathBuf, toml::Value)> {
    folder.ancestors().find_map(|folder| {
        let manifest = manifest(folder)?;
        let specified = manifest
            .get("workspace")?
            .get("dependencies")?
            .get(dependency)?;
        Some((folder.to_owned(), specified.clone()))
    })
}

fn manifest(folder: &Path) -> Option<toml::Table> {
    let text = std::fs::read_to_string(folder.join(MANIFEST)).ok()?;
    check_depth(&text).ok()?;
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_crates_in_other_folders() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(root.join(name)).unwrap();
            std::fs::write(root.join(name).join(MANIFEST), text).unwrap();
        };
        write(
            "",
            "[workspace]\nmembers = ['app']\n[workspace.dependencies]\nshared = { path = 'libs/shared' }\n",
        );
        write(
            "app",
            "[dependencies]\nserde = '1'\ninside = { path = 'inside' }\nshared.workspace = true\n\
             missing = { path = '../missing' }\n[build-dependencies]\ntool = { path = '../tool' }\n\
             [dev-dependencies]\ntesting = { path = '../testing' }\n",
        );
        write(
            "app/inside",
            "[dependencies]\ndeep = { path = '../../deep' }\n",
        );
        // A cycle, which cargo permits for dependencies of tests only.
        write("libs/shared", "[dependencies]\nshared = { path = '.' }\n");
        for name in ["tool", "testing", "deep"] {
            write(name, "");
        }
        let expected = ["deep", "libs/shared", "tool"].map(|name| root.join(name));
        assert_eq!(path_dependencies(&root.join("app")), expected);
        assert_eq!(path_dependencies(&root.join("nothing")), [] as [PathBuf; 0]);
    }
}
