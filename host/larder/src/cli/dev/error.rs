//! Why there is no new revision.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::build::BuildError;
use crate::app;
use larder_author::DiskError;
use larder_config as config;
use larder_model::size;

/// What a development component reports if its program imports a module that the component does not contain. The SDK
/// for Python has the same text.
const INCOMPLETE: &str = "the development component has to be built again";

/// Why a save led to no new revision.
#[derive(Debug, thiserror::Error)]
pub(super) enum RebuildError {
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(
        "the build did not create {}: {error}; check `component` in {}",
        path.display(),
        config::PROJECT_FILE
    )]
    NoComponent { path: PathBuf, error: io::Error },
    #[error("cannot read {}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error(
        "there is no program in {}; check `development.program` in {}",
        folder.display(),
        config::PROJECT_FILE
    )]
    NoProgram { folder: PathBuf },
    #[error(
        "the program in {} has more than {}; add what it does not load to `ignore` in {}, or run `larder dev --packed`",
        folder.display(),
        size::show(*max),
        config::PROJECT_FILE
    )]
    LargeProgram { folder: PathBuf, max: u64 },
    #[error("{reason}")]
    Rejected {
        reason: String,
        /// The end of what the guest wrote to stderr.
        stderr: String,
    },
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("{0}")]
    Run(#[from] app::RunError),
    #[error("the component was not loaded within {0:?}")]
    TimedOut(Duration),
    #[error(transparent)]
    Command(#[from] crate::cli::error::CommandError),
}

impl RebuildError {
    /// Whether a new development component may help.
    pub(super) fn needs_new_component(&self) -> bool {
        matches!(self, Self::Rejected { reason, .. } if reason.contains(INCOMPLETE))
    }
}
