//! What a team may use up in all, and a provider that is left alone while it only faults.

mod charged;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use larder_core::gateway::Error;
use larder_model::name::ProviderName;
use larder_model::policy::{Access, Dir, Quota};
use larder_runtime::drain::Drain;
use larder_sandbox::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::house::{House, Plan, component};
use crate::process::{Place, http_client};
use crate::wire::{JSON, Wire};

#[tokio::test]
async fn a_team_has_so_many_providers() {
    let quota = Quota { providers: 2, ..Quota::default() };
    let house = Plan::of("a@echo b@full c@many").quota(quota).open().await;
    let served: Vec<_> = house.reader.snapshot().offers().iter().map(|o| o.name().to_string()).collect();
    assert_eq!(served, ["a", "b"]);
    let why = house.rejected("c.wasm");
    assert!(why.contains("the team may have 2 providers"), "{why}");
}

#[tokio::test]
async fn one_too_many_is_not_served_any_more_and_comes_back() {
    let quota = Quota { providers: 1, ..Quota::default() };
    let mut house = Plan::of("b@echo").quota(quota).open().await;
    assert!(house.read("echo://hello").await.is_ok());
    std::fs::copy(component("full"), house.plugins.join("a.wasm")).unwrap();
    house.reconcile().run_pass().await;
    assert!(house.text("echo://hello").await.starts_with("error: nothing"), "who comes first by name stays");
    std::fs::remove_file(house.plugins.join("a.wasm")).unwrap();
    house.reconcile().run_pass().await;
    assert!(house.read("echo://hello").await.is_ok());
}

#[tokio::test]
async fn memory_is_of_all_guests_together() {
    let quota = Quota { memory: 64 << 10, ..Quota::default() };
    let house = Plan::of("echo").quota(quota).open().await;
    let why = house.rejected("echo.wasm");
    assert!(why.contains("busy"), "it is no fault of the guest's: {why}");
}

