//! Why a command has no answer, and the exit code that follows.

use std::io;
use std::path::PathBuf;

use crate::app::RunError;
use crate::author::{BindingsError, DiskError, PackError, ScaffoldError};
use crate::client::{ClientError, Revision};
use crate::config::ConfigError;
use crate::reconcile::ApprovalsError;

#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
    #[error("cannot write {}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("cannot read {}: {error}", path.display())]
    Input { path: PathBuf, error: io::Error },
    #[error("the server gives the same page again and again; its list cannot be walked")]
    Circle,
    #[error("{0} has no sessions: say `--protocol {newest}`, or an older one", newest = Revision::LEGACY)]
    NoSession(Revision),
    #[error(transparent)]
    Approvals(#[from] ApprovalsError),
    #[error(transparent)]
    Random(#[from] crate::endpoint::auth::NoRandom),
    #[error("{} holds no token: write one into it, and nothing else", .0.display())]
    NoToken(PathBuf),
    #[error("{}: {error}", path.display())]
    Pack { path: PathBuf, error: PackError },
    #[error(transparent)]
    Bindings(#[from] BindingsError),
    #[error("there is no go.mod in {} or above it; begin with `go mod init NAME`, or say `--package PATH`", .0.display())]
    NoModule(PathBuf),
    #[error(transparent)]
    New(#[from] ScaffoldError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error("{} has more than {most} files; put what no build depends on under `ignore` in larder-dev.toml", folder.display())]
    Crowded { folder: PathBuf, most: usize },
    #[error("{0}")]
    Content(#[from] crate::client::NotBase64),
}

impl Failure {
    pub(super) fn is_usage(&self) -> bool {
        match self {
            Self::Config(_)
            | Self::Input { .. }
            | Self::NoToken(_)
            | Self::NoModule(_)
            | Self::NoSession(_)
            | Self::Crowded { .. } => true,
            Self::New(error) => error.is_usage(),
            Self::Client(error) => error.is_usage(),
            Self::Run(_)
            | Self::Output(_)
            | Self::File { .. }
            | Self::Circle
            | Self::Pack { .. }
            | Self::Bindings(_)
            | Self::Disk(_)
            | Self::Content(_)
            | Self::Random(_)
            | Self::Approvals(_) => false,
        }
    }
}
