//! The protocol over fake providers: requests over HTTP, without a network and without WebAssembly.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};

use super::*;
use larder_core::test_team::TestTeam;
use larder_model::policy::{Grant, ToolGrant};
use larder_provider::CallError;
use larder_provider::fake::FakeContent;

/// The version of the protocol that the requests have.
const VERSION: &str = "2026-07-28";

/// An endpoint that serves one fake provider.
struct TestEndpoint {
    endpoint: Endpoint,
    content: FakeContent,
    _team: TestTeam,
}

fn config() -> Config {
    Config {
        listen: ListenAddress::Tcp(([127, 0, 0, 1], 0).into()),
        hosts: vec![],
        origins: vec![],
        body_limit: 1 << 20,
        sessions: 10,
        session_idle_timeout: Duration::from_secs(60),
        streams: 10,
        connections: 10,
        waiting_bytes: 1 << 20,
        keep_alive: Duration::from_secs(15),
        stall_timeout: Duration::from_secs(30),
        shutdown_grace: Duration::from_secs(1),
        request_log: RequestLogMode::Off,
        trusted_proxies: TrustedProxies::default(),
        auth: auth::Config::default(),
        caller: TestTeam::caller(),
        title: None,
        extensions: BTreeSet::new(),
    }
}

impl TestEndpoint {
    async fn new(content: FakeContent) -> Self {
        let grant = Grant {
            tools: ToolGrant::All,
            skills: true,
            ..Grant::default()
        };
        let team = TestTeam::new([content.provider("wiki", grant)], 2).await;
        let drain = Drain::new();
        let config = config();
        let authenticator =
            Authenticator::new(config.auth.clone(), config.caller.clone(), drain.clone());
        let endpoint = Endpoint::new(
            config,
            EndpointParts::new(
                authenticator,
                team.gateway.clone(),
                drain,
                Metrics::default(),
            ),
        );
        Self {
            endpoint,
            content,
            _team: team,
        }
    }

    /// Sends a request of the modern era. Returns the result or the error of the response. `name` is the header that
    /// names what the request is about.
    async fn request(&self, method: &str, name: Option<&str>, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0.1.0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = ::http::Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", VERSION)
            .header("mcp-method", method);
        if let Some(name) = name {
            request = request.header("mcp-name", name);
        }
        let request = request
            .body(Full::new(Bytes::from(body.to_string())))
            .unwrap();
        let response = self.endpoint.respond(request).await;
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let mut answer: Value = serde_json::from_slice(&body).unwrap();
        let part = if answer.get("error").is_some() {
            "error"
        } else {
            "result"
        };
        answer[part].take()
    }

    async fn read(&self, uri: &str) -> Value {
        self.request("resources/read", Some(uri), json!({"uri": uri}))
            .await
    }
}

#[tokio::test]
async fn a_read_returns_the_text_of_the_provider() {
    let content = FakeContent::default().with_text("x:a", "one\n\"two\"");
    let endpoint = TestEndpoint::new(content).await;
    let result = endpoint.read("x:a").await;
    let expected = json!([{"uri": "x:a", "mimeType": "text/plain", "text": "one\n\"two\""}]);
    assert_eq!(result["contents"], expected);
    assert_eq!(endpoint.content.calls(), ["probe", "read x:a"]);
}

#[tokio::test]
async fn errors_of_a_read_have_codes_and_texts() {
    let content = FakeContent::default().with_text("x:a", "one");
    let endpoint = TestEndpoint::new(content).await;
    let error = endpoint.read("x:missing").await;
    assert_eq!(error["code"], -32602, "{error}");
    endpoint
        .content
        .fail(CallError::Unavailable("the disk is full".into()));
    let error = endpoint.read("x:a").await;
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("the disk is full"),
        "{error}"
    );
}

