//! What operators look at, with the real server: numbers, readiness, and what is served.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;

use crate::house::component;
use crate::numbers::{number, parse};
use crate::process::{Place, Running, http_client};
use crate::revision::until;

const CONFIG: &str = "[admin]\nlisten = \"127.0.0.1:0\"\n";

/// A server that runs, and who looks at it.
pub(crate) struct Seen {
    pub(crate) running: Running,
    admin: String,
    client: reqwest::Client,
}

impl Seen {
    /// Started, and not waited for.
    fn begin(place: &Place) -> Self {
        let mut running = place.start("serve --listen 127.0.0.1:0 --config larder.toml");
        let line = running.told("serving /livez");
        let admin = line.trim().rsplit("url=").next().unwrap().to_owned();
        let client = http_client();
        Self { running, admin, client }
    }

    /// Started, and waited for.
    pub(crate) fn open(place: &Place) -> (Self, String) {
        let mut seen = Self::begin(place);
        let line = seen.running.told("serves http://");
        (seen, line.trim().rsplit(' ').next().unwrap().to_owned())
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        self.get_with(path, &[]).await
    }

    async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let mut request = self.client.get(format!("{}{path}", self.admin)).timeout(Duration::from_secs(60));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }
}

#[tokio::test]
async fn who_keeps_a_connection_open_makes_no_untrue_message_at_the_end() {
    let (seen, _) = Seen::open(&Place::of("echo").file("larder.toml", CONFIG));
    let mut half = std::net::TcpStream::connect(seen.admin.trim_start_matches("http://")).unwrap();
    std::io::Write::write_all(&mut half, b"GET /livez HTTP/1.1\r\n").unwrap();
    // Answered after it, so the half of a request is there as well.
    assert_eq!(seen.get("/livez").await.0, 200);
    seen.running.signal("TERM");
    let said = seen.running.end().no(0);
    assert!(!said.contains("could not be written"), "{said}");
}

