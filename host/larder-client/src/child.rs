//! A server process that this client started.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::{ChildStdin, ChildStdout, Command};

use super::error::ClientError;

/// How long the process may take to exit after its input has ended.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Child(tokio::process::Child);

impl Child {
    pub(super) fn start(
        mut command: Command,
    ) -> Result<(Self, ChildStdout, ChildStdin), ClientError> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let started = command.spawn();
        let mut child = started.map_err(|error| ClientError::NotStarted {
            program: program_name(&command),
            why: error.to_string(),
        })?;
        let input = child.stdout.take();
        let output = child.stdin.take();
        let (Some(input), Some(output)) = (input, output) else {
            return Err(ClientError::Closed);
        };
        Ok((Self(child), input, output))
    }

    /// Waits until the process exits, and kills it after a timeout. Its input must have ended.
    pub(super) async fn end(mut self) {
        if tokio::time::timeout(EXIT_TIMEOUT, self.0.wait())
            .await
            .is_err()
        {
            // An error means that the process has exited in the meantime.
            _ = self.0.kill().await;
        }
    }
}

fn program_name(command: &Command) -> String {
    let program = command.as_std().get_program().to_string_lossy();
    program.escape_debug().to_string()
}
