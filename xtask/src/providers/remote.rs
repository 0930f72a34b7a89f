//! The servers of the test of `remote`: `server-everything`, which is written in TypeScript and has a handshake, and
//! another Larder server.

use std::fs;
use std::io::{BufRead as _, BufReader, copy, sink};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;

use anyhow::{Context as _, Result};

use super::Surroundings;
use crate::clients::copy_providers;
use crate::run::{Output, command, larder, target};
use crate::server::RunningServer;
use crate::step::Outcome;
use crate::tools;

const PACKAGE: &str = "@modelcontextprotocol/server-everything@2026.8.31";
/// The text that the server prints when it accepts requests.
const READY: &str = "listening on port";

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    super::check(output, "remote", prepare)
}

struct EverythingServer(Child);

impl Drop for EverythingServer {
    fn drop(&mut self) {
        // This fails only if the server has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(super) fn prepare(output: &Output, folder: &Path) -> Result<Surroundings> {
    let packages = target("providers/remote");
    if let Outcome::Skipped(reason) = tools::npm_package(output, &packages, PACKAGE)? {
        return Surroundings::missing(&reason);
    }
    let work = folder.parent().context("the folder is in a work folder")?;
    // The component is installed twice, once for each server.
    fs::create_dir_all(work.join("plugins"))?;
    fs::copy(
        target("plugins/remote.wasm"),
        work.join("plugins/modern.wasm"),
    )
    .context("remote.wasm is missing; run `cargo xtask plugins`")?;
    let (everything, port) = everything(&packages)?;
    let other = other_larder(output, folder, &work.join("other"))?;
    let variables = vec![
        ("EVERYTHING", format!("http://127.0.0.1:{port}")),
        (
            "LARDER_ORIGIN",
            other.url.trim_end_matches("/mcp").to_owned(),
        ),
        ("LARDER_URL", other.url.clone()),
    ];
    let servers: Vec<Box<dyn std::any::Any>> = vec![Box::new(everything), Box::new(other)];
    Ok(Surroundings {
        variables,
        servers,
        ..Surroundings::default()
    })
}

/// Starts `server-everything` on a free port, and waits until it accepts requests.
fn everything(packages: &Path) -> Result<(EverythingServer, u16)> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let program =
        packages.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let mut node = command("node");
    node.arg(program)
        .arg("streamableHttp")
        .env("PORT", port.to_string());
    let mut child = node
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("node")?;
    let mut stderr = BufReader::new(child.stderr.take().context("stderr is a pipe")?);
    let server = EverythingServer(child);
    let mut line = String::new();
    while !line.contains(READY) {
        line.clear();
        anyhow::ensure!(
            stderr.read_line(&mut line)? > 0,
            "server-everything ended before it was ready"
        );
    }
    // The server must not wait for a reader of its log.
    thread::spawn(move || copy(&mut stderr, &mut sink()));
    Ok((server, port))
}

/// Starts a server with the provider `files` and some files of the folder, one folder of which is a skill.
fn other_larder(output: &Output, folder: &Path, work: &Path) -> Result<RunningServer> {
    let data = folder.join("data");
    for folder in ["many", "greet/words"] {
        fs::create_dir_all(data.join(folder))?;
    }
    fs::write(
        data.join("greet/SKILL.md"),
        "---\nname: greet\ndescription: Greets people.\n---\nSee words/.\n",
    )?;
    fs::write(data.join("greet/words/bytes.bin"), [0xff, 0xfe, 0])?;
    fs::write(data.join("note.md"), "# Note\n")?;
    fs::write(data.join("large.txt"), "x".repeat(1_100 << 10))?;
    for number in 0..1_500 {
        fs::write(data.join(format!("many/{number:04}.txt")), "many")?;
    }
    copy_providers(&work.join("plugins"), &["files"])?;
    let config = work.join("larder.toml");
    let dirs = format!(
        "[{{ host = {:?}, guest = \"/data\" }}]",
        data.display().to_string()
    );
    fs::write(
        &config,
        format!(
            "plugins = \"plugins\"\napprove = \"always\"\n[provider.files]\nskills = true\nlimits = {{ catalog_entries = 5000 }}\ndirs = {dirs}\n"
        ),
    )?;
    let mut serve = command(larder());
    serve
        .arg("serve")
        .arg("--config")
        .arg(&config)
        .args(["--listen", "127.0.0.1:0"]);
    // With an admin address, this waits until the provider is served. Its first list takes long on a loaded machine.
    serve.args(["--admin", "127.0.0.1:0"]);
    serve.env("XDG_STATE_HOME", work.join("state"));
    RunningServer::spawn(serve, output)
}
