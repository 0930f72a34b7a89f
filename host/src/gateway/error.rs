//! Why a question has no answer.

use std::time::Duration;

use crate::audit;
use crate::catalog::Offer;
use crate::name::ProviderName;
use crate::policy::UsedUp;
use crate::provider::CallError;
use crate::uri::BadUri;

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nobody has it.
    #[error("nothing is at `{uri}`")]
    NotFound {
        /// What was asked for.
        uri: String,
    },
    /// Not a URI.
    #[error(transparent)]
    BadUri(#[from] BadUri),
    /// Not a cursor of ours, or one that its provider does not know any more.
    #[error("the cursor is not valid; begin again without one")]
    BadCursor,
    /// A cursor of a list that was filtered in another way.
    #[error(
        "the cursor belongs to a list with another filter; go on with that one, or begin without a cursor"
    )]
    OtherFilter,
    /// Nobody offers it.
    #[error("no provider offers the template `{template}`")]
    UnknownTemplate {
        /// What was asked for.
        template: String,
    },
    /// The template has no such variable.
    #[error("the template `{template}` has no variable `{variable}`")]
    UnknownVariable {
        /// The template.
        template: String,
        /// What was asked for.
        variable: String,
    },
    /// A value of a template variable that no guest gets to see.
    #[error("`{uri}` is refused: {why}")]
    Refused {
        /// What was asked for.
        uri: String,
        /// Which variable, and why.
        why: String,
    },
    /// What the caller holds is still current.
    #[error("`{uri}` is as the caller holds it")]
    NotModified {
        /// What was asked for.
        uri: String,
        /// What the caller holds.
        version: Option<String>,
    },
    /// The question makes no sense to the provider.
    #[error("`{provider}` cannot make sense of it: {message}")]
    Invalid {
        /// Who says so.
        provider: ProviderName,
        /// In its own words.
        message: String,
    },
    /// The provider does not let this caller.
    #[error("`{provider}` denies it: {message}")]
    Denied {
        /// Who says so.
        provider: ProviderName,
        /// In its own words.
        message: String,
    },
    /// Worth another try later.
    #[error("`{provider}` cannot answer now: {message}")]
    Unavailable {
        /// Who says so.
        provider: ProviderName,
        /// In its own words.
        message: String,
    },
    /// The provider could not.
    #[error("`{provider}` failed: {message}")]
    Failed {
        /// Who says so.
        provider: ProviderName,
        /// In its own words.
        message: String,
    },
    /// The provider misbehaved.
    #[error("the provider `{provider}` failed: {fault}")]
    Fault {
        /// Who.
        provider: ProviderName,
        /// What it did, in a sentence.
        fault: String,
    },
    /// All its turns are taken.
    #[error("`{provider}` is busy; try again in a moment")]
    Busy {
        /// Who.
        provider: ProviderName,
    },
    /// It only faulted lately, and is not asked for a while.
    #[error("`{provider}` is set aside after many faults; try again in {} ms", retry.as_millis())]
    SetAside {
        /// Who.
        provider: ProviderName,
        /// When it is worth another try.
        retry: Duration,
    },
    /// The caller's team has used up what it may use.
    #[error(transparent)]
    UsedUp(#[from] UsedUp),
    /// Nothing could be written down about it, and nothing is read that is not.
    #[error(transparent)]
    Unaudited(#[from] audit::Closed),
}

impl Error {
    /// Whether something is wrong with who was asked, and not with the question.
    pub fn is_trouble(&self) -> bool {
        match self {
            Self::NotFound { .. }
            | Self::BadUri(_)
            | Self::BadCursor
            | Self::OtherFilter
            | Self::UnknownTemplate { .. }
            | Self::UnknownVariable { .. }
            | Self::Refused { .. }
            | Self::NotModified { .. }
            | Self::Invalid { .. }
            | Self::Denied { .. } => false,
            Self::Unavailable { .. }
            | Self::Failed { .. }
            | Self::Fault { .. }
            | Self::Busy { .. }
            | Self::SetAside { .. }
            | Self::UsedUp(_)
            | Self::Unaudited(_) => true,
        }
    }

    /// What the caller is told of it; if something is wrong with the provider, the log is, too.
    pub(super) fn from_call(offer: &Offer, uri: &str, held: Option<&str>, error: CallError) -> Self {
        let provider = offer.name().clone();
        if let CallError::Busy | CallError::UsedUp(_) = error {
            offer.provider.tell_turned_away(&error);
        } else if error.outcome().is_trouble() {
            let team = offer.provider.team().named();
            tracing::warn!(team, %provider, %error, "a provider failed to answer");
        }
        match error {
            CallError::NotFound => Self::NotFound { uri: uri.to_owned() },
            CallError::NotModified => {
                Self::NotModified { uri: uri.to_owned(), version: held.map(ToOwned::to_owned) }
            }
            CallError::Refused(why) => Self::Refused { uri: uri.to_owned(), why },
            CallError::Invalid(message) => Self::Invalid { provider, message },
            CallError::Denied(message) => Self::Denied { provider, message },
            CallError::Unavailable(message) => Self::Unavailable { provider, message },
            CallError::Failed(message) => Self::Failed { provider, message },
            CallError::Fault(fault) => Self::Fault { provider, fault: fault.to_string() },
            CallError::Busy => Self::Busy { provider },
            CallError::SetAside(retry) => Self::SetAside { provider, retry },
            CallError::UsedUp(used_up) => Self::UsedUp(used_up),
        }
    }
}
