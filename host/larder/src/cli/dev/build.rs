//! Runs the build commands of a project. Each command runs in its own process group, which is killed if the future is
//! dropped.

use std::io;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::tools;
use larder_config::Project;

/// Why the build failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum BuildError {
    #[error("cannot run `{command}`: {error}")]
    Start { command: String, error: io::Error },
    #[error(
        "cannot run `{command}`: there is no program `{program}`: {}",
        tools::installation(program)
    )]
    NotFound { command: String, program: String },
    #[error("the build failed: `{command}` exited with {status}{}", advice(*.tool))]
    Failed {
        command: String,
        status: ExitStatus,
        /// The missing tool, if it is the cause of the failure.
        tool: Option<&'static str>,
    },
}

/// Runs commands in the folder of a project, in their order.
pub(super) async fn run(project: &Project, commands: &[Vec<String>]) -> Result<(), BuildError> {
    for words in commands {
        let command = words.join(" ");
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => BuildError::NotFound {
                command: command.clone(),
                program: words[0].clone(),
            },
            _ => BuildError::Start {
                command: command.clone(),
                error,
            },
        };
        let mut running = RunningBuild::start(project, words).map_err(failed)?;
        let status = running.child.wait().await.map_err(failed)?;
        running.ended = true;
        if !status.success() {
            let tool = tools::missing_tool(words, status).await;
            return Err(BuildError::Failed {
                command,
                status,
                tool,
            });
        }
    }
    Ok(())
}

fn advice(tool: Option<&str>) -> String {
    tool.map(|tool| format!("; {tool}")).unwrap_or_default()
}

struct RunningBuild {
    child: Child,
    ended: bool,
}

impl RunningBuild {
    fn start(project: &Project, words: &[String]) -> io::Result<Self> {
        let own = std::env::current_exe()?;
        // `larder` need not be in the PATH. Scripts find its path in the variable LARDER.
        let program = if words[0] == "larder" {
            own.as_os_str()
        } else {
            words[0].as_ref()
        };
        let mut command = Command::new(program);
        command
            .args(&words[1..])
            .current_dir(&project.folder)
            .env("LARDER", &own);
        // stdout is for the report on the provider.
        command
            .stdin(Stdio::null())
            .stdout(io::stderr())
            .stderr(io::stderr())
            .kill_on_drop(true)
            .process_group(0);
        Ok(Self {
            child: command.spawn()?,
            ended: false,
        })
    }

    fn process_group(&self) -> Option<Pid> {
        let id = self.child.id();
        id.and_then(|id| Pid::from_raw(id.cast_signed()))
    }
}

impl Drop for RunningBuild {
    /// Kills the process group. Otherwise children of the build tool could write into the output of the next
    /// build.
    fn drop(&mut self) {
        if !self.ended
            && let Some(group) = self.process_group()
        {
            // An error means that all processes have exited.
            _ = kill_process_group(group, Signal::KILL);
        }
    }
}
