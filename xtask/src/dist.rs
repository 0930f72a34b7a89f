//! `cargo xtask dist`: archives of a release in `target/archives`, with the program, manual pages, completions,
//! licences, an SBOM and checksums; an archive with the components; and the packages for npm, PyPI, MCPB, Debian and
//! Homebrew. The digests depend on the commit, the profile of the program, and the versions of the compilers.

pub(crate) mod archive;
pub(crate) mod deb;
mod dependencies;
pub(crate) mod homebrew;
pub(crate) mod mcpb;
mod profile;
pub(crate) mod program;
mod server_json;
pub(crate) mod targets;
pub(crate) mod wrappers;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use self::archive::Compression;
use self::program::Counters;
use self::targets::{TARGETS, Target};
use crate::run::{self, Output, command, root, stdout_of, target};
use crate::tools;

/// The profile of published programs.
pub(crate) const PROFILE: &str = "dist";
/// The maximum size of the archive with a program in bytes.
const MAX_ARCHIVE_SIZE: u64 = 22_000_000;
/// The maximum size of a program with a profile in bytes.
const MAX_PROGRAM_SIZE: u64 = 65_000_000;
const CHECKSUMS: &str = "SHA256SUMS";
const SERVER_JSON: &str = "server.json";
const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// Builds and packs the program for each target that is installed. Without a folder with recorded profiles, a profile is
/// recorded for each target whose programs run on this machine.
pub(crate) fn run(profiles: Option<&Path>) -> Result<()> {
    let output = Output::Terminal;
    let out = target("archives");
    fs::create_dir_all(&out)?;
    let mut built = 0;
    for target in &TARGETS {
        if let Some(reason) = target.missing()? {
            println!("skipped {}: {reason}", target.triple);
            continue;
        }
        pack_target(&output, target, profiles, &out)?;
        built += 1;
    }
    ensure!(built > 0, "no target is installed");
    pack_components(&output, &out, Compression::Best)?;
    finish()
}

/// Writes what is the same for all targets, and what depends on all files of a release, also on files that other
/// machines built.
pub(crate) fn finish() -> Result<()> {
    let out = target("archives");
    wrappers::pack_launcher(&Output::Terminal, &out)?;
    checksums(&out, &files(&out)?)?;
    let sums = fs::read_to_string(out.join(CHECKSUMS))?;
    let repository = repository();
    let entry = server_json::entry(&sums, repository.as_deref())?;
    fs::write(out.join(SERVER_JSON), format!("{entry:#}\n"))?;
    let Some(repository) = repository else {
        println!(
            "server.json has no bundles, and there is no formula: GITHUB_REPOSITORY (OWNER/NAME) is not set"
        );
        return Ok(());
    };
    write_formula(&out, &sums, &repository)
}

/// Writes the formula for Homebrew if the archives of all targets are here.
fn write_formula(out: &Path, sums: &str, repository: &str) -> Result<()> {
    let version = wrappers::VERSION;
    let release = format!("https://github.com/{repository}/releases/download/v{version}");
    match homebrew::formula(sums, &release) {
        Ok(formula) => fs::write(out.join(homebrew::FILE), formula)?,
        Err(error) => println!("there is no formula for Homebrew: {error}"),
    }
    Ok(())
}

/// The repository on GitHub that has the release, which GitHub's runners name.
#[expect(
    clippy::disallowed_methods,
    reason = "the lint is for the server's configuration"
)]
fn repository() -> Option<String> {
    std::env::var("GITHUB_REPOSITORY").ok()
}

/// Packs the archive of a target, and the packages that contain its program.
fn pack_target(
    output: &Output,
    target: &Target,
    profiles: Option<&Path>,
    out: &Path,
) -> Result<()> {
    let profile = profile::find_or_record(output, target, profiles, out)?;
    let counters = profile.as_deref().map_or(Counters::None, Counters::Use);
    let folder = run::target("archives/build");
    let program = program::build(output, target, &folder, counters)?;
    if profile.is_some() {
        check_size(&program, MAX_PROGRAM_SIZE)?;
    }
    let archive = pack(output, &program, target.triple, out, Compression::Best)?;
    check_size(&archive, MAX_ARCHIVE_SIZE)?;
    let platform = &target.platform;
    let staged = out.join(archive_name(target.triple));
    wrappers::pack_program(output, &staged, platform, out)?;
    wrappers::pack_wheel(output, &staged, platform, out)?;
    mcpb::pack(output, &staged, platform, out)?;
    if let Some(architecture) = platform.debian {
        deb::pack(output, &staged, architecture, out, Compression::Best)?;
    }
    Ok(())
}

fn check_size(file: &Path, max: u64) -> Result<()> {
    let size = fs::metadata(file)?.len();
    ensure!(
        size <= max,
        "{} has {size} bytes, and may have {max}",
        file.display()
    );
    Ok(())
}

/// Packs a program with all files that belong to it. Returns the archive.
pub(crate) fn pack(
    output: &Output,
    program: &Path,
    triple: &str,
    out: &Path,
    compression: Compression,
) -> Result<PathBuf> {
    let name = archive_name(triple);
    let staged = empty_folder(&out.join(&name))?;
    copy(program, &staged.join("bin/larder"))?;
    generate(program, &staged)?;
    for file in [
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "examples/larder.toml",
    ] {
        copy(&root().join(file), &staged.join(file))?;
    }
    copy_folder(&root().join("deploy"), &staged.join("deploy"))?;
    let dependencies = dependencies::of_program(triple)?;
    fs::write(
        staged.join("THIRD-PARTY-LICENSES.txt"),
        dependencies::licences(&dependencies)?,
    )?;
    fs::write(
        staged.join("sbom.cdx.json"),
        dependencies::sbom(&dependencies).to_string(),
    )?;
    archive::pack(output, out, &name, compression)
}

