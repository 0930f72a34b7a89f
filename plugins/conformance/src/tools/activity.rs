//! Tools that report progress or send log messages while they run.

use std::thread::sleep;
use std::time::Duration;

use larder_provider::{Call, Result, Severity, Tools, log_to_client, progress};

use super::tool;

/// The pause that the suites ask for.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) fn add<P: 'static>(tools: Tools<P>) -> Tools<P> {
    tools
        .tool(tool("test_tool_with_logging", "Sends log messages.", logging))
        .tool(tool("test_logging_tool", "Sends log messages.", logging))
        .tool(tool("test_tool_with_progress", "Reports progress.", reporting))
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
