//! The folder of the test of `files`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use anyhow::Result;

use super::Surroundings;
use crate::run::Output;
use crate::step::Outcome;

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    super::check(output, "files", prepare)
}

/// Creates documents, including hidden, ignored and large ones, and a document whose name is not UTF-8.
pub(super) fn prepare(_: &Output, folder: &Path) -> Result<Surroundings> {
    let documents: [(&str, &[u8]); 10] = [
        ("docs/notes.md", b"# Notes\n"),
        ("docs/guide/first.txt", b"First steps.\n"),
        ("docs/guide/über uns.txt", "Über uns\n".as_bytes()),
        ("docs/.hidden/secret.txt", b"secret\n"),
        ("docs/.gitignore", b"*.tmp\n/build/\n"),
        ("docs/build/output.txt", b"generated\n"),
        ("docs/draft.tmp", b"draft\n"),
        ("docs/image", b"\x89PNG\r\n\x1a\n0000IHDR"),
        ("docs/private/key.pem", b"key\n"),
        ("docs/large.bin", &[7; 70_000]),
    ];
    for (name, content) in documents {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        fs::write(path, content)?;
    }
    let many = folder.join("docs/many");
    fs::create_dir_all(&many)?;
    for number in 0..2500 {
        fs::write(many.join(format!("{number:04}.txt")), format!("{number}\n"))?;
    }
    fs::write(
        folder
            .join("docs")
            .join(OsStr::from_bytes(b"latin1-\xff.txt")),
        "not UTF-8\n",
    )?;
    fs::write(folder.join("outside.txt"), "outside\n")?;
    std::os::unix::fs::symlink("../outside.txt", folder.join("docs/link.txt"))?;
    Ok(Surroundings::default())
}
