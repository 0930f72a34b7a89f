//! The start of a server waits for components to be compiled, but only for a short time for the providers' own calls.

use std::io;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use larder_core::reconcile::StartLimits;
use larder_core::source::{MemorySource, Scan, ScanTriggers, Source};
use larder_runtime::health::Impact;
use serde_json::json;

use super::not_served;
use crate::administration::admin::AdminClient;
use crate::support::harness::{
    SLOW_WAIT, TestServer, TestServerBuilder, eventually_blocking, eventually_within,
};
use crate::support::http_server::HttpTestServer;
use crate::support::process::WorkDir;
use crate::support::revision::{NOW, revision, text};

const HOUR: Duration = Duration::from_secs(3_600);
/// In these tests, the start ends because of the second limit.
const LIMITS: StartLimits = StartLimits {
    total: HOUR,
    own_calls: Duration::from_secs(1),
    ready: Duration::from_secs(1),
};

/// Makes the call `describe` of a guest `sleep` take this long.
fn hanging(builder: TestServerBuilder, name: &str, timeout: Duration) -> TestServerBuilder {
    let builder = builder.setting(name, "in", "describe");
    builder.provider(name, |grant, _| grant.limits.timeout = timeout)
}

fn problems(server: &TestServer) -> Vec<String> {
    server
        .health
        .problems()
        .into_iter()
        .map(|problem| problem.message)
        .collect()
}

