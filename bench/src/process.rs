//! Server processes under measurement. Each process runs on the first core, unless the compiler is measured. It is
//! stopped when its handle is dropped.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{CpuSet, sched_setaffinity};

/// How long a server may take to stop: longer than the default `shutdown_grace`.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts the server and waits until it prints its address on stderr: `http://127.0.0.1:PORT`.
    pub(crate) fn start(command: &mut Command, cores: Cores) -> Result<Self> {
        let mut child = spawn(
            command
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped()),
            cores,
        )?;
        let mut lines = BufReader::new(child.stderr.take().context("stderr is a pipe")?);
        let mut output = String::new();
        let address = loop {
            let mut line = String::new();
            if lines.read_line(&mut line)? == 0 {
                let status = child.wait()?;
                bail!("{command:?} ended with {status}:\n{output}");
            }
            if let Some(address) = address(&line) {
                break address;
            }
            output.push_str(&line);
        };
        // Later output has to be read, because the server would otherwise block on a full pipe.
        thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Ok(Self { child, address })
    }

    /// CPU time of all threads of the server.
    pub(crate) fn cpu_time(&self) -> Result<Duration> {
        let mut nanoseconds = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            // The thread may have ended since the directory was listed.
            let Ok(stat) = std::fs::read_to_string(task?.path().join("schedstat")) else {
                continue;
            };
            let run_time = stat
                .split_whitespace()
                .next()
                .and_then(|field| field.parse::<u64>().ok());
            nanoseconds += run_time.context("schedstat does not begin with a number")?;
        }
        Ok(Duration::from_nanos(nanoseconds))
    }

    /// Whether a process that the server started is running.
    pub(crate) fn has_child(&self) -> Result<bool> {
        let parent = self.child.id().to_string();
        for process in std::fs::read_dir("/proc")? {
            // The process may have ended since the directory was listed. Other entries have no such file.
            let Ok(stat) = std::fs::read_to_string(process?.path().join("stat")) else {
                continue;
            };
            // The name before these fields can contain spaces and parentheses.
            let after_name = stat
                .rsplit_once(") ")
                .map(|(_, rest)| rest.split(' ').nth(1));
            if after_name.flatten() == Some(parent.as_str()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Proportional set size in bytes: memory that is shared with other processes is divided by their number.
    pub(crate) fn proportional_memory(&self) -> Result<u64> {
        let rollup = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id()))?;
        let line = rollup
            .lines()
            .find_map(|line| line.strip_prefix("Pss:"))
            .context("no Pss")?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib << 10)
    }

    /// Resident anonymous memory in bytes.
    pub(crate) fn anonymous_memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"))
            .context("no RssAnon")?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib << 10)
    }
}

impl Drop for Server {
    /// Stops the server with SIGTERM first: a program with counters writes them only when it exits by itself.
    fn drop(&mut self) {
        // The calls fail if the process has already ended, which is no problem.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let end = Instant::now() + STOP_TIMEOUT;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            thread::sleep(Duration::from_millis(10));
        }
        if matches!(self.child.try_wait(), Ok(None)) {
            eprintln!("a server did not stop within {STOP_TIMEOUT:?} and is killed");
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

/// The cores on which a process runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cores {
    /// The first core. The load generator runs on the second core.
    First,
    /// All cores, for measurements of the compiler.
    All,
}

/// A child process inherits the CPU affinity of its parent.
fn spawn(command: &mut Command, cores: Cores) -> Result<Child> {
    match cores {
        Cores::First => pin_to(0..1)?,
        Cores::All => pin_to(0..count())?,
    }
    let child = command
        .spawn()
        .with_context(|| format!("cannot start {command:?}"));
    pin_to_second_core()?;
    child
}

/// Pins this thread, and the threads and processes that it starts, to the second core. With a single core, all
/// processes share it.
pub(crate) fn pin_to_second_core() -> Result<()> {
    let last = count() - 1;
    pin_to(last.min(1)..last.min(1) + 1)
}

fn pin_to(cores: Range<usize>) -> Result<()> {
    let mut set = CpuSet::new();
    cores.for_each(|core| set.set(core));
    sched_setaffinity(None::<Pid>, &set).context("cannot set the CPU affinity")
}

fn count() -> usize {
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Number of cores of the machine. The number has to be stored, because a pinned process sees only its own core.
static CORES: std::sync::OnceLock<usize> = std::sync::OnceLock::new();

fn address(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("http://")?;
    let end =
        rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != ':')?;
    rest[..end].parse().ok()
}

/// Runs a program, and returns its stdout.
pub(crate) fn output(command: &mut Command, cores: Cores) -> Result<String> {
    let child = spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()), cores)?;
    let output = child.wait_with_output()?;
    ensure!(
        output.status.success(),
        "{command:?} ended with {}",
        output.status
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// The output of `PROGRAM --version`.
pub(crate) fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output();
    output
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}
