//! `larder-dev.toml`: how `larder dev` builds the project of a provider.

mod cargo;
mod development;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

pub use self::development::Development;
use self::development::DevelopmentSection;
use super::parser::{self, Source};
use super::{ConfigError, Diagnostic};
use larder_model::name::ProviderName;

/// The name of the project file.
pub const PROJECT_FILE: &str = "larder-dev.toml";

/// Reserved provider names: their `NAME.toml` would be one of Larder's own files in the project folder.
const RESERVED_NAMES: [&str; 2] = ["larder", "larder-dev"];

/// A provider project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The folder of the project.
    pub folder: PathBuf,
    /// The provider's name.
    pub name: ProviderName,
    /// Build commands with their arguments, run in this order in the folder.
    pub build: Vec<Vec<String>>,
    /// The component that the commands build.
    pub component: PathBuf,
    /// Names of files and folders whose changes do not trigger a build.
    pub ignore: Vec<String>,
    /// Files and folders outside of the project from which the component is built. Their changes trigger a build too.
    pub watch: Vec<PathBuf>,
    /// How `larder dev` avoids building the component after each save.
    pub development: Option<Development>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ProjectFile {
    name: Option<Spanned<String>>,
    build: Option<Vec<Vec<String>>>,
    component: Option<PathBuf>,
    ignore: Vec<String>,
    watch: Vec<PathBuf>,
    development: Option<DevelopmentSection>,
}

/// Loads the project in this folder from `larder-dev.toml`, or else from `Cargo.toml`.
pub fn load_project(folder: &Path) -> Result<Project, ConfigError> {
    let folder = folder
        .canonicalize()
        .map_err(|error| ConfigError::unreadable(folder, error))?;
    let path = folder.join(PROJECT_FILE);
    let project = match std::fs::read_to_string(&path) {
        Ok(text) => parse(&text, &folder).map_err(|diagnostics| invalid(&path, diagnostics)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            cargo::project(&folder).ok_or_else(|| no_project(&folder))
        }
        Err(error) => Err(ConfigError::unreadable(&path, error)),
    };
    project.and_then(refuse_reserved_name)
}

fn refuse_reserved_name(project: Project) -> Result<Project, ConfigError> {
    let name = project.name.as_str();
    if !RESERVED_NAMES.contains(&name) {
        return Ok(project);
    }
    let message = format!(
        "{name}.toml would hold its grant requests, but Larder uses that file name itself; choose another name"
    );
    let diagnostic = Diagnostic::without_line("name", message);
    Err(ConfigError::without_file(vec![diagnostic]))
}

fn invalid(path: &Path, mut diagnostics: Vec<Diagnostic>) -> ConfigError {
    diagnostics.sort_by_key(|diagnostic| diagnostic.line);
    ConfigError::in_file(path, diagnostics)
}

fn parse(text: &str, folder: &Path) -> Result<Project, Vec<Diagnostic>> {
    let (raw, source, mut diagnostics): (ProjectFile, Source<'_>, _) = parser::parse(text, None)?;
    let name = match &raw.name {
        Some(name) => parse_name(name, &source),
        None => name_from_folder(folder),
    };
    let name = name.map_err(|diagnostic| diagnostics.push(diagnostic)).ok();
    let build = raw.build.unwrap_or_default();
    if !are_commands(&build) {
        let message = "specify the build commands, such as [[\"make\"]]";
        diagnostics.push(Diagnostic::without_line("build", message));
    }
    let watch = watched(folder, &raw.watch, &mut diagnostics);
    let Some(component) = &raw.component else {
        let message = "specify the file that the build creates";
        diagnostics.push(Diagnostic::without_line("component", message));
        return Err(diagnostics);
    };
    let section = raw
        .development
        .map(|section| section.convert(folder, component, &mut diagnostics));
    match name {
        Some(name) if diagnostics.is_empty() => Ok(Project {
            folder: folder.to_owned(),
            name,
            build,
            component: folder.join(component),
            ignore: raw.ignore,
            watch,
            development: section.flatten(),
        }),
        _ => Err(diagnostics),
    }
}

fn parse_name(raw: &Spanned<String>, source: &Source<'_>) -> Result<ProviderName, Diagnostic> {
    ProviderName::parse(raw.get_ref())
        .map_err(|error| source.diagnostic(&raw.span(), error.to_string()))
}

/// Whether there is a command, and each has a word.
fn are_commands(commands: &[Vec<String>]) -> bool {
    !commands.is_empty() && !commands.iter().any(Vec::is_empty)
}

/// Resolves the paths of `watch`, and adds the crates on which a Rust project depends.
fn watched(folder: &Path, paths: &[PathBuf], diagnostics: &mut Vec<Diagnostic>) -> Vec<PathBuf> {
    let mut watched = cargo::path_dependencies(folder);
    for path in paths {
        match folder.join(path).canonicalize() {
            Ok(path) => watched.push(path),
            Err(error) => {
                let message = format!("cannot find {}: {error}", path.display());
                diagnostics.push(Diagnostic::without_line("watch", message));
            }
        }
    }
    watched
}

fn name_from_folder(folder: &Path) -> Result<ProviderName, Diagnostic> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    ProviderName::parse(&name).map_err(|error| Diagnostic::without_line("name", error.to_string()))
}

