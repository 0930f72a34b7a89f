//! A third transport is one implementation of `Transport`. The transport in this test passes messages through channels.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use larder_core::gateway::{self, CacheConfig, Gateway, PageSize};
use larder_model::name::Teams;
use larder_model::resource::Caller;
use larder_runtime::drain::Drain;
use larder_runtime::memory_budget::MemoryBudget;
use larder_runtime::metrics::Metrics;
use serde_json::{Value, json};

use super::*;
use crate::EndpointParts;
use crate::auth::{self, Authenticator};

struct ChannelTransport {
    input: mpsc::Receiver<Value>,
    output: mpsc::Sender<Value>,
}

impl Transport for ChannelTransport {
    async fn receive(&mut self) -> io::Result<TransportEvent> {
        let message = self.input.recv().await;
        Ok(message.map_or(TransportEvent::End, |message| {
            TransportEvent::Message(message.to_string().into())
        }))
    }

    async fn send(&mut self, message: UnsentMessage) -> io::Result<()> {
        let UnsentMessage::Small(message) = message else {
            panic!("it is small")
        };
        self.output
            .send(serde_json::from_slice(&message).unwrap())
            .await
            .map_err(io::Error::other)
    }
}

/// An endpoint without teams.
fn endpoint(drain: &Drain) -> Endpoint {
    let caller = Caller {
        subject: None,
        issuer: None,
        teams: Teams::default_team(),
        scopes: vec![],
    };
    let gateway = gateway::Config {
        page_size: PageSize {
            resources: 1,
            templates: 1,
        },
        instructions: None,
        cache: CacheConfig {
            bytes: 0,
            entries: 0,
        },
        private: false,
        shared_teams: vec![],
        search_timeout: std::time::Duration::from_secs(1),
    };
    let config = crate::Config {
        listen: std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into(),
        hosts: vec![],
        origins: vec![],
        body_limit: 1 << 20,
        sessions: 1,
        session_idle_timeout: Duration::from_secs(60),
        streams: 1,
        connections: 1,
        waiting_bytes: 1 << 20,
        keep_alive: Duration::from_secs(60),
        stall_timeout: Duration::from_secs(60),
        shutdown_grace: Duration::from_secs(10),
        request_log: crate::RequestLogMode::Errors,
        trusted_proxies: Default::default(),
        auth: auth::Config::default(),
        caller: caller.clone(),
        title: None,
        extensions: BTreeSet::new(),
    };
    let authenticator = Authenticator::new(config.auth.clone(), caller, drain.clone());
    let metrics = Metrics::default();
    Endpoint::new(
        config,
        EndpointParts::new(
            authenticator,
            Gateway::new(gateway, [], MemoryBudget::unlimited()),
            drain.clone(),
            metrics,
        ),
    )
}

/// A client of a served transport.
struct TestClient {
    sender: mpsc::Sender<Value>,
    received: mpsc::Receiver<Value>,
}

impl TestClient {
    fn connect(drain: &Drain) -> Self {
        let (sender, input) = mpsc::channel(8);
        let (output, received) = mpsc::channel(8);
        let endpoint = endpoint(drain);
        let transport = ChannelTransport { input, output };
        drain.spawn(async move { endpoint.serve_message_stream(transport).await });
        Self { sender, received }
    }

    async fn exchange(&mut self, message: Value) -> Value {
        self.sender.send(message).await.unwrap();
        self.received.recv().await.unwrap()
    }

    async fn request(&mut self, id: u32, method: &str, params: Value) -> Value {
        let response = self.exchange(request(id, method, params)).await;
        assert_eq!(response["id"], id, "{response}");
        response
    }
}

fn request(id: u32, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

#[tokio::test]
async fn serves_both_eras_over_another_transport() {
    let drain = Drain::new();
    let mut client = TestClient::connect(&drain);
    assert_eq!(
        client.request(1, "ping", json!({})).await["result"],
        json!({})
    );
    let early = client
        .request(2, "resources/subscribe", json!({ "uri": "x:1" }))
        .await;
    assert!(
        early["error"]["message"]
            .as_str()
            .unwrap()
            .contains("call `initialize` first"),
        "{early}"
    );
    let initialized = client
        .request(3, "initialize", json!({ "protocolVersion": "2025-06-18" }))
        .await;
    assert_eq!(initialized["result"]["protocolVersion"], "2025-06-18");
    let absent = client
        .request(4, "resources/subscribe", json!({ "uri": "x:1" }))
        .await;
    assert_eq!(absent["error"]["code"], -32002, "{absent}");
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discovered = client
        .request(5, "server/discover", json!({ "_meta": meta }))
        .await;
    assert_eq!(
        discovered["result"]["resultType"], "complete",
        "{discovered}"
    );
    drop(client.sender);
    assert!(
        client.received.recv().await.is_none(),
        "the end of the input ends the connection"
    );
}

#[tokio::test]
async fn responses_of_a_batch_are_in_its_order() {
    let drain = Drain::new();
    let mut client = TestClient::connect(&drain);
    let batch = json!([
        request(1, "resources/read", json!({ "uri": "x:1" })),
        request(2, "no/such", json!({})),
        { "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } },
        request(3, "ping", json!({})),
        request(3, "ping", json!({})),
    ]);
    for version in ["2025-06-18", "2025-03-26"] {
        let refused = client.exchange(batch.clone()).await;
        assert_eq!(
            refused["error"]["message"],
            "this version of the protocol has no batches"
        );
        client
            .request(0, "initialize", json!({ "protocolVersion": version }))
            .await;
    }
    let responses = client.exchange(batch).await;
    let summary = |response: &Value| (response["id"].clone(), response["error"]["code"].clone());
    // The first request was cancelled before it ran, and the id of the third is in use.
    let expected = [(2, json!(-32601)), (3, Value::Null), (3, json!(-32600))];
    let expected = expected.map(|(id, code)| (json!(id), code));
    assert_eq!(
        responses
            .as_array()
            .unwrap()
            .iter()
            .map(summary)
            .collect::<Vec<_>>(),
        expected
    );
}
