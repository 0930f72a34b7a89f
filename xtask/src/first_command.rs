//! The first command of the README on a clean clone, as a new user runs it. Each change is checked for the number of
//! crates that the command compiles, and a release for the CPU time of the command. The limit applies to CPU time,
//! because CPU time depends less on other work of the machine than wall time does. A machine that is slower than the
//! reference machine of the limit gets more time. The two machines are compared by the time for compiling xtask, which
//! is compiled first.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::cpu_time::cpu_time;
use crate::run::{Output, cargo, stdout_of, target};
use crate::step::Outcome;

/// The limit on a machine on which xtask takes no more than `XTASK_CPU_TIME`.
const MAX_CPU_TIME: Duration = Duration::from_secs(15 * 60);
const XTASK_CPU_TIME: Duration = Duration::from_secs(25);
/// The limit on the number of crates that the server of the demo consists of.
const MAX_CRATES: usize = 330;

/// Checks the number of crates, which the time of the first command depends on most.
pub(crate) fn check_crates(_: &Output) -> Result<Outcome> {
    let tree = stdout_of(&mut cargo(&[
        "tree",
        "--locked",
        "--package",
        "larder",
        "--no-default-features",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--no-dedupe",
        "--format",
        "{p}",
    ]))?;
    let crates: BTreeSet<&str> = tree.lines().filter(|line| !line.is_empty()).collect();
    let count = crates.len();
    ensure!(
        count <= MAX_CRATES,
        "the server without optional features consists of {count} crates, and the limit is {MAX_CRATES}: each crate \
         makes the first command slower, so make the new ones optional, or raise the limit and record why"
    );
    Ok(Outcome::PassedWithNote(format!("{count} crates")))
}

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    let folder = target("first-command");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    output.run(cargo(&["build", "--package", "xtask", "--target-dir"]).arg(&folder))?;
    // A step is a process of its own, and this step starts no other processes before.
    let of_xtask = cpu_time()?;
    let mut demo = cargo(&["run", "--package", "xtask", "--target-dir"]);
    demo.arg(&folder)
        .args(["--", "demo", "--check", "--folder"])
        .arg(&folder);
    output.run(&mut demo)?;
    let used = cpu_time()?;
    let limit = limit(of_xtask);
    let note = format!(
        "{} CPU-minutes, {} of them for xtask",
        minutes(used),
        minutes(of_xtask)
    );
    ensure!(
        used <= limit,
        "`cargo xtask demo` needs {note}; the limit is {}",
        minutes(limit)
    );
    fs::remove_dir_all(&folder)?;
    Ok(Outcome::PassedWithNote(note))
}

fn limit(of_xtask: Duration) -> Duration {
    let slowness = of_xtask.as_secs_f64() / XTASK_CPU_TIME.as_secs_f64();
    MAX_CPU_TIME.mul_f64(slowness.max(1.0))
}

fn minutes(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() / 60.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slower_machine_has_more_time() {
        assert_eq!(limit(XTASK_CPU_TIME / 2), MAX_CPU_TIME);
        assert_eq!(limit(XTASK_CPU_TIME * 2), MAX_CPU_TIME * 2);
    }
}
