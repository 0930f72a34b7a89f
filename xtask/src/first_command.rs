//! The first command of the README on a clean clone, as a new user runs it. The limit applies to CPU time, because CPU
//! time depends less on other work of the machine than wall time does. A machine that is slower than the reference
//! machine of the limit gets more time. The two machines are compared by the time for compiling xtask, which is
//! compiled first.

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::cpu_time::cpu_time;
use crate::run::{Output, cargo, in_ci, target};
use crate::step::Outcome;

/// The limit on a machine on which xtask takes no more than `XTASK_CPU_TIME`.
const MAX_CPU_TIME: Duration = Duration::from_secs(15 * 60);
const XTASK_CPU_TIME: Duration = Duration::from_secs(25);

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    if !in_ci() {
        return Ok(Outcome::Skipped(
            "it compiles everything again; run it with CI=true".to_owned(),
        ));
    }
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
