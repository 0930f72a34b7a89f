//! The admin listener of the real server: metrics, readiness and status.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::administration::metrics::{parse_samples, sample_value};
use crate::support::harness::{SLOW_WAIT, component_path, eventually_within};
use crate::support::process::{RunningProcess, WorkDir, http_client};

/// The arguments of a server.
const ARGS: &str = "serve --listen 127.0.0.1:0 --config larder.toml";
const CONFIG: &str = "[admin]\nlisten = \"127.0.0.1:0\"\n";

/// A client of the admin listener of a running server.
pub(crate) struct AdminClient {
    pub(crate) process: RunningProcess,
    pub(crate) url: String,
    client: reqwest::Client,
}

impl AdminClient {
    /// Starts a server, and waits for its admin listener only.
    fn start(work_dir: &WorkDir) -> Self {
        Self::of(work_dir.start(ARGS))
    }

    pub(crate) fn of(mut process: RunningProcess) -> Self {
        let line = process.wait_for_stderr("serving /livez");
        let url = line.trim().rsplit("url=").next().unwrap().to_owned();
        Self {
            process,
            url,
            client: http_client(),
        }
    }

    /// Starts a server, waits until it serves, and returns the URL of its endpoint.
    pub(crate) fn open(work_dir: &WorkDir) -> (Self, String) {
        Self::start(work_dir).serving()
    }

