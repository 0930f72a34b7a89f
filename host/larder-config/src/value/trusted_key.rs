//! A trusted key: the path of its file, or a table with a name and either the path or the key.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};

use super::{Shorthand, ShorthandVisitor};

/// A public key whose signatures are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrustedKey {
    pub(crate) name: String,
    pub(crate) source: KeySource,
}

/// Where the key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeySource {
    File(PathBuf),
    Pem(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustedKeyTable {
    name: Option<String>,
    file: Option<PathBuf>,
    pem: Option<String>,
}

impl<'de> Deserialize<'de> for TrustedKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShorthandVisitor(PhantomData))
    }
}

impl Shorthand for TrustedKey {
    type Table = TrustedKeyTable;
    const EXPECTED: &'static str = "a path, or a table with `name` and either `file` or `pem`";

    fn from_text(text: &str) -> Result<Self, String> {
        let file = PathBuf::from(text);
        Ok(Self {
            name: file_stem(&file),
            source: KeySource::File(file),
        })
    }

    fn from_table(table: TrustedKeyTable) -> Result<Self, String> {
        match table {
            TrustedKeyTable {
                name,
                file: Some(file),
                pem: None,
            } => Ok(Self {
                name: name.unwrap_or_else(|| file_stem(&file)),
                source: KeySource::File(file),
            }),
            TrustedKeyTable {
                name: Some(name),
                file: None,
                pem: Some(pem),
            } => Ok(Self {
                name,
                source: KeySource::Pem(pem),
            }),
            TrustedKeyTable {
                name: None,
                file: None,
                pem: Some(_),
            } => Err("a key that is not in a file needs a `name`".into()),
            _ => Err("write either `file = \"PATH\"` or `pem = \"\"\"KEY\"\"\"`".into()),
        }
    }
}

fn file_stem(file: &Path) -> String {
    file.file_stem()
        .unwrap_or(file.as_os_str())
        .to_string_lossy()
        .into_owned()
}
