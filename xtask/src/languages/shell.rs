//! Commands of authors, with the built `larder` and the tools of all languages.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::plugins::components_target;
use crate::run::{Output, command, larder, target};
use crate::tools;

/// Runs a command line. A command that installs packages is repeated if it fails.
pub(super) fn run(output: &Output, here: &Path, line: &str) -> Result<()> {
    let mut shell = shell(here, line)?;
    if line.contains(" install ") {
        output.install(&mut shell)
    } else {
        output.run(&mut shell)
    }
}

pub(super) fn shell(here: &Path, line: &str) -> Result<Command> {
    let mut shell = with_tools(command("sh"))?;
    shell.args(["-c", line]).current_dir(here);
    Ok(shell)
}

/// Configures a command so that `PATH` begins with the built `larder` and the author tools, and caches are in
/// `target`.
#[expect(
    clippy::disallowed_methods,
    reason = "the lint is for the server's configuration"
)]
pub(crate) fn with_tools(mut command: Command) -> Result<Command> {
    let tools = target("authors/venv/bin");
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let path = [target("debug"), tools]
        .into_iter()
        .chain(std::env::split_paths(&inherited));
    let path = std::env::join_paths(path)?;
    if let Some(flags) = tools::make_flags() {
        command.env("MAKEFLAGS", flags);
    }
    command
        .env("PATH", path)
        .env("LARDER", larder())
        .env("GOPROXY", "off")
        .env("GOTOOLCHAIN", "local");
    // Simulates a machine with a shared target folder. Projects must not depend on the default. The macros of the SDK were
    // compiled there for the providers and for the guests, without debug information.
    command
        .env("CARGO_TARGET_DIR", components_target())
        .env("CARGO_PROFILE_DEV_DEBUG", "false");
    command
        .env("GOCACHE", target("languages/go/go"))
        .env("ZIG_GLOBAL_CACHE_DIR", tools::zig_cache());
    // The versions are pinned, so a package in the cache is the right one.
    command
        .env("npm_config_prefer_offline", "true")
        .env("npm_config_loglevel", "error");
    command
        .env("npm_config_audit", "false")
        .env("npm_config_fund", "false");
    command.env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
    Ok(command)
}
