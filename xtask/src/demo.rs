//! The demo: serves the documents of this repository from sandboxed providers on one endpoint.

mod build;

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::clients::settings;
use crate::run::{Output, command, larder, root, stdout_of, target, use_larder};
use crate::server::RunningServer;

const LISTEN: &str = "127.0.0.1:7878";
/// Folders that are granted in addition to the documents.
const FOLDERS: [&str; 2] = ["wit", "examples"];

/// The folder in which `cargo xtask demo` builds, with the configuration.
pub(crate) fn folder() -> PathBuf {
    target("demo")
}

/// Builds the server and its providers, prints commands to try, and replaces this process with the server.
pub(crate) fn serve(listen: Option<&str>) -> Result<()> {
    let folder = folder();
    build(&Output::Terminal, &folder)?;
    let config = config(&build::components(&folder), &folder)?;
    let listen = listen.unwrap_or(LISTEN);
    print!("{}", instructions(&format!("http://{listen}/mcp"), &config));
    let mut serve = command(larder());
    serve
        .arg("serve")
        .arg("--config")
        .arg(config)
        .args(["--listen", listen]);
    // With exec, Ctrl-C reaches only the server, which can then shut down properly.
    Err(serve.exec()).context("larder serve")
}

/// Checks the demo without a person: a client must read exactly the files of the repository.
pub(crate) fn check(output: &Output, folder: &Path) -> Result<()> {
    // Folders of grants are relative to the configuration.
    let folder = root().join(folder);
    build(output, &folder)?;
    read(output, &config(&build::components(&folder), &folder)?)
}

/// Like [`check`], with the complete server and all providers that the tests built.
pub(crate) fn read_complete(output: &Output) -> Result<()> {
    read(output, &config(&target("plugins"), &target("xtask/demo"))?)
}

fn build(output: &Output, folder: &Path) -> Result<()> {
    build::build(output, folder)?;
    use_larder(build::server(folder));
    Ok(())
}

fn read(output: &Output, config: &Path) -> Result<()> {
    let server = RunningServer::start(config, output)?;
    let result = read_documents(&server, output);
    let stopped = server.stop();
    result.and(stopped)
}

fn read_documents(server: &RunningServer, output: &Output) -> Result<()> {
    let run = |args: &[&str]| stdout_of(command(larder()).args(args).args(["--url", &server.url]));
    let list = run(&["list"])?;
    output.write_line(&list)?;
    for uri in [
        "file:///docs/README.md",
        "file:///wit/world.wit",
        "test://static-text",
    ] {
        ensure!(list.contains(uri), "{uri} is missing in the list");
    }
    let readme = run(&["read", "file:///docs/README.md"])?;
    ensure!(
        readme == fs::read_to_string(root().join("README.md"))?,
        "README.md was not returned unchanged"
    );
    for uri in [
        "notes:///src/getting-started",
        "notes://backlinks/src/getting-started",
    ] {
        ensure!(!run(&["read", uri])?.is_empty(), "{uri} is empty");
    }
    if has_repository() {
        let committed = stdout_of(command("git").args(["show", "HEAD:README.md"]))?;
        let read = run(&["read", "git://larder/HEAD/README.md"])?;
        ensure!(
            read == committed,
            "git://larder/HEAD/README.md is not the committed file"
        );
    }
    let found = run(&["search", "contributing"])?;
    ensure!(
        found.contains("file:///docs/CONTRIBUTING.md"),
        "the search does not find CONTRIBUTING.md: {found}"
    );
    let called = run(&[
        "call",
        "read_resource",
        "--arg",
        "uri=file:///docs/README.md",
    ])?;
    ensure!(
        called == readme,
        "the tool does not return README.md unchanged"
    );
    Ok(())
}

/// Writes the configuration of a server with these components. Only folders can be granted, so the documents in the
/// root are copied to a folder.
fn config(components: &Path, dir: &Path) -> Result<PathBuf> {
    let docs = dir.join("docs");
    copy_documents(&docs)?;
    let folders = FOLDERS.map(|name| (root().join(name), format!("/{name}")));
    let mut dirs: Vec<(&Path, &str)> = vec![(&docs, "/docs")];
    dirs.extend(
        folders
            .iter()
            .filter(|(host, _)| host.exists())
            .map(|(h, g)| (h.as_path(), g.as_str())),
    );
    // Components that are put there are served too.
    let plugins = dir.join("plugins");
    let server = "title = \"Larder's own documents\"\nresource_tools = true\n";
    let file = dir.join("larder.toml");
    fs::write(
        &file,
        settings(&plugins, server, &dirs)?
            + "component = \"builtin:files\"\n"
            + &other_providers(components),
    )?;
    Ok(file)
}

/// The configuration of the other providers: the book as notes; the repository, unless this is a copy without its
/// history; and the admin address as an API, if that provider was built.
fn other_providers(components: &Path) -> String {
    let path = |name: &str| format!("{:?}", root().join(name)).replace('$', "$$");
    let grant = |name: &str, host: &str, guest: &str| {
        format!(
            "\n[provider.{name}]\ncomponent = \"builtin:{name}\"\ndirs = [{{ host = {}, guest = {guest:?} }}]\n",
            path(host)
        )
    };
    let mut toml = grant("notes", "docs", "/docs");
    toml += "\n[provider.conformance]\ncomponent = \"builtin:conformance\"\n";
    if has_repository() {
        toml += &grant("git", ".git", "/larder");
    }
    if components.join("openapi.wasm").exists() {
        toml += &grant("openapi", "examples", "/api");
        toml += "settings = { document = \"/api/admin-api.yaml\", name = \"admin\" }\n";
    }
    toml
}

/// Whether this folder is a repository and not a linked worktree.
fn has_repository() -> bool {
    root().join(".git/HEAD").exists()
}

/// Copies the documents in the root of the repository to a folder.
pub(crate) fn copy_documents(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for file in fs::read_dir(root())? {
        let path = file?.path();
        if let (Some("md"), Some(name)) =
            (path.extension().and_then(|e| e.to_str()), path.file_name())
        {
            fs::copy(&path, folder.join(name))?;
        }
    }
    Ok(())
}

fn instructions(url: &str, config: &Path) -> String {
    let larder = larder().display().to_string();
    let config = config.display();
    format!(
        r#"
Serving this repository's documents at {url} until Ctrl-C. In another terminal:

  {larder} list --url {url}
  {larder} read file:///docs/README.md --url {url}
  {larder} read 'notes:///src/getting-started?section=two-commands' --url {url}
  {larder} read 'git://larder/HEAD?log=20' --url {url}
  {larder} search contributing --url {url}
  {larder} call fetch --arg id=file:///docs/README.md --url {url}
  {larder} inspect builtin:files

  curl -s {url} -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \
    -H 'mcp-protocol-version: 2026-07-28' -H 'mcp-method: resources/read' -H 'mcp-name: test://static-text' \
    -d '{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{{"uri":"test://static-text","_meta":{{
         "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}'

Configuration for an MCP client that starts its servers itself:

  {{ "mcpServers": {{ "larder": {{ "command": "{larder}", "args": ["serve", "--stdio", "--config", "{config}"] }} }} }}

The providers and their grants are configured in {config}.

"#
    )
}
