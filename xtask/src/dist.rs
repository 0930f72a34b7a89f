//! `cargo xtask dist`: archives of a release in `target/archives`, with the program, manual pages, completions,
//! components, licences, an SBOM and checksums. Two runs from the same commit in the same folder give the same digests.

mod dependencies;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::run::{Output, cargo, command, root, stdout_of, target};
use crate::tools;

/// The profile of published programs.
pub(crate) const PROFILE: &str = "dist";
/// The targets, and the linker that another processor needs.
const TARGETS: [(&str, Option<&str>); 4] = [
    ("x86_64-unknown-linux-gnu", None),
    ("x86_64-unknown-linux-musl", None),
    ("aarch64-unknown-linux-gnu", Some("aarch64-linux-gnu-gcc")),
    ("aarch64-unknown-linux-musl", Some("aarch64-linux-musl-gcc")),
];
const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// Builds and packs the program for each target that is installed.
pub(crate) fn run() -> Result<()> {
    let (output, out) = (Output::Terminal, target("archives"));
    fs::create_dir_all(&out)?;
    let mut archives = Vec::new();
    for (triple, linker) in TARGETS {
        match missing(triple, linker)? {
            Some(reason) => println!("skipped {triple}: {reason}"),
            None => archives.push(pack(
                &output,
                &build(&output, triple, linker)?,
                triple,
                &out,
            )?),
        }
    }
    ensure!(!archives.is_empty(), "no target is installed");
    checksums(&out, &archives)
}

/// Returns why a target cannot be built here.
fn missing(triple: &str, linker: Option<&str>) -> Result<Option<String>> {
    let sysroot = stdout_of(command("rustc").args(["--print", "sysroot"]))?;
    if !Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(triple)
        .join("lib")
        .is_dir()
    {
        return Ok(Some(format!(
            "its standard library is not installed (`rustup target add {triple}`)"
        )));
    }
    let linker = linker.filter(|linker| tools::find_program(linker).is_none());
    Ok(linker.map(|linker| format!("{linker} is not installed")))
}

/// Builds a static program that contains no path of this machine.
fn build(output: &Output, triple: &str, linker: Option<&str>) -> Result<PathBuf> {
    let folder = target("archives/build");
    let mut build = cargo(&[
        "build",
        "--profile",
        PROFILE,
        "--locked",
        "--package",
        "larder",
        "--target",
        triple,
    ]);
    let sources = format!("--remap-path-prefix={}=/larder", root().display());
    let registry =
        stdout_of(command("sh").args(["-c", "printf %s \"${CARGO_HOME:-$HOME/.cargo}\""]))?;
    let flags =
        format!("-C target-feature=+crt-static {sources} --remap-path-prefix={registry}=/cargo");
    build
        .arg("--target-dir")
        .arg(&folder)
        .env("RUSTFLAGS", flags);
    // Without this, the C compiler writes the time of the build into the allocator.
    build.env("SOURCE_DATE_EPOCH", time_of_commit());
    if let Some(linker) = linker {
        let name = triple.replace('-', "_");
        build.env(
            format!("CARGO_TARGET_{}_LINKER", name.to_uppercase()),
            linker,
        );
        build.env(format!("CC_{name}"), linker);
    }
    output.run(&mut build)?;
    Ok(folder.join(triple).join(PROFILE).join("larder"))
}

/// Packs a program with all files that belong to it. Returns the archive.
pub(crate) fn pack(output: &Output, program: &Path, triple: &str, out: &Path) -> Result<PathBuf> {
    let name = format!("larder-{}-{triple}", env!("CARGO_PKG_VERSION"));
    let staged = out.join(&name);
    if staged.exists() {
        fs::remove_dir_all(&staged)?;
    }
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
    for component in components()? {
        copy(
            &component,
            &staged
                .join("plugins")
                .join(component.file_name().context("a name")?),
        )?;
    }
    let dependencies = dependencies::of_program(triple)?;
    fs::write(
        staged.join("THIRD-PARTY-LICENSES.txt"),
        dependencies::licences(&dependencies)?,
    )?;
    fs::write(
        staged.join("sbom.cdx.json"),
        dependencies::sbom(&dependencies).to_string(),
    )?;
    archive(output, out, &name)
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

/// Archives a folder so that the bytes depend only on its contents: all times are the time of the last commit.
fn archive(output: &Output, out: &Path, name: &str) -> Result<PathBuf> {
    let time = time_of_commit();
    let tar = format!(
        "tar --sort=name --mtime=@{time} --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - {name} \
         | gzip -n > {name}.tar.gz"
    );
    output.run(
        command("bash")
            .args(["-o", "pipefail", "-c", &tar])
            .current_dir(out),
    )?;
    Ok(out.join(format!("{name}.tar.gz")))
}

/// The time of the last commit in seconds, or 0 in sources without a history.
fn time_of_commit() -> String {
    let time = stdout_of(command("git").args(["log", "-1", "--format=%ct"])).unwrap_or_default();
    let time = time.trim();
    if time.is_empty() {
        "0".to_owned()
    } else {
        time.to_owned()
    }
}

/// Writes `SHA256SUMS`.
pub(crate) fn checksums(out: &Path, archives: &[PathBuf]) -> Result<()> {
    let mut sums: Command = command("sha256sum");
    sums.args(archives.iter().filter_map(|archive| archive.file_name()))
        .current_dir(out);
    let sums = stdout_of(&mut sums)?;
    print!("{sums}");
    Ok(fs::write(out.join("SHA256SUMS"), sums)?)
}
