//! The demo: serves the documents of this repository from sandboxed providers on one endpoint.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::clients::settings;
use crate::plugins;
use crate::run::{Output, cargo, command, larder, root, stdout_of, target};
use crate::server::RunningServer;

const LISTEN: &str = "127.0.0.1:7878";
/// Folders that are granted in addition to the documents.
const FOLDERS: [&str; 2] = ["wit", "examples"];

/// Builds everything, prints commands to try, and replaces this process with the server.
pub(crate) fn serve(listen: Option<&str>) -> Result<()> {
    let output = Output::Terminal;
    build(&output)?;
    let config = config()?;
    let listen = listen.unwrap_or(LISTEN);
    print!("{}", instructions(&format!("http://{listen}/mcp"), &config));
    let mut serve = command(larder());
    serve.arg("serve").arg("--config").arg(config).args(["--listen", listen]);
    // With exec, Ctrl-C reaches only the server, which can then shut down properly.
    Err(serve.exec()).context("larder serve")
}

/// Checks the demo without a person: a client must read exactly the files of the repository.
pub(crate) fn check(output: &Output) -> Result<()> {
    build(output)?;
    read(output)
}

/// The same with the server that is built already.
pub(crate) fn read(output: &Output) -> Result<()> {
    let server = RunningServer::start(&config()?, output)?;
    let result = read_documents(&server, output);
    let stopped = server.stop();
    result.and(stopped)
}

fn read_documents(server: &RunningServer, output: &Output) -> Result<()> {
    let run = |args: &[&str]| stdout_of(command(larder()).args(args).args(["--url", &server.url]));
    let list = run(&["list"])?;
    output.write_line(&list)?;
    for uri in ["file:///docs/README.md", "file:///wit/world.wit", "test://static-text"] {
        ensure!(list.contains(uri), "{uri} is missing in the list");
    }
    let readme = run(&["read", "file:///docs/README.md"])?;
    ensure!(readme == fs::read_to_string(root().join("README.md"))?, "README.md was not returned unchanged");
    Ok(())
}

fn build(output: &Output) -> Result<()> {
    plugins::plugins(output)?;
    output.run(&mut cargo(&["build", "--package", "larder"]))
}

/// Writes the configuration. Only folders can be granted, so the documents in the root are copied to a
/// folder.
fn config() -> Result<PathBuf> {
    let dir = target("demo");
    let docs = dir.join("docs");
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
    let file = dir.join("larder.toml");
    fs::write(&file, settings(&target("plugins"), "title = \"Larder's own documents\"\n", &dirs)?)?;
    Ok(file)
}

fn instructions(url: &str, config: &Path) -> String {
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

Configuration for an MCP client that starts its servers itself:

  {{ "mcpServers": {{ "larder": {{ "command": "{larder}", "args": ["serve", "--stdio", "--config", "{config}"] }} }} }}

The providers and their grants are configured in {config}.

"#,
        plugins = target("plugins").display(),
    )
}
