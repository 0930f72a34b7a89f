//! The C++ SDK: compiled with the bindings of different interfaces, and its native tests.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::c::{ALL, SANITIZERS, STRICT, bindings, has_sanitizers, sources, zig};
use crate::run::{Output, command, root, target};
use crate::step::Outcome;
use crate::tools;

const CPP: [&str; 3] = ["-std=c++23", "-fno-exceptions", "-fno-rtti"];
/// Compiles and tests the SDK.
pub(super) fn check(output: &Output) -> Result<Outcome> {
    if let skipped @ Outcome::Skipped(_) = tools::author_tools(output)? {
        return Ok(skipped);
    }
    let include = root().join("sdk/cpp");
    let include = format!("-I{}", include.display());
    let interfaces = [root().join("sdk/cpp/test/interfaces.cpp")];
    for with in ["", "search", "tools", "prompts", "settings", ALL] {
        let bindings = bindings(output, "cpp-sdk", with)?;
        let wasm = ["-target", "wasm32-wasi", "-c", &include];
        zig(
            output,
            "c++",
            &bindings,
            &[&wasm[..], &CPP, &STRICT].concat(),
            &interfaces,
        )?;
    }
    let bindings = target("examples/cpp-sdk").join(ALL);
    let Some(compilers) = sanitizing_compilers(&bindings)? else {
        check_without_sanitizer(output, &bindings, &include)?;
        return Ok(Outcome::PassedWithNote(
            "no compiler with the address sanitizer: g++ or clang++".into(),
        ));
    };
    check_with_sanitizer(output, compilers, &bindings, &include)?;
    Ok(Outcome::Passed)
}

/// The compilers of the machine for C and C++, if they have the sanitizers and C++23.
fn sanitizing_compilers(folder: &Path) -> Result<Option<(&'static str, &'static str)>> {
    let probe = folder.join("probe.cpp");
    fs::write(
        &probe,
        "#include <expected>\nint main() { return std::expected<int, int>(0).value(); }\n",
    )?;
    Ok([("clang", "clang++"), ("gcc", "g++")]
        .into_iter()
        .find(|(_, cxx)| has_sanitizers(cxx, &CPP, &probe)))
}

/// Links the test with the generated bindings, which free the results.
fn check_with_sanitizer(
    output: &Output,
    (cc, cxx): (&str, &str),
    dir: &Path,
    include: &str,
) -> Result<()> {
    let sdk = format!("-I{}", root().join("sdk/c").display());
    let mut tested = sources()?;
    tested.push(dir.join("provider.c"));
    // The bindings have attributes for components.
    let mut compile = command(cc);
    compile.args([
        "-c",
        "-D_GNU_SOURCE",
        "-Wno-attributes",
        "-Wno-unknown-attributes",
        "-I.",
        &sdk,
    ]);
    output.run(compile.args(SANITIZERS).args(&tested).current_dir(dir))?;
    let objects = tested.iter().filter_map(|source| source.file_stem());
    let objects: Vec<PathBuf> = objects
        .map(|stem| dir.join(stem).with_extension("o"))
        .collect();
    let mut link = command(cxx);
    link.args(CPP)
        .args(STRICT)
        .args(SANITIZERS)
        .args(["-I.", &sdk, include, "-o", "test"]);
    output.run(
        link.arg(root().join("sdk/cpp/test/test.cpp"))
            .args(objects)
            .current_dir(dir),
    )?;
    output.run(&mut command(dir.join("test")))
}

/// Runs the test with zig, which finds undefined behaviour only.
fn check_without_sanitizer(output: &Output, dir: &Path, include: &str) -> Result<()> {
    let mut tested = sources()?;
    tested.push(dir.join("provider.c"));
    let flags = [
        "-c",
        "-D_GNU_SOURCE",
        "-Wno-unknown-attributes",
        "-fsanitize=undefined",
    ];
    zig(output, "cc", dir, &flags, &tested)?;
    let objects = tested.iter().filter_map(|source| source.file_stem());
    let mut linked: Vec<PathBuf> = objects
        .map(|stem| dir.join(stem).with_extension("o"))
        .collect();
    linked.push(root().join("sdk/cpp/test/test.cpp"));
    let flags = ["-fsanitize=undefined", include, "-o", "test"];
    zig(
        output,
        "c++",
        dir,
        &[&flags[..], &CPP, &STRICT].concat(),
        &linked,
    )?;
    output.run(&mut command(dir.join("test")))
}
