//! The caller of each operation in the audit log: the credential, the address of the client, and operations other than
//! reads.

use std::fs;
use std::time::Duration;

use larder_core::audit::{OnFull, Target};
use larder_mcp::auth;
use larder_runtime::drain::Drain;
use serde_json::{Value, json};

use super::{audited, lines, reads};
use crate::access::auth::issuer::{Issuer, Pair};
use crate::access::auth::{read_with_token, static_token};
use crate::protocol::subscriptions::listen;
use crate::support::harness::{SLOW_WAIT, eventually, eventually_within};
use crate::support::http_server::{HttpTestServer, config};
use crate::support::process::WorkDir;

#[tokio::test]
async fn a_line_tells_a_token_from_a_jwt_with_the_same_subject() {
    let (folder, drain, key) = (
        tempfile::TempDir::new().unwrap(),
        Drain::new(),
        Pair::ed25519(),
    );
    let issuer = Issuer::start(&drain, Value::Array(vec![key.public("ed")])).await;
    let path = folder.path().join("audit.log");
    let (server, last) = audited("echo", Target::File(path.clone()), OnFull::Wait).await;
    let auth = auth::Config {
        tokens: vec![static_token("ann", "a")],
        oauth: Some(issuer.oauth_config()),
    };
    let http = HttpTestServer::serve(server, larder_mcp::Config { auth, ..config() }).await;
    let mut claims = issuer.claims();
    claims["jti"] = "token-7".into();
    let jwt = key.token(&json!({ "alg": "EdDSA", "kid": "ed" }), &claims);
    for token in ["a", &jwt] {
        assert_eq!(read_with_token(&http, token).await.status, 200);
    }
    assert!(last.finish(Duration::from_secs(60)).await);
    let all = reads(&fs::read_to_string(&path).unwrap());
    let shown: Vec<_> = all
        .iter()
        .map(|line| ["subject", "issuer", "token", "peer"].map(|key| line[key].clone()))
        .collect();
    let [ann, local] = ["ann", "127.0.0.1"].map(Value::from);
    let from_jwt = [
        ann.clone(),
        claims["iss"].clone(),
        "token-7".into(),
        local.clone(),
    ];
    assert_eq!(shown, [[ann.clone(), Value::Null, ann, local], from_jwt]);
}

#[tokio::test]
async fn each_operation_of_a_caller_has_a_line() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("audit.log");
    let (server, last) = audited("echo", Target::File(path.clone()), OnFull::Wait).await;
    let http = HttpTestServer::serve(server, config()).await;
    for method in ["resources/list", "resources/templates/list"] {
        assert_eq!(http.modern(method, json!({})).await.verdict(), "200 ok");
    }
    let bad_cursor = http
        .modern("resources/list", json!({ "cursor": "x" }))
        .await;
    assert_eq!(bad_cursor.verdict(), "200 -32602");
    let reference = json!({ "type": "ref/resource", "uri": "echo://say/{word}" });
    let params = json!({ "ref": reference, "argument": { "name": "word", "value": "h" } });
    assert_eq!(
        http.modern("completion/complete", params).await.verdict(),
        "200 ok"
    );
    let filter = json!({ "resourceSubscriptions": ["echo://hello", "echo://nothing/there"] });
    let listening = listen(&http, &filter).send().await.unwrap();
    let text = || fs::read_to_string(&path).unwrap();
    eventually("the subscription is recorded", async || {
        text().lines().count() == 6
    })
    .await;
    drop(listening);
    assert!(last.finish(Duration::from_secs(60)).await);
    let shown: Vec<_> = lines(&text())
        .iter()
        .map(|line| {
            format!(
                "{} {} {} {}",
                line["operation"], line["uri"], line["outcome"], line["items"]
            )
        })
        .collect();
    expect_test::expect![[r#"
        "list" null "ok" 4
        "list-templates" null "ok" 4
        "list" null "invalid" null
        "complete" "echo://say/{word}" "ok" 2
        "subscribe" "echo://hello" "ok" null
        "subscribe" "echo://nothing/there" "not-found" null"#]]
    .assert_eq(&shown.join("\n"));
}

#[tokio::test]
async fn reloads_components_approvals_and_refusals_have_lines() {
    let config = |more: &str| {
        let digest = larder_model::name::Digest::of(b"a");
        format!(
            "[audit]\nfile = \"audit.log\"\n{more}[[auth.tokens]]\nname = \"ann\"\ndigest = \"sha256:{digest}\"\n"
        )
    };
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", &config(""));
    let work_dir = work_dir.file("plugins/echo.toml", "env = [\"HOME\"]\n");
    let (running, url) = work_dir.serve("--config larder.toml");
    let http = crate::support::process::http_client();
    for _ in 0..50 {
        let response = http.post(&url).bearer_auth("wrong").send().await.unwrap();
        assert_eq!(response.status(), 401);
    }
    let all = || lines(&fs::read_to_string(work_dir.path("audit.log")).unwrap());
    let has = |operation: &str, outcome: &str| {
        all()
            .into_iter()
            .find(|line| line["operation"] == operation && line["outcome"] == outcome)
    };
    let pending = has("components", "pending-approval").unwrap();
    assert!(
        pending["details"][0].as_str().unwrap().starts_with("echo "),
        "{pending}"
    );
    // The server records the request in its state folder after the audit line.
    eventually_within(SLOW_WAIT, "the request can be approved", async || {
        work_dir.approve("echo", "--config larder.toml").code == Some(0)
    })
    .await;
    let approval = has("approve", "ok").unwrap();
    assert!(
        approval["provider"] == "echo" && approval["details"] == json!(["variable HOME"]),
        "{approval}"
    );
    assert!(
        pending["details"][0]
            .as_str()
            .unwrap()
            .ends_with(approval["digest"].as_str().unwrap())
    );
    eventually_within(SLOW_WAIT, "the component is loaded", async || {
        has("components", "loaded").is_some()
    })
    .await;
    fs::write(work_dir.path("larder.toml"), config("on_full = 7\n")).unwrap();
    eventually_within(SLOW_WAIT, "a reload failed", async || {
        has("reload-configuration", "failed").is_some()
    })
    .await;
    fs::write(work_dir.path("larder.toml"), config("# fixed\n")).unwrap();
    eventually_within(SLOW_WAIT, "a reload succeeded", async || {
        has("reload-credentials", "ok").is_some()
    })
    .await;
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
    let refused: Vec<_> = all()
        .into_iter()
        .filter(|line| line["operation"] == "request")
        .collect();
    assert_eq!(
        refused.len(),
        2,
        "a flood has one line and a summary: {refused:?}"
    );
    assert!(
        refused[0]["outcome"] == "credential-invalid" && refused[0]["status"] == 401,
        "{refused:?}"
    );
    assert!(
        refused[0]["peer"] == "127.0.0.1" && refused[1]["more"] == 49,
        "{refused:?}"
    );
}
