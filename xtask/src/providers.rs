//! Tests of the shipped providers with a real MCP client. Each provider is served alone, with the limits of a normal
//! installation, and `plugins/NAME/tests/session.py` uses it through the Python SDK. If a provider needs folders or
//! servers, a separate file in this module prepares them.

pub(crate) mod feeds;
pub(crate) mod figures;
pub(crate) mod files;
pub(crate) mod git;
pub(crate) mod http;
pub(crate) mod notes;
pub(crate) mod openapi;
pub(crate) mod postgres;
pub(crate) mod remote;
pub(crate) mod s3;
pub(crate) mod sqlite;
mod web;

use std::any::Any;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::clients::copy_providers;
use crate::run::{Output, command, larder, root, stdout_of, target};
use crate::server::RunningServer;
use crate::step::Outcome;

/// The folders, variables and servers that a provider's test needs in addition to its component.
#[derive(Default)]
pub(crate) struct Surroundings {
    /// Variables for `larder.toml`, in which they are written `${NAME}`, and for `session.py`.
    pub(crate) variables: Vec<(&'static str, String)>,
    /// Values that must exist until the end of the session, for example a value that stops a server when it is dropped.
    pub(crate) servers: Vec<Box<dyn Any>>,
    /// Why the test cannot run. Create it with [`Surroundings::missing`].
    skipped: Option<Outcome>,
}

impl Surroundings {
    /// Skips the test, or fails it in CI, because a tool is not installed.
    pub(crate) fn missing(what: &str) -> Result<Self> {
        Ok(Self {
            skipped: Some(crate::tools::missing(what)?),
            ..Self::default()
        })
    }
}

/// Prepares an empty folder and starts servers. `larder.toml` grants folders and files in it as `${FOLDER}/…`.
pub(crate) type Prepare = fn(&Output, &Path) -> Result<Surroundings>;

/// Serves the provider with `plugins/NAME/tests/larder.toml` and runs `plugins/NAME/tests/session.py URL FOLDER`.
pub(crate) fn check(output: &Output, name: &str, prepare: Prepare) -> Result<Outcome> {
    let used = with_server(output, name, prepare, |server, folder, surroundings| {
        run_session(output, name, server, folder, surroundings)
    })?;
    Ok(match used {
        Ok(()) => Outcome::PassedWithNote(last_line(&output.contents())),
        Err(skipped) => skipped,
    })
}

/// Serves the provider as in its test, and uses the server. The inner error is the reason if that is not possible here.
fn with_server<T>(
    output: &Output,
    name: &str,
    prepare: Prepare,
    use_server: impl FnOnce(&RunningServer, &Path, &Surroundings) -> Result<T>,
) -> Result<Result<T, Outcome>> {
    let work = target("xtask").join(format!("provider-{name}"));
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    let folder = work.join("folder");
    fs::create_dir_all(&folder)?;
    let mut surroundings = prepare(output, &folder)?;
    if let Some(skipped) = surroundings.skipped.take() {
        return Ok(Err(skipped));
    }
    surroundings
        .variables
        .push(("FOLDER", folder.display().to_string()));
    let server = serve(output, name, &work, &surroundings)?;
    let result = use_server(&server, &folder, &surroundings);
    let stopped = server.stop();
    surroundings.servers.clear();
    let used = result?;
    stopped.map(|()| Ok(used))
}

fn serve(
    output: &Output,
    name: &str,
    work: &Path,
    surroundings: &Surroundings,
) -> Result<RunningServer> {
    copy_providers(&work.join("plugins"), &[name])?;
    let tests = root().join("plugins").join(name).join("tests");
    let config = work.join("larder.toml");
    fs::copy(tests.join("larder.toml"), &config)
        .with_context(|| format!("{name} has no larder.toml"))?;
    let mut serve = command(larder());
    serve
        .arg("serve")
        .arg("--config")
        .arg(&config)
        .args(["--listen", "127.0.0.1:0"]);
    serve.args(["--admin", "127.0.0.1:0"]);
    // Without the option, there are no tools, and a session does not search.
    if stdout_of(command(larder()).args(["serve", "--help"]))?.contains("--resource-tools") {
        serve.arg("--resource-tools");
    }
    serve.env("XDG_STATE_HOME", work.join("state"));
    serve.envs(surroundings.variables.iter().cloned());
    RunningServer::spawn(serve, output)
}

fn run_session(
    output: &Output,
    name: &str,
    server: &RunningServer,
    folder: &Path,
    surroundings: &Surroundings,
) -> Result<()> {
    let mut python = command(target("clients/venv/bin/python"));
    python
        .arg("-B")
        .arg(root().join("plugins").join(name).join("tests/session.py"));
    python.arg(&server.url).arg(folder);
    python
        .env("PYTHONPATH", root().join("plugins/testing"))
        .env("LARDER", larder());
    output.run(python.envs(surroundings.variables.iter().cloned()))
}

/// The last line of a session is its summary.
fn last_line(log: &str) -> String {
    let summary = log
        .lines()
        .rev()
        .find(|line| line.contains(" checks passed"));
    summary.unwrap_or_default().to_owned()
}
