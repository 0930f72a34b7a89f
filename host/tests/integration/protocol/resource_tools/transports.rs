//! Stdio in both eras, the quotas and the audit log.

use larder_core::audit::{self, AuditLog, OnFull, Target};
use larder_model::policy::Quota;
use larder_runtime::drain::Drain;
use serde_json::{Value, json};

use super::{NAMES, call, names, server};
use crate::protocol::stdio::{StdioTestServer, initialize, legacy, modern};
use crate::support::harness::TestServer;
use crate::support::http_server::{HttpTestServer, config};

/// A read and a search by way of tools.
const CALLS: [(&str, &str); 2] = [
    ("read_resource", "{\"uri\":\"echo://setting/x\"}"),
    ("search", "{\"query\":\"hello\"}"),
];

fn call_params((name, arguments): (&str, &str)) -> Value {
    json!({ "name": name, "arguments": serde_json::from_str::<Value>(arguments).unwrap() })
}

#[tokio::test]
async fn stdio_in_both_eras() {
    for is_modern in [true, false] {
        let mut client =
            StdioTestServer::with_config(TestServer::builder("echo").resource_tools(), config())
                .await;
        let message = if is_modern { modern } else { legacy };
        if !is_modern {
            client.request(initialize()).await;
            client
                .send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
                .await;
        }
        let list = client
            .request(message(json!(1), "tools/list", json!({})))
            .await;
        assert_eq!(names(&list), NAMES);
        let read = client
            .request(message(json!(2), "tools/call", call_params(CALLS[0])))
            .await;
        assert_eq!(read["result"]["content"][0]["text"], "unset", "{read}");
        let found = client
            .request(message(json!(3), "tools/call", call_params(CALLS[1])))
            .await;
        assert_eq!(
            found["result"]["structuredContent"]["results"][0]["id"], "echo://hello",
            "{found}"
        );
        let searched = message(
            json!(4),
            "dev.larder/search",
            json!({ "query": "hello", "limit": 1 }),
        );
        let searched = client.request(searched).await;
        assert_eq!(
            searched["result"]["results"][0]["uri"], "echo://hello",
            "{searched}"
        );
    }
}

#[tokio::test]
async fn quotas_are_those_of_a_read() {
    let quota = || Quota {
        bytes: 100,
        ..Quota::default()
    };
    let http = server(TestServer::builder("echo").quota(quota())).await;
    let uri = json!({ "uri": "echo://many" });
    let mut statuses = Vec::new();
    for _ in 0..2 {
        statuses.push(call(&http, "read_resource", uri.clone()).await.status);
    }
    assert_eq!(statuses, [200, 429]);
    let refused = call(&http, "read_resource", uri).await;
    let read = http.read("echo://many").await;
    let kind = |response: &crate::support::http_server::HttpResponse| {
        response.json()["error"]["data"]["kind"].clone()
    };
    assert_eq!(
        (kind(&refused), refused.status),
        (json!("quota"), read.status)
    );
    assert_eq!(kind(&read), "quota");
}

#[tokio::test]
async fn the_audit_log_has_the_line_of_a_read() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("audit.log");
    let mut server = TestServer::builder("echo").resource_tools().start().await;
    let (last, to) = (Drain::new(), Some(Target::File(path.clone())));
    let config_of_log = audit::Config {
        to,
        on_full: OnFull::Wait,
        sync: false,
    };
    let audit = AuditLog::open(
        &config_of_log,
        Default::default(),
        server.metrics.clone(),
        server.health.clone(),
        &last,
    )
    .unwrap();
    server.gateway = server.gateway.with_audit(audit);
    let http = HttpTestServer::serve(server, config()).await;
    for uri in ["echo://many", "nobody:x", "no uri", "echo://error/denied"] {
        http.read(uri).await;
        call(&http, "read_resource", json!({ "uri": uri })).await;
        call(&http, "fetch", json!({ "id": uri })).await;
    }
    call(&http, "search", json!({ "query": "hello" })).await;
    assert!(last.finish(std::time::Duration::from_secs(60)).await);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let search = lines.pop().unwrap();
    assert_eq!(
        (&search["operation"], &search["outcome"], &search["items"]),
        (&json!("search"), &json!("ok"), &json!(1))
    );
    for line in &mut lines {
        ["time", "ms"]
            .into_iter()
            .for_each(|key| line[key] = Value::Null);
    }
    assert_eq!(lines.len(), 12, "{text}");
    for same in lines.chunks(3) {
        assert_eq!(same[0]["operation"], "read");
        assert!(same.iter().all(|line| *line == same[0]), "{same:?}");
    }
}
