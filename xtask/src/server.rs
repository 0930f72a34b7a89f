//! A running `larder serve` (or `dev`) process. It accepts requests when it is returned, is stopped with
//! SIGTERM, and is killed when dropped.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::run::{Output, command, larder};

/// Includes the time to compile components.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// Longer than the default `shutdown_grace`.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct RunningServer {
    child: Child,
    /// URL of the MCP endpoint.
    pub(crate) url: String,
}

impl RunningServer {
    /// Starts `larder serve` on a free port. Its stderr is written to the log.
    pub(crate) fn start(config: &Path, output: &Output) -> Result<Self> {
        let mut serve = command(larder());
        serve.arg("serve").arg("--config").arg(config).args(["--listen", "127.0.0.1:0"]);
        Self::spawn(serve, output)
    }

    /// Starts any command that serves MCP and prints its URL on stderr.
    pub(crate) fn spawn(mut serve: Command, output: &Output) -> Result<Self> {
        let mut child = serve.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().context("larder")?;
        let stderr = child.stderr.take().context("stderr is a pipe")?;
        let mut server = Self { child, url: String::new() };
        let (sender, urls) = mpsc::channel();
        let log = match output {
            Output::Terminal => None,
            Output::Log(path) => Some(OpenOptions::new().append(true).open(path)?),
        };
        thread::spawn(move || forward_stderr(stderr, log, &sender));
        // The sender is dropped when the thread ends, that is, when the server closes its stderr.
        match urls.recv_timeout(START_TIMEOUT) {
            Ok(url) => server.url = url,
            Err(mpsc::RecvTimeoutError::Disconnected) => bail!("larder ended before it was ready"),
            Err(mpsc::RecvTimeoutError::Timeout) => bail!("larder printed no URL within {START_TIMEOUT:?}"),
        }
        Ok(server)
    }

    /// The process ID.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGTERM. The server must exit successfully before the timeout.
    pub(crate) fn stop(mut self) -> Result<()> {
        let killed = command("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        if !killed.success() {
            bail!("larder had already ended before it was stopped");
        }
        let start = Instant::now();
        while start.elapsed() < STOP_TIMEOUT {
            if let Some(status) = self.child.try_wait()? {
                if !status.success() {
                    bail!("larder ended with {status} after SIGTERM");
                }
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("larder still runs {STOP_TIMEOUT:?} after SIGTERM")
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // Both fail if the process has already ended, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Copies stderr to the log or the terminal, and sends the endpoint URLs in it. It reads until the end, so
/// that the server never blocks on a full pipe.
fn forward_stderr(stderr: ChildStderr, mut log: Option<File>, urls: &Sender<String>) {
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        match &mut log {
            Some(log) => drop(writeln!(log, "larder: {line}")),
            None => eprintln!("{line}"),
        }
        if let Some(url) = find_endpoint(&line) {
            // Only the first URL is received.
            let _ = urls.send(url);
        }
    }
}

/// Finds the URL of the endpoint in a line of the start-up output.
fn find_endpoint(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("http://127.0.0.1:")?;
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let is_endpoint = rest[port.len()..].starts_with("/mcp") && port != "0" && !port.is_empty();
    is_endpoint.then(|| format!("http://127.0.0.1:{port}/mcp"))
}

#[cfg(test)]
mod tests {
    use super::find_endpoint;

    fn check(line: &str, expected: Option<&str>) {
        assert_eq!(find_endpoint(line).as_deref(), expected, "{line}");
    }

    #[test]
    fn finds_the_endpoint_in_start_up_output() {
        check("serving http://127.0.0.1:4711/mcp", Some("http://127.0.0.1:4711/mcp"));
        check("\u{1b}[1mhttp://127.0.0.1:80/mcp\u{1b}[0m: 2 providers", Some("http://127.0.0.1:80/mcp"));
        check("listen = http://127.0.0.1:0/mcp", None);
        check("metrics at http://127.0.0.1:9090/metrics", None);
        check("http://127.0.0.1:/mcp", None);
        check("loading", None);
    }
}
