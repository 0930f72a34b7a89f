//! Errors of the gateway.

use std::time::Duration;

use crate::audit;
use crate::catalog::Offer;
use larder_model::name::ProviderName;
use larder_model::policy::QuotaExceeded;
use larder_provider::CallError;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No provider has the resource.
    #[error("no resource at `{uri}`")]
    NotFound {
        /// The requested URI.
        uri: String,
    },
    /// The cursor is not from this server, or its provider does not accept it any more.
    #[error("invalid cursor: request the first page again, without a cursor")]
    BadCursor,
    /// The cursor belongs to a list with another filter.
    #[error(
        "the cursor belongs to a list with another filter: send that filter, \
         or request the first page without a cursor"
    )]
    FilterMismatch,
    /// No provider offers the template.
    #[error("no provider offers the template `{template}`")]
    UnknownTemplate {
        /// The requested template.
        template: String,
    },
    /// The template has no such variable.
    #[error("the template `{template}` has no variable `{variable}`")]
    UnknownVariable {
        /// The template.
        template: String,
        /// The requested variable.
        variable: String,
    },
    /// No provider offers the tool.
    #[error("no provider offers the tool `{name}`")]
    UnknownTool {
        /// The requested name.
        name: String,
    },
    /// No provider offers the prompt.
    #[error("no provider offers the prompt `{name}`")]
    UnknownPrompt {
        /// The requested name.
        name: String,
    },
    /// No skill has this URI.
    #[error("no skill at `{uri}`")]
    UnknownSkill {
        /// The requested URI.
        uri: String,
    },
    /// No listed resource is below this URI.
    #[error("`{uri}` is not a folder with listed resources")]
    NoDirectory {
        /// The requested URI.
        uri: String,
    },
    /// The arguments do not match the declaration of the prompt.
    #[error("{message}")]
    InvalidArguments {
        /// What is wrong with the arguments.
        message: String,
    },
    /// The provider was replaced while it waited for input from the client.
    #[error(
        "`{provider}` was replaced since it asked for input: start again, without the earlier answers"
    )]
    Replaced {
        /// The provider.
        provider: ProviderName,
    },
    /// The URI contains a value for a template variable that must not be passed to a guest.
    #[error("`{uri}` is refused: {why}")]
    Refused {
        /// The requested URI.
        uri: String,
        /// The variable, and the reason.
        why: String,
    },
    /// The caller's version is still current.
    #[error("`{uri}` is not modified")]
    NotModified {
        /// The requested URI.
        uri: String,
        /// The caller's version.
        version: Option<String>,
    },
    /// The provider rejects the request as invalid.
    #[error("`{provider}` rejects the request: {message}")]
    Invalid {
        /// The provider.
        provider: ProviderName,
        /// The message of the provider.
        message: String,
    },
    /// The provider denies access to this caller.
    #[error("`{provider}` denies access: {message}")]
    Denied {
        /// The provider.
        provider: ProviderName,
        /// The message of the provider.
        message: String,
    },
    /// The provider cannot answer now; a later request may succeed.
    #[error("`{provider}` is unavailable: {message}")]
    Unavailable {
        /// The provider.
        provider: ProviderName,
        /// The message of the provider.
        message: String,
    },
    /// The provider was served before, and its component is not loaded now.
    #[error("`{provider}` is not loaded: try again in {} ms", retry.as_millis())]
    NotLoaded {
        /// The provider.
        provider: ProviderName,
        /// The time until the next attempt to load it can succeed.
        retry: Duration,
    },
    /// The provider failed.
    #[error("`{provider}` failed: {message}")]
    Failed {
        /// The provider.
        provider: ProviderName,
        /// The message of the provider.
        message: String,
    },
    /// The guest misbehaved.
    #[error("the provider `{provider}` failed: {fault}")]
    Fault {
        /// The provider.
        provider: ProviderName,
        /// A description of the fault.
        fault: String,
    },
    /// The response is larger than the limit for one call, so that the resource cannot be read.
    #[error("the provider `{provider}` failed: {fault}")]
    ResponseTooLarge {
        /// The provider.
        provider: ProviderName,
        /// A description, which names the limit.
        fault: String,
    },
    /// The concurrency limit of the provider is reached, and its queue is full.
    #[error("`{provider}` is busy: try again in a moment")]
    Busy {
        /// The provider.
        provider: ProviderName,
    },
    /// The server has no memory for the request at the moment.
    #[error("the server has no memory for a call of `{provider}`: try again in a moment")]
    NoMemory {
        /// The provider.
        provider: ProviderName,
    },
    /// The provider's circuit is open, because its last calls faulted.
    #[error("the circuit of `{provider}` is open after faults: try again in {} ms", retry.as_millis())]
    CircuitOpen {
        /// The provider.
        provider: ProviderName,
        /// The time until the provider is called again.
        retry: Duration,
    },
    /// A quota of a team is exceeded.
    #[error(transparent)]
    QuotaExceeded(#[from] QuotaExceeded),
    /// An operation that cannot be recorded in the audit log is not answered.
    #[error(transparent)]
    AuditClosed(#[from] audit::AuditWriteError),
}

impl Error {
    /// Whether the server or a provider caused the error, not the request.
    pub fn is_server_failure(&self) -> bool {
        match self {
            Self::NotFound { .. }
            | Self::BadCursor
            | Self::FilterMismatch
            | Self::UnknownTemplate { .. }
            | Self::UnknownVariable { .. }
            | Self::UnknownTool { .. }
            | Self::UnknownPrompt { .. }
            | Self::UnknownSkill { .. }
            | Self::NoDirectory { .. }
            | Self::InvalidArguments { .. }
            | Self::Replaced { .. }
            | Self::Refused { .. }
            | Self::NotModified { .. }
            | Self::Invalid { .. }
            | Self::Denied { .. } => false,
            Self::Unavailable { .. }
            | Self::NotLoaded { .. }
            | Self::Failed { .. }
            | Self::Fault { .. }
            | Self::ResponseTooLarge { .. }
            | Self::Busy { .. }
            | Self::NoMemory { .. }
            | Self::CircuitOpen { .. }
            | Self::QuotaExceeded(_)
            | Self::AuditClosed(_) => true,
        }
    }

    /// Converts the error of a provider call. Failures of the provider are logged.
    pub(super) fn from_call(
        offer: &Offer,
        uri: &str,
        known_version: Option<&str>,
        error: CallError,
    ) -> Self {
        let provider = offer.name().clone();
        offer.provider.log_failed_call(&error, uri);
        match error {
            CallError::NotFound => Self::NotFound {
                uri: uri.to_owned(),
            },
            CallError::NotModified => Self::NotModified {
                uri: uri.to_owned(),
                version: known_version.map(ToOwned::to_owned),
            },
            CallError::Refused(why) => Self::Refused {
                uri: uri.to_owned(),
                why,
            },
            CallError::Invalid(message) => Self::Invalid { provider, message },
            CallError::Denied(message) => Self::Denied { provider, message },
            CallError::Unavailable(message) => Self::Unavailable { provider, message },
            CallError::Failed(message) => Self::Failed { provider, message },
            CallError::Fault(fault) if fault.is_response_too_large() => Self::ResponseTooLarge {
                provider,
                fault: fault.to_string(),
            },
            CallError::Fault(fault) => Self::Fault {
                provider,
                fault: fault.to_string(),
            },
            CallError::Busy => Self::Busy { provider },
            CallError::NoMemory => Self::NoMemory { provider },
            CallError::CircuitOpen(retry) => Self::CircuitOpen { provider, retry },
            CallError::QuotaExceeded(used_up) => Self::QuotaExceeded(used_up),
        }
    }
}
