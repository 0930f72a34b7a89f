//! Starts the compiler process, feeds it the component, and interprets its exit status.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};

use bytes::Bytes;
use rustix::process::Signal;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, Command};

use super::processes::RunningJob;
use super::{Config, Failure};
use crate::compile::child::{INVALID, SUBCOMMAND, UNSUPPORTED};
use crate::compile::job::nice;
use crate::engine::tier::Tier;
use larder_model::size;
use larder_platform::processes::enlarge_pipe;
use larder_provider::Rejection;

/// Maximum number of compiler threads: further threads gain little, and each thread uses address space.
const MAX_THREADS: usize = 4;
/// Number of bytes of the input that the process can read at a time: the maximum for a normal user. With the default of
/// 64 KiB, 45 MB of input took 0.2 s.
const PIPE_SIZE: usize = 1 << 20;
/// Number of bytes of the process's stderr that are examined.
const MAX_STDERR: u64 = 4 << 10;

/// The component, which the process reads from stdin, and how the process compiles it.
pub(super) struct Input<'a> {
    pub(super) bytes: &'a Bytes,
    pub(super) tier: Tier,
    /// Whether the bytes are a library, which is a module.
    pub(super) is_library: bool,
}

/// Compiles a component into a file. Dropping the future kills the process.
pub(super) async fn compile(
    config: &Config,
    job: &RunningJob<'_>,
    input: Input<'_>,
    output: File,
) -> Result<(), Failure> {
    match job
        .processes
        .within(config.timeout, run(config, job, input, output))
        .await
    {
        Some(result) => result,
        None => Err(Failure::timeout(format!(
            "compiling takes longer than {:?}",
            config.timeout
        ))),
    }
}

async fn run(
    config: &Config,
    job: &RunningJob<'_>,
    input: Input<'_>,
    output: File,
) -> Result<(), Failure> {
    let spawned = command(config, job, &input, output).spawn();
    let mut child = spawned.map_err(|error| {
        Rejection::Compiler(format!(
            "cannot start {}: {error}",
            config.program.display()
        ))
    })?;
    let _process = job.processes.add(&child);
    let stdin = child.stdin.take();
    let stderr = child.stderr.take();
    // The stdin of the process is kept open until the process exits, because a closed stdin makes it exit early.
    let (_stdin, last_line, exited) = tokio::join!(
        feed(stdin, input.bytes),
        last_stderr_line(stderr),
        child.wait()
    );
    let status = exited.map_err(|error| {
        Rejection::Compiler(format!("cannot wait for the compiler process: {error}"))
    })?;
    let is_timeout = status.signal() == Some(Signal::XCPU.as_raw());
    result_of(config, status, &last_line).map_err(|rejection| Failure {
        is_timeout,
        ..rejection.into()
    })
}

fn command(config: &Config, job: &RunningJob<'_>, input: &Input<'_>, output: File) -> Command {
    let Input {
        bytes,
        tier,
        is_library,
    } = input;
    let threads =
        std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_THREADS));
    let mut command = Command::new(&config.program);
    command
        .arg(SUBCOMMAND)
        .args(["--size", &bytes.len().to_string()])
        .args(["--memory", &config.memory.to_string()])
        .args(["--cpu", &config.cpu_time.as_secs().max(1).to_string()])
        .args(["--code", &config.code.to_string()])
        .args(["--timeout", &config.timeout.as_secs().to_string()])
        .arg(format!("--nice={}", nice(job.priority)))
        .args((*tier != Tier::Optimised).then_some("--unoptimised"))
        .args(is_library.then_some("--library"))
        // The environment may contain secrets.
        .env_clear()
        .env("RAYON_NUM_THREADS", threads.to_string())
        // The process ends soon. Returning its memory to the system earlier would take a twelfth of its time.
        .env("MIMALLOC_PURGE_DELAY", "-1")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(output)
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Writes the component to stdin. A failure is ignored: a process that does not read all input fails, and its exit status
/// shows the reason.
async fn feed(stdin: Option<ChildStdin>, component: &[u8]) -> Option<ChildStdin> {
    let mut stdin = stdin?;
    enlarge_pipe(&stdin, PIPE_SIZE);
    let _ = stdin.write_all(component).await;
    Some(stdin)
}

