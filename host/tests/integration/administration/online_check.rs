//! `larder check --online` with a real issuer, a real collector and real sockets.

use std::net::TcpListener;

use axum::http::StatusCode;
use larder_runtime::drain::Drain;
use serde_json::{Value, json};

use crate::access::auth::issuer::{Issuer, Pair};
use crate::support::process::{ProcessOutput, WorkDir};

/// Starts a collector that answers every request with this status.
async fn collector(drain: &Drain, status: StatusCode) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = axum::Router::new().fallback(move || async move { (status, "{}") });
    drain.spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/v1/traces")
}

fn config(issuer: &str, collector: &str, listen: &str) -> String {
    format!(
        "[server]\nlisten = '{listen}'\n[admin]\nlisten = '127.0.0.1:0'\n[telemetry]\notlp = '{collector}'\n\
         [auth.oauth]\nissuer = '{issuer}'\naudience = 'https://docs.example.com/mcp'\n"
    )
}

/// Runs the check on another thread: the issuer runs on this one.
async fn check(config: String, args: &'static str) -> ProcessOutput {
    let run = move || {
        WorkDir::with_guests("echo")
            .file("larder.toml", &config)
            .larder(&format!("check {args}"))
    };
    Drain::new().spawn_blocking(run).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tests_the_issuer_the_collector_and_the_addresses() {
    let drain = Drain::new();
    let issuer = Issuer::start(&drain, json!([Pair::ed25519().public("one")])).await;
    let config = config(
        &issuer.url,
        &collector(&drain, StatusCode::OK).await,
        "127.0.0.1:0",
    );
    let output = check(config, "--online --strict").await;
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(
        output
            .stderr
            .contains(&format!("issuer {}: ok: 1 key", issuer.url)),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("telemetry.otlp: ok"),
        "{}",
        output.stderr
    );
    assert!(
        output
            .stderr
            .contains("server.listen 127.0.0.1:0: ok: free"),
        "{}",
        output.stderr
    );
    assert_eq!(issuer.key_requests(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn says_what_fails_and_what_to_do() {
    let drain = Drain::new();
    let issuer = Issuer::start(&drain, json!([])).await;
    issuer.rotate(None);
    let used = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = used.local_addr().unwrap().to_string();
    let config = config(
        &issuer.url,
        &collector(&drain, StatusCode::UNAUTHORIZED).await,
        &address,
    );
    let output = check(config.clone(), "--online").await;
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    for text in [
        "HTTP 500; check `auth.oauth.issuer`",
        "responded with 401 Unauthorized; check `telemetry.otlp`",
        &format!("server.listen {address}: warning: in use; unless this server runs there already"),
    ] {
        assert!(output.stderr.contains(text), "no {text}: {}", output.stderr);
    }
    let json: Value = check(config.clone(), "--online --json").await.json();
    let outcomes: Vec<_> = json["online"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| &check["outcome"])
        .collect();
    assert_eq!(outcomes, ["failed", "failed", "warning", "ok"]);
    // Without the option, nothing is fetched.
    let offline = check(config, "").await;
    assert!(
        !offline.stderr.contains("issuer http"),
        "{}",
        offline.stderr
    );
    assert_eq!(issuer.key_requests(), 2);
}

/// A port of this machine on which nothing listens.
fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contacts_nats_registries_and_granted_hosts() {
    let open = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = open.local_addr().unwrap();
    let closed = closed_port();
    let key = "5".repeat(64);
    let config = format!(
        "[server]\nlisten = '127.0.0.1:0'\n[cluster]\nnats = 'nats://127.0.0.1:{closed}'\nkey = ['key']\n\
         [secret.key]\nenv = 'KEY'\n[registries.permitted.\"127.0.0.1:{closed}\"]\nplain_http = true\n\
         [provider.wiki]\ncomponent = '127.0.0.1:{closed}/team/wiki:1'\n\
         [provider.echo]\nhosts = ['http://{open}', 'http://127.0.0.1:{closed}', '*.example.com']\n\
         tcp = [{{ host = '127.0.0.1', port = {closed}, private = true }}]\n"
    );
    let run = move || {
        let work_dir = WorkDir::with_guests("echo").file("larder.toml", &config);
        work_dir
            .start_with(&[("KEY", &key)], "check --online")
            .wait()
    };
    let output = Drain::new().spawn_blocking(run).await.unwrap();
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    for text in [
        "check its name and port",
        &format!("cluster.nats nats://127.0.0.1:{closed}: failed: "),
        &format!("component 127.0.0.1:{closed}/team/wiki:1 of wiki: failed: "),
        &format!("host {open} of echo: ok: it accepts connections"),
        &format!("host 127.0.0.1:{closed} of echo: failed: no connection: Connection refused"),
    ] {
        assert!(output.stderr.contains(text), "no {text}: {}", output.stderr);
    }
    assert!(
        !output.stderr.contains("*.example.com"),
        "{}",
        output.stderr
    );
}
