//! Why a call gave no answer.

use std::time::Duration;

use crate::policy::UsedUp;
use crate::sandbox::Fault;
use crate::sandbox::bindings::larder::provider::provider_types::Error as WitError;

/// Why a call gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// There is no such thing.
    #[error("not found")]
    NotFound,
    /// The version that the caller holds is still the current one.
    #[error("not modified")]
    NotModified,
    /// Values that no guest gets to see: which one, and why.
    #[error("{0}")]
    Refused(String),
    /// The question makes no sense to the provider.
    #[error("{0}")]
    Invalid(String),
    /// The provider does not let this caller.
    #[error("{0}")]
    Denied(String),
    /// Worth another try later.
    #[error("{0}")]
    Unavailable(String),
    /// The provider could not.
    #[error("{0}")]
    Failed(String),
    /// The provider misbehaved.
    #[error("{0}")]
    Fault(Fault),
    /// All its turns are taken, and stayed so for too long; or as many as may wait for one already.
    #[error("it is busy with other calls")]
    Busy,
    /// Its team has used up what it may use.
    #[error(transparent)]
    UsedUp(UsedUp),
    /// It only faulted lately, and is left alone for so long.
    #[error("it is set aside after many faults, and tried again in {} ms", _0.as_millis())]
    SetAside(Duration),
}

impl From<WitError> for CallError {
    fn from(error: WitError) -> Self {
        /// What a caller is told is one line of bounded length.
        fn line(text: String) -> String {
            text.chars().filter(|c| !c.is_control()).take(1_000).collect()
        }
        match error {
            WitError::NotFound => Self::NotFound,
            WitError::NotModified => Self::NotModified,
            WitError::Invalid(why) => Self::Invalid(line(why)),
            WitError::Denied(why) => Self::Denied(line(why)),
            WitError::Unavailable(why) => Self::Unavailable(line(why)),
            WitError::Failed(why) => Self::Failed(line(why)),
        }
    }
}
