//! `larder check --online`: tests what the server needs from other programs: the OAuth issuer, the collector of traces,
//! NATS, registries, the hosts that providers may access, and free addresses.

mod peers;

use std::os::unix::net::UnixStream;
use std::path::Path;

use serde::Serialize;

use super::addresses::{self, AddressUse};
use larder_config::Config;
use larder_core::telemetry;
use larder_mcp::auth::probe_issuer;

/// The result of one test.
#[derive(Debug, Clone, Serialize)]
pub(super) struct OnlineCheck {
    /// What was tested, such as `server.listen 127.0.0.1:7878`.
    what: String,
    pub(super) outcome: OnlineOutcome,
    /// What was found, and what to do about it.
    message: String,
}

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum OnlineOutcome {
    Ok,
    /// The server may work or may not work.
    Warning,
    Failed,
}

impl OnlineCheck {
    /// A test that failed needs `advice`.
    fn new(what: String, result: Result<String, String>, advice: &str) -> Self {
        let (outcome, message) = match result {
            Ok(found) => (OnlineOutcome::Ok, found),
            Err(error) => (OnlineOutcome::Failed, format!("{error}; {advice}")),
        };
        Self {
            what,
            outcome,
            message,
        }
    }

    /// Returns the result as a line.
    pub(super) fn show(&self) -> String {
        let outcome = match self.outcome {
            OnlineOutcome::Ok => "ok",
            OnlineOutcome::Warning => "warning",
            OnlineOutcome::Failed => "failed",
        };
        format!("{}: {outcome}: {}", self.what, self.message)
    }
}

/// Makes all tests.
pub(super) async fn examine(config: &Config) -> Vec<OnlineCheck> {
    let (issuer, collector, nats, registries, hosts) = tokio::join!(
        issuer(config),
        collector(config),
        peers::nats(config),
        peers::registries(config),
        peers::granted_hosts(config)
    );
    let own = [issuer, collector].into_iter().flatten();
    own.chain(nats)
        .chain(registries)
        .chain(hosts)
        .chain(addresses(config))
        .collect()
}

async fn issuer(config: &Config) -> Option<OnlineCheck> {
    let oauth = config.endpoint.auth.oauth.as_ref()?;
    let advice = "check `auth.oauth.issuer`, and that this machine can reach it, or name the URL of its keys with `auth.oauth.jwks`";
    let result = match probe_issuer(oauth).await {
        Ok(1) => Ok("1 key".into()),
        Ok(keys) => Ok(format!("{keys} keys")),
        Err(error) => Err(format!("its tokens will be refused: {error}")),
    };
    let what = format!("issuer {}", oauth.issuer);
    Some(OnlineCheck::new(what, result, advice))
}

async fn collector(config: &Config) -> Option<OnlineCheck> {
    let collector = config.telemetry.as_ref()?;
    let advice = "check `telemetry.otlp` and `telemetry.headers`, and that the collector accepts OTLP over HTTP in JSON at this path";
    let result = match telemetry::probe(collector).await {
        Ok(()) => Ok("it accepts traces".to_owned()),
        Err(error) => Err(format!("traces will be lost: {error}")),
    };
    // The result contains the key of the setting instead of the URL, because the URL may contain a secret.
    let what = "telemetry.otlp".to_owned();
    Some(OnlineCheck::new(what, result, advice))
}

fn addresses(config: &Config) -> Vec<OnlineCheck> {
    let mut checks: Vec<_> = addresses::of(config)
        .into_iter()
        .map(|(key, address)| {
            check_of(
                format!("{key} {address}"),
                key,
                addresses::find_use(address),
            )
        })
        .collect();
    for (key, listen, path) in addresses::sockets(config) {
        checks.push(check_of(format!("{key} {listen}"), key, socket_use(path)));
    }
    checks
}

fn socket_use(path: &Path) -> AddressUse {
    if UnixStream::connect(path).is_ok() {
        AddressUse::InUse
    } else {
        AddressUse::Free
    }
}

fn check_of(what: String, key: &str, usage: AddressUse) -> OnlineCheck {
    let (outcome, message) = match usage {
        AddressUse::Free => (OnlineOutcome::Ok, "free".to_owned()),
        AddressUse::InUse => (
            OnlineOutcome::Warning,
            format!(
                "in use; unless this server runs there already, stop the other one or change `{key}`"
            ),
        ),
        AddressUse::NotHere => (
            OnlineOutcome::Failed,
            format!(
                "not an address of this machine; change `{key}` to one that it has, or to 0.0.0.0 for all"
            ),
        ),
    };
    OnlineCheck {
        what,
        outcome,
        message,
    }
}
