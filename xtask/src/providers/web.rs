//! A web server for the tests of providers that use HTTP: `plugins/testing/web_server.py`. It stops when it is dropped.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context as _, Result};

use super::Surroundings;
use crate::run::{command, root, target};

struct WebServer(Child);

/// Copies `plugins/NAME/tests/www` to the folder and serves it with two servers: as the variables `WEB` and
/// `ELSEWHERE`.
pub(super) fn serve(name: &str, folder: &Path) -> Result<Surroundings> {
    let (from, to) = (
        root().join("plugins").join(name).join("tests/www"),
        folder.join("www"),
    );
    fs::create_dir_all(&to)?;
    for file in fs::read_dir(from)? {
        let file = file?;
        fs::copy(file.path(), to.join(file.file_name()))?;
    }
    let mut python = command(target("clients/venv/bin/python"));
    python
        .arg("-B")
        .arg(root().join("plugins/testing/web_server.py"))
        .arg(folder);
    // The server ends when its standard input ends, even if this process is killed.
    let mut child = python
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("the web server")?;
    let stdout = child.stdout.take().context("stdout is a pipe")?;
    let server = WebServer(child);
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    let (web, elsewhere) = line
        .trim()
        .split_once(' ')
        .context("the web server printed no URLs")?;
    // Another name of the same server. The configuration of the test does not grant this name.
    let other_name = elsewhere.replace("127.0.0.1", "localhost");
    let variables = vec![
        ("WEB", web.to_owned()),
        ("ELSEWHERE", elsewhere.to_owned()),
        ("UNKNOWN", other_name),
        ("TOKEN", "hush-hush-hush".to_owned()),
    ];
    Ok(Surroundings {
        variables,
        servers: vec![Box::new(server)],
        ..Surroundings::default()
    })
}

impl Drop for WebServer {
    fn drop(&mut self) {
        // This fails only if the server has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
