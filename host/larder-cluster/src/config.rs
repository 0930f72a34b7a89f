//! The configuration of this crate.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::{ConnectOptions, ServerAddr};

use larder_model::name::ReplicaName;
use larder_model::policy::Secret;

/// The configuration of the connection, and of the leases of replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterConfig {
    /// The name of this replica. Without it, the name is random for each process.
    pub replica: Option<ReplicaName>,
    /// The servers. The connection uses any one of them.
    pub servers: Vec<NatsServer>,
    /// The beginning of all subjects and buckets of this deployment.
    pub prefix: Prefix,
    /// The NATS user of this server.
    pub credentials: Option<NatsCredentials>,
    /// The file with the certificates of authorities that are trusted instead of the authorities of the system. With
    /// this file, the connection is encrypted.
    pub ca: Option<PathBuf>,
    /// The keys with which replicas seal messages for each other. The first key seals, and each key opens.
    pub keys: Vec<Secret>,
    /// Whether messages without a seal are refused. Replicas of earlier versions send such messages.
    pub require_sealed: bool,
    /// How long a replica without messages counts as alive.
    pub lease: Duration,
    /// On how many servers of a NATS cluster the bucket of the leases is stored.
    pub copies: usize,
    /// The version of the program, for operators who look at all replicas.
    pub version: String,
}

impl ClusterConfig {
    /// The name of the bucket with the leases of the replicas.
    pub(crate) fn replicas_bucket(&self) -> String {
        format!("{}_replicas", self.prefix.as_str())
    }
}

/// The URL of a NATS server. It may contain credentials, which are not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct NatsServer(ServerAddr);

/// Error of parsing the URL of a NATS server. The error does not contain the URL, because the URL may contain a
/// password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be the URL of a NATS server, such as \"nats://127.0.0.1:4222\" or \"tls://nats.example.com\""
)]
pub struct BadNatsServer;

impl NatsServer {
    /// Parses a URL with the scheme `nats` or `tls`.
    pub fn parse(text: &str) -> Result<Self, BadNatsServer> {
        let address: ServerAddr = text.parse().map_err(|_| BadNatsServer)?;
        let url = address.clone().into_inner();
        let has_more =
            !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some();
        let is_complete = text.contains("://") && !address.host().is_empty();
        if !matches!(address.scheme(), "nats" | "tls") || has_more || !is_complete {
            return Err(BadNatsServer);
        }
        Ok(Self(address))
    }

    /// Whether the URL contains a user or a token.
    pub fn has_credentials(&self) -> bool {
        self.0.has_user_pass()
    }

    pub(crate) fn address(&self) -> &ServerAddr {
        &self.0
    }
}

impl fmt::Display for NatsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.0.host();
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.to_owned()
        };
        write!(f, "{}://{host}:{}", self.0.scheme(), self.0.port())
    }
}

impl fmt::Debug for NatsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The content of a NATS credentials file: a token, and the key that proves that the token belongs to this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsCredentials(Secret);

/// Error of parsing a credentials file. The error does not contain the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no NATS credentials: a .creds file has a user JWT and an NKEY seed, as `nsc generate creds` writes it"
)]
pub struct BadNatsCredentials;

impl NatsCredentials {
    /// Parses the contents of a file.
    pub fn parse(text: &str) -> Result<Self, BadNatsCredentials> {
        let is_valid = ConnectOptions::new().credentials(text).is_ok();
        is_valid
            .then(|| Self(Secret::new(text)))
            .ok_or(BadNatsCredentials)
    }

    pub(crate) fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

/// The beginning of all subjects and buckets of a deployment, so that several deployments can use one NATS server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prefix(String);

/// Error of parsing a prefix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("use 1 to 64 letters, digits, `_` or `-`")]
pub struct BadPrefix;

impl Default for Prefix {
    fn default() -> Self {
        Self("larder".into())
    }
}

impl Prefix {
    /// Parses a prefix.
    pub fn parse(text: &str) -> Result<Self, BadPrefix> {
        let fits = (1..=64).contains(&text.len())
            && text
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadPrefix)
        }
    }

    /// The prefix as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_shown_without_its_credentials() {
        for (text, shown) in [
            ("nats://127.0.0.1:4223", "nats://127.0.0.1:4223"),
            (
                "nats://larder:pa55word@nats.example.com",
                "nats://nats.example.com:4222",
            ),
            ("tls://t0ken@[::1]", "tls://[::1]:4222"),
        ] {
            let server = NatsServer::parse(text).unwrap();
            assert_eq!(
                (server.to_string(), format!("{server:?}")),
                (shown.to_owned(), shown.to_owned())
            );
        }
    }

    #[test]
    fn other_urls_are_refused() {
        for text in [
            "",
            "127.0.0.1:4222",
            "http://a",
            "ws://a",
            "nats://",
            "nats://a/b",
            "nats://a?b=c",
            "nats://a:x",
        ] {
            assert_eq!(NatsServer::parse(text), Err(BadNatsServer), "{text}");
        }
    }

    #[test]
    fn a_prefix_is_a_part_of_a_subject() {
        assert_eq!(Prefix::parse("team_a-1").unwrap().as_str(), "team_a-1");
        for text in ["", "a.b", "a*", "a b", "ä", &"x".repeat(65)] {
            assert_eq!(Prefix::parse(text), Err(BadPrefix), "{text}");
        }
    }
}
