//! The demo: this repository's own documents, out of a sandbox, on one endpoint.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::clients::settings;
use crate::plugins;
use crate::run::{Output, cargo, command, larder, root, stdout_of, target};
use crate::server::Serving;

const LISTEN: &str = "127.0.0.1:7878";
/// What is granted beside the documents.
const FOLDERS: [&str; 2] = ["wit", "examples"];

/// Builds, says what to try, and becomes the server.
pub(crate) fn serve(listen: Option<&str>) -> Result<()> {
    let output = Output::Terminal;
    build(&output)?;
    let config = config()?;
    let listen = listen.unwrap_or(LISTEN);
    print!("{}", what_next(&format!("http://{listen}/mcp"), &config));
    let mut serve = command(larder());
    serve.arg("serve").arg("--config").arg(config).args(["--listen", listen]);
    // In our place, so that Ctrl-C is the server's alone and it can stop in order.
    Err(serve.exec()).context("larder serve")
}

/// The demo without the person: what a client reads is what the repository holds.
pub(crate) fn check(output: &Output) -> Result<()> {
    build(output)?;
    let serving = Serving::start(&config()?, output)?;
    let read = ask(&serving, output);
    let stopped = serving.stop();
    read.and(stopped)
}

fn ask(serving: &Serving, output: &Output) -> Result<()> {
    let ask = |words: &[&str]| stdout_of(command(larder()).args(words).args(["--url", &serving.url]));
    let list = ask(&["list"])?;
    output.say(&list)?;
    for uri in ["file:///docs/README.md", "file:///wit/world.wit", "test://static-text"] {
        ensure!(list.contains(uri), "the list lacks {uri}");
    }
    let readme = ask(&["read", "file:///docs/README.md"])?;
    ensure!(readme == fs::read_to_string(root().join("README.md"))?, "README.md came back changed");
    Ok(())
}

fn build(output: &Output) -> Result<()> {
    plugins::plugins(output)?;
    output.run(&mut cargo(&["build", "--package", "larder"]))
}

/// Folders are granted, not files: the documents at the top get a folder of their own.
fn config() -> Result<PathBuf> {
    let at = target("demo");
    let docs = at.join("docs");
    fs::create_dir_all(&docs)?;
    for file in fs::read_dir(root())? {
        let path = file?.path();
        if let (Some("md"), Some(name)) = (path.extension().and_then(|e| e.to_str()), path.file_name()) {
            fs::copy(&path, docs.join(name))?;
        }
    }
    let folders = FOLDERS.map(|name| (root().join(name), format!("/{name}")));
    let mut dirs: Vec<(&Path, &str)> = vec![(&docs, "/docs")];
    dirs.extend(folders.iter().filter(|(host, _)| host.exists()).map(|(h, g)| (h.as_path(), g.as_str())));
    let file = at.join("larder.toml");
    fs::write(&file, settings(&target("plugins"), "title = \"Larder's own documents\"\n", &dirs)?)?;
    Ok(file)
}

fn what_next(url: &str, config: &Path) -> String {
    let larder = larder().display().to_string();
    let config = config.display();
    format!(
        r#"
Serving this repository's documents at {url} until Ctrl-C. In another terminal:

  {larder} list --url {url}
  {larder} read file:///docs/README.md --url {url}
  {larder} inspect {plugins}/files.wasm

  curl -s {url} -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \
    -H 'mcp-protocol-version: 2026-07-28' -H 'mcp-method: resources/read' -H 'mcp-name: test://static-text' \
    -d '{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{{"uri":"test://static-text","_meta":{{
         "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}'

An MCP client that starts its servers takes this:

  {{ "mcpServers": {{ "larder": {{ "command": "{larder}", "args": ["serve", "--stdio", "--config", "{config}"] }} }} }}

What is served, and what is granted, is in {config}.

"#,
        plugins = target("plugins").display(),
    )
}
