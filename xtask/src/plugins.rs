//! Builds components: the shipped providers, and the guests of the integration tests.

mod c_compiler;
mod projects;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::linted_build::linted;
use crate::run::{Output, cargo, command, root, stdout_of, target};

pub(crate) const TARGET: &str = "wasm32-wasip2";
const PROVIDERS: &str = "plugins/Cargo.toml";

/// Builds `plugins/NAME` to `target/plugins/NAME.wasm`.
pub(crate) fn plugins(output: &Output) -> Result<()> {
    let manifest = PROVIDERS;
    add_target(output)?;
    let mut build = cargo(&[
        "build",
        "--workspace",
        "--manifest-path",
        manifest,
        "--release",
        "--target",
        TARGET,
    ]);
    let not_built = set_c_compiler(&mut build, output)?;
    output.run(&mut build)?;
    let built = components_target().join(TARGET).join("release");
    let mut components = components(manifest, "cdylib")?;
    components.retain(|(name, _)| !not_built.contains(name));
    let (projects, failure) = match projects::build(output) {
        Ok(projects) => (projects, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    // The paths of their components are absolute.
    let projects = projects.into_iter();
    components
        .extend(projects.map(|(name, component)| (name, component.to_string_lossy().into_owned())));
    // The components that were built are usable, even if a project in another language was not built.
    collect(output, &target("plugins"), &built, components)?;
    failure.map_or(Ok(()), Err)
}

/// Lets cargo use the C compiler for WASI if a provider needs it, which is a provider with `c-compiler = true` in
/// `[package.metadata.larder]`. If there is no compiler, these providers are excluded and reported. Returns their
/// names.
pub(crate) fn set_c_compiler(cargo: &mut Command, output: &Output) -> Result<Vec<String>> {
    let metadata = metadata(PROVIDERS)?;
    let needs_it = |package: &&Value| package["metadata"]["larder"]["c-compiler"] == true;
    let names = list(&metadata["packages"])
        .filter(needs_it)
        .filter_map(|package| package["name"].as_str());
    let names: Vec<String> = names.map(str::to_owned).collect();
    if names.is_empty() {
        return Ok(names);
    }
    match c_compiler::find(output)? {
        Ok(compiler) => {
            compiler.configure(cargo);
            Ok(Vec::new())
        }
        Err(reason) => {
            for name in &names {
                output.write_line(&format!("{name:<24} not built: {reason}"))?;
                cargo.args(["--exclude", name]);
            }
            Ok(names)
        }
    }
}

/// Builds `host/tests/guests`, where each example is a component, to `target/guests/NAME.wasm`.
pub(crate) fn guests(output: &Output) -> Result<()> {
    let manifest = "host/tests/guests/Cargo.toml";
    add_target(output)?;
    let build = [
        "build",
        "--manifest-path",
        manifest,
        "--examples",
        "--target",
        TARGET,
        "--target-dir",
    ];
    output.run(linted(&build).arg(components_target()))?;
    let built = components_target().join(TARGET).join("debug/examples");
    collect(
        output,
        &target("guests"),
        &built,
        components(manifest, "example")?,
    )
}

/// The target folder of the shipped providers, of the guests, and of the projects in Rust that the tests create. They
/// need the same macros, which are compiled once for each profile.
pub(crate) fn components_target() -> PathBuf {
    root().join("plugins/target")
}

/// Installs the Rust target with rustup if it is missing. Without rustup, the user has to install the target.
pub(crate) fn add_target(output: &Output) -> Result<()> {
    let sysroot = stdout_of(command("rustc").args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(TARGET)
        .exists()
    {
        return Ok(());
    }
    output
        .run(command("rustup").args(["target", "add", TARGET]))
        .with_context(|| format!("install the Rust target {TARGET}, then try again"))
}

/// The name and the file name of each component in a workspace, from cargo's metadata.
fn components(manifest: &str, kind: &str) -> Result<Vec<(String, String)>> {
    let metadata = metadata(manifest)?;
    let mut found = Vec::new();
    for package in list(&metadata["packages"]) {
        for target in
            list(&package["targets"]).filter(|target| list(&target["kind"]).any(|k| k == kind))
        {
            let name = target["name"]
                .as_str()
                .context("a target without a name")?
                .replace('-', "_");
            // A provider has the name of its folder, independently of the name of its crate. A guest has the name of
            // its file.
            let folder = Path::new(package["manifest_path"].as_str().unwrap_or_default()).parent();
            let folder = folder
                .and_then(Path::file_name)
                .map(|name| name.to_string_lossy().into_owned());
            let component = if kind == "example" {
                name.clone()
            } else {
                folder.unwrap_or_default()
            };
            found.push((component, format!("{name}.wasm")));
        }
    }
    Ok(found)
}

fn metadata(manifest: &str) -> Result<Value> {
    let args = [
        "metadata",
        "--manifest-path",
        manifest,
        "--no-deps",
        "--format-version",
        "1",
    ];
    Ok(serde_json::from_str(&stdout_of(&mut cargo(&args))?)?)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Copies the built components, and removes components that are not built any more.
fn collect(
    output: &Output,
    to: &Path,
    built: &Path,
    components: Vec<(String, String)>,
) -> Result<()> {
    if components.is_empty() {
        bail!("no components to build for {}", to.display());
    }
    fs::create_dir_all(to)?;
    let files: Vec<String> = components
        .iter()
        .map(|(name, _)| format!("{name}.wasm"))
        .collect();
    for old in fs::read_dir(to)?.collect::<Result<Vec<_>, _>>()? {
        let component = old
            .path()
            .extension()
            .is_some_and(|extension| extension == "wasm");
        if component && !files.iter().any(|file| old.file_name() == **file) {
            fs::remove_file(old.path())?;
        }
    }
    for ((name, file), component) in components.iter().zip(&files) {
        let bytes =
            fs::read(built.join(file)).with_context(|| format!("cargo did not build {file}"))?;
        let size = bytes.len();
        replace_if_changed(to, name, component, &bytes)?;
        output.write_line(&format!("{name:<24} {:>6} KiB", size.div_ceil(1024)))?;
    }
    Ok(())
}

/// Writes a component. One that is the same stays, because the program with the built-in providers would be built again.
fn replace_if_changed(folder: &Path, name: &str, component: &str, bytes: &[u8]) -> Result<()> {
    let to = folder.join(component);
    if fs::read(&to).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    // The file is renamed into place, so that a running server never sees an incomplete component.
    let new = folder.join(format!(".{name}.new"));
    fs::write(&new, bytes)?;
    Ok(fs::rename(new, to)?)
}
