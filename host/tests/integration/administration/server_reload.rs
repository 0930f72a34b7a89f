//! The real binary: which parts of the configuration a running server changes, which parts it reports, and `larder
//! reload`.

use std::fs;

use serde_json::{Value, json};

use crate::administration::admin::AdminClient;
use crate::administration::metrics::{parse_samples, sample_value};
use crate::protocol::subscriptions::Events;
use crate::support::harness::{SLOW_WAIT, component_path, eventually_within};
use crate::support::http_server::meta;
use crate::support::process::{WorkDir, http_client};
use larder_runtime::drain::Drain;

const SUCCESSFUL: &str = "larder_config_last_reload_successful";
const ADMIN: &str = "[admin]\nlisten = '127.0.0.1:0'\n";

fn write(work_dir: &WorkDir, text: &str) {
    fs::write(work_dir.path("larder.toml"), format!("{ADMIN}{text}")).unwrap();
}

/// Starts a server with this configuration.
fn start(guests: &str, text: &str) -> (WorkDir, AdminClient, String) {
    let work_dir = WorkDir::with_guests(guests).file("larder.toml", &format!("{ADMIN}{text}"));
    for team in ["a", "b"] {
        fs::create_dir(work_dir.path(team)).unwrap();
    }
    fs::copy(component_path("echo"), work_dir.path("a/echo.wasm")).unwrap();
    fs::copy(component_path("sleep"), work_dir.path("b/sleep.wasm")).unwrap();
    let (admin, url) = AdminClient::open(&work_dir);
    (work_dir, admin, url)
}

/// Returns the value of a metric.
async fn metric(admin: &AdminClient, name: &str) -> f64 {
    sample_value(&parse_samples(&admin.get("/metrics").await.1), name)
}

/// Runs `larder reload`, and returns its exit code and what it printed.
fn reload(work_dir: &WorkDir, admin: &AdminClient) -> (Option<i32>, String) {
    let output = work_dir.larder(&format!("reload --admin http://{}", admin.address()));
    (output.code, output.stdout + &output.stderr)
}

fn request(url: &str, method: &str, params: Value) -> reqwest::RequestBuilder {
    let mut params = params;
    params["_meta"] = meta();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let request = http_client()
        .post(url)
        .header("content-type", "application/json");
    let request = request.header("accept", "application/json, text/event-stream");
    let name = params["uri"].as_str().unwrap_or_default().to_owned();
    let request = request
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    let request = if name.is_empty() {
        request
    } else {
        request.header("mcp-name", name)
    };
    request.timeout(SLOW_WAIT).body(body.to_string())
}

async fn read(url: &str, uri: &str) -> (u16, Value) {
    let response = request(url, "resources/read", json!({ "uri": uri }))
        .send()
        .await
        .unwrap();
    let status = response.status().as_u16();
    (status, json_of(response).await)
}

