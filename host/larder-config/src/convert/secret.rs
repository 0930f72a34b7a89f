//! Converts `[secret.*]`. Error messages contain the source of a secret, never its value.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use toml::Spanned;

use super::Conversion;
use crate::file;
use larder_model::policy::{MIN_SECRET_LEN, Secret, Secrets};
use larder_model::size;
use larder_runtime::file_fingerprint::FileFingerprint;

/// The maximum size of a secret file.
const MAX_BYTES: u64 = 64 << 10;

impl Conversion<'_> {
    /// Loads all secrets of the file.
    pub(super) fn load_secrets(&mut self, raw: BTreeMap<Spanned<String>, file::Secret>) -> Secrets {
        let mut all = Vec::new();
        for (name, secret) in raw {
            // A secret that cannot be loaded stays defined, so that references to the secret are not reported too.
            let secret = self
                .load_secret(&name, secret)
                .unwrap_or_else(|| Secret::new(""));
            all.push((name.into_inner(), secret));
        }
        all.into_iter().collect()
    }

    fn load_secret(&mut self, name: &Spanned<String>, raw: file::Secret) -> Option<Secret> {
        let (at, found) = match (raw.env, raw.file) {
            (Some(variable), None) => {
                let value = self
                    .env
                    .get(variable.get_ref())
                    .filter(|value| !value.is_empty());
                let missing = || {
                    format!(
                        "the environment variable {} is not set, or empty",
                        variable.get_ref()
                    )
                };
                (variable.span(), value.cloned().ok_or_else(missing))
            }
            (None, Some(path)) => (path.span(), self.read_secret_file(path.get_ref())),
            _ => (
                name.span(),
                Err("write either `env = \"VARIABLE\"` or `file = \"PATH\"`".into()),
            ),
        };
        match found {
            Ok(text) => {
                let secret = Secret::new(&text);
                if !secret.is_redacted() {
                    self.warn(&at, format!(
                        "the secret has fewer than {MIN_SECRET_LEN} bytes, so it is not removed from logs and messages: use a longer one"
                    ));
                }
                Some(secret)
            }
            Err(message) => {
                self.error(&at, message);
                None
            }
        }
    }

    fn read_secret_file(&mut self, path: &Path) -> Result<String, String> {
        let path = self.context.folder.join(path);
        let fingerprint = FileFingerprint::of_file(&path).ok().flatten();
        let text = read_secret_file(&path);
        self.secret_files.insert(path, fingerprint);
        text
    }

    /// Selects secrets by name, for a grant or a ceiling.
    pub(super) fn select_secrets(&mut self, all: &Secrets, names: &[Spanned<String>]) -> Secrets {
        let mut some = Vec::new();
        for name in names {
            match all.get(name.get_ref()) {
                Some(secret) => some.push((name.get_ref().clone(), secret.clone())),
                None => {
                    let missing = name.get_ref();
                    self.error(
                        &name.span(),
                        format!("there is no secret `{missing}`: add [secret.{missing}]"),
                    );
                }
            }
        }
        some.into_iter().collect()
    }
}

/// Reads a secret file. Removes the line break at its end, which editors add.
fn read_secret_file(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let result = std::fs::File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    match result {
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        Ok(size) if size as u64 > MAX_BYTES => Err(format!(
            "{} is larger than {}",
            path.display(),
            size::show(MAX_BYTES)
        )),
        Ok(_) if text.trim().is_empty() => Err(format!("{} is empty", path.display())),
        Ok(_) => Ok(text
            .strip_suffix('\n')
            .map_or(text.as_str(), |t| t.strip_suffix('\r').unwrap_or(t))
            .to_owned()),
    }
}
