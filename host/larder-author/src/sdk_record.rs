//! The record of the files of an SDK in a project: their version and their digests.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::disk::Files;
use super::project_files::ProjectLanguage;

/// The name of the record.
pub(super) const RECORD: &str = "larder-sdk.txt";
/// The folders of SDKs.
pub(super) const FOLDERS: [&str; 2] = ["larder-provider", "larder_provider"];
/// The beginning of a record.
const HEADER: &str = "# Written by larder, for `larder upgrade`. Do not edit it.\n";

/// What was written into a project.
pub(super) struct SdkRecord {
    pub(super) version: String,
    pub(super) language: ProjectLanguage,
    pub(super) digests: BTreeMap<String, String>,
}

/// Returns the record of an SDK with these files: its path and its text.
pub(super) fn record(language: ProjectLanguage, files: &Files) -> Option<(String, Vec<u8>)> {
    let (folder, _) = files.keys().next()?.split_once('/')?;
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        "{HEADER}version {version}\nlanguage {}\n",
        language.as_str()
    );
    for (path, bytes) in files {
        // Writing to a string cannot fail.
        _ = writeln!(text, "{} {path}", digest(bytes));
    }
    Some((format!("{folder}/{RECORD}"), text.into_bytes()))
}

pub(super) fn digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl SdkRecord {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_prefix(HEADER)?.lines();
        let version = lines.next()?.strip_prefix("version ")?.to_owned();
        let language = lines.next()?.strip_prefix("language ")?;
        let digests = lines.map(|line| {
            let (digest, path) = line.split_once(' ')?;
            is_below_sdk(path).then(|| (path.to_owned(), digest.to_owned()))
        });
        Some(Self {
            version,
            language: ProjectLanguage::parse(language)?,
            digests: digests.collect::<Option<_>>()?,
        })
    }
}

/// Whether a path of a record stays in the folder of the SDK. Files at these paths may be removed.
fn is_below_sdk(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next().is_some_and(|folder| FOLDERS.contains(&folder))
        && parts.all(|part| !part.is_empty() && part != "." && part != "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_names_files_of_the_sdk_only() {
        let valid = format!("{HEADER}version 0.1.0\nlanguage go\n00 larder-provider/go.mod\n");
        assert_eq!(SdkRecord::parse(&valid).unwrap().digests.len(), 1);
        for invalid in [
            "../x",
            "main.go",
            "larder-provider/../main.go",
            "/etc/passwd",
            "larder-provider//x",
        ] {
            let text = valid.replace("larder-provider/go.mod", invalid);
            assert!(SdkRecord::parse(&text).is_none(), "{invalid}");
        }
    }
}
