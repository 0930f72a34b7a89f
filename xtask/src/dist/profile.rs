//! The profile of a program: how often each part of it runs. A program with counters serves what servers do most of the
//! time, and the compiler uses its counters for the program of a release (decision record 0185).

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, Result, ensure};

use super::program::{self, Counters};
use super::targets::Target;
use super::{empty_folder, wrappers};
use crate::benchmark;
use crate::run::{Output, command, root, stdout_of, target};
use crate::server::RunningServer;
use crate::wait::wait_for;

const README: &str = "file:///docs/README.md";
/// What a server is asked for beside the reads of the benchmark.
const COMMANDS: [&[&str]; 4] = [
    &["list"],
    &["search", "contributing"],
    &["read", README],
    &[
        "call",
        "read_resource",
        "--arg",
        "uri=file:///docs/README.md",
    ],
];
const REPETITIONS: usize = 5;

/// The compressed profile among the files of a release, so that its program can be built again.
fn file_name(triple: &str) -> String {
    format!("larder-{}-{triple}.profdata.zst", wrappers::VERSION)
}

/// Returns the profile for a target: the one in the folder `recorded`, or a new one. Its compressed form is a file of the
/// release. None for a target whose programs the benchmark cannot run on this machine.
pub(super) fn find_or_record(
    output: &Output,
    of: &Target,
    recorded: Option<&Path>,
    out: &Path,
) -> Result<Option<PathBuf>> {
    if !of.can_be_measured() {
        println!(
            "{}: without a profile, because the benchmark cannot run it on this machine",
            of.triple
        );
        return Ok(None);
    }
    let profile = target("archives/build").join(format!("{}.profdata", of.triple));
    fs::create_dir_all(profile.parent().context("a folder")?)?;
    let released = out.join(file_name(of.triple));
    if let Some(folder) = recorded {
        let stored = folder.join(file_name(of.triple));
        // Read before it is written, because both can be the same file.
        let bytes = fs::read(&stored).with_context(|| stored.display().to_string())?;
        fs::write(&released, bytes)?;
        unpack(output, &released, &profile)?;
    } else {
        record(output, of, &profile)?;
        pack(output, &profile, &released)?;
    }
    Ok(Some(profile))
}

fn pack(output: &Output, profile: &Path, released: &Path) -> Result<()> {
    let mut zstd = command("zstd");
    zstd.args(["--quiet", "--force", "--threads=1", "-19", "-o"]);
    output.run(zstd.arg(released).arg(profile))
}

fn unpack(output: &Output, released: &Path, profile: &Path) -> Result<()> {
    let mut zstd = command("zstd");
    zstd.args(["--decompress", "--quiet", "--force", "-o"]);
    output.run(zstd.arg(profile).arg(released))?;
    // zstd gives the file the time of the compressed one. Cargo compiles again only if it is newer than the last build.
    Ok(fs::File::open(profile)?.set_modified(SystemTime::now())?)
}

/// Builds the program with counters, lets it work, and merges its counters into one file.
fn record(output: &Output, of: &Target, profile: &Path) -> Result<()> {
    let tool = program::compiler_tools()?.join("llvm-profdata");
    ensure!(
        tool.is_file(),
        "llvm-profdata is not installed: run `rustup component add llvm-tools`"
    );
    let folder = target("archives/counters");
    let counters = empty_folder(&folder.join("written"))?;
    let program = program::build(output, of, &folder, Counters::Write(&counters))?;
    benchmark::build(output)?;
    output.run(benchmark::benchmark(&program).args(["--reads", "--quick"]))?;
    serve_documents(output, &program, &empty_folder(&folder.join("home"))?)?;
    let mut merge = command(tool);
    merge.arg("merge").arg("-o").arg(profile).arg(&counters);
    output.run(&mut merge)
}

/// Serves the documents of this repository with built-in providers. The folder `home` is empty, so that the providers are
/// compiled.
fn serve_documents(output: &Output, program: &Path, home: &Path) -> Result<()> {
    let larder = || {
        let mut larder = command(program);
        larder.env("XDG_CACHE_HOME", home.join("cache"));
        larder.env("XDG_STATE_HOME", home.join("state"));
        larder
    };
    let mut up = larder();
    up.arg("up")
        .arg(root().join("docs"))
        .args(["--listen", "127.0.0.1:0"]);
    let server = RunningServer::spawn(up, output)?;
    let client = |arguments: &[&str]| {
        let mut client = larder();
        stdout_of(client.args(arguments).args(["--url", &server.url]))
    };
    wait_for("README.md in the list", || {
        Ok(client(&["list"])?.contains(README))
    })?;
    for arguments in COMMANDS.repeat(REPETITIONS) {
        client(arguments)?;
    }
    // The counters are written when a program ends by itself.
    server.stop()
}
