//! Where it is written down who read what.

use std::path::Path;

use super::Conversion;
use crate::audit::{Config, OnFull, Target};
use crate::config::file::{self, Audit};

impl Conversion<'_> {
    pub(super) fn audit(&mut self, written: &Audit) -> Config {
        let on_full = match written.on_full {
            None | Some(file::OnFull::Wait) => OnFull::Wait,
            Some(file::OnFull::Drop) => OnFull::Drop,
        };
        let Some(file) = &written.file else { return Config { to: None, on_full } };
        if file.get_ref() == Path::new("-") {
            return Config { to: Some(Target::Stderr), on_full };
        }
        let path = self.place.folder.join(file.get_ref());
        let parent = path.parent().filter(|parent| !parent.is_dir());
        if let Some(parent) = parent {
            self.fault(&file.span(), format!("there is no folder {}: create it", parent.display()));
        } else if path.is_dir() {
            self.fault(&file.span(), format!("{} is a folder: name a file in it", path.display()));
        }
        Config { to: Some(Target::File(path)), on_full }
    }
}
