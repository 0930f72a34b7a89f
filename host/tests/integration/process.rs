//! The real binary, as people and scripts run it: in a folder of its own, with an environment of its own.
//! Every wait has a bound, and no process outlives its test.

use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::house::component;

/// Longer than anything here takes on a slow machine: what is not there by then never comes.
const BOUND: Duration = Duration::from_secs(60);

/// A working directory with a folder of components.
pub(crate) struct Place(TempDir);

/// A process that runs.
pub(crate) struct Running {
    child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    out: Receiver<String>,
    err: Receiver<String>,
    /// What was said on stderr so far.
    said: String,
}

/// What came of one.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A client over HTTP. Its TLS has to be there before any of it is built, whichever test of this process comes first.
pub(crate) fn http_client() -> reqwest::Client {
    // An error says that another test has installed it.
    _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

impl Place {
    /// With these guests, as in `house::Plan::of`.
    pub(crate) fn of(guests: &str) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::create_dir(folder.path().join("plugins")).unwrap();
        let place = Self(folder);
        for guest in guests.split_whitespace() {
            let (name, guest) = guest.split_once('@').unwrap_or((guest, guest));
            std::fs::copy(component(guest), place.path(&format!("plugins/{name}.wasm"))).unwrap();
        }
        place
    }

    /// Adds a file.
    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Starts `larder` with these words; those with spaces in them are quoted in no way, so there are none.
    pub(crate) fn start(&self, words: &str) -> Running {
        self.start_with(&[], words)
    }

    /// The same with these variables besides.
    pub(crate) fn start_with(&self, env: &[(&str, &str)], words: &str) -> Running {
        let mut child = self.command(env, words).spawn().unwrap();
        let (out, err) = (follow(child.stdout.take().unwrap()), follow(child.stderr.take().unwrap()));
        Running { stdin: child.stdin.take(), child, out, err, said: String::new() }
    }

    /// The same, not yet started.
    pub(crate) fn command(&self, env: &[(&str, &str)], words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_larder"));
        command.args(words.split_whitespace()).current_dir(self.0.path());
        command.env_clear();
        command.env("HOME", self.0.path()).env("XDG_STATE_HOME", self.path("state"));
        command.env("XDG_CACHE_HOME", self.path("cache")).envs(env.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs `larder` to its end.
    pub(crate) fn larder(&self, words: &str) -> Ran {
        let mut running = self.start(words);
        running.stdin = None;
        running.end()
    }

    /// Starts a server on a free port, and gives its endpoint.
    pub(crate) fn serve(&self, words: &str) -> (Running, String) {
        let mut running = self.start(&format!("serve --listen 127.0.0.1:0 {words}"));
        let line = running.told("serves http://");
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
        (running, url.to_owned())
    }
}

/// Line by line, so that nobody waits for a full pipe.
fn follow(pipe: impl Read + Send + 'static) -> Receiver<String> {
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

impl Running {
    /// The next line on stdout.
    pub(crate) fn next(&mut self) -> String {
        let line = self.out.recv_timeout(BOUND);
        line.unwrap_or_else(|_| panic!("no line on stdout; stderr: {}", self.said_so_far()))
    }

    /// The same, though it may have come before another that was waited for.
    pub(crate) fn has_told(&mut self, words: &str) -> String {
        let before = self.said.lines().find(|line| line.contains(words)).map(ToOwned::to_owned);
        before.unwrap_or_else(|| self.told(words))
    }

    /// Waits for a line with these words on stderr, and gives it.
    pub(crate) fn told(&mut self, words: &str) -> String {
        let end = Instant::now() + BOUND;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.err.recv_timeout(left) {
                Ok(line) => {
                    self.said += &line;
                    if line.contains(words) {
                        return line;
                    }
                }
                Err(_) => panic!("no `{words}` on stderr; what came: {}", self.said),
            }
        }
    }

    /// Sends a signal by its name: `TERM`, `INT`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap();
        assert!(sent.success(), "process {id} is gone");
    }

    /// Its bytes in memory, where the system says so.
    pub(crate) fn memory(&self) -> Option<u64> {
        memory(&self.child.id().to_string())
    }

    /// Those of them that are in no file.
    pub(crate) fn anonymous(&self) -> Option<u64> {
        kept(&self.child.id().to_string(), "RssAnon")
    }

    /// What the system says of it, where it says so.
    pub(crate) fn fact(&self, name: &str) -> Option<String> {
        fact(&self.child.id().to_string(), name)
    }

    /// Waits until it ends by itself.
    pub(crate) fn end(mut self) -> Ran {
        let end = Instant::now() + BOUND;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < end, "it does not end; stderr: {}", self.said_so_far());
            thread::sleep(Duration::from_millis(5));
        };
        let out = self.out.iter().collect();
        self.said.extend(self.err.iter());
        Ran { code: status.code(), out, err: std::mem::take(&mut self.said) }
    }

    fn said_so_far(&mut self) -> &str {
        self.said.extend(self.err.try_iter());
        &self.said
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail where it has ended, which is what is wanted.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Ran {
    /// The answer of a command that says yes.
    pub(crate) fn yes(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// What is said on stderr by a command that ends with this code and prints no answer.
    pub(crate) fn no(self, code: i32) -> String {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{}", self.err);
        self.err
    }

    /// The answer as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {:?} {}", self.out, self.err))
    }
}

/// Bytes of a process in memory, where the system says so; `self` is this one.
pub(crate) fn memory(process: &str) -> Option<u64> {
    kept(process, "VmRSS")
}

fn kept(process: &str, kind: &str) -> Option<u64> {
    fact(process, kind)?.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// A line of what the system says of a process.
fn fact(process: &str, name: &str) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// A path as it stands on a command line.
pub(crate) fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}
