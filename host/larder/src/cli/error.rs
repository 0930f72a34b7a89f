//! Errors of commands. They determine the exit code.

use std::io;
use std::path::PathBuf;

use crate::app::RunError;
use crate::config::ConfigError;
use crate::connect::ConnectError;
use crate::toml_text::TomlTextError;
use larder_author::{BindingsError, DiskError, PackError, ScaffoldError};
use larder_client::{ClientError, Revision};
use larder_core::reconcile::ApprovalsError;
use larder_registry::{Error as RegistryError, LockError, StoreError};
use larder_sandbox::Rejection;
use larder_signature::SigningError;

#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    #[error("cannot write {}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("cannot read {}: {error}", path.display())]
    Input { path: PathBuf, error: io::Error },
    #[error("the server repeats a cursor, so its list does not end")]
    CursorLoop,
    #[error("the server does not support search: only Larder servers do, from version 0.1 on")]
    NoSearch,
    #[error("{0} has no sessions: use `--protocol {newest}` or older", newest = Revision::LEGACY)]
    NoSession(Revision),
    #[error(transparent)]
    Approvals(#[from] ApprovalsError),
    #[error("cannot write the audit log, so nothing is approved: {0}")]
    Audit(io::Error),
    #[error(transparent)]
    Random(#[from] larder_mcp::auth::RandomError),
    #[error("{} contains no token: the file must contain the token and nothing else", .0.display())]
    NoToken(PathBuf),
    #[error("{}: {error}", path.display())]
    Pack { path: PathBuf, error: PackError },
    #[error("{}: {}", path.display(), Rejection::UnsupportedFeatures(features.join(", ")))]
    UnsupportedFeatures { path: PathBuf, features: Vec<&'static str> },
    #[error(transparent)]
    Bindings(#[from] BindingsError),
    #[error(
        "there is no go.mod in or above {}; run `go mod init NAME`, or use `--package PATH`",
        .0.display()
    )]
    NoModule(PathBuf),
    #[error(transparent)]
    New(#[from] ScaffoldError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(
        "{} has more than {max} files; add files that the build does not need to `ignore` in larder-dev.toml",
        folder.display()
    )]
    TooManyFiles { folder: PathBuf, max: usize },
    #[error("{0}")]
    Content(#[from] larder_client::NotBase64),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Signing(#[from] SigningError),
    #[error("{}: {error}", path.display())]
    Key { path: PathBuf, error: SigningError },
    #[error("{} was not changed, because {reason}", path.display())]
    Edit { path: PathBuf, reason: TomlTextError },
    #[error("there are several teams ({0}): add --team NAME")]
    SeveralTeams(String),
    #[error("{name} is {reference} already: use `larder update {name}`, or --name for another name")]
    AlreadyAdded { name: String, reference: String },
    #[error("{0} has no `component` in the configuration: `larder add` adds one")]
    NoReference(String),
    #[error("`{0}` is no place to publish: write REGISTRY/REPOSITORY:TAG, or NAMESPACE:PACKAGE@VERSION")]
    NoTag(String),
    #[error("{} is {kind}, and does not export larder:provider/resource-provider; `larder check` says more", path.display())]
    NotAProvider { path: PathBuf, kind: String },
    #[error("{} was not published, because its requests are not valid: {problems}", path.display())]
    GrantRequest { path: PathBuf, problems: String },
}

impl CommandError {
    pub(super) fn is_usage(&self) -> bool {
        match self {
            Self::Config(_)
            | Self::Input { .. }
            | Self::NoToken(_)
            | Self::NoModule(_)
            | Self::NoSession(_)
            | Self::TooManyFiles { .. }
            | Self::Key { .. }
            | Self::Edit { .. }
            | Self::SeveralTeams(_)
            | Self::AlreadyAdded { .. }
            | Self::NoReference(_)
            | Self::NoTag(_)
            | Self::GrantRequest { .. } => true,
            Self::Registry(error) => matches!(
                error,
                RegistryError::NotPermitted(_)
                    | RegistryError::UnknownNamespace(_)
                    | RegistryError::Settings { .. }
            ),
            Self::Lock(error) => !matches!(error, LockError::Io { .. }),
            Self::New(error) => error.is_usage(),
            Self::Connect(error) => error.is_usage(),
            Self::Client(error) => error.is_usage(),
            Self::Run(_)
            | Self::Output(_)
            | Self::File { .. }
            | Self::CursorLoop
            | Self::NoSearch
            | Self::Pack { .. }
            | Self::UnsupportedFeatures { .. }
            | Self::Bindings(_)
            | Self::Disk(_)
            | Self::Content(_)
            | Self::Random(_)
            | Self::Approvals(_)
            | Self::Store(_)
            | Self::Signing(_)
            | Self::NotAProvider { .. }
            | Self::Audit(_) => false,
        }
    }
}
