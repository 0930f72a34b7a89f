//! Real clients, each over HTTP and stdio in every era it speaks, against `larder serve` with two
//! providers. What they must see is in `host/tests/clients/expected.json`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::run::{Output, command, larder, root, target};
use crate::server::Serving;
use crate::step::Outcome;
use crate::tools::copy_sources;

/// What the `files` provider shows, under names that need care.
const DOCUMENTS: [(&str, &str); 2] = [("notes.md", "# Notes\n"), ("über uns.txt", "Über uns\n")];

pub(crate) fn ts_v1(output: &Output) -> Result<Outcome> {
    client(output, "ts-v1", node("ts-v1.mjs"))
}

pub(crate) fn ts_v2(output: &Output) -> Result<Outcome> {
    client(output, "ts-v2", node("ts-v2.mjs"))
}

pub(crate) fn inspector(output: &Output) -> Result<Outcome> {
    let mut inspector = node("inspector.mjs");
    // It keeps files of its own at home, and asks the desktop for its secrets.
    inspector.env("HOME", target("clients/home")).env("MCP_INSPECTOR_SECRET_STORE", "memory");
    fs::create_dir_all(target("clients/home"))?;
    client(output, "inspector", inspector)
}

pub(crate) fn python(output: &Output) -> Result<Outcome> {
    let mut python = command(target("clients/venv/bin/python"));
    python.args(["-B"]).arg(root().join("host/tests/clients/python/client.py"));
    client(output, "python", python)
}

fn client(output: &Output, name: &str, mut client: Command) -> Result<Outcome> {
    copy_sources()?;
    let (config, docs) = two_providers(name)?;
    client.env("LARDER_TOKEN", token(&config)?);
    let serving = Serving::start(&config, output)?;
    client.arg(&serving.url).arg(docs).arg(larder()).args(["serve", "--stdio", "--config"]).arg(&config);
    let ran = output.run(&mut client);
    // How it stops is told also where the client failed.
    let stopped = serving.stop();
    ran.and(stopped)?;
    Ok(Outcome::Passed)
}

/// Makes a token by which this server lets in whoever comes over HTTP, and nobody else.
fn token(config: &Path) -> Result<String> {
    let made = command(larder()).args(["token", "new"]).output().context("larder token new")?;
    let made = String::from_utf8(made.stdout)?;
    let (token, lines) = made.split_once("\n\n").context("`larder token new` said something else")?;
    let settings = fs::read_to_string(config)?;
    fs::write(config, format!("{settings}\n{lines}"))?;
    Ok(token.to_owned())
}

/// The Node that was installed with the packages, running a script beside them.
pub(crate) fn node(script: &str) -> Command {
    let at = target("clients/node");
    let mut node = command(at.join("node_modules/.bin/node"));
    node.arg(at.join(script));
    node
}

/// `conformance` and `files`, so that pages go over more than one provider; and the folder of the files.
fn two_providers(name: &str) -> Result<(PathBuf, PathBuf)> {
    let docs = target("xtask").join(name).join("docs");
    // The clients write into it, to hear of that.
    if docs.exists() {
        fs::remove_dir_all(&docs)?;
    }
    fs::create_dir_all(&docs)?;
    for (document, text) in DOCUMENTS {
        fs::write(docs.join(document), text)?;
    }
    let expected = fs::read(root().join("host/tests/clients/expected.json"))?;
    let expected: serde_json::Value = serde_json::from_slice(&expected)?;
    let pages = format!("page_size = {}\n", expected["page_size"]);
    Ok((config(name, &pages, &[(&docs, "/docs")])?, docs))
}

/// A `larder.toml` with just the two providers whatever else was built, and these folders granted.
pub(crate) fn config(name: &str, server: &str, dirs: &[(&Path, &str)]) -> Result<PathBuf> {
    let at = target("xtask").join(name);
    fs::create_dir_all(at.join("plugins"))?;
    for provider in ["conformance.wasm", "files.wasm"] {
        fs::copy(target("plugins").join(provider), at.join("plugins").join(provider))
            .with_context(|| format!("no {provider}; run `cargo xtask plugins`"))?;
    }
    let file = at.join("larder.toml");
    fs::write(&file, settings(&at.join("plugins"), server, dirs)?)?;
    Ok(file)
}

/// The text of a `larder.toml`.
pub(crate) fn settings(plugins: &Path, server: &str, dirs: &[(&Path, &str)]) -> Result<String> {
    let plugins = toml_text(plugins);
    let mut toml = format!("plugins = {plugins}\n\n[server]\n{server}\n[provider.files]\ndirs = [\n");
    for (host, guest) in dirs {
        let host = toml_text(host);
        writeln!(toml, "    {{ host = {host}, guest = {guest:?}, access = \"read\" }},")?;
    }
    toml.push_str("]\n");
    Ok(toml)
}

/// Debug text is a TOML string, for all but control characters; a dollar sign begins a variable.
fn toml_text(path: &Path) -> String {
    format!("{path:?}").replace('$', "$$")
}
