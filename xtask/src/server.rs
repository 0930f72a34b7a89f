//! A running `larder serve` (or `dev`): ready when it is returned, stopped as an operator would stop it, and
//! killed if anything goes wrong before.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::run::{Output, command, larder};

/// Components are compiled before the first request is answered.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// Above the default grace time; nothing is in flight when it counts.
const STOPPED_WITHIN: Duration = Duration::from_secs(20);

pub(crate) struct Serving {
    child: Child,
    /// Its endpoint.
    pub(crate) url: String,
}

impl Serving {
    /// On a free port, with what it says on stderr in the log.
    pub(crate) fn start(config: &Path, output: &Output) -> Result<Self> {
        let mut serve = command(larder());
        serve.arg("serve").arg("--config").arg(config).args(["--listen", "127.0.0.1:0"]);
        Self::of(serve, output)
    }

    /// The same for any command that serves, and says where on stderr.
    pub(crate) fn of(mut serve: Command, output: &Output) -> Result<Self> {
        let mut child = serve.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().context("larder")?;
        let stderr = child.stderr.take().context("stderr is a pipe")?;
        let mut serving = Self { child, url: String::new() };
        let (found, finding) = mpsc::channel();
        let log = match output {
            Output::Terminal => None,
            Output::Log(path) => Some(OpenOptions::new().append(true).open(path)?),
        };
        thread::spawn(move || follow(stderr, log, &found));
        // The sender goes with the thread, that is, with the server's stderr.
        match finding.recv_timeout(READY_WITHIN) {
            Ok(url) => serving.url = url,
            Err(mpsc::RecvTimeoutError::Disconnected) => bail!("larder ended before it was ready"),
            Err(mpsc::RecvTimeoutError::Timeout) => bail!("larder said no URL in {READY_WITHIN:?}"),
        }
        Ok(serving)
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGTERM; it must end well, and in time.
    pub(crate) fn stop(mut self) -> Result<()> {
        let killed = command("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        if !killed.success() {
            bail!("larder was gone before it was stopped");
        }
        let start = Instant::now();
        while start.elapsed() < STOPPED_WITHIN {
            if let Some(status) = self.child.try_wait()? {
                if !status.success() {
                    bail!("larder was stopped and ended with {status}");
                }
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("larder still runs {STOPPED_WITHIN:?} after SIGTERM")
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Both fail if it has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads to the end, so that the server never waits for a full pipe.
fn follow(stderr: ChildStderr, mut log: Option<File>, found: &Sender<String>) {
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        match &mut log {
            Some(log) => drop(writeln!(log, "larder: {line}")),
            None => eprintln!("{line}"),
        }
        if let Some(url) = endpoint(&line) {
            // Nobody listens after the first.
            let _ = found.send(url);
        }
    }
}

/// The URL of the endpoint in a start-up line.
fn endpoint(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("http://127.0.0.1:")?;
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let is_endpoint = rest[port.len()..].starts_with("/mcp") && port != "0" && !port.is_empty();
    is_endpoint.then(|| format!("http://127.0.0.1:{port}/mcp"))
}

#[cfg(test)]
mod tests {
    use super::endpoint;

    fn check(line: &str, expected: Option<&str>) {
        assert_eq!(endpoint(line).as_deref(), expected, "{line}");
    }

    #[test]
    fn the_endpoint_is_found_in_what_the_server_says() {
        check("serving http://127.0.0.1:4711/mcp", Some("http://127.0.0.1:4711/mcp"));
        check("\u{1b}[1mhttp://127.0.0.1:80/mcp\u{1b}[0m: 2 providers", Some("http://127.0.0.1:80/mcp"));
        check("listen = http://127.0.0.1:0/mcp", None);
        check("metrics at http://127.0.0.1:9090/metrics", None);
        check("http://127.0.0.1:/mcp", None);
        check("loading", None);
    }
}
