//! Tests with agent frameworks, in two versions of the Python SDK and in JavaScript. They call `tools/list` and
//! `prompts/list` without a check of the capabilities, also on a server that has only resources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::clients::{DOCUMENTS, add_token, copy_providers, settings};
use crate::run::{Output, command, larder, root, target};
use crate::server::RunningServer;
use crate::step::Outcome;
use crate::tools;

/// The packages of these frameworks need a version of the SDK before 2.
pub(crate) fn python_sdk_1(output: &Output) -> Result<Outcome> {
    python(output, "sdk1", &["langchain", "mcpadapt"])
}

/// The packages of these frameworks allow version 2 of the SDK.
pub(crate) fn python_sdk_2(output: &Output) -> Result<Outcome> {
    python(output, "sdk2", &["openai_agents", "pydantic_ai"])
}

/// This package needs version 2 of the SDK, and as many packages as the others together.
pub(crate) fn llama_index(output: &Output) -> Result<Outcome> {
    python(output, "llama_index", &["llama_index"])
}

pub(crate) fn javascript(output: &Output) -> Result<Outcome> {
    let installed = tools::node_frameworks(output)?;
    if matches!(installed, Outcome::Skipped(_)) {
        return Ok(installed);
    }
    let mut node = command(target("clients/node/node_modules/.bin/node"));
    node.arg(target("clients/frameworks/node/langchain.mjs"));
    run_clients(output, "javascript", vec![node])
}

fn python(output: &Output, name: &str, frameworks: &[&str]) -> Result<Outcome> {
    let sources = root().join("host/tests/clients/frameworks");
    let venv = target("clients/frameworks").join(name);
    let requirements = sources.join(format!("requirements-{name}.txt"));
    let installed = tools::venv(output, &venv, &requirements, &["--no-deps"])?;
    if matches!(installed, Outcome::Skipped(_)) {
        return Ok(installed);
    }
    let client = |framework: &&str| {
        let mut python = command(venv.join("bin/python"));
        python
            .arg("-B")
            .arg(sources.join(format!("with_{framework}.py")));
        python
    };
    run_clients(output, name, frameworks.iter().map(client).collect())
}

/// Runs each client with two servers: one has only documents, the other also has tools and prompts.
fn run_clients(output: &Output, name: &str, clients: Vec<Command>) -> Result<Outcome> {
    let folder = target("xtask").join(format!("clients-frameworks-{name}"));
    // The state of an earlier run is in this folder too. With this state, tools that were changed since then would be
    // withdrawn.
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let documents = config(&folder.join("documents"), &["files"], "")?;
    let grants = "\n[provider.conformance]\ntools = true\nprompts = true\n";
    let fixtures = config(&folder.join("fixtures"), &["files", "conformance"], grants)?;
    let token = add_token(&[&documents, &fixtures])?;
    let servers = [
        RunningServer::start(&documents, output)?,
        RunningServer::start(&fixtures, output)?,
    ];
    let mut result = Ok(());
    for mut client in clients {
        client
            .env("LARDER_TOKEN", &token)
            .args(servers.iter().map(|server| &server.url));
        let ran = output.run(client.arg(larder()).args([&documents, &fixtures]));
        // The frameworks after a failed one are run too, and the first error is returned.
        result = result.and(ran);
    }
    // The servers are stopped in order, and this is logged, also if a client failed.
    for server in servers {
        result = result.and(server.stop());
    }
    result.map(|()| Outcome::Passed)
}

/// Writes a `larder.toml` with these providers, and the documents of `files`.
fn config(folder: &Path, providers: &[&str], grants: &str) -> Result<PathBuf> {
    let (plugins, docs, file) = (
        folder.join("plugins"),
        folder.join("docs"),
        folder.join("larder.toml"),
    );
    copy_providers(&plugins, providers)?;
    fs::create_dir_all(&docs)?;
    for (document, text) in DOCUMENTS {
        fs::write(docs.join(document), text)?;
    }
    let settings = settings(&plugins, "", &[(&docs, "/docs")])?;
    fs::write(&file, format!("state_dir = \"state\"\n{settings}{grants}"))?;
    Ok(file)
}
