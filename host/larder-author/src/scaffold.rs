//! Creates projects: a small provider in any language, with the SDK and bindings that its build needs.

use std::fs;
use std::path::{Path, PathBuf};

use super::bindings::{self, BindingsError, BindingsLanguage};
use super::contract::Ability;
use super::disk::{self, DiskError, Files};
use super::example::Example;
use super::project_files::{self, ProjectLanguage};
use super::{sdk_files, sdk_record, workflow};

/// The maximum length of a project name.
const MAX_NAME_LENGTH: usize = 64;

/// Why no project was created. No file was written.
#[derive(Debug, thiserror::Error)]
pub enum ScaffoldError {
    /// The name is not valid as a package, a provider and a URI scheme.
    #[error(
        "`{0}` cannot be the name: use up to {MAX_NAME_LENGTH} lower-case letters, digits or `-`, beginning with a \
         letter, such as `my-notes`"
    )]
    Name(String),
    /// The name is the name of the SDK package, or its NAME.toml would collide with another file.
    #[error("`{0}` is reserved; choose another name")]
    Reserved(String),
    /// The folder exists.
    #[error("{} exists already; choose another name, or another folder with `--path`", .0.display())]
    Exists(PathBuf),
    /// The language has no template for functions.
    #[error("`--kind function` exists for rust and python")]
    NoFunctions,
    /// The files could not be written.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The bindings could not be generated.
    #[error(transparent)]
    Bindings(#[from] BindingsError),
}

impl ScaffoldError {
    /// Returns whether the input is wrong.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::Name(_) | Self::Reserved(_) | Self::Exists(_) | Self::NoFunctions => true,
            Self::Disk(_) | Self::Bindings(_) => false,
        }
    }
}

/// Creates a project atomically.
pub fn scaffold(
    language: ProjectLanguage,
    example: Example,
    name: &str,
    folder: &Path,
) -> Result<(), ScaffoldError> {
    check_name(name)?;
    if fs::symlink_metadata(folder).is_ok() {
        return Err(ScaffoldError::Exists(folder.to_owned()));
    }
    write_project(folder, &files(language, example, name)?)?;
    Ok(())
}

/// Returns the files of the SDK, as a new project contains them, and the record of them.
pub fn sdk(language: ProjectLanguage) -> Files {
    let mut files = Files::new();
    for (folder, texts) in sdk_files::sdk(language) {
        let file = |(path, text): &(&str, &str)| {
            (
                format!("{folder}/{path}"),
                text.replace("@VERSION@", env!("CARGO_PKG_VERSION"))
                    .into_bytes(),
            )
        };
        files.extend(texts.iter().map(file));
    }
    let record = sdk_record::record(language, &files);
    files.extend(record);
    files
}

fn check_name(name: &str) -> Result<(), ScaffoldError> {
    match name {
        "larder" | "larder-dev" | "larder-provider" => {
            Err(ScaffoldError::Reserved(name.to_owned()))
        }
        _ if is_valid(name) => Ok(()),
        _ => Err(ScaffoldError::Name(name.escape_debug().take(80).collect())),
    }
}

fn is_valid(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= MAX_NAME_LENGTH
        && name.chars().all(is_valid_char)
        && !name.ends_with('-')
}

fn is_valid_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

fn files(language: ProjectLanguage, example: Example, name: &str) -> Result<Files, ScaffoldError> {
    let mut files = Files::new();
    let replaced = |text: &str| {
        let text = text
            .replace("@NAME@", name)
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"));
        let placeholders = example.placeholders().iter();
        placeholders.fold(text, |text, (placeholder, value)| {
            text.replace(placeholder, value)
        })
    };
    let mut add = |texts: &[(&str, &str)]| {
        files.extend(
            texts
                .iter()
                .map(|(path, text)| ((*path).to_owned(), replaced(text).into_bytes())),
        );
    };
    if example == Example::Functions {
        let template = project_files::function_template(language);
        add(template.ok_or(ScaffoldError::NoFunctions)?);
        return Ok(files);
    }
    add(project_files::template(language));
    // Replaces the source file of the template.
    add(example.source(language));
    let workflow = replaced(&workflow::workflow(language));
    files.insert(workflow::PATH.to_owned(), workflow.into_bytes());
    let request = example.request();
    files.extend(request.map(|text| (format!("{name}.toml"), text.as_bytes().to_vec())));
    files.extend(sdk(language));
    if matches!(language, ProjectLanguage::C | ProjectLanguage::Cpp) {
        // For the other languages, the compiler reads the contract or the SDK contains bindings.
        let abilities: &[Ability] = match example {
            Example::Resources | Example::Functions => &[],
            Example::Interactive => &[
                Ability::Tools,
                Ability::Prompts,
                Ability::Search,
                Ability::Settings,
            ],
        };
        let bindings = bindings::bindings(&BindingsLanguage::C, abilities)?;
        files.extend(
            bindings
                .into_iter()
                .map(|(path, bytes)| (format!("bindings/{path}"), bytes)),
        );
    }
    Ok(files)
}

