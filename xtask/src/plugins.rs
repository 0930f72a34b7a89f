//! Builds components: the providers that are shipped, and the guests of the integration tests.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::run::{Output, cargo, command, root, stdout_of, target};

pub(crate) const TARGET: &str = "wasm32-wasip2";

/// Builds `plugins/NAME` to `target/plugins/NAME.wasm`.
pub(crate) fn plugins(output: &Output) -> Result<()> {
    let manifest = "plugins/Cargo.toml";
    add_target(output)?;
    output.run(&mut cargo(&["build", "--manifest-path", manifest, "--release", "--target", TARGET]))?;
    let built = root().join("plugins/target").join(TARGET).join("release");
    collect(output, &target("plugins"), &built, components(manifest, "cdylib")?)
}

/// Builds `host/tests/guests`, where each example is a component, to `target/guests/NAME.wasm`.
pub(crate) fn guests(output: &Output) -> Result<()> {
    let manifest = "host/tests/guests/Cargo.toml";
    add_target(output)?;
    let build = ["build", "--manifest-path", manifest, "--examples", "--release", "--target", TARGET];
    output.run(&mut cargo(&build))?;
    let built = root().join("host/tests/guests/target").join(TARGET).join("release/examples");
    collect(output, &target("guests"), &built, components(manifest, "example")?)
}

/// Installs the Rust target with rustup if it is missing. Without rustup, the user has to install it.
pub(crate) fn add_target(output: &Output) -> Result<()> {
    let sysroot = stdout_of(command("rustc").args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).exists() {
        return Ok(());
    }
    output
        .run(command("rustup").args(["target", "add", TARGET]))
        .with_context(|| format!("install the Rust target {TARGET}, then try again"))
}

/// The name and the file name of each component in a workspace, from cargo's metadata.
fn components(manifest: &str, kind: &str) -> Result<Vec<(String, String)>> {
    let metadata = stdout_of(&mut cargo(&[
        "metadata",
        "--manifest-path",
        manifest,
        "--no-deps",
        "--format-version",
        "1",
    ]))?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let mut found = Vec::new();
    for package in list(&metadata["packages"]) {
        for target in list(&package["targets"]).filter(|target| list(&target["kind"]).any(|k| k == kind)) {
            let name = target["name"].as_str().context("a target without a name")?.replace('-', "_");
            // A provider has the name of its folder, whatever the name of its crate. A guest has the name of
            // its file.
            let folder = Path::new(package["manifest_path"].as_str().unwrap_or_default()).parent();
            let folder = folder.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
            let component = if kind == "example" { name.clone() } else { folder.unwrap_or_default() };
            found.push((component, format!("{name}.wasm")));
        }
    }
    Ok(found)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Copies the built components and removes those that are no longer built.
fn collect(output: &Output, to: &Path, built: &Path, components: Vec<(String, String)>) -> Result<()> {
    if components.is_empty() {
        bail!("no components to build for {}", to.display());
    }
    fs::create_dir_all(to)?;
    let files: Vec<String> = components.iter().map(|(name, _)| format!("{name}.wasm")).collect();
    for old in fs::read_dir(to)?.collect::<Result<Vec<_>, _>>()? {
        let component = old.path().extension().is_some_and(|extension| extension == "wasm");
        if component && !files.iter().any(|file| old.file_name() == **file) {
            fs::remove_file(old.path())?;
        }
    }
    for ((name, file), component) in components.iter().zip(&files) {
        // The file is renamed into place, so that a running server never sees an incomplete component.
        let (new, to) = (to.join(format!(".{name}.new")), to.join(component));
        let size = fs::copy(built.join(file), &new).with_context(|| format!("cargo did not build {file}"))?;
        fs::rename(new, to)?;
        output.write_line(&format!("{name:<24} {:>6} KiB", size.div_ceil(1024)))?;
    }
    Ok(())
}
