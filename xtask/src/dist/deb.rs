//! The package for Debian and its derivatives, with the units for systemd.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::archive::{Compression, time_of_commit};
use super::wrappers::{VERSION, fill};
use super::{copy, empty_folder, make_executable};
use crate::run::{Output, command, root};

const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

/// The files of an archive, with their paths in the package.
const FILES: [(&str, &str); 9] = [
    ("bin/larder", "usr/bin/larder"),
    (
        "completions/larder.bash",
        "usr/share/bash-completion/completions/larder",
    ),
    (
        "completions/larder.zsh",
        "usr/share/zsh/vendor-completions/_larder",
    ),
    (
        "completions/larder.fish",
        "usr/share/fish/vendor_completions.d/larder.fish",
    ),
    ("LICENSE", "usr/share/doc/larder/copyright"),
    (
        "THIRD-PARTY-LICENSES.txt",
        "usr/share/doc/larder/THIRD-PARTY-LICENSES.txt",
    ),
    (
        "examples/larder.toml",
        "usr/share/doc/larder/examples/larder.toml",
    ),
    (
        "deploy/systemd/larder.sysusers",
        "usr/lib/sysusers.d/larder.conf",
    ),
    ("deploy/systemd/larder.logrotate", "etc/logrotate.d/larder"),
];

/// Packs the files of an archive for an architecture of Debian. The program must be static.
pub(crate) fn pack(
    output: &Output,
    staged: &Path,
    architecture: &str,
    out: &Path,
    compression: Compression,
) -> Result<PathBuf> {
    let name = format!("larder_{VERSION}_{architecture}");
    let folder = empty_folder(&out.join("debian").join(&name))?;
    add_files(staged, &folder)?;
    add_units(staged, &folder)?;
    finish_files(output, &folder)?;
    add_control_files(&folder, architecture)?;
    let package = out.join(format!("{name}.deb"));
    build(output, &folder, &package, compression)?;
    Ok(package)
}

fn add_files(staged: &Path, folder: &Path) -> Result<()> {
    for (from, to) in FILES {
        copy(&staged.join(from), &folder.join(to))?;
    }
    fs::create_dir_all(folder.join("etc/larder/plugins"))?;
    let configuration = root().join("deploy/debian/larder.toml");
    copy(&configuration, &folder.join("etc/larder/larder.toml"))?;
    super::copy_folder(&staged.join("man/man1"), &folder.join("usr/share/man/man1"))
}

fn add_units(staged: &Path, folder: &Path) -> Result<()> {
    let units = folder.join("usr/lib/systemd/system");
    fs::create_dir_all(&units)?;
    for name in ["larder.service", "larder.socket"] {
        let unit = fs::read_to_string(staged.join("deploy/systemd").join(name))?;
        fs::write(
            units.join(name),
            unit.replace("/usr/local/bin/", "/usr/bin/"),
        )?;
    }
    Ok(())
}

/// Compresses the manual pages, and sets the same permissions on each machine.
fn finish_files(output: &Output, folder: &Path) -> Result<()> {
    let script = "gzip -n -9 usr/share/man/man1/*.1 && chmod -R u=rwX,go=rX . && mkdir -m 755 DEBIAN \
                  && find etc usr -type f | LC_ALL=C sort | xargs -d '\\n' md5sum > DEBIAN/md5sums";
    output.run(command("sh").args(["-c", script]).current_dir(folder))
}

fn add_control_files(folder: &Path, architecture: &str) -> Result<()> {
    let templates = root().join("deploy/debian");
    let control = folder.join("DEBIAN");
    let size = kibibytes(folder)?.to_string();
    let values = [("ARCHITECTURE", architecture), ("KIBIBYTES", &size)];
    fill(&templates, &control, "control", &values)?;
    copy(&templates.join("conffiles"), &control.join("conffiles"))?;
    for script in SCRIPTS {
        copy(&templates.join(script), &control.join(script))?;
        make_executable(&control.join(script))?;
    }
    Ok(())
}

/// The size of a folder, as Debian computes it.
fn kibibytes(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for item in fs::read_dir(folder)? {
        let item = item?;
        sum += if item.file_type()?.is_dir() {
            1 + kibibytes(&item.path())?
        } else {
            item.metadata()?.len().div_ceil(1024)
        };
    }
    Ok(sum)
}

fn build(output: &Output, folder: &Path, package: &Path, compression: Compression) -> Result<()> {
    let parent = folder.parent().context("a folder")?;
    output.run(
        command("dpkg-deb")
            // Several threads would write other bytes.
            .args(["--root-owner-group", "--threads-max=1", "-Zxz"])
            .arg(compression.xz())
            .arg("--build")
            .arg(folder)
            .arg(package)
            .current_dir(parent)
            // No file is newer than this.
            .env("SOURCE_DATE_EPOCH", time_of_commit()),
    )
}
