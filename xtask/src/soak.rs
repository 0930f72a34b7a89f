//! `cargo xtask soak`: minutes of reloads, reads, listeners and sessions that come and go, and the
//! server's memory all the while. Not a step of the tests: a person looks at the curve.

mod peer;
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
use crate::server::Serving;

const MINUTES: u64 = 3;
const MOST_MINUTES: u64 = 24 * 60;
/// A line of the curve.
const EVERY: Duration = Duration::from_secs(10);
/// Fewer sessions than are dropped, so that old ones have to make room.
const SERVER: &str = "sessions = 64\nsession_idle_timeout = \"30s\"\nstreams = 64\n";

/// What everybody who is at work shares.
struct Soak {
    url: String,
    plugins: PathBuf,
    docs: PathBuf,
    ended: AtomicBool,
    counts: [AtomicU64; WHAT.len()],
    failures: Mutex<Vec<String>>,
}

/// What is counted, in the order of the columns.
#[derive(Clone, Copy)]
enum Count {
    Swaps,
    Reads,
    Lists,
    Listens,
    Told,
    Sessions,
    Failed,
}

const WHAT: [&str; 7] = ["swaps", "reads", "lists", "listens", "told", "sessions", "failed"];

/// The words behind `soak`.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let minutes = match words {
        [] => MINUTES,
        ["--minutes", minutes] => minutes.parse().context("--minutes takes a whole number")?,
        _ => bail!("usage: cargo xtask soak [--minutes N]"),
    };
    ensure!((1..=MOST_MINUTES).contains(&minutes), "between 1 and {MOST_MINUTES} minutes");
    let output = Output::log("soak")?;
    output.run(&mut cargo(&["build", "--package", "larder"]))?;
    plugins::plugins(&output)?;
    plugins::guests(&output)?;
    let at = target("xtask").join("soak");
    if at.exists() {
        fs::remove_dir_all(&at)?;
    }
    let docs = at.join("docs");
    fs::create_dir_all(&docs)?;
    fs::write(docs.join("touched.txt"), "0")?;
    let config = clients::config("soak", SERVER, &[(&docs, "/docs")])?;
    let revisions = work::Revisions::load(&target("guests").join("revision.wasm"))?;
    fs::write(at.join("plugins/revision.wasm"), revisions.number(1))?;
    let serving = Serving::start(&config, &output)?;
    let soaked = Soak::over(&serving, &at.join("plugins"), &docs).all(&serving, &revisions, minutes);
    let stopped = serving.stop();
    soaked.and(stopped)
}

impl Soak {
    fn over(serving: &Serving, plugins: &Path, docs: &Path) -> Self {
        Self {
            url: serving.url.clone(),
            plugins: plugins.to_owned(),
            docs: docs.to_owned(),
            ended: AtomicBool::new(false),
            counts: Default::default(),
            failures: Mutex::default(),
        }
    }

    fn all(&self, serving: &Serving, revisions: &work::Revisions, minutes: u64) -> Result<()> {
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
                scope.spawn(move || self.again_and_again(work));
            }
            scope.spawn(|| {
                let swapped = work::swap(self, revisions);
                self.fails_with(swapped);
            });
            let watched = self.watch(serving, Duration::from_secs(minutes * 60));
            self.ended.store(true, Ordering::Relaxed);
            watched
        })?;
        let failures = self.failures.lock().expect("nobody panics while he holds it");
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

    /// Prints the curve.
    fn watch(&self, serving: &Serving, whole: Duration) -> Result<()> {
        let began = Instant::now();
        println!("{:>7} {:>9} {}", "seconds", "RSS MiB", WHAT.map(|what| format!("{what:>9}")).concat());
        for line in 0.. {
            thread::sleep((began + EVERY * line).saturating_duration_since(Instant::now()));
            let memory = memory(serving.id())?;
            let counts = self.counts.each_ref().map(|count| format!("{:>9}", count.load(Ordering::Relaxed)));
            println!("{:>7} {memory:>9.1} {}", began.elapsed().as_secs(), counts.concat());
            if began.elapsed() >= whole {
                break;
            }
        }
        Ok(())
    }

    fn again_and_again(&self, work: fn(&Self) -> Result<()>) {
        while !self.is_over() {
            self.fails_with(work(self));
        }
    }

    fn fails_with(&self, result: Result<()>) {
        if let Err(error) = result {
            self.count(Count::Failed);
            self.failures.lock().expect("nobody panics while he holds it").push(format!("{error:#}"));
            // What fails at once must not fail a million times.
            thread::sleep(Duration::from_millis(200));
        }
    }

    fn count(&self, what: Count) {
        self.counts[what as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

/// MiB of a process in memory.
fn memory(id: u32) -> Result<f64> {
    let status =
        fs::read_to_string(format!("/proc/{id}/status")).context("a soak needs /proc, as Linux has it")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("the server is gone")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib / 1024.0)
}