#[tokio::test]
async fn who_computed_for_all_his_team_waits() {
    let quota = Quota { cpu: Duration::from_millis(5), ..Quota::default() };
    let plan = Plan::of("echo spin").quota(quota).terms("spin", |grant, _| {
        grant.limits.timeout = Duration::from_millis(500);
    });
    let house =
        plan.terms("echo", |grant, _| grant.limits.queue_timeout = Duration::from_millis(1)).open().await;
    // What was spent on loading is paid off first.
    while house.read("echo://hello").await.is_err() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // It was made to wait, and so its time was over: nobody knows what it would have done.
    let spun = house.read("spin://forever").await.unwrap_err();
    assert!(matches!(spun, Error::Busy { .. }), "{spun}");
    let refused = house.read("echo://hello").await.unwrap_err();
    assert!(refused.to_string().contains("CPU time"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_compute_have_no_more_than_one_has() {
    let quota = Quota { cpu: Duration::from_millis(100), ..Quota::default() };
    let plan = Plan::of("spin").quota(quota).terms("spin", |grant, _| {
        grant.limits.timeout = Duration::from_secs(6);
        grant.limits.cpu_time = Duration::from_secs(60);
        grant.limits.queue_timeout = Duration::from_millis(10);
    });
    let house = plan.open().await;
    let ration = house.ration.clone().unwrap();
    while ration.cpu_wait().is_some() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let spent = || house.reader.snapshot().offers()[0].provider.metrics().cpu_seconds();
    let before = spent();
    // As many as there are slots.
    let calls = futures_util::future::join_all((0..16).map(|_| house.read("spin://forever"))).await;
    assert!(calls.iter().all(Result::is_err));
    let spent = spent() - before;
    assert!(spent < 1.4, "{spent:.2} s on a processor in 6 s, and 100 ms in each second are allowed");
}

#[tokio::test]
async fn a_list_that_differs_is_asked_for_when_the_team_may_compute_again() {
    let quota = Quota { cpu: Duration::from_millis(500), ..Quota::default() };
    let plan = Plan::of("fresh").quota(quota).terms("fresh", |grant, _| {
        grant.limits.queue_timeout = Duration::from_millis(1);
    });
    let mut house = plan.open().await;
    house.run();
    // It has another name each time.
    let name = || house.reader.snapshot().offers()[0].entries[0].name.clone();
    let before = name();
    let ration = house.ration.clone().unwrap();
    ration.charge_cpu(Duration::from_secs(1));
    assert!(ration.cpu_wait().is_some());
    house.signals.send(&ProviderName::parse("fresh").unwrap(), Signal::ListChanged);
    let began = Instant::now();
    while name() == before {
        assert!(began.elapsed() < Duration::from_secs(30), "it was forgotten");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn too_many_requests_are_told_when_to_come_back() {
    let quota = Quota { requests: 3, ..Quota::default() };
    let wire = Wire::open(Plan::of("echo").quota(quota)).await;
    let mut refused = None;
    for _ in 0..50 {
        let answer = wire.read("echo://hello").await;
        if answer.status != 200 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("50 requests at once, and 3 are allowed in a second");
    assert_eq!(refused.verdict(), "429 -32603");
    assert_eq!(refused.headers["retry-after"], "1");
    let error = &refused.json()["error"];
    assert_eq!(error["data"]["kind"], "quota");
    assert!(error["data"]["retryAfterMs"].as_u64().unwrap() <= 1_000, "{error}");
    assert!(
        error["message"].as_str().unwrap().starts_with("the team has exhausted its quota of requests"),
        "{error}"
    );
    // Refused without a look at what it was.
    assert_eq!(wire.post(&[JSON], "no json").await.status, 429);
}

#[tokio::test]
async fn many_bytes_are_paid_for() {
    let quota = Quota { bytes: 100, ..Quota::default() };
    let wire = Wire::open(Plan::of("echo").quota(quota)).await;
    let all: Vec<u16> =
        [wire.read("echo://hello").await.status, wire.read("echo://hello").await.status].into();
    assert_eq!(all, [200, 429]);
}

#[tokio::test]
async fn so_many_of_a_team_listen() {
    let quota = Quota { watchers: 1, ..Quota::default() };
    let wire = Wire::open(Plan::of("echo").quota(quota)).await;
    let sessions = [wire.session("2025-06-18").await, wire.session("2025-06-18").await];
    let listen = async |session: &str| {
        let request = wire.client.get(&wire.url).header("mcp-session-id", session);
        let request =
            request.header("accept", "text/event-stream").header("mcp-protocol-version", "2025-06-18");
        request.send().await.unwrap()
    };
    let first = listen(&sessions[0]).await;
    assert_eq!(first.status(), 200);
    assert_eq!(listen(&sessions[1]).await.status(), 429);
    drop(first);
    // Its place is free once the server has seen that it is gone.
    while listen(&sessions[1]).await.status() != 200 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn moody(mood: &TempDir) -> House {
    let host = mood.path().to_owned();
    let plan = Plan::of("moody echo").terms("moody", |grant, _| {
        grant.dirs.push(Dir { host, guest: "/mood".into(), access: Access::Read, is_canonical: false });
    });
    plan.open().await
}

#[tokio::test]
async fn who_only_faults_is_set_aside_and_tried_again() {
    let mood = TempDir::new().unwrap();
    let house = moody(&mood).await;
    let faults = async |n: usize| {
        let error = house.read(&format!("moody://{n}")).await.unwrap_err();
        matches!(error, Error::Fault { .. })
    };
    let mut n = 0;
    while faults(n).await {
        n += 1;
        assert!(n < 50, "it is asked for ever");
    }
    assert_eq!(n, 5);
    let told = house.text("moody://listed").await;
    assert!(told.contains("is open after faults"), "{told}");
    assert!(house.uris().await.contains(&"moody://listed".to_owned()), "it stays listed");
    assert!(house.read("echo://hello").await.is_ok(), "others are asked");
    std::fs::write(mood.path().join("well"), "").unwrap();
    let began = Instant::now();
    while house.text("moody://listed").await != "moody://listed" {
        assert!(began.elapsed() < Duration::from_secs(30), "it is never tried again");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(house.text("moody://other").await, "moody://other");
}

#[tokio::test]
async fn one_broken_page_is_no_reason_to_withhold_the_others() {
    let house = Plan::of("trap_nth").open().await;
    for _ in 0..20 {
        assert!(house.text("trap://7").await.starts_with("error: the provider `trap_nth` failed"));
    }
    assert_eq!(house.text("trap://6").await, "trap://6");
}

const TWO: &str = "
[server.log]
filter = 'error'
[team.alpha]
plugins = 'alpha'
quota = { cpu = '200ms', requests = 200, calls = 8 }
[team.beta]
plugins = 'beta'
";

/// What one of two teams does to the other: with a token each, the real server, and a client for each connection.
/// Prints how much longer the quiet team waits while the other floods; see it with `--nocapture`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_one_team_is_not_the_others() {
    let place = Place::of("");
    let mut configuration = TWO.to_owned();
    let mut tokens = BTreeMap::new();
    for team in ["alpha", "beta"] {
        std::fs::create_dir(place.path(team)).unwrap();
        for guest in ["echo", "spin"] {
            std::fs::copy(component(guest), place.path(team).join(format!("{guest}.wasm"))).unwrap();
        }
        let text = place.larder(&format!("token new --name {team} --team {team}")).yes();
        let (token, lines) = text.split_once("\n\n").unwrap();
        tokens.insert(team, token.to_owned());
        configuration.push_str(lines);
    }
    let place = place.file("larder.toml", &configuration);
    let (server, url) = place.serve("");
    let client = http_client();
    let ask = |team: &str, uri: &str| {
        let body = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read",
            "params": { "uri": uri, "_meta": crate::wire::meta() } });
        let request = client.post(&url).bearer_auth(&tokens[team]).header("mcp-method", "resources/read");
        let request = request.header("mcp-name", uri).header("mcp-protocol-version", "2026-07-28");
        let request = request.header("accept", "application/json, text/event-stream");
        request.header("content-type", "application/json").body(body.to_string())
    };
    let quietly = async |most: usize| {
        let mut times = Vec::new();
        for _ in 0..most {
            let began = Instant::now();
            let answer = ask("beta", "echo://hello").timeout(Duration::from_secs(60)).send().await.unwrap();
            assert_eq!(answer.status(), 200);
            let json: Value = serde_json::from_str(&answer.text().await.unwrap()).unwrap();
            assert!(
                json["result"]["contents"][0]["text"].as_str().unwrap().contains("caller: beta"),
                "{json}"
            );
            times.push(began.elapsed());
        }
        times.sort();
        times[times.len() * 99 / 100]
    };
    let quiet = quietly(200).await;
    let (over, refused) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let drain = Drain::new();
    let floods: Vec<_> = (0..32)
        .map(|n| {
            let (over, refused) = (over.clone(), refused.clone());
            let request = ask("alpha", if n % 2 == 0 { "spin://forever" } else { "echo://hello" });
            drain.spawn(async move {
                while !over.load(Ordering::Relaxed) {
                    let Ok(answer) = request.try_clone().unwrap().send().await else { continue };
                    refused.fetch_or(answer.status() == 429, Ordering::Relaxed);
                    let _ = answer.bytes().await;
                }
            })
        })
        .collect();
    while !refused.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let flooded = quietly(200).await;
    over.store(true, Ordering::Relaxed);
    for flood in floods {
        flood.abort();
    }
    let ratio = flooded.as_secs_f64() / quiet.as_secs_f64();
    println!("p99 of the quiet team: {quiet:?} alone, {flooded:?} beside a flood: {ratio:.1} times");
    server.signal("TERM");
    server.end().no(0);
}
