//! The files of a repository: the folder `.git`, or a bare repository.

use larder_provider::{Error, Result};
use provider_support::disk::{Disk, File};

/// The maximum size of a configuration and of a loose reference.
const MAX_SMALL: u64 = 1 << 20;

/// The folder of a repository that contains `HEAD`.
#[derive(Debug)]
pub(crate) struct GitDir {
    disk: Disk,
    prefix: Vec<String>,
}

impl GitDir {
    /// Finds the repository in a granted folder, and checks that it has a supported format.
    pub(crate) fn open(disk: Disk) -> Result<Self> {
        let prefix = match disk.stat(&[".git".to_owned()]) {
            Ok(stat) if stat.is_file => {
                return Err(Error::Failed(
                    "`.git` is a file: this is a linked worktree or a submodule; grant the repository itself \
                     (`git rev-parse --git-common-dir`)"
                        .to_owned(),
                ));
            }
            Ok(_) => vec![".git".to_owned()],
            Err(Error::NotFound) => Vec::new(),
            Err(error) => return Err(error),
        };
        let git_dir = Self { disk, prefix };
        if git_dir.small(&["HEAD"])?.is_none() {
            return Err(Error::Failed(
                "the granted folder is not a git repository".to_owned(),
            ));
        }
        git_dir.check_format()?;
        Ok(git_dir)
    }

    fn check_format(&self) -> Result<()> {
        let config = self.small(&["config"])?.unwrap_or_default().to_lowercase();
        for line in config.lines() {
            let Some((key, value)) = line.split_once('=') else {
                continue;
            };
            let value = value.trim().trim_matches('"');
            match key.trim() {
                "objectformat" if value != "sha1" => {
                    return Err(unsupported(
                        &format!("object ids of the kind {value}"),
                        "SHA-1",
                    ));
                }
                "refstorage" if value != "files" => {
                    return Err(unsupported(
                        &format!("references in the format {value}"),
                        "files",
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The text of a small file; `None` if the file does not exist.
    pub(crate) fn small(&self, path: &[&str]) -> Result<Option<String>> {
        match self.read(path, MAX_SMALL) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The content of a file with at most this number of bytes.
    pub(crate) fn read(&self, path: &[&str], max: u64) -> Result<Vec<u8>> {
        let bytes = self.file(path)?.read_at(0, max.saturating_add(1))?;
        if bytes.len() as u64 > max {
            return Err(Error::Failed(format!(
                "`{}` is larger than {max} bytes",
                path.join("/")
            )));
        }
        Ok(bytes)
    }

    pub(crate) fn file(&self, path: &[&str]) -> Result<File> {
        let path = self.path(path);
        if self.disk.stat(&path)?.is_file {
            self.disk.file(&path)
        } else {
            Err(Error::NotFound)
        }
    }

    pub(crate) fn size(&self, path: &[&str]) -> Result<u64> {
        Ok(self.disk.stat(&self.path(path))?.size)
    }

    /// The names in a folder and whether each is a folder; empty if the folder does not exist.
    pub(crate) fn names(&self, path: &[&str]) -> Result<Vec<(String, bool)>> {
        match self.disk.entries(&self.path(path)) {
            Ok(entries) => Ok(entries
                .flatten()
                .map(|entry| (entry.name, entry.is_folder))
                .collect()),
            Err(Error::NotFound) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn path(&self, path: &[&str]) -> Vec<String> {
        self.prefix
            .iter()
            .cloned()
            .chain(path.iter().map(|name| (*name).to_owned()))
            .collect()
    }
}

fn unsupported(what: &str, supported: &str) -> Error {
    Error::Failed(format!(
        "the repository has {what}, which are not supported; supported is {supported}"
    ))
}
