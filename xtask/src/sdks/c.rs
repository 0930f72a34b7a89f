//! The C SDK: compiled as C and as C++ with the bindings of different interfaces, and its native tests.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::languages::with_tools;
use crate::run::{Output, command, larder, root, target};
use crate::step::Outcome;
use crate::tools::{self, author_tool, succeeds};

/// All optional interfaces.
pub(super) const ALL: &str = "completions,versions,tools,prompts,search,settings";
/// Warnings that are errors.
pub(super) const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];
/// Ends the program at an access to memory that is not allocated, and at undefined behaviour. At the end, checks that
/// all memory was freed.
pub(super) const SANITIZERS: [&str; 3] = [
    "-g",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
];

/// Compiles and tests the SDK.
pub(super) fn check(output: &Output) -> Result<Outcome> {
    if let skipped @ Outcome::Skipped(_) = tools::author_tools(output)? {
        return Ok(skipped);
    }
    for interfaces in ["", "search", "tools", "prompts", ALL] {
        let bindings = bindings(output, "c-sdk", interfaces)?;
        let wasm = ["-target", "wasm32-wasi", "-c"];
        zig(
            output,
            "cc",
            &bindings,
            &[&wasm[..], &["-std=c11"], &STRICT].concat(),
            &sources()?,
        )?;
        let header = [root().join("sdk/c/test/header.cc")];
        zig(
            output,
            "c++",
            &bindings,
            &[&wasm[..], &["-std=c++17"], &STRICT].concat(),
            &header,
        )?;
    }
    let bindings = target("examples/c-sdk").join(ALL);
    let mut tested = sources()?;
    tested.push(root().join("sdk/c/test/test.c"));
    compile_test(output, &bindings, &tested)?;
    let mut test = command(bindings.join("test"));
    // The bindings free the results, and this test is not linked with them. The tests in C++ are, so they find leaks.
    output.run(test.env("ASAN_OPTIONS", "detect_leaks=0"))?;
    Ok(Outcome::Passed)
}

/// Compiles the native tests with the compiler of the machine. Zig finds undefined behaviour only, and first compiles
/// the library that reports it, which takes 20 seconds.
fn compile_test(output: &Output, bindings: &Path, tested: &[PathBuf]) -> Result<()> {
    let native = ["-std=c11", "-D_GNU_SOURCE", "-o", "test"];
    let probe = bindings.join("probe.c");
    fs::write(&probe, "int main(void) { return 0; }\n")?;
    let compiler = ["clang", "gcc"]
        .into_iter()
        .find(|compiler| has_sanitizers(compiler, &[], &probe));
    let Some(compiler) = compiler else {
        let flags = [&["-g", "-fsanitize=undefined"], &native[..], &STRICT].concat();
        return zig(output, "cc", bindings, &flags, tested);
    };
    let mut compile = command(compiler);
    compile
        .args(native)
        .args(STRICT)
        .args(SANITIZERS)
        .arg("-I.")
        .arg("-I")
        .arg(root().join("sdk/c"));
    output.run(compile.args(tested).current_dir(bindings))
}

/// Whether a compiler of the machine compiles this source with the sanitizers, and the program runs.
pub(super) fn has_sanitizers(compiler: &str, flags: &[&str], source: &Path) -> bool {
    let program = source.with_extension("");
    let mut compile = command(compiler);
    compile
        .args(flags)
        .args(SANITIZERS)
        .arg(source)
        .arg("-o")
        .arg(&program);
    succeeds(&mut compile) && succeeds(&mut command(program))
}

/// Writes the bindings for these interfaces into a folder in `parent`, and returns it.
pub(super) fn bindings(output: &Output, parent: &str, interfaces: &str) -> Result<PathBuf> {
    let dir = target("examples")
        .join(parent)
        .join(if interfaces.is_empty() {
            "none"
        } else {
            interfaces
        });
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    let mut bindings = command(larder());
    bindings.args(["bindings", "c", "-o"]).arg(&dir);
    if !interfaces.is_empty() {
        bindings.args(["--with", interfaces]);
    }
    output.run(&mut bindings)?;
    Ok(dir)
}

/// The sources of the SDK.
pub(super) fn sources() -> Result<Vec<PathBuf>> {
    let folder = root().join("sdk/c");
    let mut found = Vec::new();
    for item in
        fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?
    {
        let path = item?.path();
        if path.extension().is_some_and(|extension| extension == "c") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Runs the compiler in the folder of the bindings, which gets its output.
pub(super) fn zig(
    output: &Output,
    compiler: &str,
    bindings: &Path,
    flags: &[&str],
    sources: &[PathBuf],
) -> Result<()> {
    let mut zig = with_tools(command(author_tool("python")))?;
    zig.args(["-m", "ziglang", compiler])
        .args(flags)
        .arg("-I.")
        .arg("-I")
        .arg(root().join("sdk/c"));
    output.run(zig.args(sources).current_dir(bindings))
}
