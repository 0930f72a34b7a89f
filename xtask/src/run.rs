//! Children: how they are started, where their output goes, and where things are.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// The repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the repository")
}

/// A place under `target/`.
pub(crate) fn target(path: &str) -> PathBuf {
    root().join("target").join(path)
}

/// The server, as the tests and the demo run it.
pub(crate) fn larder() -> PathBuf {
    target("debug").join(format!("larder{}", std::env::consts::EXE_SUFFIX))
}

/// In CI nothing is skipped.
#[expect(clippy::disallowed_methods, reason = "the ban is about the product's configuration")]
pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|ci| ci == "true" || ci == "1")
}

/// A command that runs in the repository.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).stdin(Stdio::null());
    // `cargo run` tells xtask about itself; children that see it would be built anew each time.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO_TARGET_DIR"
        {
            command.env_remove(&*name);
        }
    }
    command
}

/// `cargo` with these words.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let mut cargo = command("cargo");
    cargo.args(words);
    cargo
}

/// What a command prints, for a program to read.
pub(crate) fn stdout_of(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().with_context(|| shown(command))?;
    if !output.status.success() {
        bail!("`{}` failed: {}", shown(command), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Where the output of children goes.
pub(crate) enum Output {
    /// A person waits for it.
    Terminal,
    /// It matters only if the step fails.
    Log(PathBuf),
}

impl Output {
    /// A log that starts empty.
    pub(crate) fn log(step: &str) -> Result<Self> {
        let path = target("xtask").join(format!("{step}.log"));
        fs::create_dir_all(target("xtask"))?;
        File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self::Log(path))
    }

    /// Runs a child to its end, which must be a good one.
    pub(crate) fn run(&self, command: &mut Command) -> Result<()> {
        self.say(&format!("$ {}", shown(command)))?;
        if let Self::Log(path) = self {
            let log = OpenOptions::new().append(true).open(path)?;
            command.stdout(log.try_clone()?).stderr(log);
            command.env("CARGO_TERM_COLOR", "never").env("NO_COLOR", "1");
        }
        let status = command.status().with_context(|| format!("cannot run `{}`", shown(command)))?;
        if !status.success() {
            bail!("`{}` failed: {status}", shown(command));
        }
        Ok(())
    }

    /// A line of our own.
    pub(crate) fn say(&self, line: &str) -> Result<()> {
        match self {
            Self::Terminal => println!("{line}"),
            Self::Log(path) => writeln!(OpenOptions::new().append(true).open(path)?, "{line}")?,
        }
        Ok(())
    }

    /// What was written so far; nothing, if it went to the terminal.
    pub(crate) fn written(&self) -> String {
        match self {
            Self::Terminal => String::new(),
            Self::Log(path) => {
                fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
            }
        }
    }
}

/// A command as a person would type it, with paths from the repository on.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let prefix = format!("{}/", root().display());
    words.map(|word| word.to_string_lossy().replace(&prefix, "")).collect::<Vec<_>>().join(" ")
}
