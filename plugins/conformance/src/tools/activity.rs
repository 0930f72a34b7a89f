//! Tools that report progress or send log messages while they run.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use larder_provider::{Call, Result, Severity, Tools, log_to_client, progress};

use super::tool;

/// The pause that the suites require.
const PAUSE: Duration = Duration::from_millis(50);
/// The number of pauses of the tool that is to be cancelled: 150 seconds.
const LONG: u32 = 3_000;
/// The file into which the long-running tool writes its progress, if the folder is granted.
const RUNNING: &str = "/state/running";

pub(super) fn add<P: 'static>(tools: Tools<P>) -> Tools<P> {
    tools
        .tool(tool(
            "test_tool_with_logging",
            "Sends log messages.",
            logging,
        ))
        .tool(tool("test_logging_tool", "Sends log messages.", logging))
        .tool(tool(
            "test_tool_with_progress",
            "Reports progress.",
            reporting,
        ))
        .tool(tool(
            "test_long_running",
            "Runs for 150 seconds, unless it is cancelled.",
            long_running,
        ))
}

fn logging(_call: &Call) -> Result<String> {
    log_to_client(Severity::Info, None, "Tool execution started");
    sleep(PAUSE);
    log_to_client(Severity::Info, None, "Tool processing data");
    sleep(PAUSE);
    log_to_client(Severity::Info, None, "Tool execution completed");
    Ok("The log messages were sent.".to_owned())
}

fn reporting(_call: &Call) -> Result<String> {
    progress(0.0, Some(100.0), None);
    sleep(PAUSE);
    progress(50.0, Some(100.0), None);
    sleep(PAUSE);
    progress(100.0, Some(100.0), None);
    Ok("The progress was reported.".to_owned())
}

/// Writes to a file while the tool runs, so that a test can see from outside whether the tool still runs.
fn long_running(_call: &Call) -> Result<String> {
    for n in 0..LONG {
        progress(f64::from(n), Some(f64::from(LONG)), None);
        // Without the folder, the tool only takes long.
        _ = fs::write(RUNNING, n.to_string());
        sleep(PAUSE);
    }
    Ok("The call was not cancelled.".to_owned())
}
