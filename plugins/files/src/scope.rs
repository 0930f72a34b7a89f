//! What is visible in a folder: names, the patterns of the settings, and the patterns in the ignore files of the folder
//! and of the folders above it.

use std::rc::Rc;

use larder_provider::{Error, Result};
use provider_support::disk::Disk;

use crate::patterns::Patterns;
use crate::settings::Settings;

/// The maximum size of a file with patterns.
const MAX_IGNORE_FILE: u64 = 256 << 10;

/// The rules of one folder. They apply to paths below a granted folder.
#[derive(Clone, Default)]
pub(crate) struct Scope {
    files: Vec<Rc<IgnoreFile>>,
}

struct IgnoreFile {
    /// The number of names in the path of its folder.
    depth: usize,
    patterns: Patterns,
}

impl Scope {
    /// The rules of a folder below the folder with these rules. If the path is empty, the rules of the granted folder.
    /// An ignore file that cannot be read is an error, because without it more files would be visible.
    pub(crate) fn enter(&self, disk: &Disk, path: &[String], settings: &Settings) -> Result<Self> {
        let mut scope = self.clone();
        for name in &settings.ignore_files {
            let file: Vec<String> = path.iter().chain([name]).cloned().collect();
            let content = match disk.file(&file) {
                Ok(file) => file.read_at(0, MAX_IGNORE_FILE + 1)?,
                Err(Error::NotFound) => continue,
                Err(error) => return Err(error),
            };
            if content.len() as u64 > MAX_IGNORE_FILE {
                let reason = format!(
                    "`{}` is larger than {} KiB",
                    file.join("/"),
                    MAX_IGNORE_FILE >> 10
                );
                return Err(Error::Failed(format!(
                    "{reason}: shorten it or change the setting `ignore_files`"
                )));
            }
            let patterns = Patterns::from_file(&content);
            if !patterns.is_empty() {
                scope.files.push(Rc::new(IgnoreFile {
                    depth: path.len(),
                    patterns,
                }));
            }
        }
        Ok(scope)
    }

    /// Whether a file or folder is visible. All folders above it must be visible, and this scope must be the scope of
    /// its parent folder.
    pub(crate) fn is_visible(&self, path: &[String], is_folder: bool, settings: &Settings) -> bool {
        let name = path.last().map(String::as_str).unwrap_or_default();
        settings.is_visible_name(name)
            && settings.exclude.matches(path, is_folder) != Some(true)
            && (is_folder || is_included(path, settings))
            && !self.is_ignored(path, is_folder)
    }

    /// The file in the deepest folder that says anything decides.
    fn is_ignored(&self, path: &[String], is_folder: bool) -> bool {
        let decides = |file: &Rc<IgnoreFile>| file.patterns.matches(&path[file.depth..], is_folder);
        self.files.iter().rev().find_map(decides) == Some(true)
    }
}

/// Whether a file or a folder above it matches the setting `include`.
fn is_included(path: &[String], settings: &Settings) -> bool {
    let matches = |length| {
        settings
            .include
            .matches(&path[..length], length < path.len())
    };
    settings.include.is_empty() || (1..=path.len()).rev().find_map(matches) == Some(true)
}
