//! The generated bindings of the Go SDK. The exported functions of tools, prompts, search and settings are split off
//! into packages of their own, because Go exports the functions of every package that a program imports.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::languages::with_tools;
use crate::linted_build::build_server;
use crate::run::{Output, command, larder, root, target};
use crate::tools::{self, author_tool};

const BINDINGS: &str = "sdk/go/internal/bindings";
/// The package with the exported functions of these interfaces, which every provider in Go exports.
const EXPORTS: &str = "wit_exports";
const ALWAYS: [&str; 3] = [
    "resource-provider",
    "completion-provider",
    "version-provider",
];

/// Fails if the files differ from the output of the generator.
pub(super) fn check(output: &Output) -> Result<()> {
    for name in generate(output)? {
        let file = root().join(BINDINGS).join(&name);
        let is_same = fs::read(&file)
            .is_ok_and(|old| fs::read(scratch().join(&name)).is_ok_and(|new| new == old));
        ensure!(
            is_same,
            "{} differs from the output of `larder bindings go`; run `cargo xtask go-bindings`",
            file.display()
        );
    }
    Ok(())
}

/// Regenerates the files.
pub(super) fn regenerate(output: &Output) -> Result<()> {
    build_server(output)?;
    tools::author_tools(output)?;
    for name in generate(output)? {
        let file = root().join(BINDINGS).join(&name);
        fs::create_dir_all(file.parent().context("it has no folder")?)?;
        fs::copy(scratch().join(&name), file)?;
    }
    Ok(())
}

fn scratch() -> PathBuf {
    target("examples/go-bindings")
}

/// Generates the bindings in the scratch folder and returns their file names. The bindings import the runtime in the
/// SDK instead of a separate module, so that authors have a single dependency.
fn generate(output: &Output) -> Result<Vec<PathBuf>> {
    let dir = scratch();
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    let mut generate = command(larder());
    generate.args([
        "bindings",
        "go",
        "--with",
        "completions,versions,tools,prompts,search,settings",
    ]);
    generate
        .args(["--package", "larder.dev/provider/internal/bindings", "-o"])
        .arg(&dir);
    output.run(&mut generate)?;
    // The generated copy of the runtime, which the SDK has in a different folder.
    fs::remove_dir_all(dir.join("pkg"))?;
    let exports = fs::read_to_string(dir.join(EXPORTS).join("wit_exports.go"))?;
    for (package, text) in split_exports(&exports)? {
        fs::create_dir_all(dir.join(&package))?;
        fs::write(dir.join(package).join("wit_exports.go"), text)?;
    }
    let mut names = Vec::new();
    find_go_files(&dir, Path::new(""), &mut names)?;
    for name in &names {
        let text = fs::read_to_string(dir.join(name))?;
        fs::write(
            dir.join(name),
            text.replace(
                "go.bytecodealliance.org/pkg/wit/",
                "larder.dev/provider/internal/wit/",
            ),
        )?;
    }
    let mut fmt = with_tools(command(author_tool("go")))?;
    output.run(fmt.args(["run", "cmd/gofmt", "-w", "."]).current_dir(&dir))?;
    Ok(names)
}

/// Splits the file with the exported functions by interface. Returns packages and their texts.
fn split_exports(text: &str) -> Result<BTreeMap<String, String>> {
    const MARKER: &str = "//go:wasmexport ";
    let (head, functions) = text
        .split_once(MARKER)
        .context("the bindings export nothing")?;
    let mut bodies: BTreeMap<String, String> = BTreeMap::new();
    for function in functions.split(MARKER) {
        let interface = function
            .split_once("larder:provider/")
            .and_then(|(_, name)| name.split_once('@'));
        let (interface, _) = interface.context("an exported function has no interface")?;
        let package = if ALWAYS.contains(&interface) {
            EXPORTS.to_owned()
        } else {
            format!("{EXPORTS}_{}", interface.replace('-', "_"))
        };
        *bodies.entry(package).or_default() += &format!("{MARKER}{function}");
    }
    Ok(bodies
        .into_iter()
        .map(|(package, body)| {
            let text = head_for(&package, head, &body) + &body;
            (package, text)
        })
        .collect())
}

/// Returns the beginning of the file, with only the imports that the functions use.
fn head_for(package: &str, head: &str, body: &str) -> String {
    let is_used = |line: &&str| {
        let import = line
            .trim()
            .strip_prefix("\"larder.dev/")
            .and_then(|path| path.strip_suffix('"'));
        let name = import.and_then(|path| path.rsplit('/').next());
        name.is_none_or(|name| {
            body.match_indices(&format!("{name}."))
                .any(|(at, _)| !body[..at].ends_with(['_', '/']))
        })
    };
    let lines = head.lines().filter(is_used).map(|line| match line {
        "package wit_exports" => format!("package {package}\n"),
        _ => format!("{line}\n"),
    });
    lines.collect()
}

fn find_go_files(base: &Path, folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let path = base.join(folder);
    for item in fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))? {
        let item = item?;
        let name = folder.join(item.file_name());
        if item.file_type()?.is_dir() {
            find_go_files(base, &name, found)?;
        } else if name.extension().is_some_and(|extension| extension == "go") {
            found.push(name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_exports_by_interface() {
        let text = "package wit_exports\nimport (\n\"larder.dev/b/export_a\"\n\"larder.dev/b/a\"\n\"unsafe\"\n)\n\
                    //go:wasmexport larder:provider/resource-provider@0.1.0#read\nfunc one() { export_a.x() }\n\
                    //go:wasmexport larder:provider/tool-provider@0.1.0#call\nfunc two() { a.x() }\n\
                    //go:wasmexport cabi_post_larder:provider/version-provider@0.1.0#x\nfunc three() {}\n";
        let split = split_exports(text).unwrap();
        assert_eq!(
            split.keys().collect::<Vec<_>>(),
            ["wit_exports", "wit_exports_tool_provider"]
        );
        assert_eq!(
            split["wit_exports_tool_provider"],
            "package wit_exports_tool_provider\nimport (\n\"larder.dev/b/a\"\n\"unsafe\"\n)\n\
             //go:wasmexport larder:provider/tool-provider@0.1.0#call\nfunc two() { a.x() }\n"
        );
        assert!(
            split["wit_exports"].contains("export_a\"\n\"unsafe\""),
            "{}",
            split["wit_exports"]
        );
        assert!(split["wit_exports"].contains("func three"));
    }
}
