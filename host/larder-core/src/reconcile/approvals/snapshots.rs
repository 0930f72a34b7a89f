//! The files of approved skills and pages, so that clients still get them after a restart. The name of a snapshot is the
//! pinned digest. Its reader computes the digest again, so changed content is not served.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::store::{JsonStore, failed};
use super::{Approvals, ApprovalsError};
use larder_model::name::{Digest, TeamName};
use larder_model::resource::{Body, Content};
use larder_model::uri::Uri;
use larder_skills::SkillFile;

/// The folder in the state folder. It has one folder for each team.
const FOLDER: &str = "snapshots";
/// Maximum size in bytes of the snapshots of a team. Those that were not used for the longest time are removed first.
const MAX_TEAM_BYTES: u64 = 128 << 20;

/// One file of a skill, or a page.
#[derive(Serialize, Deserialize)]
struct StoredFile {
    uri: String,
    mime_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// In base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    blob: Option<String>,
    metadata: Vec<(String, Box<RawValue>)>,
    version: Option<String>,
}

impl Approvals {
    /// Stores the files with this pin, unless they are stored.
    pub(crate) fn store_snapshot(
        &self,
        team: &TeamName,
        pin: Digest,
        files: &[Arc<SkillFile>],
    ) -> Result<(), ApprovalsError> {
        let snapshots = self.snapshots(team);
        let name = file_name(pin);
        let stored = || files.iter().filter_map(|file| StoredFile::of(file));
        let is_new = snapshots.write_once(&name, || stored().collect::<Vec<_>>())?;
        if !is_new {
            return Ok(());
        }
        let folder = snapshots.path("");
        remove_oldest(&folder, &snapshots.path(&name)).map_err(failed(&folder))
    }

    /// Returns the files with this pin. Returns `None` if they are not stored.
    pub(crate) fn snapshot(
        &self,
        team: &TeamName,
        pin: Digest,
    ) -> Result<Option<Vec<Arc<SkillFile>>>, ApprovalsError> {
        let snapshots = self.snapshots(team);
        let name = file_name(pin);
        let stored: Option<Vec<StoredFile>> = snapshots.read(&name)?;
        let files = stored.map(|stored| stored.into_iter().map(StoredFile::into_file).collect());
        files.transpose().map_err(|why| ApprovalsError::Damaged {
            path: snapshots.path(&name),
            why,
        })
    }

    fn snapshots(&self, team: &TeamName) -> JsonStore {
        self.store.subfolder(&format!("{FOLDER}/{team}"))
    }
}

impl StoredFile {
    fn of(file: &SkillFile) -> Option<Self> {
        let content = file.result.contents.first()?;
        let (text, blob) = match &content.body {
            Body::Text(text) => (Some(text.clone()), None),
            Body::Blob(bytes) => (None, Some(base64_simd::STANDARD.encode_to_string(bytes))),
        };
        Some(Self {
            uri: file.uri.to_string(),
            mime_type: content.mime_type.clone(),
            text,
            blob,
            metadata: content.metadata.clone(),
            version: file.result.version.clone(),
        })
    }

    fn into_file(self) -> Result<Arc<SkillFile>, String> {
        let uri = Uri::parse(&self.uri).map_err(|error| error.to_string())?;
        let body = match (self.text, self.blob) {
            (Some(text), None) => Body::Text(text),
            (None, Some(blob)) => {
                let bytes = base64_simd::STANDARD.decode_to_vec(blob);
                Body::Blob(bytes.map_err(|error| error.to_string())?)
            }
            _ => return Err(format!("{uri} has not one content")),
        };
        let content = Content {
            uri,
            mime_type: self.mime_type,
            body,
            metadata: self.metadata,
        };
        let file = SkillFile::from_content(content, self.version);
        file.map(Arc::new).map_err(|error| error.to_string())
    }
}

fn file_name(pin: Digest) -> String {
    format!("{pin}.json")
}

/// Removes the files that were not used for the longest time until the folder has its maximum size. `new` stays.
fn remove_oldest(folder: &Path, new: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for item in fs::read_dir(folder)? {
        let item = item?;
        let metadata = item.metadata()?;
        files.push((metadata.modified()?, metadata.len(), item.path()));
    }
    files.sort();
    let mut size: u64 = files.iter().map(|(_, size, _)| size).sum();
    for (_, file_size, path) in files {
        if size <= MAX_TEAM_BYTES {
            break;
        }
        if path != new {
            fs::remove_file(&path)?;
            size -= file_size;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::time::{Duration, SystemTime};

    use super::*;

    fn skill_file(uri: &str, body: Body) -> Arc<SkillFile> {
        let uri = Uri::parse(uri).unwrap();
        let metadata = RawValue::from_string(r#"{"csp":{}}"#.into()).unwrap();
        let content = Content {
            uri,
            mime_type: Some("text/html".into()),
            body,
            metadata: vec![("ui".into(), metadata)],
        };
        Arc::new(SkillFile::from_content(content, Some("1".into())).unwrap())
    }

    #[test]
    fn a_snapshot_has_the_same_files_when_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        fs::create_dir(&state).unwrap();
        let approvals = Approvals::new(&state, dir.path());
        let team = TeamName::default_team();
        let files = [
            skill_file("x://a/b", Body::Text("\u{feff}ä\r\n".into())),
            skill_file("x://a/c", Body::Blob(vec![0xff, 0])),
        ];
        let pin = Digest::of(b"pin");
        assert!(approvals.snapshot(&team, pin).unwrap().is_none());
        approvals.store_snapshot(&team, pin, &files).unwrap();
        let stored = approvals.snapshot(&team, pin).unwrap().unwrap();
        assert_eq!(format!("{stored:?}"), format!("{files:?}"));

        let read_only = approvals.read_only();
        let other = Digest::of(b"other");
        read_only.store_snapshot(&team, other, &files).unwrap();
        assert!(read_only.snapshot(&team, other).unwrap().is_none());
    }

    #[test]
    fn the_snapshots_of_a_team_have_a_maximum_size() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, age: u64, size: u64| {
            let file = File::create(dir.path().join(name)).unwrap();
            file.set_len(size).unwrap();
            let time = SystemTime::now() - Duration::from_secs(age);
            file.set_modified(time).unwrap();
        };
        file("new", 100, MAX_TEAM_BYTES / 2);
        file("oldest", 90, MAX_TEAM_BYTES / 2);
        file("old", 80, MAX_TEAM_BYTES / 2);
        file("used", 70, 1);
        remove_oldest(dir.path(), &dir.path().join("new")).unwrap();
        let mut left: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|item| item.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["new", "used"]);
    }
}
