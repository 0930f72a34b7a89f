//! The plugins folder as a source: each `NAME.wasm` is a component, and `NAME.toml` beside it is its grant request.

mod settle;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

pub use self::settle::SETTLE_TIME;
use self::settle::SettleTracker;
use super::{
    Artifact, Blob, BlobRevision, Content, Fetched, PendingArtifact, Scan, ScanTriggers, Source, Verification,
};
use larder_model::name::Digest;
use larder_runtime::file_fingerprint::FileFingerprint;

/// A folder with components.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    tracker: SettleTracker,
}

/// A file of a folder, as it was when the folder was scanned.
#[derive(Debug, Clone, PartialEq, Eq)]
struct File {
    /// The file name with its extension.
    name: String,
    path: PathBuf,
    fingerprint: FileFingerprint,
}

impl Folder {
    /// Creates a source for a folder, which need not exist yet.
    pub fn new(path: PathBuf) -> Self {
        Self { path, tracker: SettleTracker::default() }
    }

    /// Returns the components and their `.toml` files. Hidden files and editors' temporary files are skipped.
    fn files(&self) -> io::Result<(Vec<File>, BTreeMap<String, io::Error>)> {
        let (mut files, mut unreadable) = (Vec::new(), BTreeMap::new());
        for item in std::fs::read_dir(&self.path)? {
            let path = item?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let fits = name.ends_with(".wasm") || name.ends_with(".toml");
            if name.starts_with('.') || !fits {
                continue;
            }
            match FileFingerprint::of_file(&path) {
                Ok(Some(fingerprint)) => files.push(File { name, path, fingerprint }),
                Ok(None) => {}
                Err(error) => _ = unreadable.insert(name, error),
            }
        }
        Ok((files, unreadable))
    }
}

impl Source for Folder {
    fn location(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns the settled components, each with its `.toml`. A missing folder counts as empty, because it may be
    /// created later. After any other error nothing is known and the last state stays; the same holds for each file.
    fn scan(&mut self) -> io::Result<Scan> {
        let (files, unreadable) = match self.files() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Default::default(),
            files => files?,
        };
        let settled = self.tracker.update(files, &unreadable, Instant::now());
        let incomplete = |origin| PendingArtifact::Incomplete { origin };
        Ok(Scan {
            artifacts: settled
                .components
                .into_iter()
                .map(|(file, request)| artifact(file, request))
                .collect(),
            pending: settled.unsettled.into_iter().map(incomplete).collect(),
            unreadable,
            rescan_after: settled.rescan_after,
        })
    }

    fn register_triggers(&mut self, triggers: &mut ScanTriggers) {
        triggers.watch_folder(self.path.clone());
    }
}

fn artifact(component: File, grant_request: Option<File>) -> Artifact {
    Artifact {
        name: component.stem().to_owned(),
        origin: component.name.clone(),
        component: component.into_blob(),
        grant_request: grant_request.map(File::into_blob),
        verification: Verification::NotVerified,
    }
}

impl File {
    /// Returns the file name without its extension.
    fn stem(&self) -> &str {
        self.name.rsplit_once('.').map_or(&self.name, |(stem, _)| stem)
    }

    fn into_blob(self) -> Blob {
        Blob::new(BlobRevision::Fingerprint(self.fingerprint), self)
    }
}

impl Content for File {
    fn fetch(&self, limit: u64) -> io::Result<Fetched> {
        use std::io::Read as _;
        let file = std::fs::File::open(&self.path)?;
        let size = file.metadata()?.len();
        if size > limit {
            return Ok(Fetched::TooLarge(size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        // The file may have grown since its size was read.
        let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes)? as u64;
        Ok(if read > limit { Fetched::TooLarge(read) } else { Fetched::Bytes(bytes.into()) })
    }

    fn digest(&self) -> io::Result<Digest> {
        Digest::of_reader(std::fs::File::open(&self.path)?)
    }

    fn is_unchanged(&self) -> bool {
        FileFingerprint::of(&self.path).is_ok_and(|now| now == self.fingerprint)
    }
}

#[cfg(test)]
mod tests;
