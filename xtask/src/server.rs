//! A running `larder serve` (or `dev`) process. When it is returned, it accepts requests and has loaded its components.
//! It is stopped with SIGTERM, and is killed when dropped.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::run::{Output, command, larder};

/// The text of `/status` about components whose own calls took too long at the start.
const NOT_LOADED: &str = ": not loaded yet: ";

/// Includes the time to compile components.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// Much longer than the default `shutdown_grace`, because the machine may be busy.
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct RunningServer {
    child: Child,
    /// URL of the MCP endpoint.
    pub(crate) url: String,
    /// The admin address, if the server has printed it.
    pub(crate) admin: Option<String>,
}

impl RunningServer {
    /// Starts `larder serve` on free ports. Its stderr is written to the log.
    pub(crate) fn start(config: &Path, output: &Output) -> Result<Self> {
        let mut serve = command(larder());
        serve.arg("serve").arg("--config").arg(config);
        serve.args(["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
        Self::spawn(serve, output)
    }

    /// Starts any command that serves MCP and prints its URL on stderr. If it first prints its admin address, this
    /// waits until its components are loaded, because a server accepts requests before slow components are loaded.
    pub(crate) fn spawn(mut serve: Command, output: &Output) -> Result<Self> {
        let mut child = serve
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("larder")?;
        let stderr = child.stderr.take().context("stderr is a pipe")?;
        let mut server = Self {
            child,
            url: String::new(),
            admin: None,
        };
        let (sender, urls) = mpsc::channel();
        let log = match output {
            Output::Terminal => None,
            Output::Log(path) => Some(OpenOptions::new().append(true).open(path)?),
        };
        thread::spawn(move || forward_stderr(stderr, log, &sender));
        // The sender is dropped when the thread ends, that is, when the server closes its stderr.
        let receive = || match urls.recv_timeout(START_TIMEOUT) {
            Ok(url) => Ok(url),
            Err(mpsc::RecvTimeoutError::Disconnected) => bail!("larder ended before it was ready"),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                bail!("larder printed no URL within {START_TIMEOUT:?}")
            }
        };
        while server.url.is_empty() {
            match receive()? {
                Url::Admin(url) => server.admin = Some(url),
                Url::Endpoint(url) => server.url = url,
            }
        }
        if let Some(admin) = &server.admin {
            wait_until_loaded(admin)?;
        }
        Ok(server)
    }

    /// The process ID.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGTERM. The server must exit successfully before the timeout.
    pub(crate) fn stop(mut self) -> Result<()> {
        let killed = command("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()?;
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
        // Both calls fail if the process has already ended, which is no problem.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address that the server prints on stderr.
#[derive(Debug, PartialEq)]
enum Url {
    Admin(String),
    Endpoint(String),
}

/// Requests the status until no component is loading. A status that cannot be read, because it needs a token, is
/// ignored.
fn wait_until_loaded(admin: &str) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < START_TIMEOUT {
        let status = command(larder())
            .args(["status", "--json", "--admin", admin])
            .output()?;
        if !String::from_utf8_lossy(&status.stdout).contains(NOT_LOADED) {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(100));
    }
    bail!("a component is still loading after {START_TIMEOUT:?}")
}

/// Copies stderr to the log or the terminal, and sends the URLs in it. Reads until the end, so that the server never
/// blocks on a full pipe.
fn forward_stderr(stderr: ChildStderr, mut log: Option<File>, urls: &Sender<Url>) {
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        match &mut log {
            Some(log) => drop(writeln!(log, "larder: {line}")),
            None => eprintln!("{line}"),
        }
        if let Some(url) = find_url(&line) {
            // URLs after the first endpoint are not received.
            let _ = urls.send(url);
        }
    }
}

/// Finds the URL of the endpoint, or of the admin address, in a line of the start-up output.
fn find_url(line: &str) -> Option<Url> {
    let (_, rest) = line.split_once("http://127.0.0.1:")?;
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    if port.is_empty() || port == "0" {
        return None;
    }
    let url = format!("http://127.0.0.1:{port}");
    if rest[port.len()..].starts_with("/mcp") {
        return Some(Url::Endpoint(format!("{url}/mcp")));
    }
    line.contains("serving /livez").then_some(Url::Admin(url))
}

#[cfg(test)]
mod tests {
    use super::{Url, find_url};

    #[test]
    fn finds_the_urls_in_start_up_output() {
        let endpoint = |line| match find_url(line) {
            Some(Url::Endpoint(url)) => Some(url),
            _ => None,
        };
        let url = |port| Some(format!("http://127.0.0.1:{port}/mcp"));
        assert_eq!(endpoint("serving http://127.0.0.1:4711/mcp"), url("4711"));
        assert_eq!(
            endpoint("\u{1b}[1mhttp://127.0.0.1:80/mcp\u{1b}[0m: 2 providers"),
            url("80")
        );
        for none in [
            "listen = http://127.0.0.1:0/mcp",
            "http://127.0.0.1:/mcp",
            "loading",
        ] {
            assert_eq!(find_url(none), None, "{none}");
        }
        assert_eq!(find_url("metrics at http://127.0.0.1:9090/metrics"), None);
        let admin = "INFO serving /livez, /readyz, /metrics and /status url=http://127.0.0.1:4712";
        assert_eq!(
            find_url(admin),
            Some(Url::Admin("http://127.0.0.1:4712".into()))
        );
    }
}
