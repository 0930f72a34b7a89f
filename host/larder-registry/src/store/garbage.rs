//! Deletes content without references: no lock file refers to it, no server that used the store recently refers to it,
//! and it is not an attachment of other content.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use larder_model::name::Digest;
use oci_client::manifest::OciImageManifest;

use super::{ATTACHMENTS, BLOBS, LOCK_FILES, PARTIAL, RESOLUTIONS, Store, StoreError, TEAMS};
use crate::component::{MAX_MANIFEST, digest_of};
use crate::resolution::StoredResolution;
use crate::{LockError, LockFile};

/// The resolution of a server is kept for this time after the server last used it. A running server uses it
/// continuously.
const RESOLUTION_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Content that was added or requested within this time is kept, because a pull may be about to record it.
const NEW_CONTENT_AGE: Duration = Duration::from_secs(60 * 60);

/// Whether garbage is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GarbageMode {
    /// It is deleted.
    Delete,
    /// It is only counted.
    DryRun,
}

/// What garbage collection deleted, or would delete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GarbageReport {
    /// The number of blobs.
    pub blobs: u64,
    /// The size of the blobs in bytes.
    pub bytes: u64,
}

impl GarbageReport {
    fn add(&mut self, other: Self) {
        self.blobs = self.blobs.saturating_add(other.blobs);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl Store {
    /// Deletes content that is not new and has no references. This includes the stores of teams. Waits until no other
    /// process adds content. Blocks the calling thread.
    pub fn collect_garbage(&self, mode: GarbageMode) -> Result<GarbageReport, StoreError> {
        self.collect_garbage_older_than(NEW_CONTENT_AGE, mode)
    }

    /// Like [`Self::collect_garbage`], for content that is older than `age`.
    pub(crate) fn collect_garbage_older_than(
        &self,
        age: Duration,
        mode: GarbageMode,
    ) -> Result<GarbageReport, StoreError> {
        let mut collected = self.collect_own_garbage(age, mode)?;
        for store in self.stores_of_teams()? {
            collected.add(store.collect_own_garbage(age, mode)?);
        }
        Ok(collected)
    }

    /// Returns the stores of all teams that have a store. Teams that were removed from the configuration are included.
    fn stores_of_teams(&self) -> Result<Vec<Self>, StoreError> {
        if self.folder().join(TEAMS).is_dir() {
            self.items(TEAMS)?
                .iter()
                .map(|folder| Self::open(folder))
                .collect()
        } else {
            Ok(Vec::new())
        }
    }

    fn collect_own_garbage(
        &self,
        age: Duration,
        mode: GarbageMode,
    ) -> Result<GarbageReport, StoreError> {
        self.require_writable()?;
        let _alone = self.lock_alone()?;
        let roots = self.roots(mode)?;
        let mut collected = GarbageReport::default();
        let kept = self.reachable(roots);
        for item in self.items(BLOBS)? {
            let digest = digest_in_name(&item);
            if digest.is_some_and(|digest| kept.contains(&digest)) || !is_older(&item, age) {
                continue;
            }
            let size = fs::metadata(&item).map_or(0, |metadata| metadata.len());
            self.delete(&item, mode)?;
            collected.add(GarbageReport {
                blobs: 1,
                bytes: size,
            });
        }
        for item in self.items(ATTACHMENTS)? {
            let image = item
                .file_name()
                .map(|name| self.folder().join(BLOBS).join(name));
            if image.is_some_and(|image| !image.exists()) && is_older(&item, age) {
                self.delete(&item, mode)?;
            }
        }
        self.delete_abandoned(age, mode)?;
        Ok(collected)
    }

    /// Deletes files that processes left which were killed during a write.
    fn delete_abandoned(&self, age: Duration, mode: GarbageMode) -> Result<(), StoreError> {
        for item in self.items(PARTIAL)? {
            let is_in_use = || File::open(&item).is_ok_and(|file| file.try_lock_shared().is_err());
            if is_older(&item, age) && !is_in_use() {
                self.delete(&item, mode)?;
            }
        }
        Ok(())
    }

    /// Returns the digests of referenced manifests and components.
    fn roots(&self, mode: GarbageMode) -> Result<HashSet<Digest>, StoreError> {
        let mut roots = HashSet::new();
        for item in self.items(LOCK_FILES)? {
            let path = fs::read(&item).map_err(|error| StoreError::io(&item, error))?;
            let path = PathBuf::from(OsStr::from_bytes(&path));
            match LockFile::read(&path) {
                Ok(lock) => {
                    roots.extend(lock.components().flat_map(|it| [it.digest, it.component]))
                }
                Err(LockError::Missing(_)) => self.delete(&item, mode)?,
                // The components in the lock file are unknown, so nothing may be deleted.
                Err(error) => {
                    return Err(StoreError::io(&path, io::Error::other(error.to_string())));
                }
            }
        }
        for item in self.items(RESOLUTIONS)? {
            if is_older(&item, RESOLUTION_AGE) {
                self.delete(&item, mode)?;
                continue;
            }
            let text = fs::read(&item).map_err(|error| StoreError::io(&item, error))?;
            let resolution = serde_json::from_slice(&text)
                .ok()
                .and_then(StoredResolution::parse);
            roots.extend(
                resolution
                    .into_iter()
                    .flat_map(|it| [it.accepted, it.latest]),
            );
        }
        Ok(roots)
    }

    /// Returns the roots and their references: the layers of manifests, and their attachments.
    fn reachable(&self, roots: HashSet<Digest>) -> HashSet<Digest> {
        let mut kept = HashSet::new();
        let mut next = Vec::from_iter(roots);
        while let Some(digest) = next.pop() {
            if !kept.insert(digest) {
                continue;
            }
            next.extend(self.attachment_digests(&digest).unwrap_or_default());
            // A component is not a manifest, so it has no references.
            let is_small =
                fs::metadata(self.path(&digest)).is_ok_and(|found| found.len() <= MAX_MANIFEST);
            let manifest = is_small
                .then(|| fs::read(self.path(&digest)).ok())
                .flatten();
            let manifest =
                manifest.and_then(|bytes| serde_json::from_slice::<OciImageManifest>(&bytes).ok());
            let descriptors = manifest
                .into_iter()
                .flat_map(|it| it.layers.into_iter().chain([it.config]));
            next.extend(descriptors.filter_map(|descriptor| digest_of(&descriptor).ok()));
        }
        kept
    }

    /// Returns the files in one folder of the store.
    pub(super) fn items(&self, folder: &str) -> Result<Vec<PathBuf>, StoreError> {
        let folder = self.folder().join(folder);
        let items =
            fs::read_dir(&folder).and_then(|items| items.map(|item| Ok(item?.path())).collect());
        items.map_err(|error| StoreError::io(&folder, error))
    }

    fn delete(&self, path: &Path, mode: GarbageMode) -> Result<(), StoreError> {
        if mode == GarbageMode::DryRun {
            return Ok(());
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::io(path, error))
            }
            _ => Ok(()),
        }
    }
}

fn digest_in_name(path: &Path) -> Option<Digest> {
    let name = path.file_name()?.to_str()?;
    Digest::parse(&format!("sha256:{name}")).ok()
}

/// Whether the last change or use of a file was longer ago than this. A time in the future counts as now.
fn is_older(path: &Path, age: Duration) -> bool {
    let changed = fs::metadata(path).and_then(|metadata| metadata.modified());
    changed.is_ok_and(|time| time.elapsed().is_ok_and(|since| since >= age))
}