async fn json_of(response: reqwest::Response) -> Value {
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

async fn status_with(url: &str, header: &'static str, value: &str) -> u16 {
    let request = request(url, "resources/read", json!({ "uri": "echo://hello" }));
    request
        .header(header, value)
        .send()
        .await
        .unwrap()
        .status()
        .as_u16()
}

#[tokio::test]
async fn hosts_origins_and_limits_change_without_a_restart() {
    let (work_dir, admin, url) = start("echo", "");
    let (host, origin) = ("docs.example.com", "https://app.example.com");
    assert_eq!(status_with(&url, "host", host).await, 403);
    assert_eq!(status_with(&url, "origin", origin).await, 403);
    write(
        &work_dir,
        "[server]\nhosts = ['docs.example.com']\norigins = ['https://app.example.com']\ntitle = 'New'\n\
         instructions = 'Be brief.'\npage_size = 1\n",
    );
    let (code, text) = reload(&work_dir, &admin);
    assert_eq!((code, text.as_str()), (Some(0), "larder: reloaded\n"));
    assert_eq!(status_with(&url, "host", host).await, 200);
    assert_eq!(status_with(&url, "origin", origin).await, 200);
    let discovered = request(&url, "server/discover", json!({}))
        .send()
        .await
        .unwrap();
    let discovered = json_of(discovered).await;
    let instructions = discovered["result"]["instructions"].as_str().unwrap();
    assert!(instructions.starts_with("Be brief."), "{discovered}");
    assert!(
        discovered.to_string().contains(r#""title":"New""#),
        "{discovered}"
    );
    let list = request(&url, "resources/list", json!({}))
        .send()
        .await
        .unwrap();
    let list = json_of(list).await;
    assert_eq!(list["result"]["resources"].as_array().unwrap().len(), 1);
    write(&work_dir, "[server]\nbody_limit = '1KiB'\n");
    reload(&work_dir, &admin);
    assert_eq!(
        status_with(&url, "host", host).await,
        403,
        "the host was removed again"
    );
    let large = request(
        &url,
        "resources/read",
        json!({ "uri": format!("echo://{}", "x".repeat(2_000)) }),
    );
    assert_eq!(large.send().await.unwrap().status().as_u16(), 413);
}

#[tokio::test]
async fn the_log_filter_and_the_request_log_change_without_a_restart() {
    let (work_dir, mut admin, url) =
        start("echo", "[server.log]\nfilter = 'error,larder::app=info'\n");
    write(
        &work_dir,
        "[server.log]\nfilter = 'info'\nrequests = 'all'\n",
    );
    assert_eq!(reload(&work_dir, &admin).0, Some(0));
    assert_eq!(read(&url, "echo://hello").await.0, 200);
    let line = admin.process.wait_for_stderr("larder::request");
    assert!(line.contains("method=\"resources/read\""), "{line}");
}

#[tokio::test]
async fn what_needs_a_restart_is_reported() {
    let (work_dir, mut admin, _) = start("echo", "");
    write(
        &work_dir,
        "[server]\nguests = 7\nlisten = '127.0.0.1:9'\ntitle = 'New'\n[cache]\nentries = 3\n",
    );
    let (code, text) = reload(&work_dir, &admin);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("server.guests changed: this takes effect after a restart"),
        "{text}"
    );
    admin
        .process
        .find_stderr("this takes effect after a restart key=\"server.guests\"");
    let status: Value = serde_json::from_str(&admin.get("/status").await.1).unwrap();
    assert_eq!(
        status["needs_restart"],
        json!(["server.guests"]),
        "`--listen` overrides the address"
    );
    let pending = async || metric(&admin, "larder_config_pending_restart_keys").await;
    assert_eq!(pending().await, 1.0);
    let shown = work_dir
        .larder(&format!("status --admin http://{}", admin.address()))
        .expect_success();
    assert!(
        shown.contains("in effect only after a restart: server.guests"),
        "{shown}"
    );
    write(&work_dir, "");
    reload(&work_dir, &admin);
    let status: Value = serde_json::from_str(&admin.get("/status").await.1).unwrap();
    assert_eq!(status["needs_restart"], json!([]));
    assert_eq!(pending().await, 0.0);
}

#[tokio::test]
async fn an_invalid_file_changes_nothing_and_is_reported() {
    let valid = "[server]\nhosts = ['docs.example.com']\n";
    let (work_dir, admin, url) = start("echo", valid);
    let succeeded = async || metric(&admin, SUCCESSFUL).await;
    assert_eq!(succeeded().await, 1.0);
    let at = "larder_config_last_reload_success_timestamp_seconds";
    assert!(metric(&admin, at).await > 1.7e9);
    write(
        &work_dir,
        "[server]\nhosts = ['other.example.com']\ncolour = 'red'\n",
    );
    let (code, text) = reload(&work_dir, &admin);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("server.colour") && text.contains("not reloaded"),
        "{text}"
    );
    assert_eq!(status_with(&url, "host", "docs.example.com").await, 200);
    assert_eq!(status_with(&url, "host", "other.example.com").await, 403);
    let status = work_dir
        .larder(&format!("status --admin http://{}", admin.address()))
        .expect_success();
    assert!(status.contains("server.colour"), "{status}");
    assert_eq!(succeeded().await, 0.0);
    // The file is as it was, so there is nothing to apply.
    write(&work_dir, valid);
    eventually_within(SLOW_WAIT, "the file is in effect again", async || {
        succeeded().await == 1.0
    })
    .await;
}

#[tokio::test]
async fn a_reload_reads_changed_secrets() {
    let secret = "[secret.key]\nfile = 'key'\n[provider.keys]\nsecrets = ['key']\n";
    let work_dir = WorkDir::with_guests("keys").file("key", "first-secret-value");
    let work_dir = work_dir.file("larder.toml", &format!("{ADMIN}{secret}"));
    let (admin, _) = AdminClient::open(&work_dir);
    fs::write(work_dir.path("key"), "short").unwrap();
    fs::remove_file(work_dir.path("key")).unwrap();
    let (code, text) = reload(&work_dir, &admin);
    assert_eq!(
        code,
        Some(1),
        "the file of the secret is read again: {text}"
    );
    assert!(text.contains("secret.key"), "{text}");
    assert_eq!(metric(&admin, SUCCESSFUL).await, 0.0);
}

