//! The wall time and the CPU time of each step, and how many crates the step compiled.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use anyhow::Result;

use crate::run::target;
use crate::step_process::StepResult;

/// Writes the figures of a run to `target/xtask/timings.tsv`.
pub(crate) fn write(results: &[StepResult]) -> Result<()> {
    let mut text = String::from("step\twall seconds\tCPU seconds\tcompiled crates\n");
    for result in results {
        let wall = result.wall_time.as_secs_f64();
        let cpu = result
            .cpu_time
            .map_or_else(String::new, |time| format!("{:.1}", time.as_secs_f64()));
        writeln!(
            text,
            "{}\t{wall:.1}\t{cpu}\t{}",
            result.step, result.compiled
        )?;
    }
    fs::create_dir_all(target("xtask"))?;
    Ok(fs::write(target("xtask/timings.tsv"), text)?)
}

/// A table of the figures, with the step that used the most CPU time first.
pub(crate) fn table(results: &[StepResult]) -> String {
    let mut sorted: Vec<&StepResult> = results.iter().collect();
    sorted.sort_by_key(|result| std::cmp::Reverse(result.cpu_time.unwrap_or(result.wall_time)));
    let mut lines = vec![format!(
        "{:<30} {:>8} {:>8} {:>9}",
        "step", "wall", "CPU", "compiled"
    )];
    for result in &sorted {
        lines.push(line(
            result.step,
            Some(result.wall_time),
            result.cpu_time,
            result.compiled,
        ));
    }
    let cpu_time: Duration = sorted.iter().filter_map(|result| result.cpu_time).sum();
    let compiled = sorted.iter().map(|result| result.compiled).sum();
    lines.push(line("all", None, Some(cpu_time), compiled));
    lines.join("\n")
}

fn line(name: &str, wall: Option<Duration>, cpu: Option<Duration>, compiled: usize) -> String {
    let seconds = |time: Option<Duration>| {
        time.map_or_else(String::new, |time| format!("{:.1} s", time.as_secs_f64()))
    };
    format!(
        "{name:<30} {:>8} {:>8} {compiled:>9}",
        seconds(wall),
        seconds(cpu)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step_process::Status;

    #[test]
    fn the_most_expensive_step_comes_first() {
        let result = |step, cpu| StepResult {
            wall_time: Duration::from_secs(2),
            cpu_time: Some(Duration::from_secs(cpu)),
            compiled: 3,
            ..StepResult::new(step, Status::Passed, String::new())
        };
        let table = table(&[result("a", 1), result("b", 5)]);
        let lines: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(lines[1], ["b", "2.0", "s", "5.0", "s", "3"]);
        assert_eq!(lines[3], ["all", "6.0", "s", "6"]);
    }
}
