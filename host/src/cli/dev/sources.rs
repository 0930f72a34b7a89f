//! The files that a build depends on. They are looked at, again and again: that is right on every file system,
//! and what an editor does on the way (new files, renames, writing twice) does not matter.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use crate::cli::failure::Failure;
use crate::config::Project;
use crate::name::Digest;

/// Between two looks; what is the same in two of them has been saved.
const LOOK: Duration = Duration::from_millis(100);
/// What is the same for so long is not being worked on, even by somebody who saves often.
const REST: Duration = Duration::from_secs(2);
/// A project with more than these has something in it that should be ignored.
const FILES: usize = 10_000;
/// Larger files are compared by time and size.
const READ: u64 = 4 << 20;
/// What tools make, in folders that everybody calls like this.
const TOOLS: [&str; 5] = ["target", "node_modules", "__pycache__", "venv", "dist"];

/// Files, relative to the project, and what is in them.
pub(super) type Snapshot = BTreeMap<PathBuf, Digest>;

pub(super) struct Sources {
    root: PathBuf,
    component: PathBuf,
    ignore: Vec<String>,
    known: HashMap<PathBuf, (SystemTime, u64, Digest)>,
}

impl Sources {
    pub(super) fn new(project: &Project) -> Self {
        Self {
            root: project.folder.clone(),
            component: project.component.clone(),
            ignore: project.ignore.clone(),
            known: HashMap::new(),
        }
    }

    /// What there is now.
    pub(super) fn look(&mut self) -> Result<Snapshot, Failure> {
        let mut snapshot = Snapshot::new();
        let mut folders = vec![self.root.clone()];
        // A link may lead to a folder above itself, or two to the same.
        let mut seen = HashSet::new();
        while let Some(folder) = folders.pop() {
            // A folder that vanished meanwhile is not there.
            if !folder.canonicalize().is_ok_and(|real| seen.insert(real)) {
                continue;
            }
            let Ok(items) = std::fs::read_dir(&folder) else { continue };
            let mut items: Vec<_> = items.flatten().map(|item| item.path()).collect();
            // Of two ways to a folder it is the same one each time.
            items.sort();
            for path in items {
                match path.is_dir() {
                    _ if self.is_ignored(&path) => {}
                    true => folders.push(path),
                    false => self.add(path, &mut snapshot),
                }
            }
            if snapshot.len() > FILES {
                return Err(Failure::Crowded { folder: self.root.clone(), most: FILES });
            }
        }
        Ok(snapshot)
    }

    /// Returns when a file of this snapshot was edited or taken away. New ones may be the build's own.
    pub(super) async fn edited(&mut self, base: &Snapshot) -> Result<(), Failure> {
        loop {
            let now = self.settled().await?;
            if base.iter().any(|(path, digest)| now.get(path) != Some(digest)) {
                return Ok(());
            }
        }
    }

    /// Returns what there is as soon as it is something else.
    pub(super) async fn changed(&mut self, base: &Snapshot) -> Result<Snapshot, Failure> {
        loop {
            let now = self.settled().await?;
            if now != *base {
                return Ok(now);
            }
        }
    }

    /// Returns what there is when it was the same for a while.
    pub(super) async fn at_rest(&mut self) -> Result<Snapshot, Failure> {
        let (mut before, mut since) = (self.look()?, Instant::now());
        while since.elapsed() < REST {
            tokio::time::sleep(LOOK).await;
            let now = self.look()?;
            if now != before {
                (before, since) = (now, Instant::now());
            }
        }
        Ok(before)
    }

    async fn settled(&mut self) -> Result<Snapshot, Failure> {
        let mut before = self.look()?;
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.look()?;
            if now == before {
                return Ok(now);
            }
            before = now;
        }
    }

    fn is_ignored(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        name.starts_with('.')
            || name.ends_with(".wasm")
            || name.ends_with('~')
            || TOOLS.contains(&&*name)
            || path == self.component
            || self.ignore.iter().any(|ignored| *ignored == name || Path::new(ignored) == below)
    }

    fn add(&mut self, path: PathBuf, snapshot: &mut Snapshot) {
        // One that vanished since, or that cannot be read, is not there.
        if let Ok(digest) = self.digest(&path) {
            let below = path.strip_prefix(&self.root).map(Path::to_owned).unwrap_or(path);
            snapshot.insert(below, digest);
        }
    }

    fn digest(&mut self, path: &Path) -> io::Result<Digest> {
        let about = std::fs::metadata(path)?;
        let (at, size) = (about.modified()?, about.len());
        match self.known.get(path) {
            Some((known_at, known_size, digest)) if (*known_at, *known_size) == (at, size) => Ok(*digest),
            _ => {
                let digest = match about.is_file() && size <= READ {
                    true => Digest::of(&std::fs::read(path)?),
                    false => Digest::of(format!("{at:?} {size}").as_bytes()),
                };
                self.known.insert(path.to_owned(), (at, size, digest));
                Ok(digest)
            }
        }
    }
}

/// One of the files in which two snapshots differ.
pub(super) fn difference(one: &Snapshot, other: &Snapshot) -> String {
    let differs = |a: &Snapshot, b: &Snapshot| {
        a.iter()
            .find(|(path, digest)| b.get(*path) != Some(digest))
            .map(|(path, _)| path.display().to_string())
    };
    differs(one, other).or_else(|| differs(other, one)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::name::ProviderName;

    fn sources(folder: &Path) -> Sources {
        Sources::new(&Project {
            folder: folder.to_owned(),
            name: ProviderName::parse("x").unwrap(),
            build: Vec::new(),
            component: folder.join("out/made"),
            ignore: vec!["logs".into(), "sub/own".into()],
        })
    }

    #[test]
    fn only_what_is_written_by_people_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        for path in
            ["a", "sub/b", "sub/own/c", "logs/d", "target/e", ".git/f", "x.wasm", "out/made", "g~", "own"]
        {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        let seen = sources(folder.path()).look().unwrap();
        let seen: Vec<_> = seen.keys().map(|path| path.display().to_string()).collect();
        assert_eq!(seen, ["a", "own", "sub/b"]);
    }

    #[cfg(unix)]
    #[test]
    fn what_a_link_leads_to_is_seen_and_no_walk_is_endless() {
        use std::os::unix::fs::symlink;
        let (folder, shared) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(shared.path().join("a"), "one").unwrap();
        symlink(shared.path(), folder.path().join("shared")).unwrap();
        symlink(".", folder.path().join("again")).unwrap();
        symlink("gone", folder.path().join("nowhere")).unwrap();
        let mut sources = sources(folder.path());
        let base = sources.look().unwrap();
        assert_eq!(base.keys().collect::<Vec<_>>(), [Path::new("shared/a")]);
        fs::write(shared.path().join("a"), "two").unwrap();
        assert_ne!(sources.look().unwrap(), base);
    }

    #[tokio::test]
    async fn a_change_is_one_of_content() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::write(&a, "one").unwrap();
        let mut sources = sources(folder.path());
        let base = sources.look().unwrap();
        // Written anew by a build, with what was there before.
        fs::write(&a, "one").unwrap();
        assert_eq!(sources.look().unwrap(), base);
        fs::write(&b, "new").unwrap();
        let now = sources.changed(&base).await.unwrap();
        assert_eq!(difference(&now, &base), "b");
        fs::write(&a, "two").unwrap();
        sources.edited(&base).await.unwrap();
        fs::remove_file(&b).unwrap();
        sources.edited(&now).await.unwrap();
    }
}
