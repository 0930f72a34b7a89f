//! The compiling process, seen from here: how it is started, what it is given, and what its end means.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};

use bytes::Bytes;
use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, Command};

use super::Config;
use crate::sandbox::child::{INVALID, SUBCOMMAND};
use crate::sandbox::compiled::Rejection;

/// More threads than this gain little, and each takes address space.
const THREADS: usize = 4;
/// Bytes of what it says that are looked at.
const SAID: u64 = 4 << 10;

/// Has a component compiled into this file. The process ends with this future.
pub(super) async fn compile(config: &Config, bytes: &Bytes, output: File) -> Result<(), Rejection> {
    match tokio::time::timeout(config.wall, run(config, bytes, output)).await {
        Ok(result) => result,
        Err(_) => Err(Rejection::Compiler(format!("it takes longer than {:?}", config.wall))),
    }
}

async fn run(config: &Config, bytes: &Bytes, output: File) -> Result<(), Rejection> {
    let started = command(config, bytes.len(), output).spawn();
    let mut child = started.map_err(|error| {
        Rejection::Compiler(format!("cannot start {}: {error}", config.program.display()))
    })?;
    let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
    // Its stdin stays open until it has ended: a process whose stdin ends is one that we left behind.
    let (_stdin, said, ended) = tokio::join!(feed(stdin, bytes), said(stderr), child.wait());
    match ended {
        Ok(status) => verdict(config, status, &said),
        Err(error) => Err(Rejection::Compiler(format!("cannot wait for the compiling process: {error}"))),
    }
}

fn command(config: &Config, size: usize, output: File) -> Command {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get().min(THREADS));
    let mut command = Command::new(&config.program);
    command
        .arg(SUBCOMMAND)
        .args(["--size", &size.to_string()])
        .args(["--memory", &config.memory.to_string()])
        .args(["--cpu", &config.cpu.as_secs().max(1).to_string()])
        .args(["--code", &config.code.to_string()])
        // Nothing of ours is any of its business, least of all secrets.
        .env_clear()
        .env("RAYON_NUM_THREADS", threads.to_string())
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(output)
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// A process that does not want all of it says so by its end.
async fn feed(stdin: Option<ChildStdin>, bytes: &Bytes) -> Option<ChildStdin> {
    let mut stdin = stdin?;
    let _ = stdin.write_all(bytes).await;
    Some(stdin)
}

/// The last line that it said of itself; the rest is read too, so that it never waits for us.
async fn said(stderr: Option<ChildStderr>) -> String {
    let Some(mut stderr) = stderr else { return String::new() };
    let mut said = Vec::new();
    let _ = (&mut stderr).take(SAID).read_to_end(&mut said).await;
    let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    last_line(&String::from_utf8_lossy(&said))
}

/// After a panic the language adds how to see more, which is nothing to whoever reads this.
fn last_line(said: &str) -> String {
    let said =
        said.lines().rev().find(|line| !line.trim().is_empty() && !line.starts_with("note: run with `RUST"));
    said.unwrap_or_default().chars().filter(|c| !c.is_control()).take(400).collect()
}

fn verdict(config: &Config, status: ExitStatus, said: &str) -> Result<(), Rejection> {
    let died = |why: String| Err(Rejection::Compiler(why));
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) if code == i32::from(INVALID) => Err(Rejection::Invalid(said.to_owned())),
        (_, Some(signal)) if signal == Signal::XCPU.as_raw() => {
            died(format!("it takes more than {:?} on a processor", config.cpu))
        }
        (_, Some(signal)) if signal == Signal::XFSZ.as_raw() => {
            died(format!("its code is larger than {} bytes", config.code))
        }
        (_, Some(signal)) if signal == Signal::ABORT.as_raw() => died(format!(
            "the compiling process gave up ({said}); it may use {} bytes of memory",
            config.memory
        )),
        _ if said.is_empty() => died(format!("the compiling process ended with {status}")),
        _ => died(format!("the compiling process ended with {status}: {said}")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sandbox::cache;

    fn config() -> Config {
        let cache = cache::Config { place: cache::Place::Temporary, size: 0, age: Duration::ZERO };
        let program = "larder".into();
        Config {
            program,
            cache,
            memory: 7,
            cpu: Duration::from_secs(2),
            wall: Duration::from_secs(3),
            code: 9,
        }
    }

    #[test]
    fn what_a_panic_says_is_not_how_to_see_more_of_it() {
        let note = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
        let said = format!("\nthread 'main' panicked at x.rs:1:2:\ntoo many\n{note}\n\n");
        assert_eq!(last_line(&said), "too many");
        assert_eq!(last_line("odd byte\n"), "odd byte");
        assert_eq!(last_line(""), "");
    }

    fn check(raw: i32, said: &str, expected: expect_test::Expect) {
        let verdict = verdict(&config(), ExitStatus::from_raw(raw), said);
        expected.assert_eq(&verdict.map_or_else(|rejection| rejection.to_string(), |()| "done".into()));
    }

    #[test]
    fn every_end_has_a_meaning() {
        use expect_test::expect;
        check(0, "anything", expect!["done"]);
        check(
            65 << 8,
            "odd byte",
            expect!["it is not a valid component (truncated, damaged, or of a newer kind): odd byte"],
        );
        check(
            101 << 8,
            "it panicked",
            expect![
                "it could not be compiled: the compiling process ended with exit status: 101: it panicked"
            ],
        );
        check(
            1 << 8,
            "",
            expect!["it could not be compiled: the compiling process ended with exit status: 1"],
        );
        check(
            9,
            "",
            expect!["it could not be compiled: the compiling process ended with signal: 9 (SIGKILL)"],
        );
        check(24, "", expect!["it could not be compiled: it takes more than 2s on a processor"]);
        check(25, "", expect!["it could not be compiled: its code is larger than 9 bytes"]);
        check(
            6,
            "out of memory",
            expect![
                "it could not be compiled: the compiling process gave up (out of memory); it may use 7 bytes of memory"
            ],
        );
    }
}
