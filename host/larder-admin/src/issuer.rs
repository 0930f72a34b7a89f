//! The state of the OAuth issuer as plain data, and its effect on the server.

use serde::{Deserialize, Serialize};

/// The state of the issuer whose tokens are accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issuer {
    /// The issuer.
    pub issuer: String,
    /// The number of keys in use. If it is zero, all tokens of the issuer are refused.
    pub keys: usize,
    /// When the keys were fetched last.
    pub fetched: Option<String>,
    /// Why the last fetch failed; none if it succeeded.
    pub error: Option<FetchError>,
    /// Whether no other credentials are accepted.
    pub is_only_credential: bool,
}

/// Why keys could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchError {
    /// When the fetch failed.
    pub at: String,
    /// The error message.
    pub message: String,
}

impl Issuer {
    /// Returns the problem, in a sentence, and whether all requests are refused because of it.
    pub(super) fn problem(&self) -> Option<(String, bool)> {
        let Self {
            issuer,
            keys,
            fetched,
            error,
            is_only_credential,
        } = self;
        let error = error.as_ref().map(|error| &error.message);
        let problem = match (keys, error, fetched) {
            (0, Some(error), _) => {
                format!(
                    "the keys of the issuer {issuer} cannot be fetched, so its tokens are refused: {error}; `larder check --online` tests this"
                )
            }
            (0, None, Some(_)) => {
                format!(
                    "the issuer {issuer} has no key of a supported type, so its tokens are refused"
                )
            }
            (0, None, None) => format!("the keys of the issuer {issuer} have not been fetched yet"),
            (_, Some(error), fetched) => {
                let since = fetched.as_deref().unwrap_or("an earlier time");
                format!(
                    "the keys of the issuer {issuer} cannot be fetched; those of {since} are used for an hour: {error}"
                )
            }
            (_, None, _) => return None,
        };
        Some((problem, *keys == 0 && *is_only_credential))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_not_ready_if_no_credential_can_be_verified() {
        let state = |keys, fetched: bool, failed: bool, is_only_credential| Issuer {
            issuer: "https://id".into(),
            keys,
            fetched: fetched.then(|| "2026-01-02T03:04:05Z".into()),
            error: failed.then(|| FetchError {
                at: String::new(),
                message: "timed out".into(),
            }),
            is_only_credential,
        };
        let is_unready = |state: Issuer| state.problem().map(|(_, is_unready)| is_unready);
        assert_eq!(is_unready(state(2, true, false, true)), None);
        assert_eq!(
            is_unready(state(2, true, true, true)),
            Some(false),
            "the last keys are still used"
        );
        assert_eq!(is_unready(state(0, false, true, true)), Some(true));
        assert_eq!(is_unready(state(0, false, false, true)), Some(true));
        assert_eq!(is_unready(state(0, true, false, true)), Some(true));
        assert_eq!(
            is_unready(state(0, false, true, false)),
            Some(false),
            "static tokens are accepted"
        );
    }
}
