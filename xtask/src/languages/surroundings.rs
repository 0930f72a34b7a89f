//! A project in another environment: without the tools of its language, and in a workspace of npm.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::language::Language;
use super::project::{Project, greeting};
use super::{folder, shell};
use crate::run::{Output, command, larder};
use crate::tools::find_program;

/// Checks that `make` names the package to install if it finds no compiler.
pub(super) fn check_missing_compiler(project: &Project<'_>) -> Result<()> {
    let expected = match project.language.name {
        "go" => "go is missing: install Go",
        "c" | "cpp" => "run 'pip install ziglang",
        _ => return Ok(()),
    };
    let make = find_program("make").context("make is not installed")?;
    let no_programs = project.here.join("larder-provider");
    check_message(
        command(make)
            .env("PATH", no_programs)
            .current_dir(&project.here),
        expected,
    )
}

/// Checks a project in a workspace, in which npm installs packages above the project, and links another one.
pub(super) fn check_workspace(output: &Output, language: &'static Language) -> Result<()> {
    let root = folder::empty(language.name, "workspace")?;
    // The name must differ from the providers of other steps: otherwise the project would be compared with them,
    // because all use the same state.
    let name = "workspace-notes";
    let here = root.join("packages").join(name);
    write_workspace(&root)?;
    let new = ["new", name, "--lang", language.name, "--path"];
    output.run(command(larder()).args(new).arg(&here))?;
    // Before `npm install`, the build names the packages to install.
    let mut build = command("npm");
    check_message(
        build.args(["run", "build"]).current_dir(&here),
        "esbuild is not installed",
    )?;
    replace(
        &here.join("package.json"),
        "\"dependencies\": {",
        "\"dependencies\": { \"greeting\": \"*\",",
    )?;
    replace(
        &here.join("provider.js"),
        "import {",
        "import { name } from \"greeting\";\nimport {",
    )?;
    replace(&here.join("provider.js"), "\"world\"", "name")?;
    shell::run(output, &root, "npm install --no-package-lock")?;
    shell::run(
        output,
        &here,
        "npm run build && mkdir PLUGINS && cp *.wasm PLUGINS",
    )?;
    let project = Project {
        output,
        language,
        name,
        here,
    };
    let text = project.read("hello", ["--plugins", "PLUGINS"])?;
    ensure!(
        text == greeting("workspace"),
        "unexpected greeting {text:?}"
    );
    Ok(())
}

/// Writes the files of a workspace, and a library for its projects.
fn write_workspace(root: &Path) -> Result<()> {
    let library = root.join("libraries/greeting");
    fs::create_dir_all(root.join("packages"))?;
    fs::create_dir_all(&library)?;
    let packages =
        r#"{ "name": "workspace", "private": true, "workspaces": ["packages/*", "libraries/*"] }"#;
    fs::write(root.join("package.json"), packages)?;
    let package =
        r#"{ "name": "greeting", "version": "1.0.0", "type": "module", "main": "greeting.js" }"#;
    fs::write(library.join("package.json"), package)?;
    Ok(fs::write(
        library.join("greeting.js"),
        "export const name = 'workspace';\n",
    )?)
}

/// Checks that a command fails with this message.
fn check_message(command: &mut Command, expected: &str) -> Result<()> {
    let ran = command.output()?;
    let text = String::from_utf8_lossy(&ran.stderr);
    ensure!(
        !ran.status.success() && text.contains(expected),
        "expected `{expected}`: {text}"
    );
    Ok(())
}

fn replace(file: &Path, from: &str, to: &str) -> Result<()> {
    let text = fs::read_to_string(file)?;
    ensure!(
        text.contains(from),
        "`{from}` is missing in {}",
        file.display()
    );
    Ok(fs::write(file, text.replacen(from, to, 1))?)
}
