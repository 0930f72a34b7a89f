//! How fast it is: builds what is measured for release, and runs `bench/`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use crate::plugins;
use crate::run::{Output, cargo, command, root, stdout_of, target};

/// A component as large as a Rust provider with a few dependencies, built without care for its size.
const LARGE: &str = "revision";

/// With these options of the bench itself; `--no-rooms` leaves out the benches of the inner rooms.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let rooms = !["--no-rooms", "--reads", "--overload"].iter().any(|less| words.contains(less));
    let words: Vec<&str> = words.iter().copied().filter(|word| *word != "--no-rooms").collect();
    // JSON goes to stdout alone.
    let output = Output::log("bench")?;
    eprintln!("building (the log is target/xtask/bench.log)");
    plugins::guests(&output)?;
    output.run(&mut cargo(&["build", "--release", "--package", "larder"]))?;
    output.run(
        cargo(&["build", "--release", "--manifest-path", "bench/Cargo.toml"])
            .arg("--target-dir")
            .arg(target("bench")),
    )?;
    if rooms {
        eprintln!("measuring the inner rooms");
        let mut bench = cargo(&["bench", "--package", "larder", "--bench", "micro", "--"]);
        if words.contains(&"--quick") {
            bench.args(["--warm-up-time", "0.3", "--measurement-time", "1"]);
        }
        output.run(&mut bench)?;
    }
    let large = large(&output)?;
    let mut bench = command(target("bench/release/larder-bench"));
    bench
        .args(["run", "--larder"])
        .arg(target("release/larder"))
        .arg("--guests")
        .arg(target("guests"))
        .arg("--fixtures")
        .arg(root().join("host/tests/fixtures/0.1.0"))
        .arg("--scratch")
        .arg(target("bench/scratch"))
        .arg("--large")
        .arg(large)
        .args(&words);
    if rooms {
        bench.arg("--rooms").arg(target("criterion")).arg("--bare").arg(built_rooms()?);
    }
    // Not by way of an output: what it prints is what was asked for.
    let status = bench.status().context("larder-bench")?;
    ensure!(status.success(), "larder-bench ended with {status}");
    Ok(())
}

/// The program of the inner rooms. Its name has a hash in it, which cargo alone knows.
fn built_rooms() -> Result<PathBuf> {
    let words = ["bench", "--package", "larder", "--bench", "micro", "--no-run", "--message-format", "json"];
    let told = stdout_of(&mut cargo(&words))?;
    let mut programs = told.lines().filter_map(|line| {
        let artifact: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = artifact["target"]["name"] == "micro";
        artifact["executable"].as_str().filter(|_| is_it).map(PathBuf::from)
    });
    programs.next().context("cargo did not say where the inner rooms are")
}

/// The guest that knows its revision, as a debug build leaves it.
fn large(output: &Output) -> Result<PathBuf> {
    let manifest = "host/tests/guests/Cargo.toml";
    let build = ["build", "--manifest-path", manifest, "--example", LARGE, "--target", plugins::TARGET];
    output.run(&mut cargo(&build))?;
    let built = root().join("host/tests/guests/target").join(plugins::TARGET).join("debug/examples");
    Ok(built.join(format!("{LARGE}.wasm")))
}
