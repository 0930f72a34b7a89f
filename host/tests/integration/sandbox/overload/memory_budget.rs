//! The memory budget: guests, answers and responses together stay within it, each team and each caller has its share,
//! and the memory is released.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use larder_mcp::Config;
use larder_model::name::Digest;
use larder_runtime::drain::Drain;
use larder_runtime::memory_budget::{MemoryBudget, MemoryUse};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{check_retry_after, raw_read, send, status};
use crate::administration::admin::AdminClient;
use crate::support::harness::{
    SLOW_WAIT, TestServer, component_path, eventually, eventually_within,
};
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON, config};
use crate::support::process::{WorkDir, http_client};

const MIB: u64 = 1 << 20;

async fn open(guests: &str, memory: u64) -> Arc<HttpTestServer> {
    let builder = TestServer::builder(guests).memory(memory);
    Arc::new(
        HttpTestServer::with_config(
            builder,
            Config {
                waiting_bytes: 256 << 20,
                ..config()
            },
        )
        .await,
    )
}

/// Records the maximum of charged bytes while this runs.
fn watch_peak(budget: MemoryBudget) -> (Arc<AtomicU64>, tokio::task::AbortHandle) {
    let peak = Arc::new(AtomicU64::new(0));
    let watched = peak.clone();
    let watching = Drain::new().spawn(async move {
        loop {
            watched.fetch_max(budget.used(), Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    (peak, watching.abort_handle())
}

pub(super) async fn nothing_is_charged(http: &HttpTestServer) {
    let budget = http.server.gateway.memory();
    let lists = budget.used_for(MemoryUse::Catalogs);
    eventually("the memory is released", async || budget.used() == lists).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn guests_share_the_budget_without_teams() {
    let http = open("hold_memory echo", 512 * MIB).await;
    let budget = http.server.gateway.memory().clone();
    let (peak, watching) = watch_peak(budget.clone());
    let mut reads = JoinSet::new();
    for n in 0..12 {
        let http = http.clone();
        reads.spawn(async move { http.read(&format!("hold-memory://100/{}", 2_000 + n)).await });
    }
    let answers = reads.join_all().await;
    watching.abort();
    let (held, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    // Four calls fit at the same time, and another call fits when the first call ends.
    assert!((1..=8).contains(&held.len()), "{} held", held.len());
    for answer in refused {
        assert_eq!(answer.status, 503, "{}", answer.body);
        check_retry_after(answer);
        assert_eq!(answer.json()["error"]["data"]["kind"], "overloaded");
    }
    assert!(
        (100 * MIB..=512 * MIB).contains(&peak.load(Ordering::Relaxed)),
        "{peak:?}"
    );
    assert!(
        budget.report().uses[MemoryUse::Guests as usize].2 >= 8,
        "{:?}",
        budget.report()
    );
    // The provider did not fail, so its circuit is closed.
    assert_eq!(http.read("hold-memory://100/0").await.verdict(), "200 ok");
    assert_eq!(http.read("echo://hello").await.status, 200);
    nothing_is_charged(&http).await;
}

#[tokio::test]
async fn a_large_answer_is_charged_until_its_response_was_sent() {
    let http = open("huge", 512 * MIB).await;
    let budget = http.server.gateway.memory();
    let mut slow = send(&http, &raw_read("huge://14000000", "")).await;
    assert_eq!(status(&mut slow).await, "200");
    // Its guest and its answer are gone.
    let waits =
        async || (14 * 1_000_000..20_000_000).contains(&budget.used_for(MemoryUse::Responses));
    eventually("the response waits", waits).await;
    assert_eq!(
        budget.used_for(MemoryUse::Guests) + budget.used_for(MemoryUse::Answers),
        0
    );
    drop(slow);
    nothing_is_charged(&http).await;
}

#[tokio::test]
async fn escapes_are_charged_before_they_are_written() {
    let text = "huge://control/3500000";
    // The response needs 21 MB, because its content is not encoded while it is sent. Half of the budget is for
    // responses.
    let http = open("huge", 32 * MIB).await;
    let (peak, watching) = watch_peak(http.server.gateway.memory().clone());
    let refused = http.read(text).await;
    watching.abort();
    let message = refused.json()["error"]["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(message.contains("`server.memory`"), "{message}");
    assert!(
        !refused.headers.contains_key("retry-after"),
        "it would be refused again"
    );
    assert!(peak.load(Ordering::Relaxed) <= 32 * MIB);
    nothing_is_charged(&http).await;
}

/// The JSON of the response has 90 MB.
#[tokio::test]
async fn escapes_of_a_large_content_need_no_memory() {
    let http = open("huge", 128 * MIB).await;
    let (peak, watching) = watch_peak(http.server.gateway.memory().clone());
    let answer = http.read("huge://control/15000000").await;
    watching.abort();
    assert_eq!((answer.status, answer.body.len() > 90_000_000), (200, true));
    let all = answer.json();
    let text = all["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.len() == 15_000_000 && text.bytes().all(|byte| byte == 1));
    assert!(peak.load(Ordering::Relaxed) <= 40 * MIB, "{peak:?}");
    nothing_is_charged(&http).await;
}

#[tokio::test]
async fn a_batch_stays_within_the_budget() {
    let http = open("huge", 256 * MIB).await;
    let (peak, watching) = watch_peak(http.server.gateway.memory().clone());
    let session = http.session("2025-03-26").await;
    let read = |id: usize| {
        let params = json!({ "uri": "huge://15000000" });
        json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": params })
    };
    let batch = Value::Array((0..64).map(read).collect()).to_string();
    let answer = http
        .post(&[JSON, ACCEPT, ("mcp-session-id", &session)], batch)
        .await;
    watching.abort();
    let all = answer.json();
    let all = all.as_array().unwrap();
    let refused = all
        .iter()
        .filter(|one| one["error"]["data"]["kind"] == "overloaded")
        .count();
    let read = all.iter().filter(|one| one.get("result").is_some()).count();
    assert_eq!((all.len(), read + refused), (64, 64));
    assert!((1..=8).contains(&read), "{read} were read");
    assert!(peak.load(Ordering::Relaxed) <= 256 * MIB);
    nothing_is_charged(&http).await;
}

/// A server with two teams, of which the first has two callers, and a budget of 1 GiB. The token of a caller is its
/// name.
fn serve_teams() -> (WorkDir, AdminClient, String) {
    let mut file = "[server]\nmemory = \"1GiB\"\n[admin]\nlisten = \"127.0.0.1:0\"\n".to_owned();
    file += "[limits]\ntimeout = \"60s\"\n";
    for (name, team) in [("ann", "alpha"), ("bob", "alpha"), ("eve", "beta")] {
        let digest = Digest::of(name.as_bytes());
        file += &format!(
            "[[auth.tokens]]\nname = \"{name}\"\ndigest = \"sha256:{digest}\"\nteams = [\"{team}\"]\n"
        );
    }
    for team in ["alpha", "beta"] {
        file += &format!("[team.{team}]\nplugins = \"{team}\"\nquota.memory = \"4GiB\"\n");
    }
    let work_dir = WorkDir::with_guests("").file("larder.toml", &file);
    for team in ["alpha", "beta"] {
        std::fs::create_dir(work_dir.path(team)).unwrap();
        std::fs::copy(
            component_path("hold_memory"),
            work_dir.path(team).join("hold_memory.wasm"),
        )
        .unwrap();
    }
    let (admin, url) = AdminClient::open(&work_dir);
    (work_dir, admin, url)
}

/// Reads a URI with this token, and returns the status.
async fn read_as(url: &str, token: &str, uri: &str) -> u16 {
    let raw = raw_read(uri, "");
    let (head, body) = raw.split_once("\r\n\r\n").unwrap();
    let headers = head
        .lines()
        .skip(2)
        .filter_map(|line| line.split_once(": "));
    let request = http_client().post(url).timeout(Duration::from_secs(60));
    let request = headers.fold(request, |request, (name, value)| {
        request.header(name, value)
    });
    let request = if token.is_empty() {
        request
    } else {
        request.bearer_auth(token)
    };
    request
        .body(body.to_owned())
        .send()
        .await
        .unwrap()
        .status()
        .as_u16()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_and_a_caller_get_a_share_next_to_a_greedy_one() {
    let (work_dir, admin, url) = serve_teams();
    let mut greedy = JoinSet::new();
    for milliseconds in [50_000, 50_001] {
        let url = url.clone();
        greedy.spawn(async move {
            read_as(&url, "ann", &format!("hold-memory://100/{milliseconds}")).await
        });
    }
    let status = async || {
        serde_json::from_str::<Value>(&admin.get("/status").await.1).unwrap()["memory"].take()
    };
    eventually_within(SLOW_WAIT, "ann uses 200 MiB", async || {
        status().await["used"]["guests"].as_u64().unwrap() >= 200 * MIB
    })
    .await;
    // Ann can use a quarter of the budget. Another caller of the team, and another team, are not affected.
    assert_eq!(read_as(&url, "ann", "hold-memory://100/0").await, 503);
    assert_eq!(read_as(&url, "bob", "hold-memory://100/0").await, 200);
    assert_eq!(read_as(&url, "eve", "hold-memory://120/0").await, 200);
    assert_eq!(read_as(&url, "ann", "hold-memory://100/1").await, 503);
    assert!(greedy.try_join_next().is_none(), "both are still there");
    let memory = status().await;
    assert!(
        memory["limit"] == 1024 * MIB && memory["refused"].as_u64().unwrap() >= 2,
        "{memory}"
    );
    let metrics = admin.get("/metrics").await.1;
    assert!(
        metrics.contains("larder_memory_limit_bytes 1073741824"),
        "{metrics}"
    );
    assert!(
        metrics.contains("larder_memory_bytes{use=\"responses\"} 0"),
        "{metrics}"
    );
    let shown = work_dir
        .larder(&format!("status --admin http://{}", admin.address()))
        .expect_success();
    assert!(shown.contains("of 1 GiB (guests 2"), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_is_returned_to_the_system() {
    let work_dir = WorkDir::with_guests("huge hold_memory").file(
        "larder.toml",
        "[server]\nmemory = \"1GiB\"\n[limits]\nconcurrency = 64\n",
    );
    let (server, url) = work_dir.serve("");
    assert_eq!(read_as(&url, "", "huge://10").await, 200);
    let before = server.anonymous_memory().unwrap();
    let mut reads = JoinSet::new();
    let large = (0..8).map(|n| format!("huge://{}", 14_000_000 + n));
    for uri in large.chain((0..4).map(|n| format!("hold-memory://100/{}", 1_000 + n))) {
        let url = url.clone();
        reads.spawn(async move { read_as(&url, "", &uri).await });
    }
    let mut peak = 0;
    while let Some(status) = reads.join_next().await {
        assert_eq!(status.unwrap(), 200);
        peak = peak.max(server.anonymous_memory().unwrap());
    }
    assert!(peak > before + 200 * MIB, "{peak} after {before}");
    eventually_within(SLOW_WAIT, "the memory is returned", async || {
        server.anonymous_memory().unwrap() < before + 32 * MIB
    })
    .await;
}