#[tokio::test]
async fn a_server_shows_its_numbers_and_what_it_serves() {
    let place = Place::of("echo trap_start dirs").file("larder.toml", CONFIG);
    let place = place.file("plugins/dirs.toml", "dirs = [\"/\"]\n").file("plugins/odd.wasm", "");
    let (seen, url) = Seen::open(&place);
    assert!(place.larder(&format!("read echo://hello --url {url}")).code == Some(0));
    assert!(place.larder(&format!("read echo://error/failed --url {url}")).code == Some(1));

    let (status, text) = seen.get("/metrics").await;
    let samples = parse(&text);
    assert_eq!(status, 200);
    for (key, expected) in [
        (r#"larder_requests_total{method="read",era="modern"}"#, 2.0),
        (r#"larder_calls_total{team="default",provider="echo",outcome="failed"}"#, 1.0),
        (r#"larder_loads_total{team="default",outcome="served"}"#, 1.0),
        (r#"larder_loads_total{team="default",outcome="rejected"}"#, 2.0),
        (r#"larder_loads_total{team="default",outcome="pending-approval"}"#, 1.0),
        (r#"larder_providers{team="default"}"#, 1.0),
        (r#"larder_rejected_components{team="default"}"#, 2.0),
        (r#"larder_pending_approvals{team="default"}"#, 1.0),
        ("larder_sessions", 0.0),
    ] {
        assert_eq!(number(&samples, key), expected, "{key}");
    }
    assert!(number(&samples, "process_resident_memory_bytes") > 1e6);
    assert!(!text.contains("echo://"), "no URI is a label");

    let status: Value = serde_json::from_str(&seen.get("/status").await.1).unwrap();
    let team = &status["teams"][0];
    assert_eq!((status["ready"].as_bool(), team["team"].as_str()), (Some(true), Some("default")));
    let echo = &team["providers"][0];
    assert_eq!((echo["name"].as_str(), echo["calls"]["failed"].as_u64()), (Some("echo"), Some(1)));
    assert_eq!(echo["last_error"]["message"], "because the test wants it");
    let files: Vec<_> = team["rejected"].as_array().unwrap().iter().map(|r| r["file"].clone()).collect();
    assert_eq!(files, ["odd.wasm", "trap_start.wasm"]);
    assert_eq!(team["pending_approval"][0]["provider"], "dirs");

    let told = place.larder(&format!("status --admin {}", seen.admin));
    let out = told.out;
    assert_eq!(told.code, Some(0), "{}", told.err);
    for words in [
        ", ready, since ",
        "rejected: odd.wasm: the file is empty",
        "rejected: trap_start.wasm: cannot get its description",
        "pending approval: dirs ",
        "last error, ",
        "failed of a read: because the test wants it",
    ] {
        assert!(out.contains(words), "no {words:?} in {out}");
    }
    let json = place.larder(&format!("status --json --admin {}", seen.admin));
    assert_eq!(serde_json::from_str::<Value>(&json.out).unwrap()["teams"][0]["team"], "default");
}

#[tokio::test]
async fn values_that_may_be_secret_are_not_shown() {
    let config =
        format!("{CONFIG}[provider.echo]\nenv = {{ WORD = \"hunter2\" }}\nsettings.token = \"hunter3\"\n");
    let place = Place::of("echo").file("larder.toml", &config);
    let (seen, _) = Seen::open(&place);
    let (_, status) = seen.get("/status").await;
    assert!(
        !status.contains("hunter") && status.contains("\"WORD\"") && status.contains("\"token\""),
        "{status}"
    );
}

#[tokio::test]
async fn who_may_look_is_checked() {
    let token = "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    let place = Place::of("echo").file("larder.toml", &format!("{CONFIG}token = \"{token}\"\n"));
    let (seen, _) = Seen::open(&place);
    let knowing = ("authorization", "Bearer secret");
    assert_eq!(seen.get("/livez").await, (200, "ok\n".into()));
    assert_eq!(seen.get("/readyz").await, (200, "{\"ready\":true}\n".into()));
    assert_eq!(seen.get_with("/readyz", &[knowing]).await.1, "{\"ready\":true,\"reasons\":[]}\n");
    for path in ["/metrics", "/status"] {
        assert_eq!(seen.get(path).await.0, 401, "{path}");
        assert_eq!(seen.get_with(path, &[("authorization", "Bearer Secret")]).await.0, 401, "{path}");
        assert_eq!(seen.get_with(path, &[knowing]).await.0, 200, "{path}");
        assert_eq!(seen.get_with(path, &[knowing, ("host", "evil.example")]).await.0, 403, "{path}");
        assert_eq!(seen.get_with(path, &[knowing, ("origin", "http://evil.example")]).await.0, 403, "{path}");
    }
    assert_eq!(seen.get("/mcp").await.0, 404);
    let post = seen.client.post(format!("{}/status", seen.admin)).header(knowing.0, knowing.1);
    assert_eq!(post.send().await.unwrap().status().as_u16(), 405);
    let refused = place.larder(&format!("status --admin {}", seen.admin));
    assert!(
        refused.code == Some(1) && refused.err.contains("give it with LARDER_ADMIN_TOKEN or `--token`"),
        "{}",
        refused.err
    );
    assert_eq!(place.larder(&format!("status --admin {} --token secret", seen.admin)).code, Some(0));
}

#[tokio::test]
async fn ready_from_the_first_round_until_the_end() {
    let slow =
        "[provider.sleep]\nsettings.in = \"list\"\nlimits.timeout = \"2s\"\n[limits]\ntimeout = \"30s\"\n";
    let place = Place::of("echo sleep x@sleep").file("larder.toml", &format!("{CONFIG}{slow}"));
    let mut seen = Seen::begin(&place);
    let (status, why) = seen.get("/readyz").await;
    assert_eq!((status, why.contains("not all components have been loaded yet")), (503, true), "{why}");
    assert_eq!(seen.get("/livez").await.0, 200);
    let url = seen.running.told("serves http://").trim().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(seen.get("/readyz").await.0, 200);

    let long = place.start(&format!("read sleep://ms/3000 --url {url}"));
    until("it reads", async || {
        seen.get("/metrics").await.1.contains(r#"larder_guests{team="default",provider="x"} 1"#)
    })
    .await;
    seen.running.signal("TERM");
    until("the server is stopping", async || {
        seen.get("/readyz").await
            == (503, "{\"ready\":false,\"reasons\":[\"the server is stopping\"]}\n".into())
    })
    .await;
    assert_eq!(long.end().out, "slept");
    let ended = seen.running.end();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}

#[tokio::test]
async fn a_folder_that_cannot_be_read_is_a_reason() {
    let place = Place::of("").file("larder.toml", &format!("plugins = \"later\"\n{CONFIG}"));
    // A link to itself is what nobody can read, whoever he is.
    std::os::unix::fs::symlink("later", place.path("later")).unwrap();
    let (seen, _) = Seen::open(&place);
    let (status, why) = seen.get("/readyz").await;
    assert_eq!((status, why.contains("team default: cannot read")), (503, true), "{why}");
    let told = place.larder(&format!("status --admin {}", seen.admin));
    assert!(
        told.code == Some(1) && told.out.contains("not ready: team default: cannot read"),
        "{}",
        told.out
    );
    std::fs::remove_file(place.path("later")).unwrap();
    std::fs::create_dir(place.path("later")).unwrap();
    until("the folder is seen", async || seen.get("/readyz").await.0 == 200).await;
}

#[tokio::test]
async fn each_team_is_seen_with_what_was_asked_and_given() {
    let config = format!(
        "{CONFIG}[server]\nteams = [\"alpha\"]\n[secret.key]\nfile = \"key\"\n\
         [team.alpha]\nplugins = \"alpha\"\n[team.alpha.ceiling]\nsecrets = [\"key\"]\nenv = [\"HOME\"]\n\
         [team.alpha.provider.echo]\nenv = [\"HOME\"]\n[team.beta]\nplugins = \"beta\"\napprove = \"always\"\n"
    );
    let config = config.replace("[team.alpha.ceiling]", "approve = \"always\"\n[team.alpha.ceiling]");
    let place = Place::of("").file("larder.toml", &config).file("key", "hush-hush-hush\n");
    std::fs::create_dir(place.path("alpha")).unwrap();
    std::fs::copy(component("echo"), place.path("alpha/echo.wasm")).unwrap();
    std::fs::write(place.path("alpha/echo.toml"), "secrets = [\"key\"]\n").unwrap();
    std::os::unix::fs::symlink("beta", place.path("beta")).unwrap();
    let (seen, _) = Seen::open(&place);
    let (_, text) = seen.get("/status").await;
    let status: Value = serde_json::from_str(&text).unwrap();
    let (alpha, beta) = (&status["teams"][0], &status["teams"][1]);
    assert_eq!((&alpha["team"], &beta["team"]), (&"alpha".into(), &"beta".into()));
    assert!(alpha["plugins"].as_str().unwrap().ends_with("/alpha"), "{alpha}");
    let echo = &alpha["providers"][0];
    assert_eq!(echo["requested"], serde_json::json!(["secret key"]));
    assert_eq!(echo["allowed"], serde_json::json!(["variable HOME"]));
    assert_eq!(echo["grants"]["secrets"], serde_json::json!(["key"]));
    assert_eq!(echo["grants"]["env"], serde_json::json!(["HOME"]));
    assert!(!text.contains("hush"), "{text}");
    // Each team's health is told, and is no reason to turn others away.
    let why = status["problems"].to_string();
    assert!(why.contains("team beta: cannot read") && !why.contains("team alpha"), "{why}");
    assert_eq!((&status["ready"], &status["reasons"]), (&true.into(), &serde_json::json!([])));
    assert_eq!(seen.get("/readyz").await.0, 200);
    let samples = parse(&seen.get("/metrics").await.1);
    for (key, expected) in [
        (r#"larder_loads_total{team="alpha",outcome="served"}"#, 1.0),
        (r#"larder_loads_total{team="beta",outcome="served"}"#, 0.0),
        (r#"larder_providers{team="alpha"}"#, 1.0),
        (r#"larder_providers{team="beta"}"#, 0.0),
        (r#"larder_circuit_open{team="alpha",provider="echo"}"#, 0.0),
        (r#"larder_cache_entries{team="alpha"}"#, 0.0),
        (r#"larder_cache_bytes{team="beta"}"#, 0.0),
    ] {
        assert_eq!(number(&samples, key), expected, "{key}");
    }
    assert!(number(&samples, r#"larder_reconcile_passes_total{team="beta"}"#) >= 1.0);
}

#[test]
fn an_address_that_is_taken_matters_if_somebody_wrote_it() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at: SocketAddr = taken.local_addr().unwrap();
    let place = Place::of("echo").file("larder.toml", &format!("[admin]\nlisten = \"{at}\"\n"));
    let ran = place.larder("serve --listen 127.0.0.1:0 --config larder.toml");
    assert!(ran.code == Some(1) && ran.err.contains("another address with `admin.listen`"), "{}", ran.err);
    drop(taken);
    let nobody = place.larder(&format!("status --admin http://{at}"));
    assert!(nobody.code == Some(1) && nobody.err.contains("is `larder serve` running?"), "{}", nobody.err);
}
