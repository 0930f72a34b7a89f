//! The first command of the README, from nothing, as somebody runs it who does not know Larder yet. The bound is on CPU
//! time, which depends less than the wall time on what else the machine does.

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::cpu_time::cpu_time;
use crate::run::{Output, cargo, in_ci, target};
use crate::step::Outcome;

const MAX_CPU_TIME: Duration = Duration::from_secs(15 * 60);

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    if !in_ci() {
        return Ok(Outcome::Skipped("it compiles everything again; run it with CI=true".to_owned()));
    }
    let folder = target("first-command");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let mut demo = cargo(&["run", "--package", "xtask", "--target-dir"]);
    demo.arg(&folder).args(["--", "demo", "--check", "--folder"]).arg(&folder);
    output.run(&mut demo)?;
    // A step is a process of its own, and this one starts nothing else.
    let used = cpu_time()?;
    let note = format!("{:.1} CPU-minutes", used.as_secs_f64() / 60.0);
    ensure!(used <= MAX_CPU_TIME, "`cargo xtask demo` needs {note}; the limit is {MAX_CPU_TIME:?}");
    fs::remove_dir_all(&folder)?;
    Ok(Outcome::PassedWithNote(note))
}
