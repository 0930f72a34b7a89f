//! Lists of components, and the data about one component.

use std::fs;

use serde_json::{Value, json};

use super::DataServer;
use crate::support::harness::component_path;

#[tokio::test]
async fn knows_the_revisions_of_a_component() {
    let server = DataServer::start("echo", "");
    let plugin = server.work_dir.path("plugins/echo.wasm");
    let first = server.json("/api/providers/echo").await;
    assert_eq!(
        (&first["state"], &first["origin"]),
        (
            &json!("ready"),
            &json!({ "kind": "folder", "file": "echo.wasm" })
        )
    );
    assert_eq!(first["offers"]["templates"][0], "echo://error/{kind}");
    assert_eq!(first["limits"]["timeout_seconds"], 10.0);
    let replace = |component: &str| {
        fs::copy(component_path(component), server.work_dir.path("new")).unwrap();
        fs::rename(server.work_dir.path("new"), &plugin).unwrap();
    };
    let states = |provider: &Value| -> Vec<Value> {
        provider["revisions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["state"].clone())
            .collect()
    };
    replace("nothing");
    let second = server
        .until("replaced", "/api/providers/echo", |now| {
            states(now).len() == 2
        })
        .await;
    assert_ne!(
        (&second["digest"], &second["revision"]),
        (&first["digest"], &first["revision"])
    );
    replace("trap_start");
    let third = server
        .until("rejected", "/api/providers/echo", |now| {
            states(now).len() == 3
        })
        .await;
    assert_eq!(states(&third), ["rejected", "served", "served"]);
    assert_eq!(
        (&third["state"], &third["digest"]),
        (&json!("degraded"), &second["digest"]),
        "it is still served"
    );
    let [rejected, served, _] = [0, 1, 2].map(|at| &third["revisions"][at]);
    assert!(
        rejected["error"].as_str().unwrap().contains("description"),
        "{rejected}"
    );
    assert_eq!(
        (&rejected["number"], &served["number"]),
        (&Value::Null, &second["revision"])
    );
    let size = fs::metadata(component_path("nothing")).unwrap().len();
    assert_eq!(served["size"], size);
    assert!(
        third["problems"][0]["text"]
            .as_str()
            .unwrap()
            .contains("the previous revision is still served")
    );
    fs::remove_file(plugin).unwrap();
    crate::support::harness::eventually("it is gone", async || {
        server.get("/api/providers/echo").await.0 == 404
    })
    .await;
}

#[tokio::test]
async fn keeps_faults_with_stderr_and_the_state_of_the_circuit_breaker() {
    let server = DataServer::start("trap_reads", "");
    for n in 0..6 {
        server.read(&format!("trap-reads://{n}")).expect_exit(1);
    }
    let trap_reads = server.json("/api/providers/trap_reads").await;
    let faults = trap_reads["faults"].as_array().unwrap();
    assert!((5..=6).contains(&faults.len()), "{trap_reads}");
    let last = faults.last().unwrap();
    assert_eq!(
        (&last["uri"], &last["kind"]),
        (&json!("trap-reads://0"), &json!("trap"))
    );
    assert!(
        last["stderr"].as_str().unwrap().contains("not today"),
        "{last}"
    );
    assert!(
        trap_reads["outcomes"]["trap"].as_u64().unwrap() >= 5,
        "{trap_reads}"
    );
    assert!(
        trap_reads["errors"].as_u64().unwrap() >= 5
            && trap_reads["calls"].as_u64() >= trap_reads["errors"].as_u64()
    );
    let breaker = &trap_reads["breaker"];
    assert!(breaker["failures"].as_u64().unwrap() >= 5, "{breaker}");
    let is_open = breaker["state"] == "open" && breaker["until"].is_string();
    // The circuit is open only for a second, which the test may miss on a slow machine. The event stays.
    let events = server
        .items("/api/events?kind=fault&provider=trap_reads&q=not+called")
        .await;
    assert!(is_open || !events.is_empty(), "{trap_reads}");
    assert_eq!(events[0]["details"]["kind"], "circuit-open");
    let buckets = trap_reads["latency"]["buckets"].as_array().unwrap();
    let count: u64 = buckets
        .iter()
        .map(|bucket| bucket["count"].as_u64().unwrap())
        .sum();
    assert!(
        count >= 5 && buckets.last().unwrap()["le"].is_null(),
        "{buckets:?}"
    );
}

#[tokio::test]
async fn shows_the_log_of_a_provider_with_a_filter() {
    let server = DataServer::start("flood echo", "");
    server.read("flood://lines/20").expect_success();
    let path = "/api/providers/flood/log";
    let all = server.items(path).await;
    let texts: Vec<_> = all
        .iter()
        .map(|line| line["text"].as_str().unwrap())
        .collect();
    assert!(
        texts.contains(&"stderr line 19") && texts.len() >= 60,
        "{texts:?}"
    );
    let filtered = server.items(&format!("{path}?q=LINE+19")).await;
    assert!(
        !filtered.is_empty()
            && filtered
                .iter()
                .all(|line| line["text"].as_str().unwrap().ends_with(" line 19")),
        "{filtered:?}"
    );
    let newest = server.items(&format!("{path}?limit=2")).await;
    assert_eq!(newest, all[all.len() - 2..]);
    let last = &all.last().unwrap()["id"];
    assert_eq!(
        server.items(&format!("{path}?after={last}")).await,
        [] as [Value; 0]
    );
    server.read("flood://line/10").expect_success();
    let more = server.items(&format!("{path}?after={last}")).await;
    assert!(
        more.iter()
            .any(|line| line["text"].as_str().unwrap().ends_with("xxxxxxxxxx")),
        "{more:?}"
    );
    // A flood leaves the newest lines, in bounded memory.
    server.read("flood://forever").expect_exit(1);
    let after = server.items(&format!("{path}?limit=500")).await;
    let bytes: usize = after
        .iter()
        .map(|line| line["text"].as_str().unwrap().len())
        .sum();
    assert!(
        after.len() <= 500 && bytes <= 64 << 10,
        "{} lines, {bytes} bytes",
        after.len()
    );
    assert_eq!(
        server.items("/api/providers/echo/log").await,
        [] as [Value; 0]
    );
}

#[tokio::test]
async fn lists_components_in_pages_with_filters() {
    let server = DataServer::start("echo b@echo c@echo trap_start", "");
    let names = async |query: &str| -> Vec<String> {
        let items = server.items(&format!("/api/providers{query}")).await;
        items
            .iter()
            .map(|item| item["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names("").await, ["b", "c", "echo", "trap_start"]);
    assert_eq!(names("?state=rejected").await, ["trap_start"]);
    assert_eq!(names("?q=C&state=ready").await, ["c", "echo"]);
    assert_eq!(names("?team=default&q=").await.len(), 4);
    assert_eq!(names("?team=other").await.len(), 0);
    let first = server.json("/api/providers?limit=3").await;
    assert_eq!(
        (first["items"].as_array().unwrap().len(), &first["next"]),
        (3, &json!("echo"))
    );
    let second = server.json("/api/providers?limit=3&cursor=echo").await;
    assert_eq!(
        (&second["items"][0]["name"], second.get("next")),
        (&json!("trap_start"), None)
    );
    let rejected = server.json("/api/providers/trap_start").await;
    assert_eq!(
        (&rejected["state"], &rejected["offers"]),
        (&json!("rejected"), &Value::Null)
    );
    assert_eq!(rejected["revisions"][0]["state"], "rejected");
}
