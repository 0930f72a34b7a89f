//! Tests with real MCP clients: each connects over HTTP and stdio, with every protocol version that it supports, to
//! `larder serve` with two providers. The expected results are in `host/tests/clients/expected.json`. The calls of
//! tools and prompts by each client are printed.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::page;
use crate::run::{Output, command, larder, root, target};
use crate::server::RunningServer;
use crate::step::Outcome;
use crate::tools::{copy_sources, missing};

/// The documents of the `files` provider. One name needs percent-encoding.
pub(crate) const DOCUMENTS: [(&str, &str); 2] =
    [("notes.md", "# Notes\n"), ("über uns.txt", "Über uns\n")];

pub(crate) fn ts_v1(output: &Output) -> Result<Outcome> {
    run_client(output, "ts-v1", node("ts-v1.mjs"))
}

pub(crate) fn ts_v2(output: &Output) -> Result<Outcome> {
    run_client(output, "ts-v2", node("ts-v2.mjs"))
}

pub(crate) fn inspector(output: &Output) -> Result<Outcome> {
    let mut inspector = node("inspector.mjs");
    // By default, the inspector stores files in the home folder and secrets in the keychain of the desktop.
    inspector
        .env("HOME", target("clients/home"))
        // The inspector starts a process for each request: without this, Node compiles its modules each time.
        .env("NODE_COMPILE_CACHE", target("clients/compile-cache"))
        .env("MCP_INSPECTOR_SECRET_STORE", "memory");
    fs::create_dir_all(target("clients/home"))?;
    run_client(output, "inspector", inspector)
}

/// Signs in with `larder login` at an authorization server that others wrote.
pub(crate) fn oidc_provider(output: &Output) -> Result<Outcome> {
    copy_sources()?;
    let mut test = node("oidc-provider.mjs");
    test.arg("run").arg(larder());
    output.run(test.arg(target("plugins/conformance.wasm")))?;
    Ok(Outcome::Passed)
}

/// Compares the official example apps with what `remote` passes on of them.
pub(crate) fn apps(output: &Output) -> Result<Outcome> {
    copy_sources()?;
    let mut test = node("apps.mjs");
    test.arg(larder()).arg(target("plugins/remote.wasm"));
    output.run(&mut test)?;
    Ok(Outcome::PassedWithNote(deeds(&output.contents())))
}

/// Shows apps in Chromium, in a client that uses the official `AppBridge`.
pub(crate) fn apps_browser(output: &Output) -> Result<Outcome> {
    let browser = match page::browser(output)? {
        Ok(browser) => browser,
        Err(skipped) => return Ok(skipped),
    };
    let sqlite = target("plugins/sqlite.wasm");
    if !sqlite.exists() {
        return missing(
            "the provider sqlite was not built, because there is no C compiler for WASI",
        );
    }
    copy_sources()?;
    let mut test = node("apps-browser.mjs");
    test.arg(larder())
        .arg(sqlite)
        .arg(target("plugins/remote.wasm"));
    test.arg(target("xtask/apps-browser"))
        .arg(target("page"))
        .arg(browser);
    output.run(&mut test)?;
    Ok(Outcome::PassedWithNote(deeds(&output.contents())))
}

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    let mut python = command(target("clients/venv/bin/python"));
    python
        .args(["-B"])
        .arg(root().join("host/tests/clients/python/client.py"));
    run_client(output, "python", python)
}

fn run_client(output: &Output, name: &str, mut client: Command) -> Result<Outcome> {
    copy_sources()?;
    let (config, docs) = two_providers(name)?;
    client.env("LARDER_TOKEN", add_token(&[&config])?);
    let server = RunningServer::start(&config, output)?;
    client
        .arg(&server.url)
        .arg(docs)
        .arg(larder())
        .args(["serve", "--stdio", "--config"])
        .arg(&config);
    let result = output.run(&mut client);
    // The server is stopped in order, and this is logged, also if the client failed.
    let stopped = server.stop();
    result.and(stopped)?;
    Ok(Outcome::PassedWithNote(deeds(&output.contents())))
}

/// The lines of a log about the actions of a client.
fn deeds(log: &str) -> String {
    let lines = log.lines().filter_map(|line| line.strip_prefix("did "));
    lines
        .map(|line| format!("\n    {}", line.trim_start()))
        .collect()
}

