//! Builds the program for Linux on aarch64 with the flags of a release, and runs it here with QEMU: it serves a folder
//! over HTTP and over stdin, and sees a change.

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::dist::program::{build_command, link_flags};
use crate::dist::targets::TARGETS;
use crate::packaging::{stdio, work_folder};
use crate::run::{Output, command, larder, stdout_of, target};
use crate::server::RunningServer;
use crate::step::Outcome;
use crate::tools;
use crate::wait::wait_for;

const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
/// What takes the least time to compile.
const PROFILE: &str = "demo";
/// The programs and libraries of this step, and their packages on Debian.
const PROGRAMS: [(&str, &str); 4] = [
    (LINKER, "gcc-aarch64-linux-gnu"),
    ("/usr/aarch64-linux-gnu/lib/libc.a", "libc6-dev-arm64-cross"),
    ("qemu-aarch64-static", "qemu-user-static"),
    // Lets the system start programs for other processors, as the server starts its compiler process.
    ("update-binfmts", "binfmt-support"),
];
const BINFMT: &str = "/proc/sys/fs/binfmt_misc";
const URI: &str = "file:///served/a.txt";
const ADDED: &str = "file:///served/b.txt";

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    if OS == "linux" && ARCH == "aarch64" {
        let note = "this machine has the processor: the other steps test it";
        return Ok(Outcome::PassedWithNote(note.into()));
    }
    if !tools::has_standard_library(TARGET)? {
        return tools::missing(&format!(
            "the standard library of {TARGET} is not installed: run `rustup target add {TARGET}`"
        ));
    }
    for (program, package) in PROGRAMS {
        if let Outcome::Skipped(reason) = tools::debian_package(output, program, package)? {
            return tools::missing(&reason);
        }
    }
    let program = build(output)?;
    if !can_run(&program) {
        register_emulator(output);
    }
    if !can_run(&program) {
        return tools::missing(&format!(
            "this system does not start programs for aarch64: mount {BINFMT}, then run `update-binfmts --enable qemu-aarch64`"
        ));
    }
    let work = work_folder("aarch64")?;
    let folder = stdio::create_folder(&work)?;
    let up = || {
        let mut up = command(&program);
        up.arg("up").arg(&folder);
        up
    };
    stdio::read_file(up().arg("--stdio"))?;
    let mut serve = up();
    serve.args(["--listen", "127.0.0.1:0"]);
    let server = RunningServer::spawn(serve, output)?;
    let result = use_server(&server, &folder);
    let stopped = server.stop();
    result.and(stopped)?;
    Ok(Outcome::PassedWithNote("HTTP, stdin, a change".into()))
}

fn build(output: &Output) -> Result<PathBuf> {
    let folder = target("platforms");
    let of = TARGETS
        .iter()
        .find(|of| of.triple == TARGET)
        .context("a target of a release")?;
    let mut build = build_command(of, PROFILE, &folder);
    build.env("RUSTFLAGS", link_flags(of)?);
    output.run(&mut build)?;
    Ok(folder.join(TARGET).join(PROFILE).join("larder"))
}

fn can_run(program: &Path) -> bool {
    tools::succeeds(command(program).arg("--version"))
}

/// Registers the emulator with the kernel. The caller checks whether programs can be started after it.
fn register_emulator(output: &Output) {
    let mut mount = command("mount");
    mount.args(["-t", "binfmt_misc", "binfmt_misc", BINFMT]);
    let mut enable = command("update-binfmts");
    enable.args(["--enable", "qemu-aarch64"]);
    for register in [&mut mount, &mut enable] {
        // It fails if the folder is mounted already, and in some containers.
        let _ = output.run(register);
    }
}

/// Lists and reads a file with the client for this machine, before and after a change of the file.
fn use_server(server: &RunningServer, folder: &Path) -> Result<()> {
    let client = |arguments: &[&str]| {
        let mut client: Command = command(larder());
        client.args(arguments).args(["--url", &server.url]);
        client
    };
    let await_in_list = |uri| {
        wait_for(&format!("{uri} in the list"), || {
            Ok(stdout_of(&mut client(&["list"]))?.contains(uri))
        })
    };
    let read = || stdout_of(&mut client(&["read", URI]));
    await_in_list(URI)?;
    let changed = "another line\n";
    ensure!(read()? != changed, "the file was changed too early");
    fs::write(folder.join("a.txt"), changed)?;
    wait_for("the changed text", || Ok(read()? == changed))?;
    fs::write(folder.join("b.txt"), "a new file\n")?;
    await_in_list(ADDED).map(drop)
}
