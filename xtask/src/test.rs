//! Runs steps, up to two at a time if at least one of them is light. Prints one line with the time of each
//! step and writes its output to a log. Failed steps are printed again at the end, where they are easy to find.

use std::process::ExitCode;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::run::{create_new_state, free_disk_gib, in_ci};
use crate::step::{Step, Weight};
use crate::step_process::{self, Status, StepResult};
use crate::steps::{RELEASE_STEPS, STEPS, all_steps};
use crate::timings;

/// The name that selects the steps of a release.
const RELEASE: &str = "release";
const FLAGS: [&str; 3] = ["--list", "--fail-fast", "--timings"];

/// Runs the named steps, or all steps that protect a change. A name selects a step, or all steps with this prefix, such
/// as `clients`; `release` selects the steps of a release.
pub(crate) fn run(args: &[&str]) -> Result<ExitCode> {
    let (flags, names): (Vec<&str>, Vec<&str>) = args.iter().partition(|arg| arg.starts_with('-'));
    if let Some(unknown) = flags.iter().find(|flag| !FLAGS.contains(*flag)) {
        bail!("unknown flag {unknown}; use one of {}", FLAGS.join(", "));
    }
    let steps = select_steps(&names)?;
    if flags.contains(&"--list") {
        for step in steps {
            println!("{:<26} {}", step.name, step.about);
        }
        return Ok(ExitCode::SUCCESS);
    }
    warn_about_disk_space();
    create_new_state()?;
    let schedule = Schedule::new(steps, flags.contains(&"--fail-fast"));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| schedule.work());
        }
    });
    let results = schedule.into_results();
    timings::write(&results)?;
    if flags.contains(&"--timings") || in_ci() {
        println!("\n{}", timings::table(&results));
    }
    Ok(summary(&results))
}

/// All steps write about this much into `target/` of a clean clone.
const NEEDED_DISK_GIB: u64 = 15;

/// A full disk fails steps with unrelated messages, so it is reported before the first one.
fn warn_about_disk_space() {
    if let Some(free) = free_disk_gib().filter(|free| *free < NEEDED_DISK_GIB) {
        println!(
            "warning: {free} GiB of disk space are free; all steps need about {NEEDED_DISK_GIB} GiB"
        );
    }
}

/// Number of steps that run at the same time.
const WORKERS: usize = 2;

/// The pending and running steps, and the results of the other steps.
struct Schedule {
    state: Mutex<State>,
    changed: Condvar,
    fail_fast: bool,
}

struct State {
    pending: Vec<&'static Step>,
    running: Vec<&'static Step>,
    results: Vec<StepResult>,
}

impl Schedule {
    fn new(steps: Vec<&'static Step>, fail_fast: bool) -> Self {
        let state = State {
            pending: steps,
            running: Vec::new(),
            results: Vec::new(),
        };
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            fail_fast,
        }
    }

    /// Runs one step after another until none is pending.
    fn work(&self) {
        while let Some((step, unmet)) = self.take() {
            let result = run_step(step, unmet);
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if self.fail_fast && matches!(result.status, Status::Failed) {
                state.pending.clear();
            }
            state.running.retain(|running| running.name != step.name);
            state.results.push(result);
            self.changed.notify_all();
        }
    }

    /// Waits for the next step that can start. Also returns the reason to skip it if a prerequisite did not
    /// pass.
    fn take(&self) -> Option<(&'static Step, Option<String>)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.pending.is_empty() {
                return None;
            }
            if let Some(at) = state.pending.iter().position(|step| state.is_ready(step)) {
                let step = state.pending.remove(at);
                state.running.push(step);
                return Some((step, unmet(step, &state.results)));
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn into_results(self) -> Vec<StepResult> {
        self.state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .results
    }
}

impl State {
    fn is_ready(&self, step: &Step) -> bool {
        let is_pending = |name: &&str| {
            self.pending
                .iter()
                .chain(&self.running)
                .any(|other| other.name == *name)
        };
        let is_heavy = |step: &Step| step.weight == Weight::Heavy;
        let is_blocked = is_heavy(step) && self.running.iter().any(|running| is_heavy(running));
        !is_blocked && !step.needs.iter().any(is_pending)
    }
}

/// The reason to skip a step if one of its prerequisites did not pass.
fn unmet(step: &Step, results: &[StepResult]) -> Option<String> {
    let is_unmet = |result: &&StepResult| {
        step.needs.contains(&result.step) && !matches!(result.status, Status::Passed)
    };
    results.iter().find(is_unmet).map(skip_reason)
}

/// Why a step is skipped that needs the step with this result. A failure has already been reported, so it is not
/// repeated.
fn skip_reason(result: &StepResult) -> String {
    match result.status {
        Status::Failed => format!("needs {}, which failed", result.step),
        _ => format!(
            "needs {}: {}",
            result.step,
            result.note.trim_start_matches("needs ")
        ),
    }
}

/// Runs a step and prints its result.
fn run_step(step: &'static Step, unmet: Option<String>) -> StepResult {
    let start = Instant::now();
    let mut result = match unmet {
        Some(unmet) => StepResult::new(step.name, Status::Skipped, unmet),
        None => step_process::run_in_process(step),
    };
    result.wall_time = start.elapsed();
    let label = match result.status {
        Status::Passed => "ok",
        Status::Skipped => "skipped",
        Status::Failed => "FAILED",
    };
    print_log(&result.log_end);
    println!(
        "{:<26} {label:<8} {:>7}  {}",
        step.name,
        seconds(result.wall_time),
        result.note
    );
    result
}

