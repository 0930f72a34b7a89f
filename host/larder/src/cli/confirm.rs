//! Requests confirmation on a terminal. Scripts use `--yes`.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

use super::out;

/// Shows a question and reads the answer. `action` is what `--yes` would do without the question, such as `approve`.
pub(super) fn confirm(question: &str, action: &str) -> io::Result<bool> {
    if !io::stdin().is_terminal() {
        out::note(&format!(
            "larder: stdin is not a terminal: use --yes to {action} without confirmation"
        ));
        return Ok(false);
    }
    write!(io::stderr(), "{question} [y/N] ")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
