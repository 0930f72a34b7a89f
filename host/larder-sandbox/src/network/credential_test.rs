//! A request of an operator with a credential, which is sent like the requests of guests.

use std::sync::Arc;

use http::StatusCode;

use super::dns::DnsLookups;
use super::outgoing_http::{CredentialUser, OutgoingHttp, RequestError};
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::{CredentialStore, Grant, HostRule, Permit};
use larder_runtime::ledger::SeveralTeams;
use larder_runtime::shares::{ShareLimits, Shares};

/// A request with the credential of a rule.
pub struct CredentialTest {
    /// The team that may use the secrets.
    pub team: TeamName,
    /// The provider that has the rule.
    pub provider: ProviderName,
    /// The rule, which has a credential.
    pub rule: HostRule,
}

impl CredentialTest {
    /// Sends a request to this URL. Returns the status of the response, or why there is none.
    pub async fn get(
        &self,
        url: &str,
        credentials: &CredentialStore,
    ) -> Result<StatusCode, String> {
        let request = http::Request::get(url).body(reqwest::Body::default());
        let request = request.map_err(|error| format!("invalid URL: {error}"))?;
        let permit = Permit::for_host();
        let http = self.outgoing_http(credentials);
        let sent = http.send(request, None, &permit).await;
        sent.map(|response| response.status()).map_err(explained)
    }

    fn outgoing_http(&self, credentials: &CredentialStore) -> OutgoingHttp {
        let rule = HostRule {
            methods: None,
            ..self.rule.clone()
        };
        let grant = Grant {
            hosts: vec![rule],
            ..Grant::default()
        };
        let shares = Shares::new(ShareLimits::default(), &SeveralTeams::default());
        let lookups = DnsLookups::new(shares.team(&self.team));
        let user = CredentialUser {
            team: self.team.clone(),
            provider: self.provider.clone(),
            metrics: Arc::default(),
        };
        OutgoingHttp::new(&grant, Arc::new(lookups), credentials.clone(), user)
    }
}

fn explained(error: RequestError) -> String {
    match error {
        RequestError::Denied(why) | RequestError::Unreachable(why) => why,
        RequestError::TimedOut => "no response in time".to_owned(),
        RequestError::TooLarge | RequestError::NoMemory => "the response is too large".to_owned(),
    }
}
