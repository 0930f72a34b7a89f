//! `cargo xtask fuzz`: builds the fuzz targets in `fuzz/`, runs them, and keeps the inputs that reach new code. The
//! stable toolchain is sufficient: libFuzzer needs only the coverage instrumentation that `fuzz/rustc.sh` adds.

#[path = "../../fuzz/corpus_file.rs"]
mod corpus_file;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::run::{Output, cargo, command, root, target};

/// The targets, with the size of their largest input in bytes.
const TARGETS: &[(&str, u32)] = &[
    ("json_rpc", 2048),
    ("http_head", 2048),
    ("uri_template", 512),
    ("json_schema", 2048),
    ("cursor", 512),
    ("wit_conversion", 512),
    ("grant_request", 1024),
    ("signature", 8192),
    ("registry_token", 1024),
];
/// How long a target runs by default.
const SECONDS: &str = "120";
/// An input that takes longer counts as an error.
const TIMEOUT: &str = "-timeout=10";
const MEMORY: &str = "-rss_limit_mb=2048";
/// The corpora are a part of the repository.
const MAX_CORPORA: u64 = 1 << 20;

/// Runs the named targets. Without names, runs all targets.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let (names, seconds) = parse(args)?;
    let output = Output::log("fuzz")?;
    eprintln!("building (the log is target/xtask/fuzz.log)");
    let mut build = cargo(&[
        "build",
        "--release",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--target-dir",
    ]);
    build
        .arg(target("fuzz"))
        .env("RUSTC_WRAPPER", root().join("fuzz/rustc.sh"));
    output.run(&mut build)?;
    let selected = TARGETS
        .iter()
        .filter(|(name, _)| names.is_empty() || names.contains(name));
    let failed: Vec<_> = selected
        .filter_map(|(name, size)| fuzz(name, *size, seconds).err())
        .map(|e| e.to_string())
        .collect();
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    let size = corpora_size()?;
    ensure!(
        size <= MAX_CORPORA,
        "the corpora have {size} bytes; the limit is {MAX_CORPORA}"
    );
    println!("the corpora have {} KiB", size >> 10);
    Ok(())
}

fn parse<'a>(args: &[&'a str]) -> Result<(Vec<&'a str>, &'a str)> {
    let (mut names, mut seconds, mut args) = (vec![], SECONDS, args.iter());
    while let Some(arg) = args.next() {
        match *arg {
            "--seconds" => seconds = args.next().context("--seconds needs a number")?,
            name if TARGETS.iter().any(|(target, _)| *target == name) => names.push(name),
            other => {
                let known: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
                bail!(
                    "unknown target {other}; the targets are {}",
                    known.join(", ")
                );
            }
        }
    }
    ensure!(
        seconds.parse::<u32>().is_ok(),
        "`{seconds}` is not a number of seconds"
    );
    Ok((names, seconds))
}

/// Fuzzes a target, starting from its corpus and from the inputs of earlier runs. Adds the inputs that reach new code
/// to the corpus. An input that fails is also stored in the corpus, so that the tests fail until the error is fixed.
fn fuzz(name: &str, max_size: u32, seconds: &str) -> Result<()> {
    let inputs = unpack(name)?;
    // This folder has many more inputs than the corpus, because libFuzzer distinguishes how often code runs.
    let found = target("fuzz/found").join(name);
    fs::create_dir_all(&found)?;
    eprintln!("fuzzing {name} for {seconds} s");
    let mut run = libfuzzer(name, max_size);
    run.arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", inputs.display()));
    // The report is on stderr, and ends with the statistics.
    let status = run
        .args(["-print_final_stats=1"])
        .arg(&found)
        .arg(&inputs)
        .status()?;
    if !status.success() {
        pack(name, &inputs)?;
        bail!("{name}: an input fails; it is stored in fuzz/corpus/{name}.txt");
    }
    let mut merge = libfuzzer(name, max_size);
    merge
        .args(["-set_cover_merge=1", "-use_counters=0"])
        .arg(&inputs)
        .arg(&found);
    let merged = merge
        .output()
        .with_context(|| format!("cannot merge the corpus of {name}"))?;
    ensure!(
        merged.status.success(),
        "{name}: merging failed: {}",
        String::from_utf8_lossy(&merged.stderr)
    );
    println!("{name}: {} inputs in its corpus", pack(name, &inputs)?);
    Ok(())
}

/// The corpus of a target, which is a part of the repository.
fn corpus(name: &str) -> PathBuf {
    root().join("fuzz/corpus").join(format!("{name}.txt"))
}

/// Writes each input of a corpus to a file of its own, as libFuzzer reads inputs. Returns the folder of the files.
fn unpack(name: &str) -> Result<PathBuf> {
    let folder = target("fuzz/inputs").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let file = corpus(name);
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    for (line, input) in (1..).zip(corpus_file::inputs(&text)) {
        let input =
            input.with_context(|| format!("{}:{line} is not a valid input", file.display()))?;
        fs::write(folder.join(format!("{line}")), input)?;
    }
    Ok(folder)
}

/// Writes the inputs in a folder to the corpus of a target, sorted, so that new inputs are visible in a diff. Returns
/// the number of inputs.
fn pack(name: &str, folder: &Path) -> Result<usize> {
    let mut lines = Vec::new();
    for file in fs::read_dir(folder)? {
        let input = fs::read(file?.path())?;
        lines.push(format!("{}\n", input.escape_ascii()));
    }
    lines.sort();
    lines.dedup();
    fs::write(corpus(name), lines.concat())?;
    Ok(lines.len())
}

fn libfuzzer(name: &str, max_size: u32) -> Command {
    let mut program = command(target("fuzz/release").join(name));
    program
        .args([TIMEOUT, MEMORY])
        .arg(format!("-max_len={max_size}"));
    program
}

fn corpora_size() -> Result<u64> {
    let mut size = 0;
    for (name, _) in TARGETS {
        size += fs::metadata(corpus(name))?.len();
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_options() {
        assert_eq!(parse(&[]).unwrap(), (vec![], "120"));
        assert_eq!(
            parse(&["cursor", "--seconds", "5"]).unwrap(),
            (vec!["cursor"], "5")
        );
        assert!(parse(&["cursors"]).is_err() && parse(&["--seconds", "x"]).is_err());
    }

    #[test]
    fn a_corpus_is_the_same_after_unpacking_and_packing() {
        for (name, _) in TARGETS {
            let text = fs::read_to_string(corpus(name)).unwrap();
            let lines = corpus_file::inputs(&text)
                .map(|input| format!("{}\n", input.unwrap().escape_ascii()));
            assert_eq!(lines.collect::<String>(), text, "{name}");
        }
        let all: Vec<u8> = (0..=u8::MAX).collect();
        let escaped = all.escape_ascii().to_string();
        assert_eq!(
            corpus_file::inputs(&escaped).collect::<Vec<_>>(),
            [Some(all)]
        );
        for invalid in ["\\", "\\x", "\\x1", "\\xg0"] {
            assert_eq!(
                corpus_file::inputs(invalid).collect::<Vec<_>>(),
                [None],
                "{invalid}"
            );
        }
    }

    #[test]
    fn every_target_has_a_program_and_a_small_corpus() {
        for (name, _) in TARGETS {
            let program = root().join("fuzz/targets").join(format!("{name}.rs"));
            assert!(program.exists(), "{}", program.display());
        }
        assert!(corpora_size().unwrap() <= MAX_CORPORA);
    }
}
