//! `larder-dev.toml`: how a provider's project is built, for `larder dev`.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::gather::{self, Source};
use super::{ConfigError, Fault};
use crate::name::ProviderName;

/// What a project's file is called.
pub const PROJECT: &str = "larder-dev.toml";

/// Names that no provider of a project may have: its NAME.toml is another file there.
const OURS: [&str; 2] = ["larder", "larder-dev"];

/// A folder in which a provider is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The folder.
    pub folder: PathBuf,
    /// The provider's name.
    pub name: ProviderName,
    /// Programs with their words, run one after the other in the folder.
    pub build: Vec<Vec<String>>,
    /// What they make.
    pub component: PathBuf,
    /// Names of files and folders that no build depends on.
    pub ignore: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    name: Option<toml::Spanned<String>>,
    build: Option<Vec<Vec<String>>>,
    component: Option<PathBuf>,
    ignore: Vec<String>,
}

/// Reads how the project in this folder is built: from its file, or from what cargo is told.
pub fn project(folder: &Path) -> Result<Project, ConfigError> {
    let unreadable = |path: &Path, error| ConfigError::Unreadable { path: path.to_owned(), error };
    let folder = folder.canonicalize().map_err(|error| unreadable(folder, error))?;
    let path = folder.join(PROJECT);
    let project = match std::fs::read_to_string(&path) {
        Ok(text) => parse(&text, &folder).map_err(|faults| refuse(&path, faults)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            by_cargo(&folder).ok_or_else(|| unknown(&folder))
        }
        Err(error) => Err(unreadable(&path, error)),
    };
    project.and_then(named)
}

fn named(project: Project) -> Result<Project, ConfigError> {
    let name = project.name.as_str();
    if !OURS.contains(&name) {
        return Ok(project);
    }
    let what = format!("{name}.toml would be what it asks for, and is a file of ours; choose another name");
    Err(ConfigError::Faults { file: None, faults: vec![Fault { line: None, place: "name".into(), what }] })
}

fn refuse(path: &Path, mut faults: Vec<Fault>) -> ConfigError {
    faults.sort_by_key(|fault| fault.line);
    ConfigError::Faults { file: Some(path.to_owned()), faults }
}

fn parse(text: &str, folder: &Path) -> Result<Project, Vec<Fault>> {
    let (written, source, mut faults): (Written, Source<'_>, _) = gather::read(text, None)?;
    let name = match &written.name {
        Some(name) => ProviderName::parse(name.get_ref())
            .map_err(|error| faults.push(source.fault(&name.span(), error.to_string())))
            .ok(),
        None => name_of(folder).map_err(|fault| faults.push(fault)).ok(),
    };
    let build = written.build.unwrap_or_default();
    if build.is_empty() || build.iter().any(Vec::is_empty) {
        let what = "say which programs build it, such as [[\"make\"]]";
        faults.push(Fault { line: None, place: "build".into(), what: what.into() });
    }
    let Some(component) = &written.component else {
        let what = "say which file the build makes";
        faults.push(Fault { line: None, place: "component".into(), what: what.into() });
        return Err(faults);
    };
    match name {
        Some(name) if faults.is_empty() => Ok(Project {
            folder: folder.to_owned(),
            name,
            build,
            component: folder.join(component),
            ignore: written.ignore,
        }),
        _ => Err(faults),
    }
}

fn name_of(folder: &Path) -> Result<ProviderName, Fault> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    ProviderName::parse(&name).map_err(|error| Fault {
        line: None,
        place: "name".into(),
        what: error.to_string(),
    })
}

/// Rust needs no file of ours: cargo's own says all.
fn by_cargo(folder: &Path) -> Option<Project> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Manifest {
        package: BTreeMap<String, toml::Value>,
        lib: BTreeMap<String, toml::Value>,
    }
    let text = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let manifest: Manifest = toml::from_str(&text).ok()?;
    let package = manifest.package.get("name")?.as_str()?;
    let lib = manifest.lib.get("name").and_then(toml::Value::as_str).unwrap_or(package);
    let component = format!("target/wasm32-wasip2/release/{}.wasm", lib.replace('-', "_"));
    // Wherever this machine or the workspace around it would put what is built.
    let build = ["cargo", "build", "--release", "--target", "wasm32-wasip2", "--target-dir", "target"];
    Some(Project {
        folder: folder.to_owned(),
        name: ProviderName::parse(package).ok()?,
        build: vec![build.map(str::to_owned).to_vec()],
        component: folder.join(component),
        ignore: Vec::new(),
    })
}

fn unknown(folder: &Path) -> ConfigError {
    let what = format!(
        "there is no {PROJECT} and no Cargo.toml in {}, so nobody knows how it is built; write the first, such as\n\
         build = [[\"make\"]]\ncomponent = \"notes.wasm\"\nor begin with `larder new`",
        folder.display()
    );
    ConfigError::Faults { file: None, faults: vec![Fault { line: None, place: String::new(), what }] }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(files: &[(&str, &str)], expected: Expect) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().canonicalize().unwrap().join("my-notes");
        std::fs::create_dir(&folder).unwrap();
        for (name, text) in files {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let shown = match project(&folder) {
            Ok(Project { name, build, component, ignore, .. }) => {
                format!("{name}: {build:?} {} {ignore:?}", component.display())
            }
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&shown.replace(&folder.display().to_string(), "FOLDER"));
    }

    #[test]
    fn a_project_says_how_it_is_built() {
        check(
            &[(PROJECT, "build = [['make', 'all']]\ncomponent = 'a.wasm'\nignore = ['out']")],
            expect![[r#"my-notes: [["make", "all"]] FOLDER/a.wasm ["out"]"#]],
        );
        check(
            &[("Cargo.toml", "[package]\nname = 'x-y'\n[lib]\ncrate-type = ['cdylib']")],
            expect![[
                r#"x-y: [["cargo", "build", "--release", "--target", "wasm32-wasip2", "--target-dir", "target"]] FOLDER/target/wasm32-wasip2/release/x_y.wasm []"#
            ]],
        );
    }

    #[test]
    fn what_is_wrong_with_it_is_named() {
        check(
            &[(PROJECT, "name = 'larder'\nbuild = [['make']]\ncomponent = 'a.wasm'")],
            expect![
                "name: larder.toml would be what it asks for, and is a file of ours; choose another name"
            ],
        );
        check(
            &[(PROJECT, "name = 'a b'\nbuild = [[]]\nbild = 1")],
            expect![[r#"
                build: say which programs build it, such as [["make"]]
                component: say which file the build makes
                FOLDER/larder-dev.toml:1: name: `a b` is not a name: use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or a digit
                FOLDER/larder-dev.toml:3: bild: unknown field `bild`, expected one of `name`, `build`, `component`, `ignore`"#]],
        );
        check(
            &[],
            expect![[r#"
                there is no larder-dev.toml and no Cargo.toml in FOLDER, so nobody knows how it is built; write the first, such as
                build = [["make"]]
                component = "notes.wasm"
                or begin with `larder new`"#]],
        );
    }
}
