//! Team quotas, the circuit breaker, and how a flood by one team affects another.

mod charging;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use larder_core::gateway::Error;
use larder_model::name::ProviderName;
use larder_model::policy::{Access, Dir, Quota};
use larder_provider::Signal;
use larder_runtime::drain::Drain;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::harness::{
    SLOW_WAIT, TestServer, component_path, eventually, eventually_within,
};
use crate::support::http_server::{HttpTestServer, JSON};
use crate::support::process::{WorkDir, http_client};

#[tokio::test]
async fn limits_the_number_of_providers() {
    let quota = Quota {
        providers: 2,
        ..Quota::default()
    };
    let server = TestServer::builder("a@echo b@full c@many")
        .quota(quota)
        .start()
        .await;
    let served: Vec<_> = server
        .reader
        .snapshot()
        .offers()
        .iter()
        .map(|o| o.name().to_string())
        .collect();
    assert_eq!(served, ["a", "b"]);
    let why = server.rejection_reason("c.wasm");
    assert!(why.contains("the team may have 2 providers"), "{why}");
}

#[tokio::test]
async fn a_provider_over_the_quota_is_removed_and_comes_back() {
    let quota = Quota {
        providers: 1,
        ..Quota::default()
    };
    let mut server = TestServer::builder("b@echo").quota(quota).start().await;
    assert!(server.read("echo://hello").await.is_ok());
    std::fs::copy(component_path("full"), server.plugins.join("a.wasm")).unwrap();
    server.reconciler().run_pass().await;
    assert!(
        server
            .text("echo://hello")
            .await
            .starts_with("error: no resource"),
        "the first provider by name stays"
    );
    std::fs::remove_file(server.plugins.join("a.wasm")).unwrap();
    server.reconciler().run_pass().await;
    assert!(server.read("echo://hello").await.is_ok());
}

#[tokio::test]
async fn the_memory_quota_covers_all_guests() {
    let quota = Quota {
        memory: 64 << 10,
        ..Quota::default()
    };
    let server = TestServer::builder("echo").quota(quota).start().await;
    let why = server.rejection_reason("echo.wasm");
    assert!(
        why.contains("busy"),
        "this is not an error of the guest: {why}"
    );
}

