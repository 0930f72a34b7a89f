//! Starts child processes and logs their output. Also has the paths of the repository.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// How often an installation is tried, and how long each attempt may take. The largest takes about a minute.
const INSTALL_ATTEMPTS: u32 = 3;
const INSTALL_TIMEOUT: Duration = Duration::from_secs(240);

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a folder of the repository")
}

/// A path in `target/`.
pub(crate) fn target(path: &str) -> PathBuf {
    root().join("target").join(path)
}

/// The program that replaces the debug build.
static LARDER: OnceLock<PathBuf> = OnceLock::new();

/// From now on, uses this build of the server, unless `LARDER_BIN` names a program.
pub(crate) fn use_larder(program: PathBuf) {
    LARDER.get_or_init(|| program);
}

/// The program that `LARDER_BIN` names. Without this variable, the debug build, which the tests and the demo run.
#[expect(
    clippy::disallowed_methods,
    reason = "the lint is for the server's configuration"
)]
pub(crate) fn larder() -> PathBuf {
    if let Some(program) = std::env::var_os("LARDER_BIN").filter(|program| !program.is_empty()) {
        return root().join(program);
    }
    let debug = || target("debug").join(format!("larder{}", std::env::consts::EXE_SUFFIX));
    LARDER.get().cloned().unwrap_or_else(debug)
}

/// Whether this process runs in CI, where no step may be skipped.
#[expect(
    clippy::disallowed_methods,
    reason = "the lint is for the server's configuration"
)]
pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|ci| ci == "true" || ci == "1")
}

/// Creates a command that runs in the root of the repository.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    // `cargo run` sets these variables for xtask. If child processes inherited these variables, cargo would rebuild all
    // crates each time.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_")
            || name.starts_with("CARGO_MANIFEST_")
            || name == "CARGO_TARGET_DIR"
        {
            command.env_remove(&*name);
        }
    }
    if let Some(state) = STATE.get() {
        command.env("XDG_STATE_HOME", state);
    }
    if let Some(cache) = CACHE.get() {
        command.env("XDG_CACHE_HOME", cache);
    }
    command
}

/// The folder for the state of all servers of this run; none outside of tests.
static STATE: OnceLock<PathBuf> = OnceLock::new();

/// The folder for caches of all programs that this process starts. If none is set, programs use the default folder of
/// the user.
static CACHE: OnceLock<PathBuf> = OnceLock::new();

/// Sets the folder for the caches of the programs that this process starts.
pub(crate) fn use_cache(folder: PathBuf) {
    CACHE.get_or_init(|| folder);
}

/// Creates a new folder for the state of the servers of this run. Approvals or values of an earlier run, or of the
/// user, must not influence the result of a test.
pub(crate) fn create_new_state() -> Result<()> {
    let state = target("xtask/state");
    if state.exists() {
        fs::remove_dir_all(&state)?;
    }
    Ok(fs::create_dir_all(&state)?)
}

/// Sets the folder for the state of the servers that this process starts.
pub(crate) fn use_state() {
    STATE.get_or_init(|| target("xtask/state"));
}

/// The log of a step.
pub(crate) fn log_file(step: &str) -> PathBuf {
    target("xtask").join(format!("{step}.log"))
}

/// Free disk space in `target/`, in GiB; none if `df` does not report it.
pub(crate) fn free_disk_gib() -> Option<u64> {
    let output = command("df").args(["-Pk", "."]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let free: u64 = text
        .lines()
        .nth(1)?
        .split_whitespace()
        .nth(3)?
        .parse()
        .ok()?;
    Some(free / (1024 * 1024))
}

pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut cargo = command("cargo");
    cargo.args(args);
    cargo
}

/// Runs a command and returns its stdout.
pub(crate) fn stdout_of(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| display(command))?;
    if !output.status.success() {
        bail!("`{}` failed: {}", display(command), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Destination for the output of child processes.
pub(crate) enum Output {
    Terminal,
    /// A log file. Its end is printed only if the step fails.
    Log(PathBuf),
}

impl Output {
    /// Creates an empty log file.
    pub(crate) fn log(step: &str) -> Result<Self> {
        let path = log_file(step);
        fs::create_dir_all(target("xtask"))?;
        File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self::Log(path))
    }

    /// Runs a command. The command must succeed.
    pub(crate) fn run(&self, command: &mut Command) -> Result<()> {
        let start = Instant::now();
        let mut child = self.start(command)?;
        let status = child.wait()?;
        if let Self::Log(_) = self {
            self.write_line(&format!(
                "# {status} after {:.1} s",
                start.elapsed().as_secs_f64()
            ))?;
        }
        check(command, status)
    }

    /// Runs a command that downloads packages. The command is repeated if it fails or takes too long: in one case, npm
    /// waited forever without a connection.
    pub(crate) fn install(&self, command: &mut Command) -> Result<()> {
        for _ in 1..INSTALL_ATTEMPTS {
            match self.run_within(INSTALL_TIMEOUT, command) {
                Ok(()) => return Ok(()),
                Err(error) => self.write_line(&format!("{error:#}; trying again"))?,
            }
        }
        self.run_within(INSTALL_TIMEOUT, command)
    }

    fn run_within(&self, timeout: Duration, command: &mut Command) -> Result<()> {
        let mut child = self.start(command)?;
        let end = Instant::now() + timeout;
        loop {
            if let Some(status) = child.try_wait()? {
                return check(command, status);
            }
            if Instant::now() >= end {
                child.kill()?;
                child.wait()?;
                bail!(
                    "`{}` took more than {} s",
                    display(command),
                    timeout.as_secs()
                );
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn start(&self, command: &mut Command) -> Result<Child> {
        self.write_line(&format!("$ {}", display(command)))?;
        if let Self::Log(path) = self {
            let log = OpenOptions::new().append(true).open(path)?;
            command.stdout(log.try_clone()?).stderr(log);
            command
                .env("CARGO_TERM_COLOR", "never")
                .env("NO_COLOR", "1");
        }
        command
            .spawn()
            .with_context(|| format!("cannot run `{}`", display(command)))
    }

    /// Writes a line.
    pub(crate) fn write_line(&self, line: &str) -> Result<()> {
        match self {
            Self::Terminal => println!("{line}"),
            Self::Log(path) => writeln!(OpenOptions::new().append(true).open(path)?, "{line}")?,
        }
        Ok(())
    }

    /// The contents of the log so far; empty for the terminal.
    pub(crate) fn contents(&self) -> String {
        match self {
            Self::Terminal => String::new(),
            Self::Log(path) => fs::read(path)
                .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
                .unwrap_or_default(),
        }
    }
}

fn check(command: &Command, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("`{}` failed: {status}", display(command));
    }
    Ok(())
}

/// Formats a command as a shell line, with paths relative to the repository.
fn display(command: &Command) -> String {
    let parts = std::iter::once(command.get_program()).chain(command.get_args());
    let prefix = format!("{}/", root().display());
    parts
        .map(|part| part.to_string_lossy().replace(&prefix, ""))
        .collect::<Vec<_>>()
        .join(" ")
}