/// Creates a token and adds it to the configurations. From then on, HTTP clients need it.
pub(crate) fn add_token(configs: &[&Path]) -> Result<String> {
    let output = command(larder())
        .args(["token", "new"])
        .output()
        .context("larder token new")?;
    let text = String::from_utf8(output.stdout)?;
    let (token, lines) = text
        .split_once("\n\n")
        .context("unexpected output of `larder token new`")?;
    for config in configs {
        let settings = fs::read_to_string(config)?;
        fs::write(config, format!("{settings}\n{lines}"))?;
    }
    Ok(token.to_owned())
}

/// Runs a script in `target/clients/node` with the Node that was installed there as a package.
pub(crate) fn node(script: &str) -> Command {
    let dir = target("clients/node");
    let mut node = command(dir.join("node_modules/.bin/node"));
    node.arg(dir.join(script));
    node
}

/// Configures the providers `conformance` and `files`, so that pages span more than one provider. Also
/// returns the folder of the files.
fn two_providers(name: &str) -> Result<(PathBuf, PathBuf)> {
    let (docs, state) = (
        target("xtask").join(name).join("docs"),
        target("xtask").join(name).join("fixture"),
    );
    // The clients change files in these folders to trigger notifications.
    for folder in [&docs, &state] {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
    }
    for (document, text) in DOCUMENTS {
        fs::write(docs.join(document), text)?;
    }
    let expected = fs::read(root().join("host/tests/clients/expected.json"))?;
    let expected: serde_json::Value = serde_json::from_slice(&expected)?;
    let pages = format!("page_size = {}\n", expected["page_size"]);
    let file = config(name, &pages, &[(&docs, "/docs")])?;
    grant_interactions(&file, &state)?;
    Ok((file, docs))
}

/// Grants the tools and prompts of `conformance`. The provider changes them according to the files in this folder.
pub(crate) fn grant_interactions(file: &Path, state: &Path) -> Result<()> {
    let (settings, state) = (fs::read_to_string(file)?, toml_string(state));
    let grant = format!(
        "\n[provider.conformance]\ntools = true\nprompts = true\napprove = \"always\"\n\
         dirs = [{{ host = {state}, guest = \"/state\", access = \"write\" }}]\n\
         limits = {{ timeout = \"300s\" }}\n"
    );
    fs::write(file, settings + &grant)?;
    Ok(())
}

/// Writes a `larder.toml` with only these two providers, also if others were built, and grants them these folders.
pub(crate) fn config(name: &str, server: &str, dirs: &[(&Path, &str)]) -> Result<PathBuf> {
    let dir = target("xtask").join(name);
    copy_providers(&dir.join("plugins"), &["conformance", "files"])?;
    let file = dir.join("larder.toml");
    fs::write(&file, settings(&dir.join("plugins"), server, dirs)?)?;
    Ok(file)
}

/// Copies these providers to a plugins folder.
pub(crate) fn copy_providers(plugins: &Path, providers: &[&str]) -> Result<()> {
    let built = target("plugins");
    fs::create_dir_all(plugins)?;
    for component in providers.iter().map(|name| format!("{name}.wasm")) {
        fs::copy(built.join(&component), plugins.join(&component))
            .with_context(|| format!("{component} is missing; run `cargo xtask plugins`"))?;
    }
    Ok(())
}

/// The text of a `larder.toml`.
pub(crate) fn settings(plugins: &Path, server: &str, dirs: &[(&Path, &str)]) -> Result<String> {
    let plugins = toml_string(plugins);
    let mut toml =
        format!("plugins = {plugins}\n\n[server]\n{server}\n[provider.files]\ndirs = [\n");
    for (host, guest) in dirs {
        let host = toml_string(host);
        writeln!(
            toml,
            "    {{ host = {host}, guest = {guest:?}, access = \"read\" }},"
        )?;
    }
    toml.push_str("]\n");
    Ok(toml)
}

/// Formats a path as a TOML string. Debug formatting produces valid TOML, except for control characters. A
/// dollar sign is doubled, since it would begin a variable.
fn toml_string(path: &Path) -> String {
    format!("{path:?}").replace('$', "$$")
}
