//! Runs each step in a process of its own, so that the CPU time of all programs of the step is known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::cpu_time::cpu_time;
use crate::run::{self, Output, command, target};
use crate::step::{Outcome, Step};
use crate::steps::all_steps;

/// The command of `cargo xtask` that runs one step. Only this module uses it.
pub(crate) const COMMAND: &str = "run-step";
/// How many lines of the log of a failed step are printed.
const PRINTED_LINES: usize = 300;

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Passed,
    Skipped,
    Failed,
}

/// The result of a step, with a note for the user.
pub(crate) struct StepResult {
    pub(crate) step: &'static str,
    pub(crate) status: Status,
    pub(crate) note: String,
    /// The last lines of the log of a failed step.
    pub(crate) log_end: String,
    pub(crate) wall_time: Duration,
    /// The CPU time of the step and of all programs that it started; unknown outside of Linux.
    pub(crate) cpu_time: Option<Duration>,
    /// How many crates cargo compiled.
    pub(crate) compiled: usize,
}

impl StepResult {
    pub(crate) fn new(step: &'static str, status: Status, note: String) -> Self {
        Self {
            step,
            status,
            note,
            log_end: String::new(),
            wall_time: Duration::ZERO,
            cpu_time: None,
            compiled: 0,
        }
    }
}

/// Runs a step in a process, and reads its result.
pub(crate) fn run_in_process(step: &'static Step) -> StepResult {
    let mut result = run_process(step)
        .unwrap_or_else(|error| StepResult::new(step.name, Status::Failed, format!("{error:#}")));
    let log = fs::read(run::log_file(step.name)).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    result.compiled = log
        .lines()
        .filter(|line| line.trim_start().starts_with("Compiling "))
        .count();
    if result.status == Status::Failed {
        result.note = format!(
            "{} (full log in target/xtask/{}.log)",
            result.note, step.name
        );
        result.log_end = last_lines(&log, PRINTED_LINES);
    }
    result
}

fn run_process(step: &'static Step) -> Result<StepResult> {
    let file = result_file(step.name);
    if file.exists() {
        fs::remove_file(&file)?;
    }
    let exit = command(this_program()?)
        .args([COMMAND, step.name])
        .status()?;
    let result = fs::read_to_string(&file)
        .with_context(|| format!("the process of the step ended: {exit}"))?;
    let result: Value = serde_json::from_str(&result)?;
    let status = match result["status"].as_str() {
        Some("passed") => Status::Passed,
        Some("skipped") => Status::Skipped,
        _ => Status::Failed,
    };
    let note = result["note"].as_str().unwrap_or_default().to_owned();
    let cpu_time = result["cpu_milliseconds"]
        .as_u64()
        .map(Duration::from_millis);
    Ok(StepResult {
        cpu_time,
        ..StepResult::new(step.name, status, note)
    })
}

/// The path of this program, also if a step built another program at this path.
fn this_program() -> Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    if running.exists() {
        return Ok(running.to_owned());
    }
    Ok(std::env::current_exe()?)
}

/// The code in the process of the step: runs the step with this name, and writes its result.
pub(crate) fn run_here(name: &str) -> Result<ExitCode> {
    let step = all_steps()
        .find(|step| step.name == name)
        .with_context(|| format!("unknown step {name}"))?;
    run::use_state();
    let output = Output::log(step.name)?;
    let (status, note) = match (step.run)(&output) {
        Ok(Outcome::Passed) => ("passed", String::new()),
        Ok(Outcome::PassedWithNote(note)) => ("passed", note),
        Ok(Outcome::Skipped(reason)) => ("skipped", reason),
        Err(error) => ("failed", format!("{error:#}")),
    };
    let cpu_time = cpu_time().ok().map(|time| time.as_millis() as u64);
    let result = json!({ "status": status, "note": note, "cpu_milliseconds": cpu_time });
    fs::write(result_file(name), result.to_string())?;
    Ok(ExitCode::SUCCESS)
}

fn result_file(step: &str) -> PathBuf {
    target("xtask").join(format!("{step}.json"))
}

/// The last lines of a log, which usually contain the reason of a failure.
pub(crate) fn last_lines(log: &str, count: usize) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
