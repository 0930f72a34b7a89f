//! Configuration errors and their positions.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why the configuration could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is missing, unreadable or not UTF-8.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The content is invalid.
    #[error("{}", list(file.as_deref(), diagnostics))]
    Invalid {
        /// The file, if there is one.
        file: Option<PathBuf>,
        /// All errors, sorted by line.
        diagnostics: Vec<Diagnostic>,
    },
}

impl ConfigError {
    pub(crate) fn unreadable(path: &Path, error: io::Error) -> Self {
        Self::Unreadable {
            path: path.to_owned(),
            error,
        }
    }

    pub(crate) fn in_file(path: &Path, diagnostics: Vec<Diagnostic>) -> Self {
        Self::Invalid {
            file: Some(path.to_owned()),
            diagnostics,
        }
    }

    /// Errors in options, in defaults or in a combination of values.
    pub(crate) fn without_file(diagnostics: Vec<Diagnostic>) -> Self {
        Self::Invalid {
            file: None,
            diagnostics,
        }
    }
}

/// One error in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The line number, counted from 1. `None` for options and defaults, which are not in the file.
    pub line: Option<usize>,
    /// The key, such as `provider.wiki.dirs[0]`.
    pub key: String,
    /// What is wrong, and how to fix it.
    pub message: String,
}

impl Diagnostic {
    /// Creates a diagnostic about a key, without a line of the file.
    pub fn without_line(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            line: None,
            key: key.into(),
            message: message.into(),
        }
    }

    /// Returns the text with the name of the configuration file and the line.
    pub fn in_file(&self, file: Option<&Path>) -> String {
        let file = file.map_or_else(|| "configuration".into(), |path| path.display().to_string());
        match self.line {
            Some(line) => format!("{file}:{line}: {self}"),
            None => self.to_string(),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key.as_str() {
            "" => f.write_str(&self.message),
            key => write!(f, "{key}: {}", self.message),
        }
    }
}

/// Fails with all errors, sorted by line, if there are any.
pub(crate) fn require_no_errors(mut diagnostics: Vec<Diagnostic>) -> Result<(), Vec<Diagnostic>> {
    if diagnostics.is_empty() {
        return Ok(());
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.line);
    Err(diagnostics)
}

fn list(file: Option<&Path>, diagnostics: &[Diagnostic]) -> String {
    let lines = diagnostics
        .iter()
        .map(|diagnostic| diagnostic.in_file(file));
    lines.collect::<Vec<_>>().join("\n")
}