#[tokio::test]
async fn providers_that_hang_delay_neither_the_start_nor_others() {
    // More components than are loaded or probed at the same time. Only the last component works.
    let names: Vec<_> = ('a'..='i').map(String::from).collect();
    let guests = names
        .iter()
        .map(|name| format!("{name}@sleep "))
        .collect::<String>()
        + "z@echo";
    let builder = names
        .iter()
        .fold(TestServer::builder(&guests), |builder, name| {
            hanging(builder, name, HOUR)
        });
    let mut server = tokio::time::timeout(SLOW_WAIT, builder.start_limits(LIMITS).start())
        .await
        .unwrap();
    assert!(
        server
            .text("echo://hello")
            .await
            .starts_with("uri: echo://hello")
    );
    let files: Vec<_> = names.iter().map(|name| format!("{name}.wasm")).collect();
    assert_eq!(
        problems(&server),
        [format!(
            "team default: not loaded yet: {}",
            files.join(", ")
        )]
    );
    server.run_reconciler();
    server.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_provider_that_was_not_ready_at_the_start_is_added_when_it_is() {
    let builder = hanging(
        TestServer::builder("echo sleep"),
        "sleep",
        Duration::from_secs(5),
    );
    let mut server = builder.start_limits(LIMITS).start().await;
    assert_eq!(
        problems(&server),
        ["team default: not loaded yet: sleep.wasm"]
    );
    server.run_reconciler();
    eventually_within(SLOW_WAIT, "its load ends", async || {
        problems(&server).is_empty()
    })
    .await;
    let reason = server.rejection_reason("sleep.wasm");
    assert!(reason.contains("it did not respond within 5s"), "{reason}");
}

const WAITING: StartLimits = StartLimits {
    ready: HOUR,
    ..LIMITS
};

/// The impact of each problem.
fn impacts(server: &TestServer) -> Vec<Impact> {
    server
        .health
        .problems()
        .into_iter()
        .map(|problem| problem.impact)
        .collect()
}

/// A server that ran with this guest, whose state is used after a change of its folder.
async fn after_serving(guests: &str, uri: &str) -> TestServerBuilder {
    let mut server = TestServer::builder(guests).start().await;
    server.run_reconciler();
    assert!(
        !server.text(uri).await.starts_with("error"),
        "{}",
        server.text(uri).await
    );
    TestServerBuilder::restart(server).await
}

#[tokio::test]
async fn what_was_served_before_is_unavailable_while_its_provider_loads() {
    let builder = after_serving("echo sleep", "sleep://ms/1")
        .await
        .start_limits(WAITING);
    let mut server = hanging(builder, "sleep", HOUR).start().await;
    let unavailable = "error: `sleep` is not loaded: try again in 1000 ms";
    for uri in ["sleep://hour", "sleep://ms/1"] {
        assert_eq!(server.text(uri).await, unavailable, "{uri}");
    }
    assert!(
        server.text("echo://hello").await.starts_with("uri:"),
        "others are served"
    );
    assert_eq!(
        server.text("sleep://other").await,
        "error: no resource at `sleep://other`"
    );
    assert_eq!(
        server.text("none://a").await,
        "error: no resource at `none://a`"
    );
    assert_eq!(impacts(&server), [Impact::AllTeams], "it is awaited");
    server.run_reconciler();
    // Without the file of the component, the start does not wait.
    std::fs::remove_file(server.plugins.join("sleep.wasm")).unwrap();
    let is_gone =
        async || server.text("sleep://hour").await == "error: no resource at `sleep://hour`";
    eventually_within(SLOW_WAIT, "it is unknown", is_gone).await;
    eventually_within(SLOW_WAIT, "nothing is awaited", async || {
        impacts(&server).is_empty()
    })
    .await;
}

#[tokio::test]
async fn what_was_served_before_is_unavailable_while_its_provider_fails() {
    let builder = after_serving("sleep", "sleep://ms/1")
        .await
        .start_limits(WAITING);
    let server = hanging(builder, "sleep", Duration::from_millis(500))
        .start()
        .await;
    assert!(
        server
            .rejection_reason("sleep.wasm")
            .contains("it did not respond within 500ms")
    );
    let text = server.text("sleep://hour").await;
    let time: u64 = text
        .strip_prefix("error: `sleep` is not loaded: try again in ")
        .and_then(|rest| rest.strip_suffix(" ms")?.parse().ok())
        .unwrap_or_else(|| panic!("{text}"));
    assert!((1_000..=15_000).contains(&time), "{time}");
    // The load is tried again, and a load balancer waits for that.
    assert_eq!(
        problems(&server),
        ["team default: not loaded yet: sleep.wasm"]
    );
    assert_eq!(impacts(&server), [Impact::AllTeams]);
}

#[tokio::test]
async fn tools_and_subscriptions_of_a_provider_that_fails_are_unavailable() {
    let granted = |builder: TestServerBuilder| {
        builder.provider("defined", |grant, _| {
            grant.tools = larder_model::policy::ToolGrant::All;
            grant.prompts = true;
        })
    };
    let builder = granted(TestServer::builder("echo defined"));
    let mut server = HttpTestServer::from_builder(builder).await;
    server.run_reconciler();
    assert!(
        server
            .modern("tools/list", json!({}))
            .await
            .body
            .contains("double")
    );
    let builder = TestServerBuilder::restart(server.server)
        .await
        .start_limits(LIMITS);
    for name in ["echo", "defined"] {
        std::fs::write(
            builder.folder().join(format!("{name}.wasm")),
            "no component",
        )
        .unwrap();
    }
    let server = HttpTestServer::from_builder(granted(builder)).await;
    let text = json!({ "n": 1 });
    let requests = [
        (
            "tools/call",
            json!({ "name": "double", "arguments": text }),
            "defined",
        ),
        (
            "prompts/get",
            json!({ "name": "double", "arguments": { "n": "1" } }),
            "defined",
        ),
        ("resources/read", json!({ "uri": "echo://hello" }), "echo"),
    ];
    for (method, params, provider) in requests {
        let error = server.modern(method, params).await.json()["error"].clone();
        assert_eq!(error["code"], -32603, "{method}: {error}");
        let data = &error["data"];
        assert_eq!(
            (&data["kind"], &data["provider"]),
            (&json!("unavailable"), &json!(provider)),
            "{error}"
        );
        assert!(data["retryAfterMs"].is_u64(), "{error}");
    }
    let unknown = server
        .modern("tools/call", json!({ "name": "other", "arguments": {} }))
        .await
        .json();
    assert_eq!(unknown["error"]["message"], "Unknown tool: other");
}

#[tokio::test]
async fn a_new_provider_that_fails_is_not_awaited() {
    let builder = hanging(
        TestServer::builder("echo sleep"),
        "sleep",
        Duration::from_millis(500),
    );
    let server = builder.start_limits(WAITING).start().await;
    assert!(
        server
            .rejection_reason("sleep.wasm")
            .contains("it did not respond within 500ms")
    );
    assert_eq!(impacts(&server), []);
    assert_eq!(
        server.text("sleep://hour").await,
        "error: no resource at `sleep://hour`"
    );
}

#[tokio::test]
async fn the_server_waits_for_a_limited_time() {
    let builder = hanging(TestServer::builder("echo sleep"), "sleep", HOUR);
    let limits = StartLimits {
        ready: Duration::from_secs(2),
        ..LIMITS
    };
    let mut server = builder.start_limits(limits).start().await;
    server.run_reconciler();
    let is_ready = async || impacts(&server) == [Impact::OperatorOnly];
    eventually_within(SLOW_WAIT, "the server is ready without it", is_ready).await;
}

#[test]
fn readiness_waits_as_long_as_configured() {
    for (timeout, is_ready) in [("1h", false), ("0s", true)] {
        let config = format!("[server]\nready_timeout = '{timeout}'\n{SLOW}");
        let work_dir = WorkDir::with_guests("echo sleep").file("larder.toml", &config);
        let (admin, _) = AdminClient::open(&work_dir);
        let health = || {
            work_dir
                .larder(&format!("health --admin {}", admin.url))
                .code
                == Some(0)
        };
        if is_ready {
            eventually_blocking(SLOW_WAIT, "the server is ready", health);
        } else {
            assert!(!health(), "it waits for the provider that hangs");
        }
    }
}

/// A source whose scans wait for a gate.
struct SlowSource {
    source: MemorySource,
    gate: Mutex<mpsc::Receiver<()>>,
}

impl Source for SlowSource {
    fn location(&self) -> String {
        self.source.location()
    }

    fn scan(&mut self) -> io::Result<Scan> {
        // An error means that the gate is open: its sender is gone.
        _ = self.gate.lock().unwrap().recv();
        self.source.scan()
    }

    fn register_triggers(&mut self, triggers: &mut ScanTriggers) {
        self.source.register_triggers(triggers);
    }
}

#[tokio::test]
async fn triggers_work_after_a_scan_that_outlasts_the_start() {
    let (source, (gate, opened)) = (MemorySource::default(), mpsc::channel());
    source.put("revision", revision(1));
    let slow = SlowSource {
        source: source.clone(),
        gate: Mutex::new(opened),
    };
    let limits = StartLimits {
        total: Duration::from_millis(50),
        ..LIMITS
    };
    let builder = TestServer::builder("")
        .source(slow)
        .scan_interval(HOUR)
        .start_limits(limits);
    let mut server = builder.start().await;
    assert_eq!(
        problems(&server),
        ["team default: its sources have not been read yet"]
    );
    assert_eq!(server.text(NOW).await, not_served());
    server.run_reconciler();
    tokio::task::yield_now().await;
    drop(gate);
    for number in 1..=2 {
        let is_served = async || server.text(NOW).await == text(number);
        eventually_within(SLOW_WAIT, "the revision is served", is_served).await;
        assert!(problems(&server).is_empty());
        source.put("revision", revision(number + 1));
    }
}

#[tokio::test]
async fn a_whole_pass_waits_for_everything() {
    let builder = hanging(
        TestServer::builder("echo sleep"),
        "sleep",
        Duration::from_millis(1_500),
    );
    let server = builder.start().await;
    assert!(
        server
            .rejection_reason("sleep.wasm")
            .contains("it did not respond within 1.5s")
    );
}

const SLOW: &str = "[provider.sleep]\nsettings.in = 'describe'\nlimits.timeout = '1h'\n[admin]\nlisten = '127.0.0.1:0'\n";

#[test]
fn a_server_starts_without_a_provider_that_hangs() {
    let work_dir = WorkDir::with_guests("echo sleep").file("larder.toml", SLOW);
    let began = Instant::now();
    let (mut server, url) = work_dir.serve("");
    // The start compiles the components first. Without the limit for own calls, it would wait for 45 seconds.
    assert!(
        began.elapsed() < Duration::from_secs(40),
        "{:?}",
        began.elapsed()
    );
    server.find_stderr("  team default: not loaded yet: sleep.wasm");
    assert!(
        work_dir
            .larder(&format!("read echo://hello --url {url}"))
            .expect_success()
            .contains("echo://hello")
    );
    server.signal("KILL");
    let mut stdio = work_dir.start("serve --stdio");
    stdio.find_stderr("  team default: not loaded yet: sleep.wasm");
    stdio.signal("KILL");
}

#[test]
fn commands_wait_for_a_slow_provider() {
    let work_dir =
        WorkDir::with_guests("echo sleep").file("larder.toml", &SLOW.replace("1h", "2s"));
    for command in ["check", "list --in-process"] {
        let output = work_dir.larder(command);
        let reason = "sleep.wasm is rejected: cannot get its description: it did not respond within 2s (`limits.timeout`)";
        assert!(output.stderr.contains(reason), "{}", output.stderr);
    }
}