/// Packs the shipped components, which are the same for each target.
pub(crate) fn pack_components(
    output: &Output,
    out: &Path,
    compression: Compression,
) -> Result<PathBuf> {
    let name = format!("larder-components-{}", wrappers::VERSION);
    let staged = empty_folder(&out.join(&name))?;
    copy(&root().join("LICENSE"), &staged.join("LICENSE"))?;
    for component in components()? {
        let file_name = component.file_name().context("a name")?;
        copy(&component, &staged.join("plugins").join(file_name))?;
    }
    archive::pack(output, out, &name, compression)
}

pub(crate) fn archive_name(triple: &str) -> String {
    format!("larder-{}-{triple}", wrappers::VERSION)
}

/// Writes the manual pages and the completions. A program for another processor cannot be run, so the files come from
/// the build for this machine, which writes the same files.
fn generate(program: &Path, staged: &Path) -> Result<()> {
    let runs = tools::succeeds(command(program).arg("--version"));
    let program = if runs {
        program.to_owned()
    } else {
        crate::run::larder()
    };
    let written = command(&program)
        .arg("man")
        .arg(staged.join("man/man1"))
        .status()?;
    ensure!(written.success(), "`larder man` failed");
    let completions = staged.join("completions");
    fs::create_dir_all(&completions)?;
    for shell in SHELLS {
        let script = stdout_of(command(&program).args(["completions", shell]))?;
        fs::write(completions.join(format!("larder.{shell}")), script)?;
    }
    Ok(())
}

/// The built components, sorted.
fn components() -> Result<Vec<PathBuf>> {
    let files = fs::read_dir(target("plugins")).context("run `cargo xtask plugins` first")?;
    let paths = files
        .map(|file| file.map(|file| file.path()))
        .collect::<Result<Vec<_>, _>>()?;
    let is_component = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == "wasm")
    };
    let mut components: Vec<_> = paths.into_iter().filter(is_component).collect();
    components.sort();
    Ok(components)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("a folder")?)?;
    fs::copy(from, to).with_context(|| from.display().to_string())?;
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for item in fs::read_dir(from)? {
        let item = item?;
        let to = to.join(item.file_name());
        if item.file_type()?.is_dir() {
            copy_folder(&item.path(), &to)?;
        } else {
            copy(&item.path(), &to)?;
        }
    }
    Ok(())
}

/// Creates a folder, or deletes what it contains.
fn empty_folder(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    Ok(folder.to_owned())
}

fn make_executable(file: &Path) -> Result<()> {
    Ok(fs::set_permissions(file, Permissions::from_mode(0o755))?)
}

/// The files of this release, sorted. Their names contain its version; the folder may have files of an older one.
fn files(out: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for item in fs::read_dir(out)? {
        let item = item?;
        let name = item.file_name();
        if item.file_type()?.is_file() && name.to_string_lossy().contains(wrappers::VERSION) {
            files.push(item.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Writes `SHA256SUMS`.
pub(crate) fn checksums(out: &Path, files: &[PathBuf]) -> Result<()> {
    let mut sums: Command = command("sha256sum");
    sums.args(files.iter().filter_map(|file| file.file_name()))
        .current_dir(out);
    let sums = stdout_of(&mut sums)?;
    print!("{sums}");
    Ok(fs::write(out.join(CHECKSUMS), sums)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cargo binstall` finds the archive of each target, and the program in it.
    #[test]
    fn the_metadata_for_binstall_names_the_archives() -> Result<()> {
        let manifest = fs::read_to_string(root().join("host/larder/Cargo.toml"))?;
        let manifest: toml::Table = toml::from_str(&manifest)?;
        let binstall = &manifest["package"]["metadata"]["binstall"];
        // The static programs for Linux are also installed on systems with musl.
        let triples = TARGETS.iter().map(|target| (target.triple, target.triple));
        let with_musl = [
            ("aarch64-unknown-linux-musl", "aarch64-unknown-linux-gnu"),
            ("x86_64-unknown-linux-musl", "x86_64-unknown-linux-gnu"),
        ];
        for (triple, archived) in triples.chain(with_musl) {
            let metadata = binstall["overrides"].get(triple).unwrap_or(binstall);
            let fill = |key: &str| {
                let template = metadata[key].as_str().context("a text")?;
                let text = template
                    .replace("{ name }", "larder")
                    .replace("{ bin }", "larder")
                    .replace("{ binary-ext }", "")
                    .replace("{ repo }", "https://example.com")
                    .replace("{ version }", wrappers::VERSION)
                    .replace("{ target }", triple);
                anyhow::Ok(text)
            };
            let name = archive_name(archived);
            let file = format!("v{}/{name}.{}", wrappers::VERSION, archive::EXTENSION);
            let url = format!("https://example.com/releases/download/{file}");
            assert_eq!(fill("pkg-url")?, url);
            assert_eq!(fill("bin-dir")?, format!("{name}/bin/larder"));
        }
        assert_eq!(binstall["pkg-fmt"].as_str(), Some("tzstd"));
        Ok(())
    }
}
