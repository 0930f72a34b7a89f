//! Each replica keeps its own sessions of legacy clients, and any replica continues the call of a modern client. Real
//! `larder serve` processes, and plain HTTP requests. The tests need no NATS, because replicas do not share sessions.

use std::fs;
use std::net::TcpListener;

use serde_json::{Value, json};

use crate::support::http_server::{ACCEPT, JSON};
use crate::support::process::{RunningProcess, WorkDir, http_client};

/// The key of all replicas.
const KEY: &str = "a-key-that-only-these-tests-use-0123456789";
/// The length of the random part of a session id.
const RANDOM_DIGITS: usize = 48;

/// A replica that can be restarted at the same address.
struct Replica {
    work_dir: WorkDir,
    address: String,
    process: Option<RunningProcess>,
    client: reqwest::Client,
}

/// The response to a request.
struct Answer {
    status: u16,
    session: Option<String>,
    body: String,
}

impl Replica {
    /// Starts a replica with these settings in `[cluster]`.
    fn start(settings: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut replica = Self {
            work_dir: WorkDir::with_guests("interactive"),
            address: listener.local_addr().unwrap().to_string(),
            process: None,
            client: http_client(),
        };
        drop(listener);
        replica.run(settings);
        replica
    }

    fn run(&mut self, settings: &str) {
        // Nothing listens on port 9.
        let config = format!(
            "[cluster]\nnats = 'nats://127.0.0.1:9'\n{settings}\n\
             [secret.key]\nfile = 'key'\n[secret.other]\nfile = 'other'\n\
             [provider.interactive]\ntools = true\nsettings.name = 'x'\n"
        );
        self.write("larder.toml", &config);
        self.write("key", KEY);
        self.write("other", &KEY.to_uppercase());
        let args = format!(
            "serve --admin off --config larder.toml --listen {}",
            self.address
        );
        // The new client has no connections to the process that ended.
        self.client = http_client();
        let process = self.process.insert(self.work_dir.start(&args));
        process.wait_for_stderr("serves http://");
    }

    fn write(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.work_dir.path(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Stops the replica. Returns what it has written to stderr.
    fn stop(&mut self, signal: &str) -> String {
        let process = self.process.take().unwrap();
        process.signal(signal);
        process.wait().stderr
    }

    async fn post(&self, headers: &[(&str, &str)], method: &str, params: Value) -> Answer {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = self
            .client
            .post(format!("http://{}/mcp", self.address))
            .header(JSON.0, JSON.1)
            .header(ACCEPT.0, ACCEPT.1);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.body(body.to_string()).send().await.unwrap();
        let session = response.headers().get("mcp-session-id");
        Answer {
            status: response.status().as_u16(),
            session: session.map(|id| id.to_str().unwrap().to_owned()),
            body: response.text().await.unwrap(),
        }
    }

    /// Opens a session. Returns its id.
    async fn session(&self) -> String {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = self.post(&[], "initialize", params).await;
        answer
            .session
            .unwrap_or_else(|| panic!("{} {}", answer.status, answer.body))
    }

    /// Sends a request of this session.
    async fn list_in(&self, session: &str) -> Answer {
        self.post(&[("mcp-session-id", session)], "tools/list", json!({}))
            .await
    }

    /// Calls the tool that requests input, as a modern client.
    async fn ask(&self, more: Value) -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        });
        let mut params = json!({ "name": "ask", "arguments": {}, "_meta": meta });
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "ask"),
        ];
        let answer = self.post(&headers, "tools/call", params).await;
        serde_json::from_str(&answer.body)
            .unwrap_or_else(|error| panic!("{error}: {}", answer.body))
    }
}

/// The settings of a replica with this name.
fn named(name: &str) -> String {
    format!("replica = '{name}'\nkey = ['key']")
}

#[tokio::test]
async fn a_session_id_names_its_replica_and_is_unknown_to_others() {
    let replicas = [Replica::start(&named("a")), Replica::start(&named("b-2"))];
    let ids = [replicas[0].session().await, replicas[1].session().await];
    for (id, name) in ids.iter().zip(["a", "b-2"]) {
        let (prefix, random) = id.split_once('.').unwrap();
        assert_eq!((prefix, random.len()), (name, RANDOM_DIGITS));
    }
    let unknown = replicas[1].list_in("b-2.0").await;
    assert_eq!(unknown.status, 404);
    for (replica, own, other) in [(0, 0, 1), (1, 1, 0)] {
        assert_eq!(replicas[replica].list_in(&ids[own]).await.status, 200);
        let refused = replicas[replica].list_in(&ids[other]).await;
        assert_eq!((refused.status, refused.body), (404, unknown.body.clone()));
    }
    // The client of a replica that is gone initialises again at another one.
    let again = replicas[1].session().await;
    assert_eq!(replicas[1].list_in(&again).await.status, 200);
}

#[tokio::test]
async fn a_replica_that_is_restarted_under_its_name_keeps_its_sessions() {
    let mut replica = Replica::start(&named("a"));
    let session = replica.session().await;
    for signal in ["TERM", "KILL"] {
        replica.stop(signal);
        replica.run(&named("a"));
        assert_eq!(replica.list_in(&session).await.status, 200, "{signal}");
    }
    replica.stop("TERM");
    replica.run(&named("b"));
    assert_eq!(replica.list_in(&session).await.status, 404);
}

#[tokio::test]
async fn a_replica_without_a_name_has_a_random_name_and_says_that_its_sessions_end() {
    let mut replica = Replica::start("key = ['key']");
    let session = replica.session().await;
    let (name, _) = session.split_once('.').unwrap();
    assert_eq!(name.len(), 16);
    assert_eq!(replica.list_in(&session).await.status, 200);
    let log = replica.stop("TERM");
    assert!(log.contains("`cluster.replica`"), "{log}");
    replica.run("key = ['key']");
    assert_eq!(replica.list_in(&session).await.status, 404);
    assert!(!replica.session().await.starts_with(name));
}

#[tokio::test]
async fn a_modern_client_answers_at_another_replica_while_the_key_is_replaced() {
    let replicas = ["['key']", "['other', 'key']", "['other']"]
        .map(|keys| Replica::start(&format!("key = {keys}")));
    for (asked, answered, is_open) in [
        (0, 1, true),
        (1, 2, true),
        (1, 1, true),
        (1, 0, false),
        (0, 2, false),
        (2, 0, false),
    ] {
        let question = replicas[asked].ask(json!({})).await;
        let state = &question["result"]["requestState"];
        assert!(state.is_string(), "{question}");
        let answer =
            json!({ "inputResponses": { "name": { "action": "decline" } }, "requestState": state });
        let answer = replicas[answered].ask(answer).await;
        assert_eq!(
            answer["result"]["resultType"] == "complete",
            is_open,
            "{asked} {answered}: {answer}"
        );
    }
}
