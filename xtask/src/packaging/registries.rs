//! The packages for `npx` and `uvx`, here with the debug build: both are published to registries on this machine, and
//! `npx` and `uvx` themselves install them from there and serve a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::wrappers::check_installed;
use super::{platform_folder, systemd::free_port, work_folder};
use crate::dist::targets::Platform;
use crate::dist::wrappers::{self, NAME};
use crate::run::{Output, command, root, target};
use crate::step::Outcome;
use crate::tools;

/// Longer than a registry needs to start.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let Some(platform) = super::this_platform() else {
        return tools::missing("there are no packages for this platform");
    };
    let sources = root().join("xtask/packaging/registries");
    let node = target("packaging/registries");
    let venv = target("packaging/registries-venv");
    for outcome in [
        tools::node_project(output, &sources.join("package.json"), &node)?,
        tools::venv(output, &venv, &sources.join("requirements.txt"), &[])?,
    ] {
        if let Outcome::Skipped(reason) = outcome {
            return tools::missing(&reason);
        }
    }
    let work = work_folder("registries")?;
    let staged = platform_folder(output, &work)?;
    check_npx(output, &node, &staged, platform, &work)?;
    check_uvx(output, &venv.join("bin"), &staged, platform, &work)?;
    // The folder takes much space.
    fs::remove_dir_all(&work)?;
    Ok(Outcome::Passed)
}

fn check_npx(
    output: &Output,
    tools: &Path,
    staged: &Path,
    platform: &Platform,
    work: &Path,
) -> Result<()> {
    let program = wrappers::pack_program(output, staged, platform, work)?;
    let launcher = wrappers::pack_launcher(output, work)?;
    let registry = start_verdaccio(tools, work)?;
    let npm = Npm {
        registry: &registry,
        cache: work.join("npm-cache"),
    };
    // The launcher comes last, as in a release.
    for package in [program, launcher] {
        output.run(npm.command("npm").arg("publish").arg(package))?;
    }
    let folder = work.join("npx");
    fs::create_dir_all(&folder)?;
    let npx = || {
        let mut npx = npm.command("npx");
        npx.args(["--yes", NAME]).current_dir(&folder);
        npx
    };
    check_installed(npx, work)
}

/// npm with a registry of this machine.
struct Npm<'a> {
    registry: &'a Registry,
    cache: PathBuf,
}

impl Npm<'_> {
    fn command(&self, program: &str) -> Command {
        let url = &self.registry.url;
        let mut npm = command(program);
        npm.env("npm_config_registry", url)
            .env("npm_config_cache", &self.cache)
            .env("npm_config_fetch_retries", "0")
            .env("npm_config_update_notifier", "false");
        // npm publishes nothing without a token; the registry accepts any.
        let host = url.trim_start_matches("http:");
        npm.env(format!("npm_config_{host}:_authToken"), "x");
        npm
    }
}

fn check_uvx(
    output: &Output,
    tools: &Path,
    staged: &Path,
    platform: &Platform,
    work: &Path,
) -> Result<()> {
    let wheel = wrappers::pack_wheel(output, staged, platform, work)?;
    let registry = start_pypiserver(tools, work)?;
    let uv = |program: &str| {
        let mut uv = command(tools.join(program));
        uv.env("UV_CACHE_DIR", work.join("uv-cache"))
            .env("UV_PYTHON", tools.join("python"))
            .env("UV_PYTHON_DOWNLOADS", "never")
            .env("UV_NO_CONFIG", "1");
        uv
    };
    let mut publish = uv("uv");
    publish
        .args(["publish", "--username", "x", "--password", "x"])
        .args(["--publish-url", &registry.url])
        .arg(wheel);
    output.run(&mut publish)?;
    let index = registry.url_of("simple/");
    let uvx = || {
        let mut uvx = uv("uvx");
        uvx.args(["--default-index", &index, NAME]);
        uvx
    };
    check_installed(uvx, work)
}

/// A registry, which ends when this value is dropped.
struct Registry {
    process: Child,
    url: String,
}

impl Drop for Registry {
    fn drop(&mut self) {
        // Both calls fail only if the process has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Registry {
    /// Starts a registry on this port, and waits until it has an answer for this path.
    fn start(server: &mut Command, port: u16, path: &str, log: &Path) -> Result<Self> {
        let log_file = fs::File::create(log)?;
        let process = server
            .stdout(log_file.try_clone()?)
            .stderr(log_file)
            .stdin(Stdio::null())
            .spawn()
            .with_context(|| format!("{server:?}"))?;
        let url = format!("http://127.0.0.1:{port}/");
        let registry = Self { process, url };
        let answers = super::eventually(LIMIT, || super::get(&registry.url_of(path)).is_ok());
        let log = fs::read_to_string(log)?;
        ensure!(answers, "the registry does not answer: {log}");
        Ok(registry)
    }

    fn url_of(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }
}

fn start_verdaccio(tools: &Path, work: &Path) -> Result<Registry> {
    let folder = work.join("verdaccio");
    fs::create_dir_all(&folder)?;
    let configuration = folder.join("config.yaml");
    let source = root().join("xtask/packaging/registries/verdaccio.yaml");
    fs::copy(source, &configuration)?;
    let port = free_port()?;
    let packages = tools.join("node_modules");
    let mut server = command(packages.join(".bin/node"));
    server
        .arg(packages.join("verdaccio/bin/verdaccio"))
        .arg("--config")
        .arg(configuration)
        .arg("--listen")
        .arg(format!("127.0.0.1:{port}"))
        .current_dir(&folder);
    Registry::start(&mut server, port, "-/ping", &folder.join("log"))
}

fn start_pypiserver(tools: &Path, work: &Path) -> Result<Registry> {
    let folder = work.join("pypiserver");
    fs::create_dir_all(folder.join("packages"))?;
    let port = free_port()?;
    let mut server = command(tools.join("pypi-server"));
    server
        .args(["run", "--interface", "127.0.0.1", "--port"])
        .arg(port.to_string())
        // Without passwords.
        .args(["--passwords", ".", "--authenticate", "."])
        .arg(folder.join("packages"));
    Registry::start(&mut server, port, "simple/", &folder.join("log"))
}
