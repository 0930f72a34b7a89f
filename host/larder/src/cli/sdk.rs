//! `larder sdk`: writes the SDK of a language into a project.

use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CommandError;
use super::new::LanguageArg;
use super::{Outcome, out};
use larder_author::{self as author, Files};

/// Write the SDK of a language into a project
///
/// `larder new` has written it already. Use this for a project that was copied without it; `larder upgrade` updates it.
/// Replaces files of the same name, also those that you edited, and leaves all others unchanged.
#[derive(Debug, Args)]
#[command(after_help = "Example: larder sdk rust      writes the folder larder-provider")]
pub(super) struct Sdk {
    /// The programming language
    language: LanguageArg,
    /// The folder of the project
    #[arg(value_name = "DIR", default_value = ".")]
    project: PathBuf,
}

impl Sdk {
    pub(super) fn run(self) -> Result<Outcome, CommandError> {
        let project = &self.project;
        if !project.is_dir() {
            let error = std::io::ErrorKind::NotFound.into();
            return Err(CommandError::input(project)(error));
        }
        let files = author::sdk(self.language.into());
        author::write_into(project, &files)?;
        if let Some(folder) = files.keys().next().and_then(|path| path.split('/').next()) {
            out::text(&format!("{}\n", project.join(folder).display()))?;
            for other in other_files(project, Path::new(folder), &files) {
                let other = other.display();
                out::note(&format!(
                    "larder: {other} is not part of this version of the SDK: remove it unless it is yours"
                ));
            }
        }
        Ok(Outcome::Success)
    }
}

/// Returns the files in the folder of the SDK that the SDK of this version does not contain, such as files of an
/// earlier version.
fn other_files(project: &Path, folder: &Path, files: &Files) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut others = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(items) = std::fs::read_dir(project.join(&folder)) else {
            continue;
        };
        for item in items.flatten() {
            let path = folder.join(item.file_name());
            match item.file_type().is_ok_and(|kind| kind.is_dir()) {
                true if TOOL_FOLDERS.iter().any(|name| item.file_name() == *name) => {}
                true => folders.push(path),
                false if files.contains_key(&*path.to_string_lossy()) => {}
                false => others.push(project.join(path)),
            }
        }
    }
    others.sort();
    others
}

/// Folders that tools create in the SDK.
const TOOL_FOLDERS: [&str; 3] = ["target", "node_modules", "__pycache__"];
