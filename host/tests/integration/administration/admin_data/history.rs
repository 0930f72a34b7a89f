//! The overview and the values of the last hour.

use serde_json::Value;

use super::{DataServer, known};

#[tokio::test]
async fn counts_calls_and_errors_of_the_server_and_of_each_provider() {
    let server = DataServer::start("echo trap_reads", "");
    let empty = server.json("/api/history").await;
    assert_eq!(empty["step_seconds"], 10.0);
    for n in 0..4 {
        server.read(&format!("echo://say/{n}")).expect_success();
    }
    server.read("trap-reads://listed").expect_exit(1);
    let total = |history: &Value, key: &str| {
        (known(&history["series"][key]).iter().sum::<f64>() * 10.0).round()
    };
    // The calls of the server itself count too: it gets descriptions and lists.
    let all = server
        .until("the error is sampled", "/api/history", |history| {
            total(history, "errors") >= 1.0
        })
        .await;
    assert_eq!(total(&all, "errors"), 1.0, "{all}");
    assert!(total(&all, "calls") >= 5.0, "{all}");
    assert!(
        known(&all["series"]["memory"])
            .iter()
            .any(|bytes| *bytes > 0.0),
        "{all}"
    );
    assert!(
        known(&all["series"]["p99"])
            .iter()
            .all(|seconds| *seconds > 0.0 && *seconds < 60.0),
        "{all}"
    );
    let length = |history: &Value, key: &str| history["series"][key].as_array().unwrap().len();
    for key in ["errors", "p50", "p99", "memory", "streams"] {
        assert_eq!(length(&all, key), length(&all, "calls"), "{key}");
    }
    let echo = server.json("/api/history?provider=echo").await;
    let trap_reads = server.json("/api/history?provider=trap_reads").await;
    assert_eq!(
        (total(&echo, "errors"), total(&trap_reads, "errors")),
        (0.0, 1.0)
    );
    assert!(
        total(&echo, "calls") >= 4.0 && !known(&echo["series"]["p50"]).is_empty(),
        "{echo}"
    );
    assert!(echo["series"].get("memory").is_none());
    assert_eq!(server.get("/api/history?provider=nobody").await.0, 404);
}

#[tokio::test]
async fn the_overview_has_the_state_of_everything() {
    let config = "[provider.echo]\nlimits.timeout = \"9s\"\n";
    let server = DataServer::start("echo trap_start dirs bad@echo", config);
    std::fs::write(server.work_dir.path("plugins/bad.wasm"), "").unwrap();
    std::fs::write(
        server.work_dir.path("plugins/dirs.toml"),
        "dirs = [\"/usr\"]\n",
    )
    .unwrap();
    let overview = server
        .until("everything is known", "/api/overview", |overview| {
            let providers = &overview["providers"];
            // The previous revisions of `bad` and `dirs` may have been served before the files were written.
            providers["ready"] == 1
                && providers["rejected"] == 1
                && (providers["degraded"].as_u64().unwrap()
                    + providers["pending"].as_u64().unwrap())
                    == 2
        })
        .await;
    assert_eq!(
        (&overview["ready"], &overview["teams"]),
        (&true.into(), &1.into())
    );
    let used = overview["memory"]["used"].as_u64().unwrap();
    assert!(
        used > 0 && used < overview["memory"]["limit"].as_u64().unwrap(),
        "{overview}"
    );
    assert!(
        overview["memory"]["rss"].as_u64().unwrap() > 1_000_000,
        "{overview}"
    );
    let problems = overview["problems"].as_array().unwrap();
    let of = |provider: &str| {
        problems
            .iter()
            .find(|problem| problem["provider"] == provider)
            .unwrap()
    };
    assert_eq!(of("trap_start")["severity"], "error");
    assert!(
        of("dirs")["advice"]
            .as_str()
            .unwrap()
            .contains("larder approve dirs"),
        "{problems:?}"
    );
    assert!(
        of("bad")["text"]
            .as_str()
            .unwrap()
            .contains("the file is empty"),
        "{problems:?}"
    );
    let severities: Vec<_> = problems
        .iter()
        .map(|problem| problem["severity"].as_str().unwrap())
        .collect();
    assert!(severities.is_sorted(), "errors come first: {severities:?}");
    server.read("echo://say/x").expect_success();
    let after = server
        .until("the call is sampled", "/api/overview", |now| {
            now["latency"]["p50_seconds"].is_f64()
        })
        .await;
    assert!(after["uptime_seconds"].as_f64() > overview["uptime_seconds"].as_f64());
}
