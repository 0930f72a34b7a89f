//! Random answers of providers, with invalid values in every field, read by the official SDKs. The server omits or
//! repairs values that the SDKs would reject.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::clients::node;
use crate::run::{Output, command, root, target};
use crate::server::RunningServer;
use crate::step::Outcome;
use crate::tools::copy_sources;

/// The number of providers. Each provider has a seed of its own.
const PROVIDERS: u32 = 12;
/// The number of entries that each provider lists. About half of them have an invalid URI.
const ENTRIES: u32 = 250;

pub(crate) fn typescript(output: &Output) -> Result<Outcome> {
    run_client(output, "random-answers-typescript", node("random.mjs"))
}

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    let mut python = command(target("clients/venv/bin/python"));
    python
        .args(["-B"])
        .arg(root().join("host/tests/clients/python/random_answers.py"));
    run_client(output, "random-answers-python", python)
}

fn run_client(output: &Output, name: &str, mut client: Command) -> Result<Outcome> {
    copy_sources()?;
    let server = RunningServer::start(&config(name)?, output)?;
    let result = output.run(client.arg(&server.url));
    // The server is stopped in order, and this is logged, also if the client failed.
    let stopped = server.stop();
    result.and(stopped)?;
    Ok(Outcome::Passed)
}

/// Writes a `larder.toml` with the guest `random` under several names.
fn config(name: &str) -> Result<PathBuf> {
    let dir = target("xtask").join(name);
    let plugins = dir.join("plugins");
    fs::create_dir_all(&plugins)?;
    let mut toml = "plugins = \"plugins\"\n".to_owned();
    for seed in 0..PROVIDERS {
        fs::copy(
            target("guests/random.wasm"),
            plugins.join(format!("random{seed}.wasm")),
        )
        .context("random.wasm is missing; run `cargo xtask guests`")?;
        write!(
            toml,
            "\n[provider.random{seed}.settings]\nseed = \"{seed}\"\ncount = \"{ENTRIES}\"\n"
        )?;
    }
    let file = dir.join("larder.toml");
    fs::write(&file, toml)?;
    Ok(file)
}
