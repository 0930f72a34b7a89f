//! The plugins folder as a source: each `NAME.wasm` is a component, and `NAME.toml` beside it is its grant request.
//! `NAME.wasm.sig` and `NAME.wasm.sigstore.json` are its signatures.

mod directory;
mod settle;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

use self::directory::{Directory, DirectoryId, LinkPolicy};
pub use self::settle::SETTLE_TIME;
use self::settle::{SettleTracker, SettledComponent};
use super::renamed_files::RenamedFiles;
use super::{
    Artifact, Blob, BlobRevision, Content, FetchOutcome, PendingArtifact, Scan, ScanTriggers,
    Signatures, Source,
};
use larder_model::name::Digest;
use larder_model::signature::{BUNDLE_EXTENSION, DETACHED_EXTENSION};
use larder_runtime::file_fingerprint::FileFingerprint;

/// The suffixes of files with signatures, after the name of the component.
const SIGNATURE_EXTENSIONS: [&str; 2] = [DETACHED_EXTENSION, BUNDLE_EXTENSION];

/// A folder with components.
#[derive(Debug)]
pub struct Folder {
    directory: Directory,
    tracker: SettleTracker,
    /// The folder in which components were found. The folder may be missing now, or another folder may be at its path.
    known: Option<DirectoryId>,
    renamed: RenamedFiles,
}

/// A file of a folder, in the state of the scan.
#[derive(Debug, Clone, PartialEq, Eq)]
struct File {
    /// The file name with its extension.
    name: String,
    directory: Directory,
    fingerprint: FileFingerprint,
}

impl Folder {
    /// Creates a source for a folder, which need not exist yet.
    pub fn new(path: PathBuf) -> Self {
        let directory = Directory {
            path,
            links: LinkPolicy::Follow,
        };
        Self {
            directory,
            tracker: SettleTracker::default(),
            known: None,
            renamed: RenamedFiles::default(),
        }
    }

    /// Does not follow symbolic links that lead out of the folder, because the owner of the folder may not read files
    /// of other teams.
    pub fn without_links_to_outside(mut self) -> Self {
        self.directory.links = LinkPolicy::Beneath;
        self
    }

    /// Returns the components and the files that belong to them. Hidden files and editors' temporary files are skipped.
    fn files(&self) -> io::Result<(Vec<File>, BTreeMap<String, io::Error>)> {
        let mut files = Vec::new();
        let mut unreadable = BTreeMap::new();
        for item in std::fs::read_dir(&self.directory.path)? {
            let file_name = item?.file_name();
            let name = file_name.to_string_lossy().into_owned();
            if name.starts_with('.') || !has_known_extension(&name) {
                continue;
            }
            if file_name.to_str().is_none() {
                unreadable.insert(name, io::Error::other("its name is not UTF-8"));
                continue;
            }
            match self.directory.fingerprint(&name) {
                Ok(Some(fingerprint)) => {
                    files.push(File {
                        name,
                        directory: self.directory.clone(),
                        fingerprint,
                    });
                }
                Ok(None) => {}
                Err(error) => _ = unreadable.insert(name, error),
            }
        }
        Ok((files, unreadable))
    }
}

impl Source for Folder {
    fn location(&self) -> String {
        self.directory.path.display().to_string()
    }

