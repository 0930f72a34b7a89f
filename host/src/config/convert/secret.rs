//! Secrets: each from a variable or a file, and to whom one is given. A fault names the place, never the text.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use toml::Spanned;

use super::Conversion;
use crate::config::file;
use crate::policy::{Secret, Secrets};

/// More than any key or token has.
const LARGEST: u64 = 64 << 10;

impl Conversion<'_> {
    /// All that the file names.
    pub(super) fn all_secrets(&mut self, written: BTreeMap<Spanned<String>, file::Secret>) -> Secrets {
        let mut all = Vec::new();
        for (name, secret) in written {
            // One that cannot be had is known nevertheless, so that one fault is not told as two.
            let secret = self.secret(&name, secret).unwrap_or_else(|| Secret::new(""));
            all.push((name.into_inner(), secret));
        }
        all.into_iter().collect()
    }

    fn secret(&mut self, name: &Spanned<String>, written: file::Secret) -> Option<Secret> {
        let (at, found) = match (written.env, written.file) {
            (Some(variable), None) => {
                let value = self.env.get(variable.get_ref()).filter(|value| !value.is_empty());
                let missing =
                    || format!("the environment variable {} is not set, or empty", variable.get_ref());
                (variable.span(), value.cloned().ok_or_else(missing))
            }
            (None, Some(path)) => (path.span(), of_file(&self.place.folder.join(path.get_ref()))),
            _ => (name.span(), Err("write either `env = \"VARIABLE\"` or `file = \"PATH\"`".into())),
        };
        match found {
            Ok(text) => Some(Secret::new(&text)),
            Err(what) => {
                self.fault(&at, what);
                None
            }
        }
    }

    /// Those of these names.
    pub(super) fn secrets(&mut self, all: &Secrets, names: &[Spanned<String>]) -> Secrets {
        let mut some = Vec::new();
        for name in names {
            match all.get(name.get_ref()) {
                Some(secret) => some.push((name.get_ref().clone(), secret.clone())),
                None => {
                    let name_only = name.get_ref();
                    self.fault(
                        &name.span(),
                        format!("there is no secret `{name_only}`: write [secret.{name_only}]"),
                    );
                }
            }
        }
        some.into_iter().collect()
    }
}

/// The line break at the end is the editor's.
fn of_file(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
    match read {
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        Ok(size) if size as u64 > LARGEST => Err(format!("{} has more than {LARGEST} bytes", path.display())),
        Ok(_) if text.trim().is_empty() => Err(format!("{} is empty", path.display())),
        Ok(_) => Ok(text
            .strip_suffix('\n')
            .map_or(text.as_str(), |t| t.strip_suffix('\r').unwrap_or(t))
            .to_owned()),
    }
}
