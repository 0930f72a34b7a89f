//! `cargo xtask soak`: runs reloads, reads, subscriptions and sessions for some minutes and prints the server's memory
//! over time. The soak is not a step of the tests, because a person has to judge the result.

mod work;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::clients;
use crate::plugins;
use crate::run::{Output, cargo, target};
use crate::server::RunningServer;

const MINUTES: u64 = 3;
const MAX_MINUTES: u64 = 24 * 60;
/// Interval between two lines of output.
const INTERVAL: Duration = Duration::from_secs(10);
/// Allows fewer sessions than the soak abandons, so that the server has to evict old ones.
const SERVER: &str = "sessions = 64\nsession_idle_timeout = \"30s\"\nstreams = 64\n";

/// State shared by all worker threads.
struct Soak {
    url: String,
    plugins: PathBuf,
    docs: PathBuf,
    stop: AtomicBool,
    counts: [AtomicU64; COLUMNS.len()],
    failures: Mutex<Vec<String>>,
}

/// The counters, in the order of the columns.
#[derive(Clone, Copy)]
enum Count {
    Swaps,
    Reads,
    Lists,
    Listens,
    Notifications,
    Sessions,
    Failed,
}

const COLUMNS: [&str; 7] = [
    "swaps", "reads", "lists", "listens", "notified", "sessions", "failed",
];

pub(crate) fn run(args: &[&str]) -> Result<()> {
    let minutes = match args {
        [] => MINUTES,
        ["--minutes", minutes] => minutes.parse().context("--minutes takes a whole number")?,
        _ => bail!("usage: cargo xtask soak [--minutes N]"),
    };
    ensure!(
        (1..=MAX_MINUTES).contains(&minutes),
        "--minutes must be between 1 and {MAX_MINUTES}"
    );
    let output = Output::log("soak")?;
    output.run(&mut cargo(&["build", "--package", "larder"]))?;
    plugins::plugins(&output)?;
    plugins::guests(&output)?;
    let dir = target("xtask").join("soak");
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    let docs = dir.join("docs");
    fs::create_dir_all(&docs)?;
    fs::write(docs.join("touched.txt"), "0")?;
    let config = clients::config("soak", SERVER, &[(&docs, "/docs")])?;
    let revisions = work::Revisions::load(&target("guests").join("revision.wasm"))?;
    fs::write(dir.join("plugins/revision.wasm"), revisions.component(1))?;
    let server = RunningServer::start(&config, &output)?;
    let result = Soak::new(&server, &dir.join("plugins"), &docs).run(&server, &revisions, minutes);
    let stopped = server.stop();
    result.and(stopped)
}

impl Soak {
    fn new(server: &RunningServer, plugins: &Path, docs: &Path) -> Self {
        Self {
            url: server.url.clone(),
            plugins: plugins.to_owned(),
            docs: docs.to_owned(),
            stop: AtomicBool::new(false),
            counts: Default::default(),
            failures: Mutex::default(),
        }
    }

    fn run(&self, server: &RunningServer, revisions: &work::Revisions, minutes: u64) -> Result<()> {
        let work: [fn(&Self) -> Result<()>; 7] = [
            work::read,
            work::read,
            work::list,
            work::listen,
            work::listen,
            work::open_sessions,
            work::touch_files,
        ];
        thread::scope(|scope| {
            for work in work {
                scope.spawn(move || self.repeat(work));
            }
            scope.spawn(|| {
                let result = work::swap(self, revisions);
                self.record(result);
            });
            let result = self.print_memory(server, Duration::from_secs(minutes * 60));
            self.stop.store(true, Ordering::Relaxed);
            result
        })?;
        let failures = self
            .failures
            .lock()
            .expect("no thread panics while it holds the lock");
        for failure in failures.iter().take(20) {
            println!("failed: {failure}");
        }
        ensure!(
            failures.is_empty(),
            "{} failures; the server's log is target/xtask/soak.log",
            failures.len()
        );
        Ok(())
    }

    /// Prints the server's memory and the counters at regular intervals.
    fn print_memory(&self, server: &RunningServer, duration: Duration) -> Result<()> {
        let start = Instant::now();
        println!(
            "{:>7} {:>9} {}",
            "seconds",
            "RSS MiB",
            COLUMNS.map(|name| format!("{name:>9}")).concat()
        );
        for line in 0.. {
            thread::sleep((start + INTERVAL * line).saturating_duration_since(Instant::now()));
            let memory = resident_mib(server.id())?;
            let counts = self
                .counts
                .each_ref()
                .map(|count| format!("{:>9}", count.load(Ordering::Relaxed)));
            println!(
                "{:>7} {memory:>9.1} {}",
                start.elapsed().as_secs(),
                counts.concat()
            );
            if start.elapsed() >= duration {
                break;
            }
        }
        Ok(())
    }

    fn repeat(&self, work: fn(&Self) -> Result<()>) {
        while !self.is_stopped() {
            self.record(work(self));
        }
    }

    /// Records a failure.
    fn record(&self, result: Result<()>) {
        if let Err(error) = result {
            self.count(Count::Failed);
            self.failures
                .lock()
                .expect("no thread panics while it holds the lock")
                .push(format!("{error:#}"));
            // Limits the rate of failures.
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn count(&self, counter: Count) {
        self.counts[counter as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Resident memory of a process in MiB.
fn resident_mib(id: u32) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{id}/status"))
        .context("the soak test needs /proc (Linux)")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .context("the server has ended")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib / 1024.0)
}
