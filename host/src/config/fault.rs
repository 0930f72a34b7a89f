//! What is wrong with a configuration, and where.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there, or is not text.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Everything that is wrong with it.
    #[error("{}", list(file.as_ref(), faults))]
    Faults {
        /// The file, if there is one.
        file: Option<PathBuf>,
        /// In the order of the lines.
        faults: Vec<Fault>,
    },
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The line, counted from 1; none for what does not stand in the file.
    pub line: Option<usize>,
    /// The key, such as `provider.wiki.dirs[0]`.
    pub place: String,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => f.write_str(&self.what),
            place => write!(f, "{place}: {}", self.what),
        }
    }
}

fn list(file: Option<&PathBuf>, faults: &[Fault]) -> String {
    let file = file.map_or_else(|| "configuration".into(), |path| path.display().to_string());
    let lines = faults.iter().map(|fault| match fault.line {
        Some(line) => format!("{file}:{line}: {fault}"),
        None => fault.to_string(),
    });
    lines.collect::<Vec<_>>().join("\n")
}