#[tokio::test]
async fn the_quota_of_a_team_changes_without_a_restart() {
    let team = |quota: &str| {
        format!("[server]\nteams = ['a']\n[team.a]\nplugins = 'a'\nquota = {{ {quota} }}\n")
    };
    let (work_dir, admin, url) = start("", &team("requests = 1"));
    let statuses = async || {
        let mut statuses = Vec::new();
        for _ in 0..20 {
            statuses.push(read(&url, "echo://hello").await.0);
        }
        statuses
    };
    assert!(statuses().await.contains(&429));
    fs::copy(component_path("sleep"), work_dir.path("a/other.wasm")).unwrap();
    write(&work_dir, &team("requests = 100_000, providers = 1"));
    assert_eq!(reload(&work_dir, &admin).0, Some(0));
    let status: Value = serde_json::from_str(&admin.get("/status").await.1).unwrap();
    assert_eq!(status["needs_restart"], json!([]));
    assert!(statuses().await.iter().all(|status| *status == 200));
    let served = async || metric(&admin, "larder_providers{team=\"a\"}").await;
    let rejected = async || metric(&admin, "larder_rejected_components{team=\"a\"}").await;
    eventually_within(SLOW_WAIT, "one of two is served", async || {
        served().await == 1.0 && rejected().await == 1.0
    })
    .await;
    write(&work_dir, &team("requests = 100_000, providers = 2"));
    eventually_within(SLOW_WAIT, "both are served", async || served().await == 2.0).await;
}

#[tokio::test]
async fn a_rotated_secret_takes_effect_without_a_reload() {
    let secret = "[secret.key]\nfile = 'volume/key'\n[provider.echo]\nsecrets = ['key']\n";
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", &format!("{ADMIN}{secret}"));
    // A link to a folder is replaced by a link to another folder, as in Kubernetes.
    for (folder, value) in [("volume/..1", "first"), ("volume/..2", "second")] {
        fs::create_dir_all(work_dir.path(folder)).unwrap();
        fs::write(work_dir.path(folder).join("key"), value).unwrap();
    }
    std::os::unix::fs::symlink("..1", work_dir.path("volume/..data")).unwrap();
    std::os::unix::fs::symlink("..data/key", work_dir.path("volume/key")).unwrap();
    let (admin, url) = AdminClient::open(&work_dir);
    let value =
        async || read(&url, "echo://setting/key").await.1["result"]["contents"][0]["text"].take();
    assert_eq!(value().await, "first");
    std::os::unix::fs::symlink("..2", work_dir.path("volume/..data_tmp")).unwrap();
    fs::rename(
        work_dir.path("volume/..data_tmp"),
        work_dir.path("volume/..data"),
    )
    .unwrap();
    eventually_within(SLOW_WAIT, "the new value is used", async || {
        value().await == "second"
    })
    .await;
    // A file that is missing for a moment is a problem, and the value stays in use.
    fs::remove_file(work_dir.path("volume/..2/key")).unwrap();
    let problem = async || {
        admin
            .get("/status")
            .await
            .1
            .contains("reloading the configuration failed")
    };
    eventually_within(SLOW_WAIT, "the missing file is reported", problem).await;
    assert_eq!(value().await, "second");
    fs::write(work_dir.path("volume/..2/key"), "third").unwrap();
    eventually_within(SLOW_WAIT, "the third value is used", async || {
        value().await == "third"
    })
    .await;
    eventually_within(SLOW_WAIT, "nothing is reported", async || !problem().await).await;
}

const ONE_TEAM: &str = "[server]\nteams = ['a']\n[team.a]\nplugins = 'a'\n";
const TWO_TEAMS: &str =
    "[server]\nteams = ['a', 'b']\n[team.a]\nplugins = 'a'\n[team.b]\nplugins = 'b'\n";

