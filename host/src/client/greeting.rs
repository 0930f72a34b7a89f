//! Finds out which era a server speaks: asks `server/discover`, and where that is not known, `initialize`.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::ClientError;
use super::message::Outgoing;
use super::revision::Revision;
use super::{Client, Transport, unheard};

/// An old server on a pipe may say nothing at all to what it does not know.
const PROBE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Era {
    /// Every request says what it needs.
    Modern,
    /// A handshake comes first, and is not over.
    Greeting(Revision),
    /// A handshake came first.
    Legacy(Revision),
}

impl Era {
    pub(super) fn revision(self) -> Revision {
        match self {
            Self::Modern => Revision::MODERN,
            Self::Greeting(revision) | Self::Legacy(revision) => revision,
        }
    }

    /// The value of the header that says the revision; none while it is being agreed on.
    pub(super) fn header(self) -> Option<&'static str> {
        match self {
            Self::Greeting(_) => None,
            Self::Modern | Self::Legacy(_) => Some(self.revision().as_str()),
        }
    }

    pub(super) fn metadata(&self) -> Option<Value> {
        (*self == Self::Modern).then(|| {
            json!({
                "io.modelcontextprotocol/protocolVersion": Revision::MODERN.as_str(),
                "io.modelcontextprotocol/clientInfo": client_info(),
                "io.modelcontextprotocol/clientCapabilities": {},
            })
        })
    }
}

fn client_info() -> Value {
    json!({ "name": "larder", "version": env!("CARGO_PKG_VERSION") })
}

/// Agrees on a revision: on this one, if there is one, and on the newest of both else.
pub(super) async fn greet(mut transport: Transport, wanted: Option<Revision>) -> Result<Client, ClientError> {
    if wanted.is_none_or(Revision::is_modern) {
        match discover(&mut transport).await {
            Ok(true) => return Ok(Client { transport, era: Era::Modern, asked: 1 }),
            Err(error) if wanted.is_some() || !may_be_older(&error) => return Err(error),
            Ok(false) if wanted.is_some() => return Err(ClientError::NotMcp("it is older".into())),
            Ok(false) | Err(_) => {}
        }
    }
    let era = initialize(&mut transport, wanted).await?;
    Ok(Client { transport, era, asked: 2 })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovered {
    supported_versions: Vec<String>,
}

async fn discover(transport: &mut Transport) -> Result<bool, ClientError> {
    let request = Outgoing::request(1, Era::Modern, "server/discover", json!({}), None);
    let on_a_pipe = matches!(transport, Transport::Lines(_));
    let mut ignored = unheard;
    let exchange = transport.exchange(&request, Era::Modern, &mut ignored);
    let answer = match on_a_pipe {
        true => tokio::time::timeout(PROBE, exchange)
            .await
            .map_err(|_| ClientError::TimedOut("the server".into()))?,
        false => exchange.await,
    };
    let discovered: Discovered = answer?.result("server/discover")?;
    Ok(discovered.supported_versions.iter().any(|version| version == Revision::MODERN.as_str()))
}

fn may_be_older(error: &ClientError) -> bool {
    match error {
        ClientError::Refused(_) | ClientError::NotMcp(_) => true,
        ClientError::TimedOut(who) => who == "the server",
        ClientError::Status { status, .. } => (400..500).contains(status) && *status != 403,
        _ => false,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: String,
}

async fn initialize(transport: &mut Transport, wanted: Option<Revision>) -> Result<Era, ClientError> {
    let revision = wanted.unwrap_or(Revision::LEGACY);
    let params = json!({
        "protocolVersion": revision.as_str(), "capabilities": {}, "clientInfo": client_info(),
    });
    let era = Era::Greeting(revision);
    let request = Outgoing::request(2, era, "initialize", params, None);
    let answer = transport.exchange(&request, era, &mut unheard).await?;
    let answer: Initialized = answer.result("initialize")?;
    let spoken = answer.protocol_version.parse().ok().filter(|spoken: &Revision| !spoken.is_modern());
    let era = match spoken.filter(|spoken| wanted.is_none_or(|wanted| wanted == *spoken)) {
        Some(revision) => Era::Legacy(revision),
        None => {
            let version = answer.protocol_version.escape_debug();
            let why = match wanted {
                Some(wanted) => format!("it speaks version {version} and not {wanted}"),
                None => format!("it speaks version {version}, which this client does not know"),
            };
            return Err(ClientError::NotMcp(why));
        }
    };
    transport.tell(&Outgoing::notification("notifications/initialized", None), era).await?;
    Ok(era)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Greets a peer that has these answers; shows what came of it, and what the peer was told.
    async fn check(answers: &[&str], expected: Expect) {
        let (near, mut far) = tokio::io::duplex(64 << 10);
        for answer in answers {
            far.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
        far.shutdown().await.unwrap();
        let (input, output) = tokio::io::split(near);
        let came = match Client::lines(input, output).await {
            Ok(client) => format!("speaks {}\n", client.revision()),
            Err(error) => format!("error: {error}\n"),
        };
        let mut told = String::new();
        far.read_to_string(&mut told).await.unwrap();
        let gist = |line: &str| {
            let message: Value = serde_json::from_str(line).unwrap();
            format!("{} {}\n", message["id"], message["method"].as_str().unwrap_or("answered"))
        };
        expected.assert_eq(&(came + &told.lines().map(gist).collect::<String>()));
    }

    const UNKNOWN: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown"}}"#;

    #[tokio::test]
    async fn a_modern_server_is_asked_once() {
        let modern =
            r#"{"id":1,"result":{"resultType":"complete","supportedVersions":["2027-01-01","2026-07-28"]}}"#;
        check(
            &[modern],
            expect![[r#"
            speaks 2026-07-28
            1 server/discover
        "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn an_older_server_gets_the_handshake_of_its_time() {
        let initialized = r#"{"id":2,"result":{"protocolVersion":"2025-06-18"}}"#;
        check(
            &[UNKNOWN, initialized],
            expect![[r#"
            speaks 2025-06-18
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
            speaks 2025-06-18
            1 server/discover
            2 initialize
            null notifications/initialized
        "#]],
        )
        .await;
        let between =
            [UNKNOWN, r#"{"method":"notifications/message"}"#, r#"{"id":7,"method":"ping"}"#, initialized];
        check(
            &between,
            expect![[r#"
            speaks 2025-06-18
            1 server/discover
            2 initialize
            7 answered
            null notifications/initialized
        "#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_server_that_is_neither_is_an_error() {
        check(
            &[UNKNOWN, r#"{"id":2,"result":{"protocolVersion":"1.0"}}"#],
            expect![[r#"
            error: the server's answer is not MCP: it speaks version 1.0, which this client does not know
            1 server/discover
            2 initialize
        "#]],
        )
        .await;
        check(
            &[UNKNOWN, r#"{"id":2,"error":{"code":1,"message":"no"}}"#],
            expect![[r#"
            error: the server says: no (1)
            1 server/discover
            2 initialize
        "#]],
        )
        .await;
        check(
            &[],
            expect![[r#"
            error: the connection ended before the answer came
            1 server/discover
        "#]],
        )
        .await;
    }
}