fn print_log(lines: &str) {
    for line in lines.lines() {
        println!("  | {line}");
    }
}

fn summary(results: &[StepResult]) -> ExitCode {
    let count =
        |is: fn(&Status) -> bool| results.iter().filter(|result| is(&result.status)).count();
    let failed = count(|status| matches!(status, Status::Failed));
    let passed = count(|status| matches!(status, Status::Passed));
    let skipped = count(|status| matches!(status, Status::Skipped));
    for result in results
        .iter()
        .filter(|result| matches!(result.status, Status::Failed))
    {
        print_failure(result);
    }
    println!("\n{passed} passed, {failed} failed, {skipped} skipped");
    for line in results.iter().filter_map(failure_line) {
        println!("{line}");
    }
    ExitCode::from(u8::from(failed > 0))
}

/// Prints a failed step again, with less of its log.
fn print_failure(result: &StepResult) {
    println!("\nfailed: {}: {}", result.step, result.note);
    print_log(&step_process::last_lines(&result.log_end, 80));
}

/// The name of a failed step and the start of its error, for the last lines of a log that is shown in part.
fn failure_line(result: &StepResult) -> Option<String> {
    let Status::Failed = result.status else {
        return None;
    };
    let note: String = result.note.chars().take(300).collect();
    Some(format!("failed: {}: {note}", result.step))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// Selects steps by name or prefix, with their prerequisites, in the order of the lists.
fn select_steps(names: &[&str]) -> Result<Vec<&'static Step>> {
    let matches = |step: &Step, name: &str| {
        step.name
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let mut selected: Vec<&str> = Vec::new();
    for name in names {
        let found: Vec<&str> = match *name {
            RELEASE => RELEASE_STEPS.iter().map(|step| step.name).collect(),
            name => all_steps()
                .filter(|step| matches(step, name))
                .map(|step| step.name)
                .collect(),
        };
        if found.is_empty() {
            bail!("unknown step {name}; run `cargo xtask test --list`");
        }
        selected.extend(found);
    }
    if names.is_empty() {
        selected.extend(STEPS.iter().map(|step| step.name));
    }
    // A prerequisite precedes the steps that need it.
    for step in all_steps().rev() {
        if selected.contains(&step.name) {
            selected.extend(step.needs);
        }
    }
    Ok(all_steps()
        .filter(|step| selected.contains(&step.name))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], expected: &str) {
        let steps = select_steps(names)
            .map(|steps| steps.iter().map(|s| s.name).collect::<Vec<_>>().join(" "));
        assert_eq!(steps.unwrap_or_else(|error| error.to_string()), expected);
    }

    #[test]
    fn selects_steps_by_name_or_prefix_with_their_prerequisites() {
        check(&["fmt"], "fmt");
        check(&["rustdoc", "fmt"], "fmt rustdoc");
        check(
            &["release"],
            "plugins host guests author-tools first-command rustdoc crates features-alone lints platforms aarch64 mdbook \
             packaging-archive packaging-deb packaging-homebrew packaging-wrappers packaging-registries packaging-mcpb \
             simulations wkg",
        );
        check(&["clients-python"], "plugins host python clients-python");
        check(
            &["conformance"],
            "plugins host node conformance-0.1 conformance-0.2-2025 conformance-0.2-2026 conformance-0.2-skills",
        );
        check(
            &["clint"],
            "unknown step clint; run `cargo xtask test --list`",
        );
    }

    #[test]
    fn prerequisites_come_first_in_the_list() {
        for (at, step) in all_steps().enumerate() {
            for need in step.needs {
                let is_earlier = all_steps().take(at).any(|other| other.name == *need);
                assert!(is_earlier, "{} needs {need}", step.name);
            }
        }
    }

    #[test]
    fn heavy_steps_run_one_at_a_time_and_after_their_prerequisites() {
        let step = |name: &str| all_steps().find(|step| step.name == name).unwrap();
        let mut state = State {
            pending: vec![step("clippy"), step("node"), step("demo")],
            running: vec![step("plugins")],
            results: vec![],
        };
        let ready = |state: &State| {
            state
                .pending
                .iter()
                .filter(|step| state.is_ready(step))
                .map(|step| step.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(ready(&state), ["node"]);
        state.running = vec![step("node")];
        assert_eq!(ready(&state), ["clippy", "node", "demo"]);
        state.running = vec![step("rustdoc")];
        assert_eq!(ready(&state), ["node", "demo"]);
    }

    #[test]
    fn skips_a_step_whose_prerequisite_did_not_pass() {
        static STEP: Step = Step {
            name: "x",
            about: "",
            weight: Weight::Light,
            needs: &["node"],
            run: |_| bail!("must not run"),
        };
        let check = |status, note: &str, expected: &str| {
            let need = StepResult::new("node", status, note.into());
            let result = run_step(&STEP, unmet(&STEP, &[need]));
            assert!(matches!(result.status, Status::Skipped));
            assert_eq!(result.note, expected);
        };
        check(
            Status::Skipped,
            "Node is not installed: get it",
            "needs node: Node is not installed: get it",
        );
        check(Status::Skipped, "needs y: no y", "needs node: y: no y");
        check(
            Status::Failed,
            "long (in a log)",
            "needs node, which failed",
        );
    }
}