#[tokio::test]
async fn calls_wait_once_the_cpu_quota_is_used() {
    let quota = Quota {
        cpu: Duration::from_millis(20),
        ..Quota::default()
    };
    let plan = TestServer::builder("echo spin")
        .quota(quota)
        .provider("spin", |grant, _| {
            grant.limits.timeout = Duration::from_millis(500);
        });
    let server = plan
        .provider("echo", |grant, _| {
            grant.limits.queue_timeout = Duration::from_millis(1)
        })
        .start()
        .await;
    // Loading the components has used CPU time, so calls are refused at first.
    let serves = async || server.read("echo://hello").await.is_ok();
    eventually_within(SLOW_WAIT, "the CPU time of loading is paid back", serves).await;
    // On a busy machine, the debt may be paid back before the next call, or the guest may not have used the time.
    let refuses = async || {
        // The call was paused until its timeout, so the result is `Busy` and not a fault of the guest.
        let spun = server.read("spin://forever").await.unwrap_err();
        let refused = server.read("echo://hello").await;
        let is_refused = refused.is_err_and(|refused| refused.to_string().contains("CPU time"));
        matches!(spun, Error::Busy { .. }) && is_refused
    };
    eventually_within(SLOW_WAIT, "calls are refused", refuses).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_calls_share_the_cpu_quota() {
    let quota = Quota {
        cpu: Duration::from_millis(100),
        ..Quota::default()
    };
    let plan = TestServer::builder("spin")
        .quota(quota)
        .provider("spin", |grant, _| {
            grant.limits.timeout = Duration::from_secs(3);
            grant.limits.cpu_time = Duration::from_secs(60);
            grant.limits.queue_timeout = Duration::from_millis(10);
        });
    let server = plan.start().await;
    let quota_usage = server.quota_usage.clone().unwrap();
    let has_cpu_time = async || quota_usage.cpu_wait().is_none();
    eventually_within(
        SLOW_WAIT,
        "the CPU time of loading is paid back",
        has_cpu_time,
    )
    .await;
    let cpu_seconds = || {
        server.reader.snapshot().offers()[0]
            .provider
            .metrics()
            .cpu_seconds()
    };
    let (before, began) = (cpu_seconds(), Instant::now());
    // The number of calls is the number of slots.
    let calls =
        futures_util::future::join_all((0..16).map(|_| server.read("spin://forever"))).await;
    assert!(calls.iter().all(Result::is_err));
    let (used, took) = (cpu_seconds() - before, began.elapsed().as_secs_f64());
    // Each call may use one tick more than the remaining time.
    assert!(
        used < 0.8 + took / 10.0,
        "{used:.2} s of CPU time in {took:.1} s, but 100 ms per second are allowed"
    );
}

#[tokio::test]
async fn a_changed_list_is_refreshed_once_the_team_has_cpu_time_again() {
    let quota = Quota {
        cpu: Duration::from_millis(500),
        ..Quota::default()
    };
    let plan = TestServer::builder("fresh")
        .quota(quota)
        .provider("fresh", |grant, _| {
            grant.limits.queue_timeout = Duration::from_millis(1);
        });
    let mut server = plan.start().await;
    server.run_reconciler();
    // In each list, the entry has another name.
    let name = || server.reader.snapshot().offers()[0].entries[0].name.clone();
    let before = name();
    let quota_usage = server.quota_usage.clone().unwrap();
    quota_usage.charge_cpu(Duration::from_secs(1));
    assert!(quota_usage.cpu_wait().is_some());
    server
        .signals
        .send(&ProviderName::parse("fresh").unwrap(), Signal::ListChanged);
    eventually_within(SLOW_WAIT, "the list is refreshed", async || {
        name() != before
    })
    .await;
}

#[tokio::test]
async fn too_many_requests_get_a_retry_after() {
    let quota = Quota {
        requests: 3,
        ..Quota::default()
    };
    let http = HttpTestServer::from_builder(TestServer::builder("echo").quota(quota)).await;
    let mut refused = None;
    for _ in 0..50 {
        let answer = http.read("echo://hello").await;
        if answer.status != 200 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("50 requests were accepted, but 3 per second are allowed");
    assert_eq!(refused.verdict(), "429 -32603");
    assert_eq!(refused.headers["retry-after"], "1");
    let error = &refused.json()["error"];
    assert_eq!(error["data"]["kind"], "quota");
    assert!(
        error["data"]["retryAfterMs"].as_u64().unwrap() <= 1_000,
        "{error}"
    );
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .starts_with("the team has exhausted its quota of requests"),
        "{error}"
    );
    // The request is refused before it is parsed.
    assert_eq!(http.post(&[JSON], "no json").await.status, 429);
}

#[tokio::test]
async fn limits_the_bytes_of_responses() {
    let quota = Quota {
        bytes: 100,
        ..Quota::default()
    };
    let http = HttpTestServer::from_builder(TestServer::builder("echo").quota(quota)).await;
    let all: Vec<u16> = [
        http.read("echo://hello").await.status,
        http.read("echo://hello").await.status,
    ]
    .into();
    assert_eq!(all, [200, 429]);
}

#[tokio::test]
async fn limits_the_number_of_streams() {
    let quota = Quota {
        watchers: 1,
        ..Quota::default()
    };
    let http = HttpTestServer::from_builder(TestServer::builder("echo").quota(quota)).await;
    let sessions = [
        http.session("2025-06-18").await,
        http.session("2025-06-18").await,
    ];
    let listen = async |session: &str| {
        let request = http.client.get(&http.url).header("mcp-session-id", session);
        let request = request
            .header("accept", "text/event-stream")
            .header("mcp-protocol-version", "2025-06-18");
        request.send().await.unwrap()
    };
    let first = listen(&sessions[0]).await;
    assert_eq!(first.status(), 200);
    assert_eq!(listen(&sessions[1]).await.status(), 429);
    drop(first);
    // The stream is free again when the server has found out that the client is gone.
    let accepted = async || listen(&sessions[1]).await.status() == 200;
    eventually("another stream is accepted", accepted).await;
}

async fn server_with_trap_reads(switch: &TempDir) -> TestServer {
    let host = switch.path().to_owned();
    let plan = TestServer::builder("trap_reads echo").provider("trap_reads", |grant, _| {
        grant.dirs.push(Dir {
            host,
            guest: "/mood".into(),
            access: Access::Read,
            is_canonical: false,
        });
    });
    plan.start().await
}

#[tokio::test]
async fn the_circuit_opens_after_faults_and_closes_again() {
    let switch = TempDir::new().unwrap();
    let server = server_with_trap_reads(&switch).await;
    let faults = async |n: usize| {
        let error = server.read(&format!("trap-reads://{n}")).await.unwrap_err();
        matches!(error, Error::Fault { .. })
    };
    let mut n = 0;
    while faults(n).await {
        n += 1;
        assert!(n < 50, "the circuit does not open");
    }
    assert_eq!(n, 5);
    let message = server.text("trap-reads://listed").await;
    assert!(message.contains("is open after faults"), "{message}");
    assert!(
        server
            .uris()
            .await
            .contains(&"trap-reads://listed".to_owned()),
        "its resources are not listed any more"
    );
    assert!(
        server.read("echo://hello").await.is_ok(),
        "another provider is affected"
    );
    std::fs::write(switch.path().join("well"), "").unwrap();
    let serves = async || server.text("trap-reads://listed").await == "trap-reads://listed";
    eventually_within(SLOW_WAIT, "the circuit closes", serves).await;
    assert_eq!(
        server.text("trap-reads://other").await,
        "trap-reads://other"
    );
}

#[tokio::test]
async fn a_fault_of_one_resource_does_not_affect_the_others() {
    let server = TestServer::builder("trap_nth").start().await;
    for _ in 0..20 {
        assert!(
            server
                .text("trap://7")
                .await
                .starts_with("error: the provider `trap_nth` failed")
        );
    }
    assert_eq!(server.text("trap://6").await, "trap://6");
}

const TWO_TEAMS: &str = "
[server.log]
filter = 'error'
[team.alpha]
plugins = 'alpha'
quota = { cpu = '200ms', requests = 200, calls = 8 }
[team.beta]
plugins = 'beta'
";

/// Two teams with a token each use the real server, and one of them sends as many requests as it can. Prints how much
/// longer the other team waits in the meantime. The text is shown with `--nocapture`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_by_one_team_does_not_exhaust_the_quota_of_another() {
    let work_dir = WorkDir::with_guests("");
    let mut configuration = TWO_TEAMS.to_owned();
    let mut tokens = BTreeMap::new();
    for team in ["alpha", "beta"] {
        std::fs::create_dir(work_dir.path(team)).unwrap();
        for guest in ["echo", "spin"] {
            std::fs::copy(
                component_path(guest),
                work_dir.path(team).join(format!("{guest}.wasm")),
            )
            .unwrap();
        }
        let text = work_dir
            .larder(&format!("token new --name {team} --team {team}"))
            .expect_success();
        let (token, lines) = text.split_once("\n\n").unwrap();
        tokens.insert(team, token.to_owned());
        configuration.push_str(lines);
    }
    let work_dir = work_dir.file("larder.toml", &configuration);
    let (server, url) = work_dir.serve("");
    let client = http_client();
    let request = |team: &str, uri: &str| {
        let body = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read",
            "params": { "uri": uri, "_meta": crate::support::http_server::meta() } });
        let request = client
            .post(&url)
            .bearer_auth(&tokens[team])
            .header("mcp-method", "resources/read");
        let request = request
            .header("mcp-name", uri)
            .header("mcp-protocol-version", "2026-07-28");
        let request = request.header("accept", "application/json, text/event-stream");
        request
            .header("content-type", "application/json")
            .body(body.to_string())
    };
    let p99_latency = async |requests: usize| {
        let mut times = Vec::new();
        for _ in 0..requests {
            let began = Instant::now();
            let answer = request("beta", "echo://hello")
                .timeout(Duration::from_secs(60))
                .send()
                .await
                .unwrap();
            assert_eq!(answer.status(), 200);
            let json: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
            assert!(
                json["result"]["contents"][0]["text"]
                    .as_str()
                    .unwrap()
                    .contains("caller: beta"),
                "{json}"
            );
            times.push(began.elapsed());
        }
        times.sort();
        times[times.len() * 99 / 100]
    };
    let quiet = p99_latency(200).await;
    let (over, refused) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
    );
    let drain = Drain::new();
    // More than the quota admits at the same time (`calls` × 4), so some are refused at any speed of the machine.
    let floods: Vec<_> = (0..48)
        .map(|n| {
            let (over, refused) = (over.clone(), refused.clone());
            let request = request(
                "alpha",
                if n % 2 == 0 {
                    "spin://forever"
                } else {
                    "echo://hello"
                },
            );
            drain.spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    let Ok(answer) = request.try_clone().unwrap().send().await else {
                        continue;
                    };
                    refused.fetch_or(answer.status() == 429, Ordering::Relaxed);
                    let _ = answer.bytes().await;
                }
            })
        })
        .collect();
    let some_refused = async || refused.load(Ordering::Relaxed);
    eventually_within(SLOW_WAIT, "a request of the flood is refused", some_refused).await;
    let flooded = p99_latency(200).await;
    over.store(true, Ordering::Relaxed);
    for flood in floods {
        flood.abort();
    }
    let ratio = flooded.as_secs_f64() / quiet.as_secs_f64();
    println!(
        "p99 of the quiet team: {quiet:?} alone, {flooded:?} during the flood: {ratio:.1} times"
    );
    server.signal("TERM");
    server.wait().expect_exit(0);
}