fn no_project(folder: &Path) -> ConfigError {
    let message = format!(
        "there is no {PROJECT_FILE} and no Cargo.toml in {}, so it is unknown how to build it; create {PROJECT_FILE}, for example\n\
         build = [[\"make\"]]\ncomponent = \"notes.wasm\"\nor start with `larder new`",
        folder.display()
    );
    ConfigError::without_file(vec![Diagnostic::without_line("", message)])
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
        let shown = match load_project(&folder) {
            Ok(Project {
                name,
                build,
                component,
                ignore,
                watch,
                development,
                ..
            }) => {
                let development = development.map(|development| format!("\n{development:?}"));
                format!(
                    "{name}: {build:?} {} {ignore:?} {watch:?}{}",
                    component.display(),
                    development.unwrap_or_default()
                )
            }
            Err(error) => error.to_string(),
        };
        expected.assert_eq(&shown.replace(&folder.display().to_string(), "FOLDER"));
    }

    #[test]
    fn loads_a_project_file_or_a_cargo_manifest() {
        check(
            &[
                (
                    PROJECT_FILE,
                    "build = [['make', 'all']]\ncomponent = 'a.wasm'\nignore = ['out']\nwatch = ['src']",
                ),
                ("src", ""),
            ],
            expect![[r#"my-notes: [["make", "all"]] FOLDER/a.wasm ["out"] ["FOLDER/src"]"#]],
        );
        check(
            &[(
                "Cargo.toml",
                "[package]\nname = 'x-y'\n[lib]\ncrate-type = ['cdylib']",
            )],
            expect![[
                r#"x-y: [["cargo", "build", "--release", "--target", "wasm32-wasip2", "--target-dir", "target"]] FOLDER/target/wasm32-wasip2/release/x_y.wasm [] []"#
            ]],
        );
    }

    #[test]
    fn a_development_component_has_a_build_and_a_file() {
        let project = "build = [['make']]\ncomponent = 'a.wasm'\n[development]\n";
        check(
            &[(
                PROJECT_FILE,
                &format!(
                    "{project}build = [['make', 'b']]\ncomponent = '.b/b.wasm'\nbase = ['sdk']\n\
                     prepare = [['make', 'program']]\nprogram = '.b/program'"
                ),
            )],
            expect![[r#"my-notes: [["make"]] FOLDER/a.wasm [] []
Development { build: [["make", "b"]], component: "FOLDER/.b/b.wasm", base: ["sdk"], prepare: [["make", "program"]], program: "FOLDER/.b/program" }"#]],
        );
        check(
            &[(PROJECT_FILE, &format!("{project}prepare = [[]]"))],
            expect![[r#"
                development.build: specify the commands that build the development component
                development.prepare: a command has no words
                development.component: specify the file that `development.build` creates"#]],
        );
        check(
            &[(
                PROJECT_FILE,
                &format!("{project}build = [['make']]\ncomponent = 'a.wasm'"),
            )],
            expect![
                "development.component: it must not be the file of `component`, which you deploy"
            ],
        );
    }

    #[test]
    fn reports_all_errors() {
        check(
            &[(
                PROJECT_FILE,
                "name = 'larder'\nbuild = [['make']]\ncomponent = 'a.wasm'",
            )],
            expect![
                "name: larder.toml would hold its grant requests, but Larder uses that file name itself; choose another name"
            ],
        );
        check(
            &[(
                PROJECT_FILE,
                "name = 'a b'\nbuild = [[]]\nwatch = ['../gone']\nbild = 1",
            )],
            expect![[r#"
                build: specify the build commands, such as [["make"]]
                watch: cannot find ../gone: No such file or directory (os error 2)
                component: specify the file that the build creates
                FOLDER/larder-dev.toml:1: name: `a b` is not a name: use 1 to 64 letters, digits, `.`, `_` or `-`, beginning with a letter or a digit
                FOLDER/larder-dev.toml:4: bild: unknown field `bild`, expected one of `name`, `build`, `component`, `ignore`, `watch`, `development`"#]],
        );
        check(
            &[],
            expect![[r#"
                there is no larder-dev.toml and no Cargo.toml in FOLDER, so it is unknown how to build it; create larder-dev.toml, for example
                build = [["make"]]
                component = "notes.wasm"
                or start with `larder new`"#]],
        );
    }
}
