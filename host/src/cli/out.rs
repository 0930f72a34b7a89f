//! The way to stdout and stderr. Nothing here panics when a pipe is closed.

use std::io::{self, IsTerminal as _, Write as _};

use serde::Serialize;

use super::clean;
use crate::config;

/// Whether a person looks at the answer.
pub(super) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether the answer may have colours.
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

/// For scripts; the escapes of JSON keep a terminal safe, too.
pub(super) fn json<T: Serialize>(value: &T) -> io::Result<()> {
    let json = serde_json::to_string_pretty(value)?;
    // Line breaks of the layout stay; those inside a text have been escaped before.
    text(&format!("{}\n", clean::lines(&json)))
}

/// A line for people, beside the answer.
pub(super) fn note(line: &str) {
    _ = writeln!(io::stderr(), "{}", clean::line(line));
}
