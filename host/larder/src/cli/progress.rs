//! Progress reports of a server.

use std::ops::ControlFlow;

use super::{out, sanitize};
use larder_client::Progress;

/// Prints a report to stderr.
pub(super) fn print(progress: Progress) -> ControlFlow<()> {
    let total = progress
        .total
        .map(|total| format!(" of {total}"))
        .unwrap_or_default();
    let message = progress
        .message
        .map(|message| format!(": {}", sanitize::line(&message)))
        .unwrap_or_default();
    out::note(&format!("{}{total}{message}", progress.progress));
    ControlFlow::Continue(())
}

/// Continues without printing the report.
pub(super) fn ignore(_: Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
