//! Servers under measurement: each in a process of its own, on the first core, and gone when it is dropped.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts it, and waits until it says where it listens: `http://127.0.0.1:PORT` on a line of stderr.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut child =
            on_first_core(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()))?;
        let mut lines = BufReader::new(child.stderr.take().context("stderr is a pipe")?);
        let mut said = String::new();
        let address = loop {
            let mut line = String::new();
            if lines.read_line(&mut line)? == 0 {
                let status = child.wait()?;
                bail!("{command:?} ended with {status}:\n{said}");
            }
            if let Some(address) = address(&line) {
                break address;
            }
            said.push_str(&line);
        };
        // What it says later must go somewhere, or it would wait for us.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Ok(Self { child, address })
    }

    /// Time on processors, of all its threads.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let mut nanoseconds = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            // A thread may end between two looks.
            let Ok(stat) = std::fs::read_to_string(task?.path().join("schedstat")) else { continue };
            let ran = stat.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
            nanoseconds += ran.context("schedstat begins with a number")?;
        }
        Ok(Duration::from_nanos(nanoseconds))
    }

    /// Bytes of memory that are in no file.
    pub(crate) fn anonymous(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).context("no RssAnon")?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib << 10)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail if it has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Children are born where their parent runs.
fn on_first_core(command: &mut Command) -> Result<Child> {
    stay_on(0)?;
    let child = command.spawn().with_context(|| format!("cannot start {command:?}"));
    stay_on(1)?;
    child
}

/// This thread, and what it starts, stays on one core. On a machine with one core all share it.
pub(crate) fn stay_on(core: usize) -> Result<()> {
    let cores =
        std::thread::available_parallelism().map_or(1, usize::from).max(MOST.get().copied().unwrap_or(1));
    let _ = MOST.set(cores);
    let mut set = CpuSet::new();
    set.set(core.min(cores - 1));
    sched_setaffinity(None::<Pid>, &set).context("cannot stay on one core")
}

/// Cores of the machine: once this process stays on one of them, it sees no other.
static MOST: std::sync::OnceLock<usize> = std::sync::OnceLock::new();

fn address(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("http://")?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != ':')?;
    rest[..end].parse().ok()
}

/// The version of what a command is, in its own words.
pub(crate) fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
