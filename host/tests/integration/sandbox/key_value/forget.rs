//! `larder forget`, and values that survive the end of the server by `kill -9`: the real binary.

use serde_json::{Value, json};

use crate::administration::admin::AdminClient;
use crate::support::http_server::{ACCEPT, JSON, MODERN, meta};
use crate::support::process::{WorkDir, http_client};

const CONFIG: &str = "[admin]\nlisten = '127.0.0.1:0'\n[audit]\nfile = 'audit.jsonl'\n\
                      [provider.key_value]\nkey_value = ['shared', 'caller']\n";

async fn read(url: &str, what: &str) -> String {
    let uri = format!("key-value://{what}");
    let params = json!({ "uri": uri, "_meta": meta() });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params });
    let headers = [
        JSON,
        ACCEPT,
        MODERN,
        ("mcp-method", "resources/read"),
        ("mcp-name", &uri),
    ];
    let request = headers
        .into_iter()
        .fold(http_client().post(url), |request, (name, value)| {
            request.header(name, value)
        });
    let text = request
        .body(body.to_string())
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let answer: Value = serde_json::from_str(&text).unwrap();
    answer["result"]["contents"][0]["text"]
        .as_str()
        .map_or_else(|| answer.to_string(), ToOwned::to_owned)
}

#[tokio::test]
async fn committed_values_survive_kill_9_until_they_are_forgotten() {
    let work_dir = WorkDir::with_guests("key_value").file("larder.toml", CONFIG);
    let (admin, url) = AdminClient::open(&work_dir);
    for n in 0..20 {
        assert_eq!(
            read(&url, &format!("set/shared/key-{n}/{n}")).await,
            "ok: ()"
        );
    }
    admin.process.signal("KILL");
    admin.process.wait();
    let (admin, url) = AdminClient::open(&work_dir);
    for n in 0..20 {
        assert_eq!(
            read(&url, &format!("get/shared/key-{n}")).await,
            format!("ok: Some(\"{n}\")")
        );
    }
    // The values stay when the component is removed. They can also be deleted without a server.
    admin.process.signal("TERM");
    admin.process.wait();
    std::fs::remove_file(work_dir.path("plugins/key_value.wasm")).unwrap();
    let refused = work_dir.larder("forget key_value");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("use --yes"), "{}", refused.stderr);
    let forgotten = work_dir.larder("forget key_value --yes");
    assert_eq!(
        (forgotten.code, forgotten.stderr.as_str()),
        (
            Some(0),
            "larder: deleted 20 values (1.4 KiB) of key_value\n"
        )
    );
    let again = work_dir.larder("forget key_value --yes");
    assert_eq!(
        (again.code, again.stderr.as_str()),
        (Some(1), "larder: nothing is stored for key_value\n")
    );
    let audit = std::fs::read_to_string(work_dir.path("audit.jsonl")).unwrap();
    assert!(
        audit.contains(r#""operation":"forget","outcome":"ok""#),
        "{audit}"
    );
}

#[tokio::test]
async fn a_running_server_forgets_the_values() {
    let address = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let config = CONFIG.replace("127.0.0.1:0", &address.to_string());
    let work_dir = WorkDir::with_guests("key_value").file("larder.toml", &config);
    let (admin, url) = AdminClient::open(&work_dir);
    assert_eq!(read(&url, "set/shared/a/1").await, "ok: ()");
    let team = async || {
        serde_json::from_str::<Value>(&admin.get("/status").await.1).unwrap()["teams"][0].clone()
    };
    let stored = json!([{ "provider": "key_value", "keys": 1, "bytes": 66, "callers": 0 }]);
    assert_eq!(team().await["stored"], stored);
    assert_eq!(
        team().await["providers"][0]["grants"]["key_value"],
        json!(["caller", "shared"])
    );
    let metrics = admin.get("/metrics").await.1;
    for sample in [
        r#"larder_key_value_bytes{team="default",provider="key_value"} 66"#,
        r#"larder_key_value_operations_total{team="default",provider="key_value",result="written"} 1"#,
    ] {
        assert!(metrics.contains(sample), "{sample}: {metrics}");
    }
    let status = work_dir.larder("status").stdout;
    for line in [
        "grants: key-value caller, shared",
        "stored by key_value: 1 value, 66 bytes, 0 callers",
    ] {
        assert!(status.contains(line), "{status}");
    }
    // The command finds out that a server uses the file, and reads the server's address in larder.toml.
    let forgotten = work_dir.larder("forget key_value --yes");
    let deleted = "larder: deleted 1 value (66 bytes) of key_value\n";
    assert_eq!(
        (forgotten.code, forgotten.stderr.as_str()),
        (Some(0), deleted)
    );
    assert_eq!(read(&url, "get/shared/a").await, "ok: None");
    assert_eq!(team().await["stored"], json!([]));
    assert_eq!(read(&url, "set/shared/a/1").await, "ok: ()");
    let forgotten = work_dir.larder(&format!("forget key_value --yes --admin http://{address}"));
    assert_eq!(
        (forgotten.code, forgotten.stderr.as_str()),
        (Some(0), deleted)
    );
    let audit = std::fs::read_to_string(work_dir.path("audit.jsonl")).unwrap();
    assert_eq!(
        audit
            .matches(r#""operation":"forget","outcome":"ok""#)
            .count(),
        2,
        "{audit}"
    );
}