/// Returns the last line in the first part of the process's stderr. The rest is read as well, so that the process never
/// blocks.
async fn last_stderr_line(stderr: Option<ChildStderr>) -> String {
    let Some(mut stderr) = stderr else {
        return String::new();
    };
    let mut text = Vec::new();
    let _ = (&mut stderr).take(MAX_STDERR).read_to_end(&mut text).await;
    let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    last_line(&String::from_utf8_lossy(&text))
}

/// The last line that is not empty, without the hint about `RUST_BACKTRACE` that follows a panic.
fn last_line(text: &str) -> String {
    let line = text
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty() && !line.starts_with("note: run with `RUST"));
    line.unwrap_or_default()
        .chars()
        .filter(|c| !c.is_control())
        .take(400)
        .collect()
}

fn result_of(config: &Config, status: ExitStatus, stderr: &str) -> Result<(), Rejection> {
    let failed = |why: String| Err(Rejection::Compiler(why));
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) if code == i32::from(INVALID) => Err(Rejection::Invalid(stderr.to_owned())),
        (Some(code), _) if code == i32::from(UNSUPPORTED) => {
            Err(Rejection::UnsupportedFeatures(stderr.to_owned()))
        }
        (_, Some(signal)) if signal == Signal::XCPU.as_raw() => failed(format!(
            "compiling takes more than {:?} of CPU time",
            config.cpu_time
        )),
        (_, Some(signal)) if signal == Signal::XFSZ.as_raw() => failed(format!(
            "its code is larger than {} (`compiler.code`)",
            size::show(config.code)
        )),
        (_, Some(signal)) if signal == Signal::ABORT.as_raw() => failed(format!(
            "the compiler process aborted ({stderr}); its memory limit is {} (`compiler.memory`)",
            size::show(config.memory)
        )),
        _ if stderr.is_empty() => failed(format!("the compiler process ended with {status}")),
        _ => failed(format!(
            "the compiler process ended with {status}: {stderr}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::compile::cache;

    fn config() -> Config {
        let cache = cache::Config {
            location: cache::CacheLocation::Temporary,
            size: 0,
            age: Duration::ZERO,
        };
        let program = "larder".into();
        Config {
            program,
            cache,
            memory: 7,
            cpu_time: Duration::from_secs(2),
            timeout: Duration::from_secs(3),
            code: 9,
        }
    }

    #[test]
    fn the_last_line_is_not_the_backtrace_hint() {
        let note = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
        let text = format!("\nthread 'main' panicked at x.rs:1:2:\ntoo many\n{note}\n\n");
        assert_eq!(last_line(&text), "too many");
        assert_eq!(last_line("odd byte\n"), "odd byte");
        assert_eq!(last_line(""), "");
    }

    fn check(raw: i32, stderr: &str, expected: expect_test::Expect) {
        let result = result_of(&config(), ExitStatus::from_raw(raw), stderr);
        expected
            .assert_eq(&result.map_or_else(|rejection| rejection.to_string(), |()| "done".into()));
    }

    #[test]
    fn explains_every_exit_status() {
        use expect_test::expect;
        check(0, "anything", expect!["done"]);
        check(
            65 << 8,
            "odd byte",
            expect![
                "it is not a valid component (truncated, damaged, or in a newer format): odd byte"
            ],
        );
        check(
            69 << 8,
            "threads, GC",
            expect![
                "it requires features of WebAssembly that this host does not support: threads, GC; build it without them"
            ],
        );
        check(
            101 << 8,
            "it panicked",
            expect![
                "it could not be compiled: the compiler process ended with exit status: 101: it panicked"
            ],
        );
        check(
            1 << 8,
            "",
            expect!["it could not be compiled: the compiler process ended with exit status: 1"],
        );
        check(
            9,
            "",
            expect![
                "it could not be compiled: the compiler process ended with signal: 9 (SIGKILL)"
            ],
        );
        check(
            24,
            "",
            expect!["it could not be compiled: compiling takes more than 2s of CPU time"],
        );
        check(
            25,
            "",
            expect!["it could not be compiled: its code is larger than 9 bytes (`compiler.code`)"],
        );
        check(
            6,
            "out of memory",
            expect![
                "it could not be compiled: the compiler process aborted (out of memory); its memory limit is 7 bytes (`compiler.memory`)"
            ],
        );
    }
}
