//! The native tests of the SDKs for languages other than Rust, and the generated bindings of the Go SDK.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::languages::with_tools;
use crate::run::{Output, build_server, command, larder, root, target};
use crate::step::Outcome;
use crate::tools::{self, author_tool, missing, succeeds};

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    let new_enough = "import sys; sys.exit(sys.version_info < (3, 11))";
    if !succeeds(command("python3").args(["-c", new_enough])) {
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
    if !succeeds(command("node").args(["-e", new_enough])) {
        return missing("Node 20 or newer is not installed: https://nodejs.org");
    }
    output.run(command("node").args(["--test", "test/"]).current_dir(root().join("sdk/javascript")))?;
    Ok(Outcome::Passed)
}

pub(crate) fn go(output: &Output) -> Result<Outcome> {
    if let Some(skipped) = tools::go(output)? {
        return Ok(skipped);
    }
    for name in generate_go_bindings(output)? {
        let file = root().join(GO_BINDINGS).join(&name);
        let is_same =
            fs::read(&file).is_ok_and(|old| fs::read(scratch().join(&name)).is_ok_and(|new| new == old));
        ensure!(
            is_same,
            "{} differs from the output of `larder bindings go`; run `cargo xtask go-bindings`",
            file.display()
        );
    }
    let mut test = with_tools(command(author_tool("go")))?;
    output.run(test.args(["test", "."]).current_dir(root().join("sdk/go")))?;
    // Also checks the files that are compiled only for components. Generated code has to use unsafe pointers.
    let mut vet = with_tools(command(author_tool("go")))?;
    vet.args(["vet", "-unsafeptr=false", "."]).env("GOOS", "wasip1").env("GOARCH", "wasm");
    output.run(vet.current_dir(root().join("sdk/go")))?;
    Ok(Outcome::Passed)
}

const GO_BINDINGS: &str = "sdk/go/internal/bindings";

/// Regenerates the bindings of the Go SDK after a change of the contract or of the generator.
pub(crate) fn go_bindings(output: &Output) -> Result<()> {
    build_server(output)?;
    tools::author_tools(output)?;
    for name in generate_go_bindings(output)? {
        fs::copy(scratch().join(&name), root().join(GO_BINDINGS).join(&name))?;
    }
    Ok(())
}

fn scratch() -> PathBuf {
    target("examples/go-bindings")
}

/// Generates the bindings in the scratch folder and returns their file names. They import the runtime that is
/// part of the SDK and not a separate module, so that authors have a single dependency.
fn generate_go_bindings(output: &Output) -> Result<Vec<PathBuf>> {
    let dir = scratch();
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    let mut generate = command(larder());
    generate.args(["bindings", "go", "--with", "completions,versions"]);
    generate.args(["--package", "larder.dev/provider/internal/bindings", "-o"]).arg(&dir);
    output.run(&mut generate)?;
    // The generated copy of the runtime, which the SDK has in a different folder.
    fs::remove_dir_all(dir.join("pkg"))?;
    let mut names = Vec::new();
    find_go_files(&dir, Path::new(""), &mut names)?;
    for name in &names {
        let text = fs::read_to_string(dir.join(name))?;
        fs::write(
            dir.join(name),
            text.replace("go.bytecodealliance.org/pkg/wit/", "larder.dev/provider/internal/wit/"),
        )?;
    }
    let mut fmt = with_tools(command(author_tool("go")))?;
    output.run(fmt.args(["run", "cmd/gofmt", "-w", "."]).current_dir(&dir))?;
    Ok(names)
}

fn find_go_files(base: &Path, folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let path = base.join(folder);
    for item in fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))? {
        let item = item?;
        let name = folder.join(item.file_name());
        match item.file_type()?.is_dir() {
            true => find_go_files(base, &name, found)?,
            false if name.extension().is_some_and(|extension| extension == "go") => found.push(name),
            false => {}
        }
    }
    Ok(())
}
