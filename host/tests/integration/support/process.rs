//! The real binary, as people and scripts run it: each test has its own working directory and environment. Every wait
//! has a time limit, and no process continues after its test.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::harness::{SLOW_WAIT, component_path, eventually_blocking};

/// A working directory with a folder of components.
pub(crate) struct WorkDir(TempDir);

/// A `larder` process that may still run. It is killed on drop.
pub(crate) struct RunningProcess {
    child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
    /// The received lines of stderr.
    stderr_so_far: String,
}

/// The exit code and the output of a process that has ended.
pub(crate) struct ProcessOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Returns an HTTP client. It installs the TLS provider first, as any test of this process may be the first
/// to need it.
pub(crate) fn http_client() -> reqwest::Client {
    // An error means that another test has already installed it.
    _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

impl WorkDir {
    /// Creates a working directory with these guests in `plugins`, named as in `TestServer::builder`.
    pub(crate) fn with_guests(guests: &str) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("plugins")).unwrap();
        let work_dir = Self(folder);
        for guest in guests.split_whitespace() {
            let (name, guest) = guest.split_once('@').unwrap_or((guest, guest));
            std::fs::copy(
                component_path(guest),
                work_dir.path(&format!("plugins/{name}.wasm")),
            )
            .unwrap();
        }
        work_dir
    }

    /// Writes a file. The file is renamed into place, so that a process that watches it never reads a part of the file.
    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        let new = self.path(".new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.path(name)).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Starts `larder` with these arguments. They are split at spaces, and there is no quoting.
    pub(crate) fn start(&self, args: &str) -> RunningProcess {
        self.start_with(&[], args)
    }

    /// Starts `larder` with these arguments and additional environment variables.
    pub(crate) fn start_with(&self, env: &[(&str, &str)], args: &str) -> RunningProcess {
        Self::spawn(self.command(env, args))
    }

    /// Starts a command.
    pub(crate) fn spawn(mut command: Command) -> RunningProcess {
        let mut child = command.spawn().unwrap();
        let (stdout, stderr) = (
            lines(child.stdout.take().unwrap()),
            lines(child.stderr.take().unwrap()),
        );
        RunningProcess {
            stdin: child.stdin.take(),
            child,
            stdout,
            stderr,
            stderr_so_far: String::new(),
        }
    }

    /// Returns the command that `start_with` would start.
    pub(crate) fn command(&self, env: &[(&str, &str)], args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
        command
            .args(args.split_whitespace())
            .current_dir(self.0.path());
        command.env_clear();
        command
            .env("HOME", self.0.path())
            .env("XDG_STATE_HOME", self.path("state"));
        // The cache is shared, so that each component is compiled once instead of once in each test.
        command
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .envs(env.iter().copied());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs `larder` until it exits.
    pub(crate) fn larder(&self, args: &str) -> ProcessOutput {
        let mut process = self.start(args);
        process.stdin = None;
        process.wait()
    }

    /// Approves the pending requests of a provider, as the list now shows them.
    pub(crate) fn approve(&self, name: &str, args: &str) -> ProcessOutput {
        let listed = self.larder(&format!("approve --json {args}"));
        let pending = listed.json()["pending_approval"].clone();
        let of_name = pending
            .as_array()
            .and_then(|all| all.iter().find(|one| one["provider"] == name).cloned());
        let id = of_name.unwrap_or_default()["id"]
            .as_str()
            .unwrap_or(&"0".repeat(64))
            .to_owned();
        self.larder(&format!("approve {name} --yes --id {id} {args}"))
    }

    /// Starts a server on a free port, and returns the URL of its endpoint.
    pub(crate) fn serve(&self, args: &str) -> (RunningProcess, String) {
        let mut server = self.start(&format!("serve --listen 127.0.0.1:0 {args}"));
        let line = server.wait_for_stderr("serves http://");
        let url = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"))
            .unwrap();
        (server, url.to_owned())
    }
}

/// Reads a pipe line by line on another thread, so that the process never blocks on a full pipe.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (send, lines) = mpsc::channel();
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = String::new();
        while pipe.read_line(&mut line).is_ok_and(|read| read > 0) {
            if send.send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    lines
}

impl RunningProcess {
    /// Writes a line to stdin.
    pub(crate) fn write_line(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Waits for the next line on stdout.
    pub(crate) fn next(&mut self) -> String {
        let line = self.stdout.recv_timeout(SLOW_WAIT);
        line.unwrap_or_else(|_| panic!("no line on stdout; stderr: {}", self.received_stderr()))
    }

    /// Returns the first line on stderr that contains `text`. Unlike `wait_for_stderr`, it searches the lines
    /// before the current one first.
    pub(crate) fn find_stderr(&mut self, text: &str) -> String {
        let before = self
            .stderr_so_far
            .lines()
            .find(|line| line.contains(text))
            .map(ToOwned::to_owned);
        before.unwrap_or_else(|| self.wait_for_stderr(text))
    }

    /// Waits for the next line on stderr that contains `text`, and returns it.
    pub(crate) fn wait_for_stderr(&mut self, text: &str) -> String {
        let deadline = Instant::now() + SLOW_WAIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.stderr.recv_timeout(left) {
                Ok(line) => {
                    self.stderr_so_far += &line;
                    if line.contains(text) {
                        return line;
                    }
                }
                Err(_) => panic!("no line with `{text}` on stderr: {}", self.stderr_so_far),
            }
        }
    }

    /// Sends a signal by its name: `TERM`, `INT`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &id])
            .status()
            .unwrap();
        assert!(sent.success(), "process {id} has ended");
    }

    /// The id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The CPU time that the process has used so far. Zero if the system does not report it.
    pub(crate) fn cpu_time(&self) -> Duration {
        let stat =
            std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        // The fields after the name of the program, which is in parentheses.
        let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        let ticks = fields
            .skip(11)
            .take(2)
            .map(|ticks| ticks.parse::<u64>().unwrap_or_default());
        Duration::from_millis(ticks.sum::<u64>() * 1_000 / rustix::param::clock_ticks_per_second())
    }

    /// The resident memory in bytes, if the system reports it.
    pub(crate) fn memory(&self) -> Option<u64> {
        memory(&self.child.id().to_string())
    }

    /// The part of the resident memory that no file backs.
    pub(crate) fn anonymous_memory(&self) -> Option<u64> {
        status_bytes(&self.child.id().to_string(), "RssAnon")
    }

    /// The maximum of resident memory in bytes since the last reset.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        status_bytes(&self.child.id().to_string(), "VmHWM")
    }

    /// Resets the maximum to the current resident memory, if the system supports that.
    pub(crate) fn reset_peak_memory(&self) {
        _ = std::fs::write(format!("/proc/{}/clear_refs", self.child.id()), "5");
    }

    /// A field of `/proc/PID/status`; none if it does not exist.
    pub(crate) fn proc_status(&self, field: &str) -> Option<String> {
        proc_status(&self.child.id().to_string(), field)
    }

    /// Waits until the process exits.
    pub(crate) fn wait(mut self) -> ProcessOutput {
        let mut status = None;
        eventually_blocking(SLOW_WAIT, "the process exits", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let stdout = self.stdout.iter().collect();
        self.stderr_so_far.extend(self.stderr.iter());
        let stderr = std::mem::take(&mut self.stderr_so_far);
        ProcessOutput {
            code: status.unwrap().code(),
            stdout,
            stderr,
        }
    }

    fn received_stderr(&mut self) -> &str {
        self.stderr_so_far.extend(self.stderr.try_iter());
        &self.stderr_so_far
    }
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("stderr of the process: {}", self.received_stderr());
        }
        // Both calls fail if the process has exited, which is no problem.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl ProcessOutput {
    /// Checks that the exit code is 0, and returns stdout.
    pub(crate) fn expect_success(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
        self.stdout
    }

    /// Checks the exit code and that stdout is empty, and returns stderr.
    pub(crate) fn expect_exit(self, code: i32) -> String {
        assert_eq!(
            (self.code, self.stdout.as_str()),
            (Some(code), ""),
            "{}",
            self.stderr
        );
        self.stderr
    }

    /// Parses stdout as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        let json = serde_json::from_str(&self.stdout);
        json.unwrap_or_else(|error| panic!("{error}: {:?} {}", self.stdout, self.stderr))
    }
}

/// The resident memory of a process in bytes, if the system reports it. `self` is this process.
pub(crate) fn memory(process: &str) -> Option<u64> {
    status_bytes(process, "VmRSS")
}

fn status_bytes(process: &str, field: &str) -> Option<u64> {
    proc_status(process, field)?
        .split_whitespace()
        .next()?
        .parse::<u64>()
        .ok()
        .map(|kib| kib << 10)
}

/// A field of `/proc/PID/status`.
fn proc_status(process: &str, field: &str) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// A path as a command-line argument.
pub(crate) fn path_arg(path: &Path) -> &str {
    path.to_str().unwrap()
}
