//! Names and paths that differ only in case. macOS and Windows usually treat these as the same, so they are rejected on
//! each system: a configuration means the same everywhere, and no two teams or providers share files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Spanned;

use super::Conversion;

impl Conversion<'_> {
    /// Rejects names of one table that differ only in case.
    pub(super) fn reject_names_in_another_case<'a>(
        &mut self,
        names: impl IntoIterator<Item = &'a Spanned<String>>,
    ) {
        let mut seen = BTreeMap::new();
        for name in names {
            let text = name.get_ref();
            if let Some(other) = seen.insert(text.to_ascii_lowercase(), text) {
                let message = format!(
                    "`{text}` differs from `{other}` only in case, and some systems would use the same files for both: choose another name"
                );
                self.error(&name.span(), message);
            }
        }
    }
}

/// Whether one path is in the other, or both are equal, on a system that ignores case.
pub(super) fn overlap(one: &Path, other: &Path) -> bool {
    let [one, other] = [one, other].map(without_case);
    one.starts_with(&other) || other.starts_with(&one)
}

fn without_case(path: &Path) -> PathBuf {
    path.to_string_lossy().to_lowercase().into()
}

/// Returns the file of a folder with this name in any case.
pub(super) fn file_in_any_case(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.find(|path| has_name(path, name))
}

fn has_name(path: &Path, name: &str) -> bool {
    path.file_name()
        .is_some_and(|own| own.eq_ignore_ascii_case(name))
}
