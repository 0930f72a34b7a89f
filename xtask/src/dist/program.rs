//! Builds the program of a release.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::PROFILE;
use super::archive::time_of_commit;
use super::targets::Target;
use crate::run::{Output, cargo, command, root, stdout_of};

/// What the compiler does about how often each part of the program runs.
#[derive(Clone, Copy)]
pub(super) enum Counters<'a> {
    /// The program counts, and writes the counters to this folder when it ends.
    Write(&'a Path),
    /// What ran often is optimised for speed, and the rest for size, according to this file.
    Use(&'a Path),
    None,
}

impl Counters<'_> {
    fn flag(self) -> String {
        match self {
            Self::Write(folder) => format!(" -C profile-generate={}", folder.display()),
            Self::Use(file) => format!(" -C profile-use={}", file.display()),
            Self::None => String::new(),
        }
    }
}

/// Builds the program in a folder. The program contains no path of this machine. On Linux it is static.
pub(super) fn build(
    output: &Output,
    of: &Target,
    folder: &Path,
    counters: Counters<'_>,
) -> Result<PathBuf> {
    let sources = format!("--remap-path-prefix={}=/larder", root().display());
    let registry =
        stdout_of(command("sh").args(["-c", "printf %s \"${CARGO_HOME:-$HOME/.cargo}\""]))?;
    let flags = [
        format!("{sources} --remap-path-prefix={registry}=/cargo "),
        link_flags(of)?,
        counters.flag(),
    ]
    .concat();
    let mut build = build_command(of, PROFILE, folder);
    build.env("RUSTFLAGS", flags);
    // Without this, the C compiler writes the time of the build into the allocator.
    build.env("SOURCE_DATE_EPOCH", time_of_commit());
    output.run(&mut build)?;
    Ok(folder.join(of.triple).join(PROFILE).join("larder"))
}

/// Returns the call of cargo that builds the program for a target. A target with another processor needs a linker, which
/// also compiles its C code.
pub(crate) fn build_command(of: &Target, profile: &str, folder: &Path) -> Command {
    let mut build = cargo(&["build", "--locked", "--package", "larder"]);
    build.args(["--profile", profile, "--target", of.triple]);
    build.arg("--target-dir").arg(folder);
    if let Some(linker) = of.linker {
        let name = of.triple.replace('-', "_");
        build.env(
            format!("CARGO_TARGET_{}_LINKER", name.to_uppercase()),
            linker,
        );
        build.env(format!("CC_{name}"), linker);
    }
    build
}

/// Returns the flags that decide how the program is linked. On Linux it is static, and rustc's own linker makes it
/// smaller: it merges functions with the same code, and stores the relocations of pointers in a compact form, which the
/// static C library applies itself.
pub(crate) fn link_flags(of: &Target) -> Result<String> {
    if !of.is_linux() {
        return Ok(String::new());
    }
    let tools = compiler_tools()?;
    let mut flags = format!(
        "-C target-feature=+crt-static -C link-arg=-fuse-ld=lld -C link-arg=-B{}/gcc-ld \
         -C link-arg=-Wl,--icf=all,-z,pack-relative-relocs",
        tools.display()
    );
    if of.has_small_offset_table() {
        // Position-independent code has an entry in the table for each function and each static of another crate. rustc
        // links this program for fixed addresses in any case.
        flags.push_str(" -C relocation-model=static");
        let limit = root().join("xtask/src/dist/offset_table.ld");
        flags.push_str(&format!(" -C link-arg={}", limit.display()));
    }
    Ok(flags)
}

/// The folder with the programs of LLVM that belong to rustc.
pub(super) fn compiler_tools() -> Result<PathBuf> {
    let sysroot = stdout_of(command("rustc").args(["--print", "sysroot"]))?;
    let host = stdout_of(command("rustc").args(["--print", "host-tuple"]))?;
    let folder = Path::new(sysroot.trim()).join("lib/rustlib");
    Ok(folder.join(host.trim()).join("bin"))
}
