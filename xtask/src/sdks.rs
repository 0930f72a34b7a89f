//! The native tests of the SDKs for languages other than Rust.

mod c;
mod cpp;
mod go_bindings;

use anyhow::Result;

use crate::languages::with_tools;
use crate::run::{Output, command, root, target};
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
    output.run(
        command("python3")
            .args(tests)
            .current_dir(root().join("sdk/python")),
    )?;
    Ok(Outcome::Passed)
}

pub(crate) fn javascript(output: &Output) -> Result<Outcome> {
    let new_enough = "process.exit(+(parseInt(process.versions.node) < 20))";
    if !succeeds(command("node").args(["-e", new_enough])) {
        return missing("Node 20 or newer is not installed: https://nodejs.org");
    }
    // Newer versions of Node do not accept a folder as an argument.
    let tests = ["-c", "node --test test/*.test.js"];
    output.run(
        command("sh")
            .args(tests)
            .current_dir(root().join("sdk/javascript")),
    )?;
    Ok(Outcome::Passed)
}

pub(crate) fn go(output: &Output) -> Result<Outcome> {
    if let Some(skipped) = tools::go(output)? {
        return Ok(skipped);
    }
    go_bindings::check(output)?;
    let mut test = with_tools(command(author_tool("go")))?;
    output.run(
        test.arg("test")
            .args(GO_PACKAGES)
            .current_dir(root().join("sdk/go")),
    )?;
    // This also checks the files that are compiled only for components. Generated code has to use unsafe pointers.
    let mut vet = with_tools(command(author_tool("go")))?;
    vet.args(["vet", "-unsafeptr=false"])
        .args(GO_PACKAGES)
        .env("GOOS", "wasip1")
        .env("GOARCH", "wasm");
    output.run(vet.current_dir(root().join("sdk/go")))?;
    Ok(Outcome::Passed)
}

/// Checks the declarations of the JavaScript SDK with the compiler of the projects of `larder new`.
pub(crate) fn typescript(output: &Output) -> Result<Outcome> {
    if let skipped @ Outcome::Skipped(_) = tools::typescript(output)? {
        return Ok(skipped);
    }
    let mut tsc = command(target("authors/node/node_modules/.bin/tsc"));
    output.run(tsc.args(["-p", "sdk/javascript/test/types"]))?;
    Ok(Outcome::Passed)
}

pub(crate) fn c(output: &Output) -> Result<Outcome> {
    c::check(output)
}

pub(crate) fn cpp(output: &Output) -> Result<Outcome> {
    cpp::check(output)
}

/// The packages for authors, without the generated ones.
const GO_PACKAGES: [&str; 6] = [
    ".",
    "./typed",
    "./tools",
    "./prompts",
    "./search",
    "./settings",
];

/// Regenerates the bindings of the Go SDK after a change of the contract or of the generator.
pub(crate) fn go_bindings(output: &Output) -> Result<()> {
    go_bindings::regenerate(output)
}
