//! Runs the build commands of a project. Each runs in its own process group, which is killed if the future is
//! dropped.

use std::io;
use std::process::{ExitStatus, Stdio};

use tokio::process::{Child, Command};

use crate::config::Project;

/// Why the build failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildError {
    #[error("cannot run `{program}`: {error}; the project's README lists the required tools")]
    Start { program: String, error: io::Error },
    #[error("the build failed: `{program}` exited with {status}")]
    Failed { program: String, status: ExitStatus },
}

pub(super) async fn build(project: &Project) -> Result<(), BuildError> {
    for words in &project.build {
        let program = words.join(" ");
        let failed = |error| BuildError::Start { program: program.clone(), error };
        let mut running = Running::start(project, words).map_err(failed)?;
        let status = running.child.wait().await.map_err(failed)?;
        running.ended = true;
        if !status.success() {
            return Err(BuildError::Failed { program, status });
        }
    }
    Ok(())
}

struct Running {
    child: Child,
    ended: bool,
}

impl Running {
    fn start(project: &Project, words: &[String]) -> io::Result<Self> {
        let own = std::env::current_exe()?;
        // `larder` need not be in the PATH. Scripts find it in the variable LARDER.
        let program = if words[0] == "larder" { own.as_os_str() } else { words[0].as_ref() };
        let mut command = Command::new(program);
        command.args(&words[1..]).current_dir(&project.folder).env("LARDER", &own);
        // stdout is for the report on the provider.
        command.stdin(Stdio::null()).stdout(io::stderr()).stderr(io::stderr()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        Ok(Self { child: command.spawn()?, ended: false })
    }
}

impl Drop for Running {
    /// Kills the process group. Otherwise children of the build tool could write into the output of the next
    /// build.
    fn drop(&mut self) {
        #[cfg(unix)]
        if !self.ended
            && let Some(group) =
                self.child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()))
        {
            // An error means that all processes have exited.
            _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}
