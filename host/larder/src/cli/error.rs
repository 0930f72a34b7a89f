//! Errors of commands. They determine the exit code.

mod folder;
#[cfg(feature = "registry")]
mod registry;

use std::io;
use std::path::PathBuf;

pub(super) use self::folder::FolderError;
#[cfg(feature = "registry")]
pub(super) use self::registry::RegistryCommandError;
use crate::app::RunError;
use crate::connect::ConnectError;
use larder_author::{
    BindingsError, CasesError, DiskError, PackError, PackageDocsError, ScaffoldError, UpgradeError,
};
use larder_client::{ClientError, Revision};
use larder_config::ConfigError;
use larder_core::reconcile::ApprovalsError;
use larder_provider::Rejection;

#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Builtin(#[from] larder_builtin::BuiltinError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the tool asks for `{name}`: {problem}; use --answer {name}=VALUE")]
    InputField { name: String, problem: String },
    #[error("the tool required input more than {0} times in one call")]
    TooManyQuestions(u32),
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
    #[error(
        "no provider sends the secret `{name}` to {host}: write \
         `hosts = [{{ host = \"HOST\", auth = {{ bearer = \"{name}\" }} }}]`, or another `auth`, in [provider.NAME], or approve \
         the NAME.toml that requests it"
    )]
    UnusedSecret { name: String, host: String },
    #[error("there is no folder for tokens: set HOME or XDG_STATE_HOME")]
    NoStateFolder,
    #[error("{}: {error}", path.display())]
    Pack { path: PathBuf, error: PackError },
    #[error("{}: {error}", path.display())]
    PackageDocs {
        path: PathBuf,
        error: PackageDocsError,
    },
    #[error("{}: {error}", path.display())]
    Cases { path: PathBuf, error: CasesError },
    #[error("{}: {}", path.display(), Rejection::UnsupportedFeatures(features.join(", ")))]
    UnsupportedFeatures {
        path: PathBuf,
        features: Vec<&'static str>,
    },
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
    Upgrade(#[from] UpgradeError),
    #[error(transparent)]
    Disk(#[from] DiskError),
    #[error(
        "{} has more than {max} files; add files that the build does not need to `ignore` in larder-dev.toml",
        folder.display()
    )]
    TooManyFiles { folder: PathBuf, max: usize },
    #[error("{0}")]
    Content(#[from] larder_client::NotBase64),
    #[cfg(feature = "registry")]
    #[error(transparent)]
    Registry(#[from] RegistryCommandError),
}

impl CommandError {
    /// The error for a path that cannot be read.
    pub(super) fn input(path: impl Into<PathBuf>) -> impl Fn(io::Error) -> Self {
        let path = path.into();
        move |error| Self::Input {
            path: path.clone(),
            error,
        }
    }

    /// The error for a path that cannot be written.
    pub(super) fn file(path: impl Into<PathBuf>) -> impl Fn(io::Error) -> Self {
        let path = path.into();
        move |error| Self::File {
            path: path.clone(),
            error,
        }
    }

    pub(super) fn is_usage(&self) -> bool {
        match self {
            Self::Config(_)
            | Self::Folder(_)
            | Self::Builtin(_)
            | Self::Input { .. }
            | Self::Cases { .. }
            | Self::NoToken(_)
            | Self::UnusedSecret { .. }
            | Self::NoStateFolder
            | Self::NoModule(_)
            | Self::NoSession(_)
            | Self::InputField { .. }
            | Self::Upgrade(_)
            | Self::TooManyFiles { .. } => true,
            #[cfg(feature = "registry")]
            Self::Registry(error) => error.is_usage(),
            Self::New(error) => error.is_usage(),
            Self::Connect(error) => error.is_usage(),
            Self::Client(error) => error.is_usage(),
            Self::Run(_)
            | Self::TooManyQuestions(_)
            | Self::Output(_)
            | Self::File { .. }
            | Self::CursorLoop
            | Self::NoSearch
            | Self::Pack { .. }
            | Self::PackageDocs { .. }
            | Self::UnsupportedFeatures { .. }
            | Self::Bindings(_)
            | Self::Disk(_)
            | Self::Content(_)
            | Self::Random(_)
            | Self::Approvals(_)
            | Self::Audit(_) => false,
        }
    }
}
