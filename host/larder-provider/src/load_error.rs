//! Why a component cannot be served.

use super::{CallError, Rejection};
use larder_model::settings::Problem;
use larder_model::size;

/// Why a component was not loaded as a provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The file could not be read.
    #[error("cannot read the file: {0}")]
    Unreadable(String),
    /// The publisher of the component could not be verified.
    #[error("verification failed: {reason}")]
    Verification {
        /// Why.
        reason: String,
        /// Whether a retry may succeed without a change of a file or a setting.
        is_temporary: bool,
    },
    /// The name of the file is not a valid provider name.
    #[error(transparent)]
    BadName(#[from] larder_model::name::BadName),
    /// The file exceeds the size limit.
    #[error(
        "it has {}; the limit for components is {} (`limits.component_size`)",
        size::show(*size),
        size::show(*limit)
    )]
    TooLarge {
        /// The size of the file.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The team already has the maximum number of providers.
    #[error(
        "the team may have {0} providers, and that many come before it by name (`quota.providers`)"
    )]
    TooMany(u32),
    /// The sandbox does not accept the component.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The `NAME.toml` file beside the component is invalid.
    #[error("the `.toml` file beside it is invalid: {0}")]
    GrantRequestFile(String),
    /// The approvals of the operator could not be read.
    #[error("cannot read the approvals: {0}")]
    Approvals(String),
    /// An operator rejected the requests of the component.
    #[error("{0}")]
    NotApproved(String),
    /// A required setting is missing. Contains all problems of the provider's settings.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Settings(Vec<Problem>),
    /// A call of the probe failed.
    #[error("cannot get {what}: {error}")]
    Probe {
        /// The purpose of the call.
        what: &'static str,
        /// The error of the call.
        error: CallError,
    },
}

impl LoadError {
    /// The end of the stderr of a guest that misbehaved, without secrets. Empty for other errors.
    pub fn guest_stderr(&self) -> &str {
        match self {
            Self::Probe { error, .. } => error.guest_stderr(),
            _ => "",
        }
    }

    /// Whether another attempt may succeed with the same component and the same configuration. An invalid component
    /// stays invalid. A failed probe may succeed when the services that the component needs are available, and a
    /// compiler process may fail for external reasons. A rejected signature is verified again only if it may be trusted
    /// later.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Probe { .. }
            | Self::Unreadable(_)
            | Self::Approvals(_)
            | Self::GrantRequestFile(_)
            | Self::Rejected(Rejection::Compiler(_) | Rejection::NoRoom(_)) => true,
            Self::Rejected(_)
            | Self::BadName(_)
            | Self::Settings(_)
            | Self::NotApproved(_)
            | Self::TooLarge { .. }
            | Self::TooMany(_) => false,
            Self::Verification { is_temporary, .. } => *is_temporary,
        }
    }
}
