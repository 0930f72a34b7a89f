//! The OpenAPI document matches the real responses of the server.

use larder_json_schema::{Effort, JsonSchema};
use serde_json::{Value, json};

use super::{CONFIG, DataServer, TOKEN};
use crate::support::process::WorkDir;

/// Checks bodies against the schemas of the document.
struct Document(Value);

impl Document {
    fn check(&self, schema: &Value, body: &Value, what: &str) {
        let schema = json!({ "allOf": [schema], "components": self.0["components"] });
        let schema = JsonSchema::compile(&schema, 1 << 20).unwrap();
        let outcome = schema.validate(body, &mut Effort::new(u64::MAX));
        assert!(outcome.is_ok(), "{what}: {outcome:#?} in {body:#}");
    }

    /// Checks the response of an operation.
    fn check_response(&self, (method, path): (&str, &str), status: u16, body: &Value) {
        let operation = &self.0["paths"][path][method];
        assert!(
            operation.is_object(),
            "{method} {path} is not in the document"
        );
        let responses = &operation["responses"];
        let response = responses
            .get(status.to_string())
            .unwrap_or(&self.0["components"]["responses"]["Error"]);
        let schema = &response["content"]["application/json"]["schema"];
        self.check(schema, body, &format!("{method} {path} {status}"));
    }
}

/// A server with data for every path: calls, faults, a rejected component, and a component that waits for approval.
async fn eventful() -> DataServer {
    let config = format!("{CONFIG}{TOKEN}[provider.echo]\nsettings.colour = \"blue\"\n");
    let work_dir = WorkDir::with_guests("echo trap_start dirs trap_reads defined flood")
        .file("larder.toml", &config);
    let work_dir = work_dir.file("plugins/dirs.toml", "dirs = [\"/usr\"]\n");
    let server = DataServer::in_folder(work_dir);
    server.read("echo://hello").expect_success();
    server.read("flood://lines/3").expect_success();
    server.read("trap-reads://listed").expect_exit(1);
    server
        .until("dirs waits", "/api/approvals", |list| {
            !list["items"].as_array().unwrap().is_empty()
        })
        .await;
    server
        .until("a sample", "/api/history", |history| {
            !super::known(&history["series"]["calls"]).is_empty()
        })
        .await;
    server
}

#[tokio::test]
async fn each_response_matches_the_document() {
    let server = eventful().await;
    let document = Document(server.json("/api/openapi.json").await);
    assert_eq!(document.0["openapi"], "3.1.0");
    let mut checked = vec![("get", "/api/openapi.json"), ("get", "/api/events/stream")];
    for (template, path, status) in [
        ("/api/session", "/api/session", 200),
        ("/api/status", "/api/status", 200),
        ("/api/overview", "/api/overview", 200),
        ("/api/history", "/api/history", 200),
        ("/api/history", "/api/history?provider=echo", 200),
        ("/api/history", "/api/history?provider=nobody", 404),
        ("/api/providers", "/api/providers", 200),
        ("/api/providers", "/api/providers?limit=2", 200),
        ("/api/providers", "/api/providers?limit=0", 400),
        ("/api/providers", "/api/providers?state=odd", 400),
        ("/api/providers/{name}", "/api/providers/echo", 200),
        ("/api/providers/{name}", "/api/providers/trap_reads", 200),
        ("/api/providers/{name}", "/api/providers/trap_start", 200),
        ("/api/providers/{name}", "/api/providers/dirs", 200),
        ("/api/providers/{name}", "/api/providers/no%2Fbody", 404),
        ("/api/providers/{name}/log", "/api/providers/flood/log", 200),
        (
            "/api/providers/{name}/log",
            "/api/providers/flood/log?after=x",
            400,
        ),
        ("/api/resources", "/api/resources", 200),
        ("/api/templates", "/api/templates", 200),
        ("/api/tools", "/api/tools", 200),
        ("/api/prompts", "/api/prompts", 200),
        ("/api/approvals", "/api/approvals", 200),
        ("/api/events", "/api/events", 200),
        ("/api/events", "/api/events?kind=odd", 400),
        ("/api/teams", "/api/teams", 200),
    ] {
        let (found, body) = server.get(path).await;
        assert_eq!(found, status, "{path}: {body}");
        document.check_response(("get", template), status, &body);
        checked.push(("get", template));
    }
    checked.extend(check_posts(&server, &document).await);
    let paths = document.0["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, item)| {
        item.as_object()
            .unwrap()
            .keys()
            .map(move |method| (method.as_str(), path.as_str()))
    });
    let unchecked: Vec<_> = all
        .filter(|operation| !checked.contains(operation))
        .collect();
    assert!(
        unchecked.is_empty(),
        "no response was checked: {unchecked:?}"
    );
    assert_eq!(server.get("/api/nothing").await.0, 404);
}

