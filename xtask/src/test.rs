//! Runs steps, two at a time where one of them is light; each has a line, its time, and a log.

use std::process::ExitCode;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::run::Output;
use crate::step::{Outcome, Step, Weight};
use crate::steps::STEPS;

/// Runs the steps that the words name: all of them, a step, or all of a kind, such as `clients`.
pub(crate) fn run(words: &[&str]) -> Result<ExitCode> {
    let (flags, names): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    if let Some(unknown) = flags.iter().find(|flag| !["--list", "--fail-fast"].contains(*flag)) {
        bail!("unknown flag {unknown}; there are --list and --fail-fast");
    }
    let chosen = chosen(&names)?;
    if flags.contains(&"--list") {
        chosen.iter().for_each(|step| println!("{:<26} {}", step.name, step.about));
        return Ok(ExitCode::SUCCESS);
    }
    let schedule = Schedule::new(chosen, flags.contains(&"--fail-fast"));
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| schedule.work());
        }
    });
    Ok(summary(&schedule.into_ended()))
}

/// Steps that run at the same time.
const WORKERS: usize = 2;

/// Which steps are still to run, which are running, and how the others ended.
struct Schedule {
    state: Mutex<State>,
    changed: Condvar,
    fail_fast: bool,
}

struct State {
    waiting: Vec<&'static Step>,
    running: Vec<&'static Step>,
    ended: Vec<Ended>,
}

impl Schedule {
    fn new(steps: Vec<&'static Step>, fail_fast: bool) -> Self {
        let state = State { waiting: steps, running: Vec::new(), ended: Vec::new() };
        Self { state: Mutex::new(state), changed: Condvar::new(), fail_fast }
    }

    /// Runs one step after the other, until none is left.
    fn work(&self) {
        while let Some((step, unmet)) = self.take() {
            let ended = one(step, unmet);
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if self.fail_fast && matches!(ended.end, End::Failed) {
                state.waiting.clear();
            }
            state.running.retain(|running| running.name != step.name);
            state.ended.push(ended);
            self.changed.notify_all();
        }
    }

    /// The next step that can run, and why it cannot if a step that it needs did not pass.
    fn take(&self) -> Option<(&'static Step, Option<String>)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.waiting.is_empty() {
                return None;
            }
            if let Some(at) = state.waiting.iter().position(|step| state.is_ready(step)) {
                let step = state.waiting.remove(at);
                state.running.push(step);
                return Some((step, unmet(step, &state.ended)));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn into_ended(self) -> Vec<Ended> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).ended
    }
}

impl State {
    fn is_ready(&self, step: &Step) -> bool {
        let is_pending =
            |name: &&str| self.waiting.iter().chain(&self.running).any(|other| other.name == *name);
        let is_heavy = |step: &Step| step.weight == Weight::Heavy;
        !step.needs.iter().any(|need| is_pending(&need))
            && !(is_heavy(step) && self.running.iter().any(|running| is_heavy(running)))
    }
}

enum End {
    Passed,
    Skipped,
    Failed,
}

/// How a step ended, and what there is to tell.
struct Ended {
    step: &'static str,
    end: End,
    note: String,
}

impl Ended {
    /// What one that needs this says; who was told of a failure knows where to look.
    fn unmet(&self) -> String {
        match self.end {
            End::Failed => format!("needs {}, which failed", self.step),
            _ => format!("needs {}: {}", self.step, self.note.trim_start_matches("needs ")),
        }
    }
}

/// Why a step cannot run, if a step that it needs did not pass.
fn unmet(step: &Step, ended: &[Ended]) -> Option<String> {
    let is_unmet = |one: &&Ended| step.needs.contains(&one.step) && !matches!(one.end, End::Passed);
    ended.iter().find(is_unmet).map(Ended::unmet)
}

/// Runs a step, and prints how it went.
fn one(step: &'static Step, unmet: Option<String>) -> Ended {
    let start = Instant::now();
    let (end, note) = match unmet {
        Some(unmet) => (End::Skipped, unmet),
        None => logged(step),
    };
    let word = match end {
        End::Passed => "ok",
        End::Skipped => "skipped",
        End::Failed => "FAILED",
    };
    println!("{:<26} {word:<8} {:>7}  {note}", step.name, seconds(start.elapsed()));
    Ended { step: step.name, end, note }
}

