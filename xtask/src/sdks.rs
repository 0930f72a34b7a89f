//! The SDKs in other languages than Rust: their own tests, in their own language.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::languages::with_tools;
use crate::run::{Output, cargo, command, larder, root, target};
use crate::step::Outcome;
use crate::tools::{self, author, missing, works};

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    let new_enough = "import sys; sys.exit(sys.version_info < (3, 11))";
    if !works(command("python3").args(["-c", new_enough])) {
        return missing(
            "Python 3.11 or newer is not installed; get it from your system's packages, or from https://python.org",
        );
    }
    let tests = ["-B", "-m", "unittest", "discover", "-s", "tests"];
    output.run(command("python3").args(tests).current_dir(root().join("sdk/python")))?;
    Ok(Outcome::Passed)
}

pub(crate) fn javascript(output: &Output) -> Result<Outcome> {
    let new_enough = "process.exit(+(parseInt(process.versions.node) < 20))";
    if !works(command("node").args(["-e", new_enough])) {
        return missing("Node 20 or newer is not installed: https://nodejs.org");
    }
    output.run(command("node").args(["--test", "test/"]).current_dir(root().join("sdk/javascript")))?;
    Ok(Outcome::Passed)
}

pub(crate) fn go(output: &Output) -> Result<Outcome> {
    if let Some(without) = tools::go(output)? {
        return Ok(without);
    }
    for made in generated(output)? {
        let kept = root().join(GO).join(&made);
        let same =
            fs::read(&kept).is_ok_and(|kept| fs::read(scratch().join(&made)).is_ok_and(|new| new == kept));
        ensure!(
            same,
            "{} is not what `larder bindings go` makes; run `cargo xtask go-bindings`",
            kept.display()
        );
    }
    let mut test = with_tools(command(author("go")))?;
    output.run(test.args(["test", "."]).current_dir(root().join("sdk/go")))?;
    // What runs in components only is looked at, too. Generated code does with pointers what it has to.
    let mut vet = with_tools(command(author("go")))?;
    vet.args(["vet", "-unsafeptr=false", "."]).env("GOOS", "wasip1").env("GOARCH", "wasm");
    output.run(vet.current_dir(root().join("sdk/go")))?;
    Ok(Outcome::Passed)
}

const GO: &str = "sdk/go/internal/bindings";

/// Writes the Go SDK's bindings anew, after a change of the contract or of the generator.
pub(crate) fn go_bindings(output: &Output) -> Result<()> {
    output.run(&mut cargo(&["build", "--package", "larder"]))?;
    tools::authors(output)?;
    for made in generated(output)? {
        fs::copy(scratch().join(&made), root().join(GO).join(&made))?;
    }
    Ok(())
}

fn scratch() -> PathBuf {
    target("examples/go-bindings")
}

/// The bindings as our own program makes them, with the SDK's copy of the runtime in place of a module of its own, so
/// that the SDK is one dependency. Gives the names of the files.
fn generated(output: &Output) -> Result<Vec<PathBuf>> {
    let at = scratch();
    if at.exists() {
        fs::remove_dir_all(&at)?;
    }
    let mut make = command(larder());
    make.args(["bindings", "go", "--with", "completions,versions"]);
    make.args(["--package", "larder.dev/provider/internal/bindings", "-o"]).arg(&at);
    output.run(&mut make)?;
    // Its own copy of that module, which the SDK has elsewhere.
    fs::remove_dir_all(at.join("pkg"))?;
    let mut made = Vec::new();
    go_files(&at, Path::new(""), &mut made)?;
    for name in &made {
        let text = fs::read_to_string(at.join(name))?;
        fs::write(
            at.join(name),
            text.replace("go.bytecodealliance.org/pkg/wit/", "larder.dev/provider/internal/wit/"),
        )?;
    }
    let mut fmt = with_tools(command(author("go")))?;
    output.run(fmt.args(["run", "cmd/gofmt", "-w", "."]).current_dir(&at))?;
    Ok(made)
}

fn go_files(at: &Path, folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for item in fs::read_dir(at.join(folder)).with_context(|| format!("no {} was made", folder.display()))? {
        let item = item?;
        let name = folder.join(item.file_name());
        match item.file_type()?.is_dir() {
            true => go_files(at, &name, found)?,
            false if name.extension().is_some_and(|extension| extension == "go") => found.push(name),
            false => {}
        }
    }
    Ok(())
}
