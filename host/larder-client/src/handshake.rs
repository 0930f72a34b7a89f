//! Detects the era of a server: sends `server/discover`. If the server does not support this method, sends
//! `initialize`.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::connection::Client;
use super::era::{Era, client_info};
use super::error::ClientError;
use super::message::{ClientMessage, ignore_message};
use super::revision::Revision;
use super::transport::Transport;

/// How long to wait for the answer to `server/discover` on a pipe. Old servers may not answer unknown
/// methods.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Negotiates the revision: the requested revision, or the newest revision that both sides support.
pub(super) async fn handshake(
    mut transport: Transport,
    requested: Option<Revision>,
) -> Result<Client, ClientError> {
    if requested.is_none_or(Revision::is_modern) {
        match discover(&mut transport).await {
            Ok(true) => {
                return Ok(Client {
                    transport,
                    era: Era::Modern,
                    last_id: 1,
                });
            }
            Err(error) if requested.is_some() || !may_be_legacy(&error) => return Err(error),
            Ok(false) if requested.is_some() => return Err(not_modern()),
            Ok(false) | Err(_) => {}
        }
    }
    let era = initialize(&mut transport, requested).await?;
    Ok(Client {
        transport,
        era,
        last_id: 2,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DiscoverResult {
    supported_versions: Vec<String>,
}

impl DiscoverResult {
    fn supports_modern(&self) -> bool {
        let mut versions = self.supported_versions.iter();
        versions.any(|version| version == Revision::MODERN.as_str())
    }
}

async fn discover(transport: &mut Transport) -> Result<bool, ClientError> {
    let request = ClientMessage::request(1, Era::Modern, "server/discover", json!({}), None);
    let is_pipe = matches!(transport, Transport::Lines(_));
    let mut on_message = ignore_message;
    let exchange = transport.exchange(&request, Era::Modern, &mut on_message);
    let answer = if is_pipe {
        tokio::time::timeout(PROBE_TIMEOUT, exchange)
            .await
            .map_err(|_| ClientError::TimedOut("the server".into()))?
    } else {
        exchange.await
    };
    let discovered: DiscoverResult = answer?.result("server/discover")?;
    Ok(discovered.supports_modern())
}

fn not_modern() -> ClientError {
    ClientError::NotMcp(format!("it does not support {}", Revision::MODERN))
}

fn may_be_legacy(error: &ClientError) -> bool {
    match error {
        ClientError::Rpc(_) | ClientError::NotMcp(_) => true,
        ClientError::TimedOut(who) => who == "the server",
        ClientError::Status { status, .. } => (400..500).contains(status) && *status != 403,
        _ => false,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InitializeResult {
    protocol_version: String,
}

async fn initialize(
    transport: &mut Transport,
    requested: Option<Revision>,
) -> Result<Era, ClientError> {
    let revision = requested.unwrap_or(Revision::LEGACY);
    let params = json!({
        "protocolVersion": revision.as_str(), "capabilities": {}, "clientInfo": client_info(),
    });
    let era = Era::Handshake(revision);
    let request = ClientMessage::request(2, era, "initialize", params, None);
    let answer = transport
        .exchange(&request, era, &mut ignore_message)
        .await?;
    let answer: InitializeResult = answer.result("initialize")?;
    let offered = legacy_revision(&answer.protocol_version);
    let era = match offered
        .filter(|offered| requested.is_none_or(|requested| requested == *offered))
    {
        Some(revision) => Era::Legacy(revision),
        None => {
            let version = answer.protocol_version.escape_debug();
            let why = match requested {
                Some(requested) => format!("it uses version {version} and not {requested}"),
                None => format!("it uses version {version}, which this client does not support"),
            };
            return Err(ClientError::NotMcp(why));
        }
    };
    transport
        .notify(
            &ClientMessage::notification("notifications/initialized", None),
            era,
        )
        .await?;
    Ok(era)
}

fn legacy_revision(version: &str) -> Option<Revision> {
    let revision: Revision = version.parse().ok()?;
    (!revision.is_modern()).then_some(revision)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::Value;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::lines::LineTransport;

    /// Connects to a peer that sends these answers. Shows the result and the messages that the peer received.
    async fn check(answers: &[&str], expected: Expect) {
        let (near, mut far) = tokio::io::duplex(64 << 10);
        for answer in answers {
            far.write_all(format!("{answer}\n").as_bytes())
                .await
                .unwrap();
        }
        far.shutdown().await.unwrap();
        let (input, output) = tokio::io::split(near);
        let transport = Transport::Lines(LineTransport::new(input, output));
        let result = match handshake(transport, None).await {
            Ok(client) => format!("uses {}\n", client.revision()),
            Err(error) => format!("error: {error}\n"),
        };
        let mut received = String::new();
        far.read_to_string(&mut received).await.unwrap();
        let summary = |line: &str| {
            let message: Value = serde_json::from_str(line).unwrap();
            format!(
                "{} {}\n",
                message["id"],
                message["method"].as_str().unwrap_or("reply")
            )
        };
        expected.assert_eq(&(result + &received.lines().map(summary).collect::<String>()));
    }

    const UNKNOWN: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown"}}"#;

    #[tokio::test]
    async fn connects_to_a_modern_server_with_one_request() {
        let modern = r#"{"id":1,"result":{"resultType":"complete","supportedVersions":["2027-01-01","2026-07-28"]}}"#;
        check(
            &[modern],
            expect![[r#"
            uses 2026-07-28
            1 server/discover
        "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn falls_back_to_the_legacy_handshake() {
        let initialized = r#"{"id":2,"result":{"protocolVersion":"2025-06-18"}}"#;
        check(
            &[UNKNOWN, initialized],
            expect![[r#"
            uses 2025-06-18
            1 server/discover
            2 initialize
            null notifications/initialized
        "#]],
        )
        .await;
        let newer_only = r#"{"id":1,"result":{"supportedVersions":["2027-01-01"]}}"#;
        check(
            &[newer_only, initialized],
            expect![[r#"
            uses 2025-06-18
            1 server/discover
            2 initialize
            null notifications/initialized
        "#]],
        )
        .await;
        let between = [
            UNKNOWN,
            r#"{"method":"notifications/message"}"#,
            r#"{"id":7,"method":"ping"}"#,
            initialized,
        ];
        check(
            &between,
            expect![[r#"
            uses 2025-06-18
            1 server/discover
            2 initialize
            7 reply
            null notifications/initialized
        "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn rejects_servers_of_unknown_revisions() {
        check(
            &[UNKNOWN, r#"{"id":2,"result":{"protocolVersion":"1.0"}}"#],
            expect![[r#"
            error: the server's answer is not valid MCP: it uses version 1.0, which this client does not support
            1 server/discover
            2 initialize
        "#]],
        )
        .await;
        check(
            &[UNKNOWN, r#"{"id":2,"error":{"code":1,"message":"no"}}"#],
            expect![[r#"
            error: the server returned an error: no (1)
            1 server/discover
            2 initialize
        "#]],
        )
        .await;
        check(
            &[],
            expect![[r#"
            error: the connection ended before the answer arrived
            1 server/discover
        "#]],
        )
        .await;
    }
}
