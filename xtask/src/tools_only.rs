//! Clients that only support tools: they read this repository's documents with the server's own tools, over HTTP from a
//! configured server, and over stdio from `larder up`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::clients::{add_token, copy_providers, node, settings};
use crate::demo::copy_documents;
use crate::run::{Output, command, larder, root, target};
use crate::server::RunningServer;
use crate::step::Outcome;
use crate::tools::copy_sources;

pub(crate) fn typescript(output: &Output) -> Result<Outcome> {
    copy_sources()?;
    run_client(
        output,
        "clients-tools-only-typescript",
        node("tools-only.mjs"),
    )
}

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    let mut python = command(target("clients/venv/bin/python"));
    python
        .args(["-B"])
        .arg(root().join("host/tests/clients/python/tools_only.py"));
    run_client(output, "clients-tools-only-python", python)
}

fn run_client(output: &Output, name: &str, mut client: Command) -> Result<Outcome> {
    let (config, docs) = documents(name)?;
    client.env("LARDER_TOKEN", add_token(&[&config])?);
    let server = RunningServer::start(&config, output)?;
    client
        .arg(&server.url)
        .arg(&docs)
        .arg(larder())
        .args(["up", "--stdio"])
        .arg(&docs);
    let result = output.run(&mut client);
    // The server is stopped in order, and this is logged, also if the client failed.
    let stopped = server.stop();
    result.and(stopped)?;
    Ok(Outcome::Passed)
}

/// Configures the provider `files` with the documents of this repository. Also returns their folder.
fn documents(name: &str) -> Result<(PathBuf, PathBuf)> {
    let dir = target("xtask").join(name);
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    let (plugins, docs, file) = (
        dir.join("plugins"),
        dir.join("docs"),
        dir.join("larder.toml"),
    );
    copy_providers(&plugins, &["files"])?;
    copy_documents(&docs)?;
    let dirs: [(&Path, &str); 1] = [(&docs, "/docs")];
    fs::write(&file, settings(&plugins, "resource_tools = true\n", &dirs)?)?;
    Ok((file, docs))
}