    /// Returns the settled components, each with the files that belong to it. A folder that never existed counts as
    /// empty, because it may be created later. A folder that had components counts as missing if it does not exist any
    /// more, or if another folder without components is in its place, such as the mount point of a volume. After any
    /// other error, the last known state of the folder stays in effect. After an error of a file, the last known state
    /// of the file stays in effect.
    fn scan(&mut self) -> io::Result<Scan> {
        // The events are taken before the files are examined: a file that is written after that differs at the next
        // scan.
        let renamed = self.renamed.take(&self.directory.path);
        let before = self.directory.id();
        let (files, unreadable) = match self.files() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => match self.known {
                Some(_) => return Ok(missing("the folder is missing")),
                None => Default::default(),
            },
            files => files?,
        };
        // Unknown if the folder was replaced during the scan.
        let id = before
            .ok()
            .filter(|before| self.directory.id().is_ok_and(|now| now == *before));
        let has_components = has_components(&files, &unreadable);
        if self.known.is_some() && id != self.known && !has_components {
            return Ok(missing("the folder was replaced by one without components"));
        }
        let settled = self
            .tracker
            .update(files, &unreadable, &renamed, Instant::now());
        // If the components were removed one by one, no component is left to keep.
        self.known = if settled.components.is_empty() {
            None
        } else {
            id.or(self.known.take())
        };
        let incomplete = |origin| PendingArtifact::Incomplete { origin };
        Ok(Scan {
            artifacts: settled.components.into_iter().map(artifact).collect(),
            pending: settled.unsettled.into_iter().map(incomplete).collect(),
            unreadable,
            rescan_after: settled.rescan_after,
            ..Scan::default()
        })
    }

    fn register_triggers(&mut self, triggers: &mut ScanTriggers) {
        self.renamed = triggers.watch_folder(self.directory.path.clone());
    }

    fn accept_replacement(&mut self) {
        self.tracker.clear();
        if let Ok(id) = self.directory.id() {
            self.known = Some(id);
        }
    }
}

fn has_components(files: &[File], unreadable: &BTreeMap<String, io::Error>) -> bool {
    let names = files.iter().map(|file| &file.name);
    names
        .chain(unreadable.keys())
        .any(|name| is_component(name))
}

fn missing(why: &str) -> Scan {
    Scan {
        missing: Some(why.to_owned()),
        ..Scan::default()
    }
}

fn is_component(name: &str) -> bool {
    name.ends_with(".wasm")
}

fn has_known_extension(name: &str) -> bool {
    is_component(name) || name.ends_with(".toml") || is_signature(name)
}

fn is_signature(name: &str) -> bool {
    SIGNATURE_EXTENSIONS
        .iter()
        .any(|extension| name.strip_suffix(extension).is_some_and(is_component))
}

fn artifact(settled: SettledComponent) -> Artifact {
    let SettledComponent {
        file,
        detection,
        grant_request,
        signatures,
    } = settled;
    let signatures = signatures
        .into_iter()
        .map(|file| (file.name.clone(), file.into_blob()));
    Artifact {
        name: file.stem().to_owned(),
        origin: file.name.clone(),
        component: file.into_blob().with_detection(detection),
        grant_request: grant_request.map(File::into_blob),
        signatures: Signatures {
            files: signatures.collect(),
            ..Signatures::default()
        },
    }
}

impl File {
    /// Returns the file name without its extension.
    fn stem(&self) -> &str {
        self.name
            .rsplit_once('.')
            .map_or(&self.name, |(stem, _)| stem)
    }

    fn into_blob(self) -> Blob {
        Blob::new(BlobRevision::Fingerprint(self.fingerprint), self)
    }
}

impl File {
    /// Opens the file that was scanned. A file that has changed since then is an error: the next scan finds it.
    fn open(&self) -> io::Result<std::fs::File> {
        match self.directory.open(&self.name)? {
            (file, fingerprint) if fingerprint == self.fingerprint => Ok(file),
            _ => Err(io::Error::other(
                "it was replaced or changed after it was found",
            )),
        }
    }
}

impl Content for File {
    fn fetch(&self, limit: u64) -> io::Result<FetchOutcome> {
        use std::io::Read as _;
        let file = self.open()?;
        let size = self.fingerprint.size();
        if size > limit {
            return Ok(FetchOutcome::TooLarge(size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        // The file may have grown since its size was read.
        let read = (&file)
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)? as u64;
        if FileFingerprint::from(&file.metadata()?) != self.fingerprint {
            return Err(io::Error::other("it was changed while it was read"));
        }
        Ok(if read > limit {
            FetchOutcome::TooLarge(read)
        } else {
            FetchOutcome::Bytes(bytes.into())
        })
    }

    fn digest(&self) -> io::Result<Digest> {
        use std::io::Read as _;
        // The file may grow while it is read.
        Digest::of_reader(self.open()?.take(self.fingerprint.size()))
    }

    fn is_unchanged(&self) -> bool {
        self.directory
            .fingerprint(&self.name)
            .is_ok_and(|now| now == Some(self.fingerprint))
    }
}

#[cfg(test)]
mod tests;