#[tokio::test]
async fn a_list_has_pages() {
    let content = FakeContent::default()
        .with_text("x:1", "")
        .with_text("x:2", "")
        .with_text("x:3", "");
    let endpoint = TestEndpoint::new(content).await;
    let uris = |page: &Value| -> Vec<String> {
        let resources = page["resources"].as_array().unwrap().iter();
        resources
            .map(|item| item["uri"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = endpoint.request("resources/list", None, json!({})).await;
    assert_eq!(uris(&first), ["x:1", "x:2"]);
    let cursor = json!({"cursor": first["nextCursor"]});
    let second = endpoint.request("resources/list", None, cursor).await;
    assert_eq!(uris(&second), ["x:3"]);
    assert_eq!(second.get("nextCursor"), None);
    assert_eq!(
        endpoint.content.calls(),
        ["probe"],
        "lists call no provider"
    );
}

#[tokio::test]
async fn a_tool_is_listed_and_called() {
    let schema = r#"{"type": "object", "properties": {"n": {"type": "number"}}}"#;
    let content = FakeContent::default().with_tool("double", schema);
    let endpoint = TestEndpoint::new(content).await;
    let tools = endpoint.request("tools/list", None, json!({})).await;
    assert_eq!(tools["tools"][0]["name"], "double");
    let call = json!({"name": "double", "arguments": {"n": 2}});
    let result = endpoint.request("tools/call", Some("double"), call).await;
    assert_eq!(
        result["content"],
        json!([{"type": "text", "text": "{\"n\":2}"}])
    );
    let call = json!({"name": "double", "arguments": {"n": "two"}});
    let result = endpoint.request("tools/call", Some("double"), call).await;
    assert_eq!(result["isError"], true);
    assert_eq!(endpoint.content.calls(), ["probe", "call double"]);
}

const SKILL_MD: &str = "---\nname: pdf\ndescription: Fills forms\nmetadata: {n: 1}\n---\n";

#[tokio::test]
async fn the_skills_extension_is_declared_and_answers() {
    let content = FakeContent::default()
        .with_text("skill://pdf/SKILL.md", SKILL_MD)
        .with_text("skill://pdf/a/b.md", "");
    let endpoint = TestEndpoint::new(content).await;
    let server = endpoint.request("server/discover", None, json!({})).await;
    assert_eq!(
        server["capabilities"]["extensions"],
        json!({"io.modelcontextprotocol/skills": {"directoryRead": true}})
    );
    let list = endpoint.request("skills/list", None, json!({})).await;
    let skill = json!({
        "uri": "skill://pdf/SKILL.md",
        "frontmatter": {"name": "pdf", "description": "Fills forms", "metadata": {"n": 1}},
        "resources": [
            {
                "uri": "skill://pdf/SKILL.md",
                "digest": "sha256:5240c5626f4e9be109082788c0db1cfee7ca93f8256d3c34744d9d9ade13c3b1",
                "size": 60,
            },
            {
                "uri": "skill://pdf/a/b.md",
                "digest": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                "size": 0,
            },
        ],
    });
    assert_eq!(list["skills"], json!([skill]));
    assert_eq!(list["resultType"], "complete");
    assert_eq!(
        (&list["ttlMs"], &list["cacheScope"]),
        (&json!(0), &json!("public"))
    );
    let uri = json!({"uri": "skill://pdf/SKILL.md"});
    let got = endpoint.request("skills/get", None, uri).await;
    assert_eq!(got["skill"], skill);
    assert_eq!(
        (&got["ttlMs"], &got["cacheScope"]),
        (&json!(0), &json!("public"))
    );
    for unknown in ["skill://other/SKILL.md", "skill://pdf", "no uri"] {
        let error = endpoint
            .request("skills/get", None, json!({"uri": unknown}))
            .await;
        assert_eq!(error["code"], -32602, "{error}");
    }
}

#[tokio::test]
async fn a_folder_is_listed() {
    let content = FakeContent::default()
        .with_text("skill://pdf/SKILL.md", SKILL_MD)
        .with_text("skill://pdf/a/b.md", "");
    let endpoint = TestEndpoint::new(content).await;
    let folder = json!({"uri": "skill://pdf"});
    let list = endpoint
        .request("resources/directory/read", None, folder)
        .await;
    assert_eq!(
        list["resources"],
        json!([
            {
                "uri": "skill://pdf/SKILL.md",
                "name": "pdf",
                "description": "Fills forms",
                "mimeType": "text/markdown",
            },
            {"uri": "skill://pdf/a", "name": "a", "mimeType": "inode/directory"},
        ])
    );
    let file = json!({"uri": "skill://pdf/SKILL.md"});
    let error = endpoint
        .request("resources/directory/read", None, file)
        .await;
    assert_eq!(error["code"], -32602, "{error}");
}
