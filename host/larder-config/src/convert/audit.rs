//! Converts `[audit]`.

use std::path::{Path, PathBuf};

use toml::Spanned;

use super::Conversion;
use crate::file::{self, Audit};
use larder_core::audit::{Config, OnFull, Target};

impl Conversion<'_> {
    pub(super) fn audit(&mut self, raw: &Audit) -> Config {
        Config {
            to: self.audit_target(raw),
            on_full: on_full(raw),
            sync: requested_sync(raw).is_some(),
        }
    }

    fn audit_target(&mut self, raw: &Audit) -> Option<Target> {
        let file = raw.file.as_ref()?;
        if file.get_ref() == Path::new("-") {
            self.reject_sync(raw);
            return Some(Target::Stderr);
        }
        Some(Target::File(self.audit_file(file)))
    }

    fn reject_sync(&mut self, raw: &Audit) {
        if let Some(sync) = requested_sync(raw) {
            self.error(&sync.span(), "requires a file, not stderr");
        }
    }

    fn audit_file(&mut self, raw: &Spanned<PathBuf>) -> PathBuf {
        let path = self.context.folder.join(raw.get_ref());
        self.ok_or_report(&raw.span(), check_file(&path));
        path
    }
}

fn on_full(raw: &Audit) -> OnFull {
    match raw.on_full {
        None | Some(file::OnFull::Wait) => OnFull::Wait,
        Some(file::OnFull::Drop) => OnFull::Drop,
    }
}

fn requested_sync(raw: &Audit) -> Option<&Spanned<bool>> {
    raw.sync.as_ref().filter(|sync| *sync.get_ref())
}

fn check_file(path: &Path) -> Result<(), String> {
    let missing = path.parent().filter(|parent| !parent.is_dir());
    if let Some(parent) = missing {
        let parent = parent.display();
        return Err(format!("there is no folder {parent}: create it"));
    }
    if path.is_dir() {
        let path = path.display();
        return Err(format!("{path} is a folder: name a file in it"));
    }
    Ok(())
}
