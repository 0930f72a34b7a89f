//! The time from a new file to its first answer, for the first revision and for rebuilt revisions. Each revision was
//! built from a changed source. The reference is the engine alone, which compiles the whole component in Python in the
//! same run: times depend on the machine, but their ratio to the reference does not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::admin;
use crate::load;
use crate::process::{self, Cores, Server};
use crate::report::{median, quantile};
use crate::setup::Setup;
use crate::wire;

/// The languages, by the name of the folder and the name for people.
const LANGUAGES: [(&str, &str); 3] = [
    ("rust", "Rust"),
    ("javascript", "JavaScript"),
    ("python", "Python"),
];
/// The language of the reference.
const REFERENCE: &str = "Python";
/// The reference on the machine for which the targets were set.
const REFERENCE_MS: f64 = 4012.0;
/// The targets on that machine, in milliseconds: for the 95th percentile of rebuilt components, and for the first
/// revision.
const REBUILT_MS: [(&str, f64); 3] = [("Rust", 150.0), ("JavaScript", 400.0), ("Python", 1500.0)];
const FIRST_MS: [(&str, f64); 1] = [("Python", 4000.0)];
/// The engine alone is measured once in this number of revisions.
const REFERENCE_EVERY: usize = 3;
/// The resource that every example serves from its sample.
const URI: &str = "changelog://releases/Unreleased";
/// Longer than compiling a component takes.
const TIMEOUT: Duration = Duration::from_secs(180);
/// The time between two requests for the list. With 2 ms, these requests took a third of the time of a compilation in
/// Rust.
const INTERVAL: Duration = Duration::from_millis(10);

/// The times of one language, in milliseconds.
#[derive(Debug, Clone)]
struct Language {
    name: &'static str,
    component_bytes: usize,
    first: Vec<f64>,
    rebuilt: Vec<f64>,
    /// The engine alone.
    engine: Vec<f64>,
}

/// The times of the languages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Compilation {
    measured: Vec<Language>,
    /// The languages whose revisions were not built because the tools are missing.
    not_built: Vec<&'static str>,
}

/// A measured ratio to the reference, and the target ratio.
pub(crate) struct Ratio {
    pub(crate) name: String,
    pub(crate) measured: f64,
    pub(crate) target: f64,
}

/// Measures this number of times, each with an empty cache. `revisions` has a folder for each language.
pub(crate) fn measure(setup: &Setup, revisions: &Path, rounds: usize) -> Result<Compilation> {
    let program = setup
        .bare
        .as_deref()
        .context("--bare is required for --compilation")?;
    let mut compilation = Compilation::default();
    for (folder, name) in LANGUAGES {
        let files = files(&revisions.join(folder))?;
        let Some(first) = files.first() else {
            compilation.not_built.push(name);
            continue;
        };
        eprintln!("measuring compilation: {name}");
        let component_bytes = usize::try_from(fs::metadata(first)?.len())?;
        let mut language = Language {
            name,
            component_bytes,
            first: vec![],
            rebuilt: vec![],
            engine: vec![],
        };
        for _ in 0..rounds {
            language.measure_round(setup, program, &files)?;
        }
        compilation.measured.push(language);
    }
    Ok(compilation)
}

/// The revisions in the order in which they were built.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(vec![]);
    }
    let files: Result<Vec<PathBuf>, _> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect();
    let mut files = files.map_err(|error: std::io::Error| error)?;
    files.sort();
    Ok(files)
}

impl Language {
    fn measure_round(&mut self, setup: &Setup, program: &Path, files: &[PathBuf]) -> Result<()> {
        setup.clear_cache()?;
        let dir = setup.server_dir("compilation", &[])?;
        let admin = admin::configure(&dir)?;
        let server = setup.start_on_all_cores(&dir)?;
        let mut served = ServedContent {
            list: list(&server)?,
            text: String::new(),
        };
        for (number, file) in files.iter().enumerate() {
            let took = place_and_read(&server, &dir, file, &mut served)?;
            if number == 0 {
                &mut self.first
            } else {
                &mut self.rebuilt
            }
            .push(took);
            // The next revision and the engine must not wait for the optimisation of this one.
            admin::wait_for(admin, admin::UNOPTIMISED, 0)?;
            wait_until_idle(&server)?;
            if number % REFERENCE_EVERY == 0 {
                let output =
                    process::output(Command::new(program).arg("compile").arg(file), Cores::All)?;
                self.engine.push(output.trim().parse()?);
            }
        }
        Ok(())
    }

    fn p95(&self) -> f64 {
        quantile(self.rebuilt.iter().copied(), 0.95)
    }
}

