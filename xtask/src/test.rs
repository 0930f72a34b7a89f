//! Runs steps one after the other, each with a line, its time, and a log.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::run::Output;
use crate::steps::STEPS;

/// How a step ended, if not with an error.
pub(crate) enum Outcome {
    Passed,
    /// Passed, and there is something to tell.
    Noted(String),
    /// For this reason.
    Skipped(String),
}

pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Steps that go before; where one did not pass, this one is skipped.
    pub(crate) needs: &'static [&'static str],
    pub(crate) run: fn(&Output) -> Result<Outcome>,
}

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
    let mut ended: Vec<Ended> = Vec::new();
    for step in &chosen {
        let end = one(step, &ended);
        let stop = matches!(end.end, End::Failed) && flags.contains(&"--fail-fast");
        ended.push(end);
        if stop {
            break;
        }
    }
    Ok(summary(&ended))
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

/// Runs a step, and says how it went.
fn one(step: &'static Step, ended: &[Ended]) -> Ended {
    let unmet = |one: &&Ended| step.needs.contains(&one.step) && !matches!(one.end, End::Passed);
    let start = Instant::now();
    let (end, note) = match ended.iter().find(unmet) {
        Some(need) => (End::Skipped, need.unmet()),
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
    fn a_step_whose_need_did_not_pass_is_skipped() {
        static STEP: Step =
            Step { name: "x", about: "", needs: &["node"], run: |_| bail!("it must not run") };
        let check = |end, note: &str, expected: &str| {
            let met = one(&STEP, &[Ended { step: "node", end, note: note.into() }]);
            assert!(matches!(met.end, End::Skipped));
            assert_eq!(met.note, expected);
        };
        check(End::Skipped, "Node is not installed: get it", "needs node: Node is not installed: get it");
        check(End::Skipped, "needs y: no y", "needs node: y: no y");
        check(End::Failed, "long (in a log)", "needs node, which failed");
    }
}