    /// Like [`open`], with a changed command.
    pub(crate) fn open_with(
        work_dir: &WorkDir,
        change: impl FnOnce(&Command) -> Command,
    ) -> (Self, String) {
        let own = work_dir.command(&[], ARGS);
        let mut changed = change(&own);
        changed
            .current_dir(work_dir.path(""))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        changed.envs(
            own.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        Self::of(WorkDir::spawn(changed)).serving()
    }

    fn serving(self) -> (Self, String) {
        let mut admin = self;
        let line = admin.process.wait_for_stderr("serves http://");
        (admin, line.trim().rsplit(' ').next().unwrap().to_owned())
    }

    /// The address of the admin listener.
    pub(crate) fn address(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        self.get_with(path, &[]).await
    }

    async fn get_with(&self, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
        let response = self.response(path, headers).await;
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn response(&self, path: &str, headers: &[(&str, &str)]) -> reqwest::Response {
        let mut request = self
            .client
            .get(format!("{}{path}", self.url))
            .timeout(Duration::from_secs(60));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap()
    }
}

#[tokio::test]
async fn an_open_connection_at_shutdown_causes_no_false_log_message() {
    let (admin, _) = AdminClient::open(&WorkDir::with_guests("echo").file("larder.toml", CONFIG));
    let mut half = std::net::TcpStream::connect(admin.url.trim_start_matches("http://")).unwrap();
    std::io::Write::write_all(&mut half, b"GET /livez HTTP/1.1\r\n").unwrap();
    // The server accepted this connection after the other connection, so it has also received the incomplete request.
    assert_eq!(admin.get("/livez").await.0, 200);
    admin.process.signal("TERM");
    let stderr = admin.process.wait().expect_exit(0);
    assert!(!stderr.contains("could not be written"), "{stderr}");
}

#[tokio::test]
async fn reports_metrics_and_status() {
    let work_dir = WorkDir::with_guests("echo trap_start dirs").file("larder.toml", CONFIG);
    let work_dir = work_dir
        .file("plugins/dirs.toml", "dirs = [\"/usr\"]\n")
        .file("plugins/odd.wasm", "");
    let (admin, url) = AdminClient::open(&work_dir);
    assert!(
        work_dir
            .larder(&format!("read echo://hello --url {url}"))
            .code
            == Some(0)
    );
    assert!(
        work_dir
            .larder(&format!("read echo://error/failed --url {url}"))
            .code
            == Some(1)
    );

    let (status, text) = admin.get("/metrics").await;
    let samples = parse_samples(&text);
    assert_eq!(status, 200);
    for (key, expected) in [
        (r#"larder_requests_total{method="read",era="modern"}"#, 2.0),
        (
            r#"larder_calls_total{team="default",provider="echo",outcome="failed"}"#,
            1.0,
        ),
        (
            r#"larder_loads_total{team="default",outcome="served"}"#,
            1.0,
        ),
        (
            r#"larder_loads_total{team="default",outcome="rejected"}"#,
            2.0,
        ),
        (
            r#"larder_loads_total{team="default",outcome="pending-approval"}"#,
            1.0,
        ),
        (r#"larder_providers{team="default"}"#, 1.0),
        (r#"larder_rejected_components{team="default"}"#, 2.0),
        (r#"larder_pending_approvals{team="default"}"#, 1.0),
        ("larder_sessions", 0.0),
    ] {
        assert_eq!(sample_value(&samples, key), expected, "{key}");
    }
    assert!(sample_value(&samples, "process_resident_memory_bytes") > 1e6);
    assert!(!text.contains("echo://"), "no URI is a label");

    let status: Value = serde_json::from_str(&admin.get("/status").await.1).unwrap();
    let team = &status["teams"][0];
    assert_eq!(
        (status["ready"].as_bool(), team["team"].as_str()),
        (Some(true), Some("default"))
    );
    let echo = &team["providers"][0];
    assert_eq!(
        (echo["name"].as_str(), echo["calls"]["failed"].as_u64()),
        (Some("echo"), Some(1))
    );
    assert_eq!(echo["last_error"]["message"], "because the test wants it");
    let files: Vec<_> = team["rejected"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["file"].clone())
        .collect();
    assert_eq!(files, ["odd.wasm", "trap_start.wasm"]);
    assert_eq!(team["pending_approval"][0]["provider"], "dirs");

    let status = work_dir.larder(&format!("status --admin {}", admin.url));
    let out = status.stdout;
    assert_eq!(status.code, Some(0), "{}", status.stderr);
    for text in [
        ", ready, since ",
        "rejected: odd.wasm: the file is empty",
        "rejected: trap_start.wasm: cannot get its description",
        "pending approval: dirs ",
        "last error, ",
        "failed of a read: because the test wants it",
    ] {
        assert!(out.contains(text), "no {text:?} in {out}");
    }
    let json = work_dir.larder(&format!("status --json --admin {}", admin.url));
    assert_eq!(
        serde_json::from_str::<Value>(&json.stdout).unwrap()["teams"][0]["team"],
        "default"
    );
}

#[tokio::test]
async fn the_accept_header_selects_the_format_of_the_metrics() {
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", CONFIG);
    let (admin, url) = AdminClient::open(&work_dir);
    assert!(
        work_dir
            .larder(&format!("read echo://hello --url {url}"))
            .code
            == Some(0)
    );
    // The default of Prometheus 3.
    let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
                      application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
    let get = async |accept: &str| {
        let response = admin.response("/metrics", &[("accept", accept)]).await;
        let content_type = response.headers()["content-type"]
            .to_str()
            .unwrap()
            .to_owned();
        (content_type, response.text().await.unwrap())
    };
    let (content_type, open_metrics) = get(prometheus).await;
    assert_eq!(
        content_type,
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    );
    assert!(open_metrics.ends_with("\n# EOF\n"), "{open_metrics}");
    assert!(
        open_metrics.contains("# TYPE process_cpu_seconds counter\nprocess_cpu_seconds_total ")
    );
    let (content_type, text) = get("*/*").await;
    assert_eq!(content_type, "text/plain; version=0.0.4; charset=utf-8");
    assert!(!text.contains("# EOF"), "{text}");
    assert!(text.contains("# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total "));
    let keys = |text: &str| {
        parse_samples(text)
            .into_iter()
            .map(|(key, _)| key)
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&open_metrics), keys(&text));
}

#[tokio::test]
async fn answers_only_reads_and_each_connection_once() {
    let (admin, _) = AdminClient::open(&WorkDir::with_guests("").file("larder.toml", CONFIG));
    for (method, path, status) in [
        ("GET", "/livez", 200),
        ("HEAD", "/livez", 200),
        ("HEAD", "/metrics", 200),
        ("HEAD", "/mcp", 404),
        ("GET", "/livez/", 404),
        ("POST", "/livez", 405),
        ("DELETE", "/mcp", 405),
        ("OPTIONS", "/status", 405),
    ] {
        let request = admin
            .client
            .request(method.parse().unwrap(), format!("{}{path}", admin.url));
        let response = request.send().await.unwrap();
        let header = |name: &str| {
            response
                .headers()
                .get(name)
                .map(|value| value.to_str().unwrap().to_owned())
        };
        assert_eq!(response.status().as_u16(), status, "{method} {path}");
        assert_eq!(
            header("allow").as_deref(),
            (status == 405).then_some("GET, HEAD"),
            "{method} {path}"
        );
        assert_eq!(
            header("cache-control").as_deref(),
            Some("no-store"),
            "{method} {path}"
        );
        assert_eq!(
            header("connection").as_deref(),
            Some("close"),
            "{method} {path}"
        );
        assert_ne!(header("content-length").as_deref(), None, "{method} {path}");
        let body = response.text().await.unwrap();
        assert_eq!(body.is_empty(), method == "HEAD", "{method} {path}: {body}");
    }
}

#[tokio::test]
async fn does_not_show_values_that_may_be_secret() {
    let config = format!(
        "{CONFIG}[provider.echo]\nenv = {{ WORD = \"hunter2\" }}\nsettings.token = \"hunter3\"\n"
    );
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", &config);
    let (admin, _) = AdminClient::open(&work_dir);
    let (_, status) = admin.get("/status").await;
    assert!(
        !status.contains("hunter") && status.contains("\"WORD\"") && status.contains("\"token\""),
        "{status}"
    );
}

#[tokio::test]
async fn checks_the_token_host_and_origin() {
    let token = "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    let work_dir =
        WorkDir::with_guests("echo").file("larder.toml", &format!("{CONFIG}token = \"{token}\"\n"));
    let (admin, _) = AdminClient::open(&work_dir);
    let bearer = ("authorization", "Bearer secret");
    assert_eq!(admin.get("/livez").await, (200, "ok\n".into()));
    assert_eq!(
        admin.get("/readyz").await,
        (200, "{\"ready\":true}\n".into())
    );
    assert_eq!(
        admin.get_with("/readyz", &[bearer]).await.1,
        "{\"ready\":true,\"reasons\":[]}\n"
    );
    for path in ["/metrics", "/status", "/api/status"] {
        assert_eq!(admin.get(path).await.0, 401, "{path}");
        assert_eq!(
            admin
                .get_with(path, &[("authorization", "Bearer Secret")])
                .await
                .0,
            401,
            "{path}"
        );
        assert_eq!(admin.get_with(path, &[bearer]).await.0, 200, "{path}");
        assert_eq!(
            admin
                .get_with(path, &[bearer, ("host", "evil.example")])
                .await
                .0,
            403,
            "{path}"
        );
        assert_eq!(
            admin
                .get_with(path, &[bearer, ("origin", "http://evil.example")])
                .await
                .0,
            403,
            "{path}"
        );
    }
    assert_eq!(admin.get("/mcp").await.0, 404);
    let post = admin
        .client
        .post(format!("{}/livez", admin.url))
        .header("host", "evil.example");
    let refused = post.send().await.unwrap();
    assert_eq!(
        (refused.status().as_u16(), refused.headers().get("allow")),
        (403, None)
    );
    let post = admin
        .client
        .post(format!("{}/status", admin.url))
        .header(bearer.0, bearer.1);
    assert_eq!(post.send().await.unwrap().status().as_u16(), 405);
    let refused = work_dir.larder(&format!("status --admin {}", admin.url));
    assert!(
        refused.code == Some(1)
            && refused
                .stderr
                .contains("LARDER_ADMIN_TOKEN, `--token-file` or `--token`"),
        "{}",
        refused.stderr
    );
    assert_eq!(
        work_dir
            .larder(&format!("status --admin {} --token secret", admin.url))
            .code,
        Some(0)
    );
}

#[tokio::test]
async fn is_ready_from_the_first_pass_until_shutdown() {
    let slow = "[provider.sleep]\nsettings.in = \"list\"\nlimits.timeout = \"2s\"\n[limits]\ntimeout = \"30s\"\n";
    let work_dir =
        WorkDir::with_guests("echo sleep x@sleep").file("larder.toml", &format!("{CONFIG}{slow}"));
    let mut admin = AdminClient::start(&work_dir);
    let (status, why) = admin.get("/readyz").await;
    assert_eq!(
        (
            status,
            why.contains("not all components have been loaded yet")
        ),
        (503, true),
        "{why}"
    );
    assert_eq!(admin.get("/livez").await.0, 200);
    let url = admin
        .process
        .wait_for_stderr("serves http://")
        .trim()
        .rsplit(' ')
        .next()
        .unwrap()
        .to_owned();
    // A component whose load failed is tried again, but the start does not wait for it.
    eventually_within(SLOW_WAIT, "the server is ready", async || {
        admin.get("/readyz").await.0 == 200
    })
    .await;

    let long = work_dir.start(&format!("read sleep://ms/3000 --url {url}"));
    eventually_within(SLOW_WAIT, "the read has started", async || {
        admin
            .get("/metrics")
            .await
            .1
            .contains(r#"larder_guests{team="default",provider="x"} 1"#)
    })
    .await;
    admin.process.signal("TERM");
    eventually_within(SLOW_WAIT, "the server is stopping", async || {
        admin.get("/readyz").await
            == (
                503,
                "{\"ready\":false,\"reasons\":[\"the server is stopping\"]}\n".into(),
            )
    })
    .await;
    assert_eq!(long.wait().stdout, "slept");
    let ended = admin.process.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[tokio::test]
async fn is_not_ready_if_the_plugins_folder_cannot_be_read() {
    let work_dir =
        WorkDir::with_guests("").file("larder.toml", &format!("plugins = \"later\"\n{CONFIG}"));
    // Not even root can read a link to itself.
    std::os::unix::fs::symlink("later", work_dir.path("later")).unwrap();
    let (admin, _) = AdminClient::open(&work_dir);
    let (status, why) = admin.get("/readyz").await;
    assert_eq!(
        (status, why.contains("team default: cannot read")),
        (503, true),
        "{why}"
    );
    let status = work_dir.larder(&format!("status --admin {}", admin.url));
    assert!(
        status.code == Some(1)
            && status
                .stdout
                .contains("not ready: team default: cannot read"),
        "{}",
        status.stdout
    );
    std::fs::remove_file(work_dir.path("later")).unwrap();
    std::fs::create_dir(work_dir.path("later")).unwrap();
    eventually_within(SLOW_WAIT, "the server is ready", async || {
        admin.get("/readyz").await.0 == 200
    })
    .await;
}

#[tokio::test]
async fn shows_requests_grants_and_problems_of_each_team() {
    let config = format!(
        "{CONFIG}[server]\nteams = [\"alpha\"]\n[secret.key]\nfile = \"key\"\n\
         [team.alpha]\nplugins = \"alpha\"\n[team.alpha.ceiling]\nsecrets = [\"key\"]\nenv = [\"HOME\"]\n\
         [team.alpha.provider.echo]\nenv = [\"HOME\"]\n[team.beta]\nplugins = \"beta\"\napprove = \"always\"\n"
    );
    let config = config.replace(
        "[team.alpha.ceiling]",
        "approve = \"always\"\n[team.alpha.ceiling]",
    );
    let work_dir = WorkDir::with_guests("")
        .file("larder.toml", &config)
        .file("key", "hush-hush-hush\n");
    std::fs::create_dir(work_dir.path("alpha")).unwrap();
    std::fs::copy(component_path("echo"), work_dir.path("alpha/echo.wasm")).unwrap();
    std::fs::write(work_dir.path("alpha/echo.toml"), "secrets = [\"key\"]\n").unwrap();
    std::os::unix::fs::symlink("beta", work_dir.path("beta")).unwrap();
    let (admin, _) = AdminClient::open(&work_dir);
    let (_, text) = admin.get("/status").await;
    let status: Value = serde_json::from_str(&text).unwrap();
    let (alpha, beta) = (&status["teams"][0], &status["teams"][1]);
    assert_eq!(
        (&alpha["team"], &beta["team"]),
        (&"alpha".into(), &"beta".into())
    );
    assert!(
        alpha["plugins"].as_str().unwrap().ends_with("/alpha"),
        "{alpha}"
    );
    let echo = &alpha["providers"][0];
    assert_eq!(echo["requested"], serde_json::json!(["secret key"]));
    assert_eq!(echo["allowed"], serde_json::json!(["variable HOME"]));
    assert_eq!(echo["grants"]["secrets"], serde_json::json!(["key"]));
    assert_eq!(echo["grants"]["env"], serde_json::json!(["HOME"]));
    assert!(!text.contains("hush"), "{text}");
    // The problem of one team is reported, but the server stays ready for the other team.
    let why = status["problems"].to_string();
    assert!(
        why.contains("team beta: cannot read") && !why.contains("team alpha"),
        "{why}"
    );
    assert_eq!(
        (&status["ready"], &status["reasons"]),
        (&true.into(), &serde_json::json!([]))
    );
    assert_eq!(admin.get("/readyz").await.0, 200);
    let samples = parse_samples(&admin.get("/metrics").await.1);
    for (key, expected) in [
        (r#"larder_loads_total{team="alpha",outcome="served"}"#, 1.0),
        (r#"larder_loads_total{team="beta",outcome="served"}"#, 0.0),
        (r#"larder_providers{team="alpha"}"#, 1.0),
        (r#"larder_providers{team="beta"}"#, 0.0),
        (r#"larder_circuit_open{team="alpha",provider="echo"}"#, 0.0),
        (r#"larder_cache_entries{team="alpha"}"#, 0.0),
        (r#"larder_cache_bytes{team="beta"}"#, 0.0),
    ] {
        assert_eq!(sample_value(&samples, key), expected, "{key}");
    }
    assert!(sample_value(&samples, r#"larder_reconcile_passes_total{team="beta"}"#) >= 1.0);
}

#[test]
fn fails_if_the_configured_address_is_in_use() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at: SocketAddr = taken.local_addr().unwrap();
    let work_dir =
        WorkDir::with_guests("echo").file("larder.toml", &format!("[admin]\nlisten = \"{at}\"\n"));
    let ran = work_dir.larder("serve --listen 127.0.0.1:0 --config larder.toml");
    assert!(
        ran.code == Some(1) && ran.stderr.contains("another address with `admin.listen`"),
        "{}",
        ran.stderr
    );
    drop(taken);
    let refused = work_dir.larder(&format!("status --admin http://{at}"));
    assert!(
        refused.code == Some(1) && refused.stderr.contains("is `larder serve` running?"),
        "{}",
        refused.stderr
    );
}
