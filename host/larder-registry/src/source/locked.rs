//! A folder of which exactly the components in the lock file are served.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use crate::LockFile;
use larder_core::source::{Artifact, Scan, ScanTriggers, Source};
use larder_model::name::Digest;

/// The beginning of references of files in a lock file.
const FILE: &str = "file:";

/// A folder of which exactly the components in the lock file are served.
pub struct LockedFolder<S> {
    folder: S,
    lock_file: PathBuf,
    /// The name of the team in the lock file.
    team: Option<String>,
    /// The artifacts that are served, by name, with their digests.
    verified: BTreeMap<String, (Artifact, Digest)>,
}

impl<S: Source> LockedFolder<S> {
    /// Serves those components of a folder that are in the lock file. `team` is `None` if the configuration has no
    /// teams.
    pub fn new(folder: S, lock_file: PathBuf, team: Option<String>) -> Self {
        Self {
            folder,
            lock_file,
            team,
            verified: BTreeMap::new(),
        }
    }

    /// Returns the digest of an artifact if the lock file has this digest. Otherwise returns why the artifact is
    /// refused.
    fn verify(&self, artifact: &Artifact, lock: &LockFile) -> Result<Digest, String> {
        let locked = lock.get(self.team.as_deref(), &artifact.name);
        let locked =
            locked.filter(|locked| locked.reference == format!("{FILE}{}", artifact.origin));
        let expected = locked
            .ok_or("it is not in the lock file: run `larder lock`, or remove it")?
            .component;
        let known = self
            .verified
            .get(&artifact.name)
            .filter(|(known, _)| known == artifact);
        let digest = known.map_or_else(|| artifact.component.digest(), |(_, digest)| Ok(*digest));
        match digest.map_err(|error| error.to_string())? {
            digest if digest == expected => Ok(digest),
            digest => Err(format!(
                "its digest is sha256:{digest}, but sha256:{expected} in the lock file: \
                 restore it, or run `larder lock`"
            )),
        }
    }
}

impl<S: Source> Source for LockedFolder<S> {
    fn location(&self) -> String {
        self.folder.location()
    }

    fn scan(&mut self) -> io::Result<Scan> {
        let mut scan = self.folder.scan()?;
        if scan.missing.is_some() {
            return Ok(scan);
        }
        let lock = LockFile::read(&self.lock_file).map_err(io::Error::other)?;
        let mut verified = BTreeMap::new();
        for artifact in std::mem::take(&mut scan.artifacts) {
            let name = artifact.name.clone();
            match self.verify(&artifact, &lock) {
                Ok(digest) => _ = verified.insert(name, (artifact, digest)),
                Err(reason) => {
                    scan.unreadable
                        .insert(artifact.origin, io::Error::other(reason));
                    // The last revision that was in the lock file stays in use, as long as the lock file names the
                    // provider.
                    let before = self.verified.remove(&name);
                    let is_locked = lock.get(self.team.as_deref(), &name).is_some();
                    verified.extend(before.filter(|_| is_locked).map(|before| (name, before)));
                }
            }
        }
        scan.artifacts = verified
            .values()
            .map(|(artifact, _)| artifact.clone())
            .collect();
        self.verified = verified;
        Ok(scan)
    }

    fn register_triggers(&mut self, triggers: &mut ScanTriggers) {
        // Changes of the lock file are found by the periodic scan. Its folder is not watched: it is the folder of the
        // configuration, in which other files may change frequently.
        self.folder.register_triggers(triggers);
    }

    fn accept_replacement(&mut self) {
        self.folder.accept_replacement();
    }
}

#[cfg(test)]
mod tests {
    use crate::LockedComponent;

    use super::*;
    use larder_core::source::MemorySource;

    fn locked(name: &str, content: &[u8]) -> LockedComponent {
        let digest = Digest::of(content);
        LockedComponent {
            team: None,
            name: name.into(),
            reference: format!("file:memory:{name}"),
            digest,
            component: digest,
            size: content.len() as u64,
            signer: None,
            contract: None,
        }
    }

    #[test]
    fn serves_what_the_lock_file_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("larder.lock");
        let memory = MemorySource::default();
        let mut source = LockedFolder::new(memory.clone(), path.clone(), None);
        let scan = |source: &mut LockedFolder<MemorySource>| {
            let scan = source.scan().unwrap();
            let show = |artifact: &Artifact| {
                format!(
                    "{} {}",
                    artifact.name,
                    artifact.component.digest().unwrap().short()
                )
            };
            let refused: Vec<_> = scan
                .unreadable
                .iter()
                .map(|(name, error)| format!("{name}: {error}"))
                .collect();
            (
                scan.artifacts.iter().map(show).collect::<Vec<_>>(),
                refused.join("\n"),
            )
        };
        let show = |name: &str, content: &[u8]| format!("{name} {}", Digest::of(content).short());
        memory.put("a", "one");
        memory.put("b", "two");
        assert!(
            source
                .scan()
                .unwrap_err()
                .to_string()
                .contains("run `larder lock`"),
            "there is no lock file"
        );
        let mut lock = LockFile::default();
        lock.insert(locked("a", b"one"));
        lock.write(&path).unwrap();
        let (served, refused) = scan(&mut source);
        assert_eq!(served, [show("a", b"one")]);
        assert!(
            refused.contains("memory:b: it is not in the lock file"),
            "{refused}"
        );
        memory.put("a", "other");
        let (served, refused) = scan(&mut source);
        assert_eq!(served, [show("a", b"one")], "what was verified stays");
        assert!(refused.contains("memory:a: its digest is"), "{refused}");
        lock.insert(locked("a", b"other"));
        lock.write(&path).unwrap();
        assert_eq!(scan(&mut source).0, [show("a", b"other")]);
        lock.remove(None, "a");
        lock.write(&path).unwrap();
        assert_eq!(scan(&mut source).0, [""; 0]);
    }
}