/// The previous state of the server.
struct ServedContent {
    list: Vec<u8>,
    text: String,
}

/// Milliseconds from the rename of a file to the first answer of the new revision.
fn place_and_read(
    server: &Server,
    dir: &Path,
    file: &Path,
    served: &mut ServedContent,
) -> Result<f64> {
    let new = dir.join("new");
    fs::copy(file, &new)?;
    let start = Instant::now();
    fs::rename(&new, dir.join("plugins/changelog.wasm"))?;
    // A list needs no guest, so frequent requests for it do not slow down the compilation. The list contains the size
    // of the resource, which each revision changes.
    while list(server)? == served.list {
        ensure!(
            start.elapsed() < TIMEOUT,
            "{} was not served within {TIMEOUT:?}",
            file.display()
        );
        std::thread::sleep(INTERVAL);
    }
    let read = wire::modern(server.address, "resources/read", Some(URI));
    let (status, _, body) = load::once(server.address, &read)?;
    let took = start.elapsed().as_secs_f64() * 1e3;
    ensure!(status == 200, "{status} {}", String::from_utf8_lossy(&body));
    let text = wire::first_content(&body)?;
    ensure!(
        text != served.text,
        "{} was not served: {text}",
        file.display()
    );
    *served = ServedContent {
        list: list(server)?,
        text,
    };
    Ok(took)
}

fn list(server: &Server) -> Result<Vec<u8>> {
    let (status, _, body) = load::once(
        server.address,
        &wire::modern(server.address, "resources/list", None),
    )?;
    ensure!(status == 200, "{status} {}", String::from_utf8_lossy(&body));
    Ok(body)
}

/// Waits until no process compiles, because a process stores functions after the first answer.
fn wait_until_idle(server: &Server) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < TIMEOUT {
        std::thread::sleep(Duration::from_millis(300));
        if !server.has_child()? {
            return Ok(());
        }
    }
    bail!("the server was still compiling after {TIMEOUT:?}")
}

impl Compilation {
    fn language(&self, name: &str) -> Option<&Language> {
        self.measured.iter().find(|language| language.name == name)
    }

    /// Milliseconds that the engine needs for the component in Python.
    fn reference(&self) -> Option<f64> {
        Some(median(self.language(REFERENCE)?.engine.iter().copied()))
    }

    /// The ratios that have a target.
    pub(crate) fn ratios(&self) -> Vec<Ratio> {
        let Some(reference) = self.reference() else {
            return vec![];
        };
        let ratio = |name: String, measured: f64, target: f64| Ratio {
            name,
            measured: measured / reference,
            target: target / REFERENCE_MS,
        };
        let rebuilt = REBUILT_MS.iter().filter_map(|&(name, target)| {
            Some(ratio(
                format!("rebuilt {name} to first answer, p95 / engine, Python"),
                self.language(name)?.p95(),
                target,
            ))
        });
        let first = FIRST_MS.iter().filter_map(|&(name, target)| {
            let measured = median(self.language(name)?.first.iter().copied());
            Some(ratio(
                format!("first {name} to first answer / engine, Python"),
                measured,
                target,
            ))
        });
        rebuilt.chain(first).collect()
    }

    pub(crate) fn print(&self) {
        println!(
            "\n## Compilation\n\nMilliseconds from the rename of a file to its first answer. The engine alone compiles the whole"
        );
        println!("component with its default settings.\n");
        println!(
            "| language | component | engine alone | first revision | rebuilt: median | p95 | slowest | number |"
        );
        println!("|---|---:|---:|---:|---:|---:|---:|---:|");
        for language in &self.measured {
            let [engine, first, rebuilt] = [&language.engine, &language.first, &language.rebuilt]
                .map(|times| median(times.iter().copied()));
            let slowest = quantile(language.rebuilt.iter().copied(), 1.0);
            println!(
                "| {} | {} KiB | {engine:.0} | {first:.0} | {rebuilt:.0} | {:.0} | {slowest:.0} | {} |",
                language.name,
                language.component_bytes.div_ceil(1024),
                language.p95(),
                language.rebuilt.len()
            );
        }
        for name in &self.not_built {
            println!("| {name} | not measured: its tools are missing | | | | | | |");
        }
    }

    pub(crate) fn json(&self) -> Value {
        let languages = self.measured.iter().map(|language| {
            json!({"language": language.name, "component_bytes": language.component_bytes,
                "engine_ms": language.engine, "first_ms": language.first, "rebuilt_ms": language.rebuilt})
        });
        languages.collect()
    }
}
