//! Waits for a condition.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

/// Longer than a build of a project and a compilation of its component take on a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(300);
/// The shortest and the longest pause between two checks.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_secs(1)];

/// Waits for a condition and returns how long it took. The pauses become longer, because a check may start a program.
pub(crate) fn wait_for(
    what: &str,
    mut condition: impl FnMut() -> Result<bool>,
) -> Result<Duration> {
    let start = Instant::now();
    while !condition()? {
        ensure!(
            start.elapsed() < TIMEOUT,
            "timed out after {TIMEOUT:?}: {what}"
        );
        thread::sleep((start.elapsed() / 10).clamp(PAUSES[0], PAUSES[1]));
    }
    Ok(start.elapsed())
}
