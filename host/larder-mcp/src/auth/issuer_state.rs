//! What is known about the issuer of tokens: whether it can be reached, and whether there are keys to verify tokens.

use std::time::SystemTime;

use super::keys::fetch::fetch;
use super::keys::{FetchReport, read};
use super::{Authenticator, Oauth};
use larder_runtime::metrics::{ComputedFamily, Metrics};

/// The state of the issuer whose tokens are accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuerState {
    /// The issuer.
    pub issuer: String,
    /// The number of keys in use. If it is zero, all tokens of the issuer are refused.
    pub keys: usize,
    /// When the keys were fetched last.
    pub fetched: Option<SystemTime>,
    /// When the last fetch failed, and why; `None` if it succeeded.
    pub failure: Option<(SystemTime, String)>,
    /// Whether no other credentials are accepted, so that without keys all requests are refused.
    pub is_only_credential: bool,
}

impl Authenticator {
    /// Returns the state of the issuer; `None` if none is configured.
    pub fn issuer_state(&self) -> Option<IssuerState> {
        let state = self.0.state.load();
        let issuer = state.issuer.as_ref()?;
        let (
            keys,
            FetchReport {
                fetched, failure, ..
            },
        ) = issuer.report();
        Some(IssuerState {
            issuer: issuer.config.issuer.to_string(),
            keys,
            fetched,
            failure,
            is_only_credential: state.tokens.is_empty(),
        })
    }

    /// Registers the metrics of the issuer. Without an issuer, the metrics have no samples.
    pub fn register_metrics(&self, metrics: &Metrics) {
        let authenticator = self.clone();
        let keys = ComputedFamily::gauges(move |samples| match authenticator.issuer_state() {
            Some(state) => samples.gauge(&[], state.keys),
            None => Ok(()),
        });
        let help = "Keys of the OAuth issuer in use; with 0 its tokens are refused";
        metrics.register("larder_issuer_keys", help, keys);
        let authenticator = self.clone();
        let fetches = ComputedFamily::counters(move |samples| {
            let Some(issuer) = authenticator.0.state.load().issuer.clone() else {
                return Ok(());
            };
            let (_, report) = issuer.report();
            samples.counter(&[("outcome", "ok")], report.successes)?;
            samples.counter(&[("outcome", "failed")], report.failures)
        });
        metrics.register(
            "larder_issuer_fetches",
            "Fetches of the OAuth issuer's keys",
            fetches,
        );
    }
}

/// Fetches the keys of an issuer once, as a server would. Returns the number of usable keys, or what is wrong.
pub async fn probe_issuer(oauth: &Oauth) -> Result<usize, String> {
    match fetch(&oauth.issuer, oauth.jwks.as_ref()).await.map(read) {
        Ok(keys) if keys.is_empty() => Err("it has no key of a supported type".into()),
        Ok(keys) => Ok(keys.len()),
        Err(error) => Err(error.to_string()),
    }
}