/// Checks the responses to requests with a body, and that the bodies match too.
async fn check_posts(
    server: &DataServer,
    document: &Document,
) -> Vec<(&'static str, &'static str)> {
    let pending = server.items("/api/approvals").await.remove(0);
    let decision =
        json!({ "decision": "reject", "digest": pending["digest"], "id": pending["id"] });
    let mut checked = Vec::new();
    for (template, path, body, status) in [
        (
            "/api/login",
            "/api/login",
            json!({ "token": "secret" }),
            200,
        ),
        (
            "/api/read",
            "/api/read",
            json!({ "uri": "echo://hello", "caller": { "subject": "ann" } }),
            200,
        ),
        (
            "/api/read",
            "/api/read",
            json!({ "uri": "echo://none" }),
            404,
        ),
        (
            "/api/complete",
            "/api/complete",
            json!({ "template": "echo://say/{word}", "variable": "word", "value": "", "context": {} }),
            200,
        ),
        (
            "/api/approvals/{name}",
            "/api/approvals/nobody",
            decision.clone(),
            404,
        ),
        (
            "/api/approvals/{name}",
            "/api/approvals/dirs",
            decision,
            200,
        ),
        ("/api/logout", "/api/logout", json!({}), 204),
    ] {
        let response = server
            .request("POST", path)
            .json(&body)
            .send()
            .await
            .unwrap();
        assert_eq!(
            response.status().as_u16(),
            status,
            "{path}: {}",
            response.text().await.unwrap()
        );
        let operation = &document.0["paths"][template]["post"];
        if let Some(request) = operation.get("requestBody") {
            document.check(
                &request["content"]["application/json"]["schema"],
                &body,
                path,
            );
        }
        if status != 204 {
            document.check_response(("post", template), status, &response.json().await.unwrap());
        }
        checked.push(("post", template));
    }
    checked
}

/// A complete status without missing or empty parts. No single server has such a status.
fn full_status() -> Value {
    let at = "2026-01-02T03:04:05Z";
    let grants = json!({
        "settings": ["a"], "secrets": ["b"], "env": ["C"], "dirs": ["/a as /b (read)"], "hosts": ["https://x.example GET"],
        "tcp": ["db:5432"], "key_value": ["shared"], "apps": ["uses the camera"],
    });
    let provider = json!({
        "name": "wiki", "digest": "00", "revision": 1, "since": at, "version": "1.0", "resources": 3, "has_more": true,
        "templates": 1, "tools": 2, "prompts": 1, "claims": ["wiki:"], "omitted": ["x"], "setting_problems": ["y"],
        "requested": ["env HOME"], "allowed": ["secret b"], "grants": grants, "calls": { "ok": 4 },
        "last_error": { "at": at, "operation": "read", "outcome": "trap", "message": "it trapped" },
        "circuit_open_ms": 1, "list_circuit_open_ms": 2, "search_circuit_open_ms": 3,
        "index": { "documents": 1, "bytes": 2, "max_bytes": 4, "pending": 3, "error": "full" },
        "skills": { "skills": 1, "bytes": 2, "problems": ["x"] },
    });
    let team = json!({
        "team": "default", "plugins": "/srv/plugins", "state_key": "/srv/plugins", "providers": [provider], "more_rejected": 1, "collisions": ["z"],
        "denied_requests": [{ "provider": "net", "lines": ["env HOME"] }],
        "rejected": [{ "file": "odd.wasm", "digest": "00", "reason": "empty", "since": at }],
        "pending_approval": [{ "provider": "net", "digest": "00", "requested": ["env HOME"], "since": at }],
        "stored": [{ "provider": "wiki", "keys": 1, "bytes": 2, "callers": 3 }],
    });
    let issuer = json!({
        "issuer": "https://id.example", "keys": 1, "fetched": at, "is_only_credential": true,
        "error": { "at": at, "message": "refused" },
    });
    let cluster = json!({
        "connected": true, "server": "n1 (2.9.10)", "replica": "00000000000000aa", "watched": 2, "polled": 1,
        "replicas": [{ "id": "00000000000000bb", "version": "0.1.0", "last_seen_seconds": 1 }],
        "reconnects": 1, "last_error": "timed out",
    });
    json!({
        "version": "0.1.0", "started": at, "ready": false, "reasons": ["stopping"], "problems": ["x"], "notices": ["y"],
        "needs_restart": ["admin"], "issuer": issuer, "cluster": cluster, "memory": { "limit": 2, "used": { "guests": 1 }, "refused": 2 },
        "folders": { "configuration": "/etc/larder.toml", "state": "/var/lib/larder", "cache": "/var/cache/larder" },
        "teams": [team],
    })
}

#[tokio::test]
async fn the_document_describes_all_parts_of_a_status() {
    let server = DataServer::start("echo", "");
    let document = Document(server.json("/api/openapi.json").await);
    // If the server has a field that this test or the document does not have, that is an error too.
    let status: larder_admin::Status = serde_json::from_value(full_status()).unwrap();
    let status = serde_json::to_value(status).unwrap();
    assert_eq!(status, full_status());
    document.check(
        &json!({ "$ref": "#/components/schemas/Status" }),
        &status,
        "status",
    );
    let (own, api) = (server.get("/status").await, server.get("/api/status").await);
    assert_eq!(own, api);
}

#[tokio::test]
async fn events_of_the_stream_match_the_document() {
    let server = DataServer::start("echo", "");
    let document = Document(server.json("/api/openapi.json").await);
    let mut stream = super::stream::Stream::open(&server, "?after=0").await;
    let (mut events, mut overviews) = (0, 0);
    while events == 0 || overviews == 0 {
        let message = stream.next().await.unwrap();
        let (schema, count) = match message.name.as_str() {
            "event" => ("Event", &mut events),
            "overview" => ("Overview", &mut overviews),
            other => panic!("{other}"),
        };
        let schema = json!({ "$ref": format!("#/components/schemas/{schema}") });
        document.check(&schema, &message.data, &message.name);
        *count += 1;
    }
}
