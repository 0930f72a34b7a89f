//! Output to stdout and stderr. Does not panic on a closed pipe.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

use super::sanitize;
use larder_config as config;

/// Returns whether stdout is a terminal.
pub(super) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Returns whether a user sees questions and can answer them.
pub(super) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Returns whether output may be coloured.
pub(super) fn colour() -> bool {
    is_terminal() && config::allows_colour()
}

pub(super) fn text(text: &str) -> io::Result<()> {
    bytes(text.as_bytes())
}

pub(super) fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Prints JSON. Escapes control characters, so that it is safe on a terminal.
pub(super) fn json<T: Serialize>(value: &T) -> io::Result<()> {
    let json = serde_json::to_string_pretty(value)?;
    // Line breaks of the layout stay. Line breaks in strings are already escaped.
    text(&format!("{}\n", sanitize::lines(&json)))
}

/// Prints a line to stderr.
pub(super) fn note(line: &str) {
    _ = writeln!(io::stderr(), "{}", sanitize::line(line));
}
