//! The archive of a release, here with the debug build: it is complete, its lists are valid, and two runs create the
//! same archive.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use super::work_folder;
use crate::dist;
use crate::run::{Output, command, larder, root, stdout_of, target};
use crate::step::Outcome;
use crate::tools;

const TRIPLE: &str = "x86_64-unknown-linux-gnu";

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let venv = target("packaging/venv");
    let sources = root().join("xtask/packaging");
    if let Outcome::Skipped(reason) =
        tools::venv(output, &venv, &sources.join("requirements.txt"), &[])?
    {
        return tools::missing(&reason);
    }
    let work = work_folder("dist")?;
    // Without debug information, the archive is small.
    let program = work.join("larder");
    output.run(command("strip").arg("-o").arg(&program).arg(larder()))?;
    let archive = pack_twice(output, &program, &work)?;
    dist::checksums(&work, std::slice::from_ref(&archive))?;
    output.run(
        command("sha256sum")
            .args(["--check", "SHA256SUMS"])
            .current_dir(&work),
    )?;
    let folder = unpack(output, &archive, &work)?;
    check_content(&folder)?;
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

fn pack_twice(output: &Output, program: &Path, work: &Path) -> Result<PathBuf> {
    let archive = dist::pack(output, program, TRIPLE, work)?;
    let first = work.join("first.tar.gz");
    fs::rename(&archive, &first)?;
    let archive = dist::pack(output, program, TRIPLE, work)?;
    ensure!(
        fs::read(&first)? == fs::read(&archive)?,
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
            .arg("-xzf")
            .arg(archive)
            .arg("-C")
            .arg(&unpacked),
    )?;
    let name = archive.file_name().context("a name")?.to_string_lossy();
    Ok(unpacked.join(name.replace(".tar.gz", "")))
}

fn check_content(folder: &Path) -> Result<()> {
    let version = stdout_of(command(folder.join("bin/larder")).arg("--version"))?;
    ensure!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    for file in [
        "man/man1/larder-serve.1",
        "completions/larder.bash",
        "plugins/files.wasm",
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
