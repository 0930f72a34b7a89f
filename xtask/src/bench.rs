//! `cargo xtask bench`: builds optimised versions of all measured programs and runs the benchmark in `bench/`.

mod against;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use self::against::Against;
use crate::benchmark::{self, EXAMPLES, REVISIONS, benchmark};
use crate::languages::{self, LANGUAGES, revisions};
use crate::run::{Output, cargo, stdout_of, target, use_larder};
use crate::step::Outcome;
use crate::{dist, plugins};

/// A component with the size of a Rust provider that has a few dependencies and is not optimized for size.
const LARGE: &str = "revision";
/// The microbenchmarks.
const MICRO: [&str; 7] = [
    "bench",
    "--profile",
    dist::PROFILE,
    "--package",
    "larder",
    "--bench",
    "micro",
];

/// Passes all options on to the benchmark, except three: `--no-micro`, which skips the microbenchmarks; `--program`, which
/// names the measured program; and `--against`, whose value may be a commit.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let mut args = args.to_vec();
    let against = take_option(&mut args, "--against")?;
    let program = take_option(&mut args, "--program")?;
    let has = |options: &[&str]| options.iter().any(|option| args.contains(option));
    let is_partial = has(&[
        "--reads",
        "--languages",
        "--names",
        "--compilation",
        "--overload",
        "--floods",
    ]);
    let micro = !is_partial && !has(&["--no-micro"]);
    let has_examples = !is_partial || has(&["--languages", "--names", "--compilation"]);
    let has_revisions = !is_partial || has(&["--compilation"]);
    let has_bare = !is_partial || has(&["--reads", "--languages", "--compilation"]);
    let args: Vec<&str> = args
        .iter()
        .copied()
        .filter(|arg| *arg != "--no-micro")
        .collect();
    // The builds are logged to a file, so that stdout has only the report.
    let output = Output::log("bench")?;
    eprintln!("building (the log is target/xtask/bench.log)");
    benchmark::build(&output)?;
    let program = program.map_or_else(|| build_server(&output), find_program)?;
    if has_examples {
        let all = !is_partial || has(&["--languages", "--names"]);
        use_larder(program.clone());
        build_examples(
            &output,
            |language| all || revisions::exist_in(language),
            has_revisions,
        )?;
    }
    if micro {
        run_microbenchmarks(&output, args.contains(&"--quick"))?;
    }
    let large = build_large_component(&output)?;
    let mut bench = benchmark(&program);
    bench.arg("--large").arg(large).args(&args);
    if micro {
        bench.arg("--micro").arg(target("criterion"));
    }
    if let Some(against) = against {
        let against = Against::find(&output, against)?;
        bench.arg("--against").arg(against.program);
        if let Some(guests) = against.guests {
            bench.arg("--against-guests").arg(guests);
        }
    }
    if micro || has_bare {
        bench.arg("--bare").arg(micro_program()?);
    }
    // The output is not logged, because stdout is the report.
    let status = bench.status().context("larder-bench")?;
    ensure!(status.success(), "larder-bench ended with {status}");
    Ok(())
}

/// Builds the server. Returns the program.
fn build_server(output: &Output) -> Result<PathBuf> {
    output.run(&mut cargo(&[
        "build",
        "--profile",
        dist::PROFILE,
        "--package",
        "larder",
    ]))?;
    Ok(target(dist::PROFILE).join("larder"))
}

/// The absolute path of a program.
fn find_program(program: &str) -> Result<PathBuf> {
    Path::new(program)
        .canonicalize()
        .with_context(|| program.to_owned())
}

fn run_microbenchmarks(output: &Output, is_quick: bool) -> Result<()> {
    eprintln!("running the microbenchmarks");
    let mut bench = cargo(&MICRO);
    bench.arg("--");
    if is_quick {
        bench.args(["--warm-up-time", "0.3", "--measurement-time", "1"]);
    }
    output.run(&mut bench)
}

/// Removes an option with its value from the arguments. Returns the value.
fn take_option<'a>(args: &mut Vec<&'a str>, name: &str) -> Result<Option<&'a str>> {
    let Some(at) = args.iter().position(|arg| *arg == name) else {
        return Ok(None);
    };
    ensure!(at + 1 < args.len(), "{name} needs a value");
    let value = args.remove(at + 1);
    args.remove(at);
    Ok(Some(value))
}

/// Builds the example and its revisions in each of these languages whose tools are installed.
fn build_examples(
    output: &Output,
    is_needed: impl Fn(&str) -> bool,
    with_revisions: bool,
) -> Result<()> {
    let (examples, revisions) = (empty(EXAMPLES)?, empty(REVISIONS)?);
    for language in LANGUAGES.iter().filter(|language| is_needed(language.name)) {
        let name = language.name;
        if let Some(Outcome::Skipped(reason)) = (language.install_tools)(output)? {
            eprintln!("the example in {name} is skipped: {reason}");
            continue;
        }
        eprintln!("building the example in {name}");
        let built = languages::build_example(output, language)
            .with_context(|| format!("the example in {name}"))?;
        fs::copy(built, examples.join(format!("{name}.wasm")))?;
        if with_revisions {
            revisions::build(output, language, &revisions)?;
        }
    }
    Ok(())
}

/// An empty folder in `target/`.
fn empty(folder: &str) -> Result<PathBuf> {
    let folder = target(folder);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The path of the microbenchmark program. Its file name contains a hash, so cargo has to be called for it.
fn micro_program() -> Result<PathBuf> {
    let messages = stdout_of(cargo(&MICRO).args(["--no-run", "--message-format", "json"]))?;
    let mut programs = messages.lines().filter_map(|line| {
        let artifact: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_micro = artifact["target"]["name"] == "micro";
        artifact["executable"]
            .as_str()
            .filter(|_| is_micro)
            .map(PathBuf::from)
    });
    programs
        .next()
        .context("cargo did not report the microbenchmark program")
}

/// Builds the guest `revision` without optimisation, and with debug information.
fn build_large_component(output: &Output) -> Result<PathBuf> {
    let manifest = "host/tests/guests/Cargo.toml";
    let build = [
        "build",
        "--manifest-path",
        manifest,
        "--example",
        LARGE,
        "--target",
        plugins::TARGET,
        "--target-dir",
    ];
    let target = plugins::components_target();
    let mut build = cargo(&build);
    build
        .arg(&target)
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
        .env("CARGO_PROFILE_DEV_DEBUG", "true")
        .env("CARGO_PROFILE_DEV_DEBUG_ASSERTIONS", "true")
        .env("CARGO_PROFILE_DEV_STRIP", "none");
    output.run(&mut build)?;
    let built = target.join(plugins::TARGET).join("debug/examples");
    Ok(built.join(format!("{LARGE}.wasm")))
}