fn logged(step: &Step) -> (End, String) {
    let ran = Output::log(step.name).and_then(|output| {
        let outcome = (step.run)(&output);
        if outcome.is_err() {
            print!("{}", tail(&output.written()));
        }
        outcome
    });
    match ran {
        Ok(Outcome::Passed) => (End::Passed, String::new()),
        Ok(Outcome::Noted(note)) => (End::Passed, note),
        Ok(Outcome::Skipped(reason)) => (End::Skipped, reason),
        Err(error) => (End::Failed, format!("{error:#} (all of it in target/xtask/{}.log)", step.name)),
    }
}

/// The end of a log, where the reason is.
fn tail(log: &str) -> String {
    const LINES: usize = 300;
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LINES)..].iter().map(|line| format!("  | {line}\n")).collect()
}

fn summary(ended: &[Ended]) -> ExitCode {
    let count = |is: fn(&End) -> bool| ended.iter().filter(|one| is(&one.end)).count();
    let failed = count(|end| matches!(end, End::Failed));
    let (passed, skipped) = (count(|e| matches!(e, End::Passed)), count(|e| matches!(e, End::Skipped)));
    println!("\n{passed} passed, {failed} failed, {skipped} skipped");
    ExitCode::from(u8::from(failed > 0))
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// In the order of the table, with what they need.
fn chosen(names: &[&str]) -> Result<Vec<&'static Step>> {
    let of_kind = |step: &Step, name: &str| {
        step.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    if let Some(name) = names.iter().find(|name| !STEPS.iter().any(|step| of_kind(step, name))) {
        bail!("no step {name}; `cargo xtask test --list` names them");
    }
    let mut wanted: Vec<&Step> = STEPS
        .iter()
        .filter(|step| names.is_empty() || names.iter().any(|name| of_kind(step, name)))
        .collect();
    for step in STEPS.iter().rev() {
        if wanted.iter().any(|other| other.needs.contains(&step.name)) {
            wanted.push(step);
        }
    }
    Ok(STEPS.iter().filter(|step| wanted.iter().any(|other| other.name == step.name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(names: &[&str], expected: &str) {
        let steps = chosen(names).map(|steps| steps.iter().map(|s| s.name).collect::<Vec<_>>().join(" "));
        assert_eq!(steps.unwrap_or_else(|error| error.to_string()), expected);
    }

    #[test]
    fn steps_are_chosen_by_name_or_kind_and_bring_what_they_need() {
        check(&["fmt"], "fmt");
        check(&["doc", "fmt"], "fmt doc");
        check(&["clients-python"], "plugins host python clients-python");
        check(
            &["conformance"],
            "plugins host node conformance-0.1 conformance-0.2-2025 conformance-0.2-2026",
        );
        check(&["clint"], "no step clint; `cargo xtask test --list` names them");
    }

    #[test]
    fn a_step_comes_after_what_it_needs() {
        for (at, step) in STEPS.iter().enumerate() {
            for need in step.needs {
                assert!(STEPS[..at].iter().any(|other| other.name == *need), "{} needs {need}", step.name);
            }
        }
    }

    #[test]
    fn heavy_steps_run_one_at_a_time_and_after_what_they_need() {
        let step = |name: &str| STEPS.iter().find(|step| step.name == name).unwrap();
        let mut state = State {
            waiting: vec![step("clippy"), step("node"), step("demo")],
            running: vec![step("plugins")],
            ended: vec![],
        };
        let ready = |state: &State| {
            state.waiting.iter().filter(|step| state.is_ready(step)).map(|step| step.name).collect::<Vec<_>>()
        };
        assert_eq!(ready(&state), ["node"]);
        state.running = vec![step("node")];
        assert_eq!(ready(&state), ["clippy", "node", "demo"]);
        state.running = vec![step("doc")];
        assert_eq!(ready(&state), ["node", "demo"]);
    }

    #[test]
    fn a_step_whose_need_did_not_pass_is_skipped() {
        static STEP: Step = Step {
            name: "x",
            about: "",
            weight: Weight::Light,
            needs: &["node"],
            run: |_| bail!("it must not run"),
        };
        let check = |end, note: &str, expected: &str| {
            let met = one(&STEP, unmet(&STEP, &[Ended { step: "node", end, note: note.into() }]));
            assert!(matches!(met.end, End::Skipped));
            assert_eq!(met.note, expected);
        };
        check(End::Skipped, "Node is not installed: get it", "needs node: Node is not installed: get it");
        check(End::Skipped, "needs y: no y", "needs node: y: no y");
        check(End::Failed, "long (in a log)", "needs node, which failed");
    }
}