#[tokio::test]
async fn an_added_team_is_served_without_a_restart() {
    let (work_dir, mut admin, url) = start("", ONE_TEAM);
    assert_eq!(read(&url, "sleep://ms/1").await.1["error"]["code"], -32602);
    write(&work_dir, TWO_TEAMS);
    admin.process.wait_for_stderr("team added");
    eventually_within(SLOW_WAIT, "the new team is served", async || {
        read(&url, "sleep://ms/1").await.1.get("result").is_some()
    })
    .await;
    let metrics = admin.get("/metrics").await.1;
    assert!(
        metrics.contains(r#"larder_providers{team="b"} 1"#),
        "{metrics}"
    );
    let status: Value = serde_json::from_str(&admin.get("/status").await.1).unwrap();
    assert_eq!(status["teams"][1]["team"], "b");
    // Changes of the folder are detected like changes of the folders of other teams.
    fs::copy(component_path("echo"), work_dir.path("b/second.wasm")).unwrap();
    eventually_within(SLOW_WAIT, "its new component is served", async || {
        admin
            .get("/metrics")
            .await
            .1
            .contains(r#"larder_providers{team="b"} 2"#)
    })
    .await;
}

#[tokio::test]
async fn a_removed_team_ends_with_its_streams_and_guests() {
    let (work_dir, mut admin, url) = start("", &format!("{TWO_TEAMS}[limits]\ntimeout = '1h'\n"));
    let notifications = json!({ "notifications": { "resourcesListChanged": true } });
    let mut stream = Events::of(request(&url, "subscriptions/listen", notifications)).await;
    assert!(stream.next().await.is_some());
    let running = Drain::new().spawn({
        let url = url.clone();
        async move { read(&url, "sleep://hour").await }
    });
    eventually_within(SLOW_WAIT, "its guest runs", async || {
        admin
            .get("/metrics")
            .await
            .1
            .contains(r#"larder_guests{team="b",provider="sleep"} 1"#)
    })
    .await;
    write(&work_dir, ONE_TEAM);
    admin.process.wait_for_stderr("team removed");
    while stream.next().await.is_some() {}
    let ended = tokio::time::timeout(SLOW_WAIT, running).await;
    let (_, response) = ended.expect("its guest still runs").unwrap().unwrap();
    assert!(response["error"].is_object(), "{response}");
    assert!(
        !admin
            .get("/metrics")
            .await
            .1
            .contains(r#"larder_providers{team="b"}"#)
    );
    assert_eq!(read(&url, "sleep://ms/1").await.1["error"]["code"], -32602);
    assert_eq!(
        read(&url, "echo://hello").await.0,
        200,
        "the other team is served as before"
    );
    let status: Value = serde_json::from_str(&admin.get("/status").await.1).unwrap();
    assert_eq!(
        (
            status["teams"].as_array().unwrap().len(),
            &status["problems"]
        ),
        (1, &json!([]))
    );
    // The team can be added again.
    write(&work_dir, TWO_TEAMS);
    eventually_within(SLOW_WAIT, "the team is served again", async || {
        read(&url, "sleep://ms/1").await.1.get("result").is_some()
    })
    .await;
}

#[tokio::test]
async fn sessions_of_a_removed_team_end() {
    let (work_dir, mut admin, url) = start("", TWO_TEAMS);
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    } });
    let post = |body: Value, session: Option<String>| {
        let request = http_client()
            .post(&url)
            .header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let request = session
            .into_iter()
            .fold(request, |request, id| request.header("mcp-session-id", id));
        request.body(body.to_string()).send()
    };
    let opened = post(initialize, None).await.unwrap();
    let session = opened.headers()["mcp-session-id"]
        .to_str()
        .unwrap()
        .to_owned();
    let ping = || json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(
        post(ping(), Some(session.clone()))
            .await
            .unwrap()
            .status()
            .as_u16(),
        200
    );
    write(&work_dir, ONE_TEAM);
    admin.process.wait_for_stderr("team removed");
    eventually_within(SLOW_WAIT, "the session ends", async || {
        post(ping(), Some(session.clone()))
            .await
            .unwrap()
            .status()
            .as_u16()
            == 404
    })
    .await;
}

#[tokio::test]
async fn a_reload_needs_the_token_and_is_no_read() {
    let token = "larder-admin-token";
    let digest = larder_model::name::Digest::of(token.as_bytes());
    let config = format!("[admin]\nlisten = '127.0.0.1:0'\ntoken = 'sha256:{digest}'\n");
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", &config);
    let (admin, _) = AdminClient::open(&work_dir);
    let url = format!("http://{}/reload", admin.address());
    let status = |request: reqwest::RequestBuilder| async {
        request.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status(http_client().get(&url)).await, 405);
    assert_eq!(status(http_client().post(&url)).await, 401);
    assert_eq!(
        status(http_client().post(&url).bearer_auth(token)).await,
        200
    );
    let of_a_page = http_client()
        .post(&url)
        .bearer_auth(token)
        .header("origin", "https://evil.example");
    assert_eq!(status(of_a_page).await, 403);
}
