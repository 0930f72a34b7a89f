//! Why a component cannot be resolved or pulled.

use larder_model::name::Digest;
use larder_model::size;

use crate::StoreError;

/// Why a component cannot be resolved, pulled or pushed. The error texts contain no credentials.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The configuration does not list the registry.
    #[error(
        "the registry {0} is not permitted: add [registries.permitted.\"{0}\"] to the configuration"
    )]
    NotPermitted(String),
    /// The registry for the namespace of a package is unknown.
    #[error("no registry is known for packages of `{0}`: add `{0}` to `registries.namespaces`")]
    UnknownNamespace(String),
    /// The registry or a proxy cannot be reached, failed, or did not answer in time.
    #[error("the registry {registry} is not available: {cause}")]
    Unavailable {
        /// The registry.
        registry: String,
        /// The cause.
        cause: String,
    },
    /// The credentials are missing or wrong.
    #[error("the registry {registry} refuses access to {repository}: {cause}")]
    Refused {
        /// The registry.
        registry: String,
        /// The repository.
        repository: String,
        /// The cause, and what to do about it.
        cause: String,
    },
    /// The image does not exist.
    #[error("{0} does not exist in the registry")]
    NotFound(String),
    /// The registry does not have this function.
    #[error("{what}: the registry does not support the request: {cause}")]
    Unsupported {
        /// The function that was requested.
        what: String,
        /// The response.
        cause: String,
    },
    /// No version of a package matches.
    #[error("no version of {package} matches {requirement}: there is {available}")]
    NoVersion {
        /// The package.
        package: String,
        /// The version requirement.
        requirement: String,
        /// The newest versions, for people.
        available: String,
    },
    /// The answer of the registry is not allowed.
    #[error("{reference}: {cause}")]
    Invalid {
        /// The reference that was requested.
        reference: String,
        /// What is wrong with the answer.
        cause: String,
    },
    /// Something is larger than permitted.
    #[error("{what} is larger than {}", size::show(*.limit))]
    TooLarge {
        /// What is too large: a body, a blob or a manifest.
        what: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The content does not have the expected digest.
    #[error(
        "{what} has the digest sha256:{actual} instead of sha256:{expected}: it was changed or damaged"
    )]
    WrongDigest {
        /// The content that was requested.
        what: String,
        /// The digest in the reference or the manifest.
        expected: Digest,
        /// The digest of the content.
        actual: Digest,
    },
    /// The content does not have the expected size.
    #[error("{what} has {actual} bytes instead of {expected}: it was changed or cut off")]
    WrongSize {
        /// The content that was requested.
        what: String,
        /// The size in the manifest.
        expected: u64,
        /// The number of bytes that arrived.
        actual: u64,
    },
    /// The credentials could not be read.
    #[error("no credentials for {registry}: {cause}")]
    Credentials {
        /// The registry.
        registry: String,
        /// The cause, without the credentials.
        cause: String,
    },
    /// The settings of a registry cannot be used.
    #[error("the settings of the registry {registry} cannot be used: {cause}")]
    Settings {
        /// The registry.
        registry: String,
        /// The cause.
        cause: String,
    },
    /// The local store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Error {
    pub(crate) fn invalid(reference: impl ToString, cause: impl Into<String>) -> Self {
        Self::Invalid {
            reference: reference.to_string(),
            cause: cause.into(),
        }
    }

    pub(crate) fn unavailable(registry: impl ToString, cause: String) -> Self {
        Self::Unavailable {
            registry: registry.to_string(),
            cause,
        }
    }

    pub(crate) fn unsupported(what: &str, cause: String) -> Self {
        Self::Unsupported {
            what: what.to_owned(),
            cause,
        }
    }
}
