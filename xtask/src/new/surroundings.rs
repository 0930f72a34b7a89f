//! A project in other surroundings: without the tools of its language, and in a workspace of npm.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use super::{NAME, install_packages, read_greeting, shell};
use crate::run::{Output, command, larder, target};
use crate::tools::find_program;

/// Checks that `make` says what to install if it finds no compiler.
pub(super) fn check_missing_compiler(here: &Path, language: &str) -> Result<()> {
    let expected = match language {
        "go" => "go is missing: install Go",
        _ => "run 'pip install ziglang",
    };
    let make = find_program("make").context("make is not installed")?;
    let ran = command(make).env("PATH", here.join("larder-provider")).current_dir(here).output()?;
    let text = String::from_utf8_lossy(&ran.stderr);
    ensure!(!ran.status.success() && text.contains(expected), "expected `{expected}`: {text}");
    Ok(())
}

/// Checks that a component in Rust has the names of its functions, so that a trap has a backtrace.
pub(super) fn check_names(component: &Path) -> Result<()> {
    let bytes = fs::read(component)?;
    let name = b"rust_panic";
    ensure!(bytes.windows(name.len()).any(|part| part == name), "the component has no names of functions");
    Ok(())
}

/// Checks that `npm run build` says what to install before `npm install`.
pub(super) fn check_missing_packages(here: &Path) -> Result<()> {
    let ran = command("npm").args(["run", "build"]).current_dir(here).output()?;
    let text = String::from_utf8_lossy(&ran.stderr);
    let expected = "componentize-qjs is not installed";
    ensure!(!ran.status.success() && text.contains(expected), "expected `{expected}`: {text}");
    Ok(())
}

/// Checks a project in a workspace, in which npm installs packages above the project, and links another one.
pub(super) fn check_workspace(output: &Output) -> Result<()> {
    let root = target("new/workspace");
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    let (project, library) = (root.join("packages/notes"), root.join("libraries/greeting"));
    fs::create_dir_all(root.join("packages"))?;
    fs::create_dir_all(&library)?;
    let packages = r#"{ "name": "workspace", "private": true, "workspaces": ["packages/*", "libraries/*"] }"#;
    fs::write(root.join("package.json"), packages)?;
    let package = r#"{ "name": "greeting", "version": "1.0.0", "type": "module", "main": "greeting.js" }"#;
    fs::write(library.join("package.json"), package)?;
    fs::write(library.join("greeting.js"), "export const name = 'workspace';\n")?;
    output.run(command(larder()).args(["new", NAME, "--lang", "javascript", "--path"]).arg(&project))?;
    check_missing_packages(&project)?;
    let edit = |file: &str, from: &str, to: &str| {
        let text = fs::read_to_string(project.join(file))?;
        ensure!(text.contains(from), "`{from}` is missing in {file}");
        fs::write(project.join(file), text.replacen(from, to, 1)).map_err(Into::into)
    };
    edit("package.json", "\"dependencies\": {", "\"dependencies\": { \"greeting\": \"*\",")?;
    edit("provider.js", "import {", "import { name } from \"greeting\";\nimport {")?;
    edit("provider.js", "\"world\"", "name")?;
    install_packages(output, &root, "npm install --no-package-lock --no-audit --no-fund --loglevel=error")?;
    shell(output, &project, "npm run build && mkdir PLUGINS && cp *.wasm PLUGINS")?;
    let greeting = read_greeting(&project, ["--plugins", "PLUGINS"])?;
    ensure!(greeting == "Hello, workspace!\n", "unexpected greeting {greeting:?}");
    Ok(())
}
