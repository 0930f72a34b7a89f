//! What operators see of the issuer: readiness, status and metrics, with a real issuer over HTTP.

use std::fs;

use larder_runtime::drain::Drain;
use serde_json::{Value, json};

use super::issuer::{Issuer, Pair};
use super::{read_with_token, static_token, with_auth, with_issuer};
use crate::administration::admin::AdminClient;
use crate::administration::metrics::{parse_samples, sample_value};
use crate::support::harness::{SLOW_WAIT, eventually_within};
use crate::support::process::WorkDir;
use larder_mcp::auth::Config;

fn oauth(issuer: &str) -> String {
    format!(
        "[admin]\nlisten = '127.0.0.1:0'\n[auth.oauth]\nissuer = '{issuer}'\naudience = 'https://docs.example.com/mcp'\n"
    )
}

const TOKEN: &str = "[[auth.tokens]]\nname = 'ann'\ndigest = 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'\n";

async fn status(admin: &AdminClient) -> Value {
    serde_json::from_str(&admin.get("/status").await.1).unwrap()
}

async fn metric(admin: &AdminClient, key: &str) -> f64 {
    sample_value(&parse_samples(&admin.get("/metrics").await.1), key)
}

/// An address on which no server listens.
async fn unreachable_issuer() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/realm", listener.local_addr().unwrap())
}

#[tokio::test]
async fn a_server_without_any_verifiable_credential_is_not_ready() {
    let issuer = unreachable_issuer().await;
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", &oauth(&issuer));
    let (admin, _) = AdminClient::open(&work_dir);
    eventually_within(SLOW_WAIT, "the fetch fails", async || {
        metric(&admin, r#"larder_issuer_fetches_total{outcome="failed"}"#).await > 0.0
    })
    .await;
    let (code, body) = admin.get("/readyz").await;
    assert_eq!(code, 503, "{body}");
    assert!(
        body.contains(&issuer) && body.contains("larder check --online"),
        "{body}"
    );
    assert_eq!(metric(&admin, "larder_issuer_keys").await, 0.0);
    let state = &status(&admin).await["issuer"];
    assert_eq!(
        (&state["issuer"], &state["keys"], &state["fetched"]),
        (&json!(issuer), &json!(0), &Value::Null)
    );
    assert!(
        !state["error"]["message"].as_str().unwrap().is_empty(),
        "{state}"
    );
    let shown = work_dir.larder(&format!("status --admin http://{}", admin.address()));
    assert_eq!(shown.code, Some(1));
    assert!(
        shown.stdout.contains("not ready: the keys of the issuer"),
        "{}",
        shown.stdout
    );
    assert!(
        shown.stdout.contains("0 keys, never fetched; last error"),
        "{}",
        shown.stdout
    );
}

#[tokio::test]
async fn a_server_with_static_tokens_is_ready_but_reports_the_issuer() {
    let issuer = unreachable_issuer().await;
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", &(oauth(&issuer) + TOKEN));
    let (admin, _) = AdminClient::open(&work_dir);
    eventually_within(SLOW_WAIT, "the problem is reported", async || {
        let status = status(&admin).await;
        status["problems"]
            .to_string()
            .contains("its tokens are refused: ")
    })
    .await;
    assert_eq!(admin.get("/readyz").await.0, 200);
    // Without the token, no token can be verified any more.
    fs::write(work_dir.path("larder.toml"), oauth(&issuer)).unwrap();
    eventually_within(SLOW_WAIT, "the server is not ready", async || {
        admin.get("/readyz").await.0 == 503
    })
    .await;
}

#[tokio::test]
async fn the_state_shows_a_working_issuer_and_one_that_fails_later() {
    let drain = Drain::new();
    let key = Pair::ed25519();
    let issuer = Issuer::start(&drain, json!([key.public("one")])).await;
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", &oauth(&issuer.url));
    let (admin, _) = AdminClient::open(&work_dir);
    eventually_within(SLOW_WAIT, "the keys are fetched", async || {
        admin.get("/readyz").await.0 == 200
    })
    .await;
    assert_eq!(metric(&admin, "larder_issuer_keys").await, 1.0);
    let state = &status(&admin).await["issuer"];
    assert!(
        state["fetched"].is_string() && state["error"].is_null(),
        "{state}"
    );
}

#[tokio::test]
async fn keys_are_fetched_again_soon_after_a_failure_without_any_request() {
    let drain = Drain::new();
    let key = Pair::ed25519();
    let issuer = Issuer::start(&drain, json!([key.public("one")])).await;
    issuer.rotate(None);
    let http = with_issuer(issuer.oauth_config()).await;
    let state = || http.authenticator.issuer_state().unwrap();
    eventually_within(SLOW_WAIT, "the fetch fails", async || {
        state().failure.is_some()
    })
    .await;
    assert!(state().keys == 0 && state().is_only_credential);
    issuer.rotate(Some(json!([key.public("one")])));
    eventually_within(SLOW_WAIT, "the keys are fetched", async || {
        state().keys == 1
    })
    .await;
    assert!(state().failure.is_none());
    let token = key.token(&json!({ "alg": "EdDSA", "kid": "one" }), &issuer.claims());
    assert_eq!(read_with_token(&http, &token).await.status, 200);
}

#[tokio::test]
async fn static_tokens_are_no_issuer() {
    let tokens = vec![static_token("ann", "secret")];
    let http = with_auth(Config {
        tokens,
        oauth: None,
    })
    .await;
    assert_eq!(http.authenticator.issuer_state(), None);
}
