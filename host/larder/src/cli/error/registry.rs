//! Errors of the commands for components in registries.

use std::path::PathBuf;

use super::CommandError;
use crate::toml_text::TomlTextError;
use larder_registry::{Error as RegistryError, LockError, StoreError};
use larder_signature::SigningError;

#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum RegistryCommandError {
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
    Edit {
        path: PathBuf,
        reason: TomlTextError,
    },
    #[error("there are several teams ({0}): add --team NAME")]
    SeveralTeams(String),
    #[error(
        "{name} is {reference} already: use `larder update {name}`, or --name for another name"
    )]
    AlreadyAdded { name: String, reference: String },
    #[error("{0} has no `component` in the configuration: `larder add` adds one")]
    NoReference(String),
    #[error(
        "`{0}` is no place to publish: write REGISTRY/REPOSITORY:TAG, or NAMESPACE:PACKAGE@VERSION"
    )]
    NoTag(String),
    #[error(
        "{} is {kind}, and exports neither larder:provider/resource-provider nor a function that can be a tool; \
         `larder check` says more",
        path.display()
    )]
    NotAProvider { path: PathBuf, kind: String },
    #[error("{} was not published, because its requests are not valid: {problems}", path.display())]
    GrantRequest { path: PathBuf, problems: String },
}

impl RegistryCommandError {
    pub(in crate::cli) fn is_usage(&self) -> bool {
        match self {
            Self::Key { .. }
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
            Self::Store(_) | Self::Signing(_) | Self::NotAProvider { .. } => false,
        }
    }
}

impl From<RegistryError> for CommandError {
    fn from(error: RegistryError) -> Self {
        Self::Registry(error.into())
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        Self::Registry(error.into())
    }
}

impl From<LockError> for CommandError {
    fn from(error: LockError) -> Self {
        Self::Registry(error.into())
    }
}

impl From<SigningError> for CommandError {
    fn from(error: SigningError) -> Self {
        Self::Registry(error.into())
    }
}
