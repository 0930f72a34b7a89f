//! Converts `[audit]`.

use std::path::Path;

use super::Conversion;
use crate::file::{self, Audit};
use larder_core::audit::{Config, OnFull, Target};

impl Conversion<'_> {
    pub(super) fn audit(&mut self, raw: &Audit) -> Config {
        let on_full = match raw.on_full {
            None | Some(file::OnFull::Wait) => OnFull::Wait,
            Some(file::OnFull::Drop) => OnFull::Drop,
        };
        let sync = raw.sync.as_ref().is_some_and(|sync| *sync.get_ref());
        let Some(file) = &raw.file else {
            return Config {
                to: None,
                on_full,
                sync,
            };
        };
        if file.get_ref() == Path::new("-") {
            let requested = raw.sync.as_ref().filter(|_| sync);
            if let Some(at) = requested {
                self.error(&at.span(), "requires a file, not stderr");
            }
            return Config {
                to: Some(Target::Stderr),
                on_full,
                sync,
            };
        }
        let path = self.context.folder.join(file.get_ref());
        let parent = path.parent().filter(|parent| !parent.is_dir());
        if let Some(parent) = parent {
            self.error(
                &file.span(),
                format!("there is no folder {}: create it", parent.display()),
            );
        } else if path.is_dir() {
            self.error(
                &file.span(),
                format!("{} is a folder: name a file in it", path.display()),
            );
        }
        Config {
            to: Some(Target::File(path)),
            on_full,
            sync,
        }
    }
}