/// Writes into a temporary folder and renames it, so that an interrupted run leaves no partial project.
fn write_project(folder: &Path, files: &Files) -> Result<(), DiskError> {
    let failed = DiskError::at(folder);
    let parent = folder
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let new = tempfile::Builder::new()
        .prefix(".larder-new-")
        .tempdir_in(parent)
        .map_err(&failed)?;
    let inside = new.path().join("project");
    disk::write_into(&inside, files)?;
    fs::rename(&inside, folder).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_names() {
        for good in ["a", "my-notes", "x2"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "My",
            "2x",
            "a b",
            "a/b",
            "../a",
            "-a",
            "a-",
            "ä",
            "a_b",
            &"x".repeat(65),
        ] {
            assert!(
                matches!(check_name(bad), Err(ScaffoldError::Name(_))),
                "{bad:?}"
            );
        }
        for taken in ["larder", "larder-dev", "larder-provider"] {
            assert!(
                matches!(check_name(taken), Err(ScaffoldError::Reserved(_))),
                "{taken}"
            );
        }
    }

    /// Both examples have the same files and the same names, so that the tests of a project are valid for both. Only the
    /// interactive example requests something.
    #[test]
    fn an_interactive_example_replaces_the_source_file() {
        for language in ProjectLanguage::ALL {
            let plain = files(language, Example::Resources, "notes").unwrap();
            let mut interactive = files(language, Example::Interactive, "notes").unwrap();
            let request = interactive.remove("notes.toml").unwrap();
            assert!(String::from_utf8(request).unwrap().contains("tools = true"));
            assert_eq!(
                plain.keys().collect::<Vec<_>>(),
                interactive.keys().collect::<Vec<_>>()
            );
            let [(source, text)] = Example::Interactive.source(language) else {
                panic!()
            };
            assert_ne!(plain[*source], interactive[*source]);
            assert!(
                text.contains("greet") && text.contains("\"world\""),
                "{source}"
            );
        }
    }

    #[test]
    fn writes_a_complete_project_or_nothing() {
        let root = tempfile::tempdir().unwrap();
        let here = || fs::read_dir(root.path()).unwrap().count();
        let folder = root.path().join("notes");
        for language in ProjectLanguage::ALL {
            for example in [Example::Resources, Example::Interactive] {
                let scaffold = || scaffold(language, example, "notes", &folder);
                scaffold().unwrap();
                assert_eq!(here(), 1);
                assert!(matches!(scaffold(), Err(ScaffoldError::Exists(_))));
                for name in files(language, example, "notes").unwrap().keys() {
                    let text = fs::read(folder.join(name)).unwrap();
                    let text = String::from_utf8_lossy(&text);
                    for placeholder in [
                        "@NAME@",
                        "@VERSION@",
                        "@WORLD@",
                        "@DEPENDENCIES@",
                        "@TOOLS@",
                    ] {
                        assert!(!text.contains(placeholder), "{name} contains {placeholder}");
                    }
                }
                fs::remove_dir_all(&folder).unwrap();
            }
        }
        for language in [ProjectLanguage::Rust, ProjectLanguage::Python] {
            scaffold(language, Example::Functions, "notes", &folder).unwrap();
            let wit = fs::read_to_string(folder.join("wit/world.wit")).unwrap();
            assert!(wit.contains("export greet"), "{wit}");
            fs::remove_dir_all(&folder).unwrap();
        }
        let error = scaffold(ProjectLanguage::Go, Example::Functions, "notes", &folder);
        assert!(matches!(error, Err(ScaffoldError::NoFunctions)));
        let c = |name: &str, folder: &Path| {
            scaffold(ProjectLanguage::C, Example::Resources, name, folder)
        };
        assert!(c("not a name", &folder).is_err());
        let error = c("notes", &root.path().join("gone/notes")).unwrap_err();
        assert!(matches!(error, ScaffoldError::Disk(_)), "{error}");
        assert_eq!(here(), 0);
    }
}
