//! The archive of a release, here with the debug build: it is complete, its lists are valid, and two runs create the
//! same archive.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::work_folder;
use crate::dist;
use crate::dist::archive::{Compression, EXTENSION};
use crate::run::{Output, command, larder, root, stdout_of, target};
use crate::step::Outcome;
use crate::tools;

pub(super) const TRIPLE: &str = "x86_64-unknown-linux-gnu";

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let venv = target("packaging/venv");
    let sources = root().join("xtask/packaging");
    if let Outcome::Skipped(reason) =
        tools::venv(output, &venv, &sources.join("requirements.txt"), &[])?
    {
        return tools::missing(&reason);
    }
    if let Outcome::Skipped(reason) = tools::debian_package(output, "zstd", "zstd")? {
        return tools::missing(&reason);
    }
    let work = work_folder("dist")?;
    let program = stripped(output, &work)?;
    let archive = pack_twice(output, &program, &work)?;
    let parent = archive.parent().context("a folder")?;
    dist::checksums(parent, std::slice::from_ref(&archive))?;
    output.run(
        command("sha256sum")
            .args(["--check", "SHA256SUMS"])
            .current_dir(parent),
    )?;
    let folder = unpack(output, &archive, &work)?;
    check_content(&folder)?;
    let components = dist::pack_components(output, &work, Compression::Fast)?;
    let component = unpack(output, &components, &work)?.join("plugins/files.wasm");
    ensure!(component.is_file(), "there is no {}", component.display());
    let mut python = command(venv.join("bin/python"));
    python
        .arg("-B")
        .arg(sources.join("sbom.py"))
        .arg(folder.join("sbom.cdx.json"));
    output.run(&mut python)?;
    // The folder takes much space.
    fs::remove_dir_all(&work)?;
    Ok(Outcome::Passed)
}

/// The debug build without debug information, so that archives are small.
pub(super) fn stripped(output: &Output, work: &Path) -> Result<PathBuf> {
    let program = work.join("larder");
    output.run(command("strip").arg("-o").arg(&program).arg(larder()))?;
    Ok(program)
}

/// The folder that becomes an archive.
pub(super) fn stage(output: &Output, work: &Path) -> Result<PathBuf> {
    let program = stripped(output, work)?;
    dist::pack(output, &program, TRIPLE, work, Compression::Fast)?;
    Ok(work.join(dist::archive_name(TRIPLE)))
}

/// Packs the program in two folders.
fn pack_twice(output: &Output, program: &Path, work: &Path) -> Result<PathBuf> {
    let pack_in = |name: &str| {
        let folder = work.join(name);
        fs::create_dir_all(&folder)?;
        dist::pack(output, program, TRIPLE, &folder, Compression::Fast)
    };
    let first = pack_in("first")?;
    let archive = pack_in("another folder")?;
    ensure!(
        fs::read(first)? == fs::read(&archive)?,
        "two archives of the same program differ"
    );
    Ok(archive)
}

/// Returns the folder in the archive.
fn unpack(output: &Output, archive: &Path, work: &Path) -> Result<PathBuf> {
    let unpacked = work.join("unpacked");
    fs::create_dir_all(&unpacked)?;
    output.run(
        command("tar")
            .args(["--zstd", "-xf"])
            .arg(archive)
            .arg("-C")
            .arg(&unpacked),
    )?;
    let name = archive.file_name().context("a name")?.to_string_lossy();
    Ok(unpacked.join(name.replace(&format!(".{EXTENSION}"), "")))
}

fn check_content(folder: &Path) -> Result<()> {
    let version = stdout_of(command(folder.join("bin/larder")).arg("--version"))?;
    ensure!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    for file in [
        "man/man1/larder-serve.1",
        "completions/larder.bash",
        "deploy/systemd/larder.service",
        "LICENSE",
    ] {
        ensure!(folder.join(file).is_file(), "the archive has no {file}");
    }
    let licences = fs::read_to_string(folder.join("THIRD-PARTY-LICENSES.txt"))?;
    ensure!(
        licences.contains("- wasmtime ") && licences.contains("Apache License"),
        "licences are missing"
    );
    Ok(())
}
