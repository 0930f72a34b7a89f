//! Packs folders so that the bytes depend only on the contents: all times are the time of the last commit.

use std::env::consts::OS;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::run::{Output, command, root, stdout_of};

/// The extension of the archives of a release.
pub(crate) const EXTENSION: &str = "tar.zst";

/// How small a file becomes, and how long that takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    /// For files that many people download.
    Best,
    /// For files of a test.
    Fast,
}

impl Compression {
    /// The level of zstd.
    fn zstd(self) -> &'static str {
        match self {
            Self::Best => "-19",
            Self::Fast => "-1",
        }
    }

    /// The level of xz.
    pub(super) fn xz(self) -> &'static str {
        match self {
            Self::Best => "-z6",
            Self::Fast => "-z0",
        }
    }
}

/// Archives the folder `name` in `parent`, compressed with zstd. Returns the archive.
pub(super) fn pack(
    output: &Output,
    parent: &Path,
    name: &str,
    compression: Compression,
) -> Result<PathBuf> {
    let file = parent.join(format!("{name}.{EXTENSION}"));
    // Several threads would write other bytes.
    let zstd = format!("zstd --quiet --force --threads=1 {}", compression.zstd());
    let compressor = format!("{zstd} -o '{}'", file.display());
    tar(output, parent, name, &compressor)?;
    Ok(file)
}

/// Archives the folder `name` in `parent`, compressed as npm wants it.
pub(super) fn pack_gzip(output: &Output, parent: &Path, name: &str, file: &Path) -> Result<()> {
    let compressor = format!("gzip -n > '{}'", file.display());
    tar(output, parent, name, &compressor)
}

fn tar(output: &Output, parent: &Path, name: &str, compressor: &str) -> Result<()> {
    let pipeline = format!(
        "{} --sort=name --mtime=@{} --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - {name} | {compressor}",
        gnu_tar(),
        time_of_commit(),
    );
    output.run(
        command("bash")
            .args(["-o", "pipefail", "-c", &pipeline])
            .current_dir(parent),
    )
}

/// GNU tar, which macOS has only from Homebrew.
fn gnu_tar() -> &'static str {
    if OS == "macos" { "gtar" } else { "tar" }
}

/// Packs the content of a folder as a zip file; `record` is the path of the digests in a wheel.
pub(super) fn zip(output: &Output, folder: &Path, file: &Path, record: Option<&str>) -> Result<()> {
    let mut python = command("python3");
    python
        .arg("-B")
        .arg(root().join("xtask/packaging/pack_zip.py"))
        .arg(file)
        .arg(folder)
        .arg(time_of_commit())
        .args(record);
    output.run(&mut python)
}

/// The time of the last commit in seconds, or 0 in sources without a history.
pub(super) fn time_of_commit() -> String {
    let time = stdout_of(command("git").args(["log", "-1", "--format=%ct"])).unwrap_or_default();
    let time = time.trim();
    if time.is_empty() {
        "0".to_owned()
    } else {
        time.to_owned()
    }
}
