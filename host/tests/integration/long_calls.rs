//! Calls that take long or need much memory continue on threads of their own, so that the threads that received them
//! serve other requests. How the calls end does not change.

use std::time::{Duration, Instant};

use larder_client::Client;
use larder_model::name::{Digest, ProviderName};
use larder_model::policy::GuestLifetime;
use larder_runtime::metrics::ProviderMetrics;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::admin::AdminClient;
use crate::harness::{TestServer, component_path, eventually};
use crate::metrics::{parse_samples, sample_value};
use crate::process::WorkDir;

/// Calls that use much memory at the same time.
const CALLERS: usize = 4;
/// Calls with expensive arguments at the same time.
const VALIDATING_CALLERS: usize = 8;
/// Number of reads of the other team in one round.
const READS: usize = 400;

/// The metrics of a provider.
fn provider_metrics(server: &TestServer, name: &str) -> std::sync::Arc<ProviderMetrics> {
    server.metrics.provider(server.reader.team(), &ProviderName::parse(name).unwrap())
}

fn moved_calls(server: &TestServer, name: &str) -> u64 {
    provider_metrics(server, name).moved_calls.get()
}

#[tokio::test]
async fn a_call_is_moved_before_its_guest_uses_much_memory() {
    let server = TestServer::builder("echo touch").start().await;
    for uri in ["touch://fill/100", "touch://pages/100"] {
        let before = moved_calls(&server, "touch");
        assert_eq!(server.text(uri).await, "100");
        assert_eq!(moved_calls(&server, "touch"), before + 1);
    }
    let before = moved_calls(&server, "touch");
    for _ in 0..20 {
        assert_eq!(server.text("touch://pages/1").await, "1");
    }
    // A call that another process interrupted may have been moved.
    assert!(moved_calls(&server, "touch") < before + 10);
    // The guest is cleared before its call ends.
    assert_eq!(provider_metrics(&server, "touch").guests.get(), 0);
}

#[tokio::test]
async fn a_call_is_moved_after_a_tick_and_fails_as_before() {
    let limit = Duration::from_millis(100);
    let builder = TestServer::builder("spin sleep").provider("spin", |grant, _| {
        (grant.limits.cpu_time, grant.limits.timeout) = (limit, Duration::from_secs(20));
    });
    let server = builder.start().await;
    let metrics = provider_metrics(&server, "spin");
    let before = metrics.moved_calls.get();
    let expected = "error: the provider `spin` failed: it exceeded its CPU time of 100ms (`limits.cpu_time`)";
    assert_eq!(server.text("spin://forever").await, expected);
    assert_eq!(metrics.moved_calls.get(), before + 1);
    assert!(metrics.cpu_seconds() >= limit.as_secs_f64());
    // A guest that waits does not use a thread. On a busy machine some of these calls take a tick before they wait.
    let (before, calls) = (moved_calls(&server, "sleep"), 20);
    for _ in 0..calls {
        assert_eq!(server.text("sleep://ms/10").await, "slept");
    }
    assert!(moved_calls(&server, "sleep") < before + calls);
}

#[tokio::test]
async fn a_moved_call_keeps_its_memory_limit() {
    let builder = TestServer::builder("eat").provider("eat", |grant, _| grant.limits.memory = 16 << 20);
    let server = builder.start().await;
    let expected =
        "error: the provider `eat` failed: it needs more than its 16 MiB of memory (`limits.memory`)";
    assert_eq!(server.text("eat://everything").await, expected);
    assert!(moved_calls(&server, "eat") > 0);
}

/// A server with a guest that computes until its call ends.
async fn spinning() -> TestServer {
    let builder = TestServer::builder("spin").provider("spin", |grant, _| {
        (grant.limits.cpu_time, grant.limits.timeout) = (Duration::from_secs(600), Duration::from_secs(600));
        grant.limits.concurrency = 1;
    });
    builder.start().await
}

#[tokio::test]
async fn a_moved_call_ends_with_its_request() {
    let server = spinning().await;
    for _ in 0..2 {
        // The only permit is free again in the second round.
        let before = moved_calls(&server, "spin");
        let cancelled = async {
            tokio::select! {
                _ = server.read("spin://forever") => panic!("it ended"),
                () = eventually("the call is moved", async || moved_calls(&server, "spin") > before) => {}
            }
        };
        cancelled.await;
        let metrics = provider_metrics(&server, "spin");
        eventually("the guest is dropped", async || metrics.guests.get() == 0).await;
    }
}

#[tokio::test]
async fn shutdown_ends_moved_calls() {
    let server = std::sync::Arc::new(spinning().await);
    let metrics = provider_metrics(&server, "spin");
    let (reader, before) = (server.clone(), metrics.moved_calls.get());
    server.drain.spawn(async move { reader.read("spin://forever").await });
    eventually("the call is moved", async || metrics.moved_calls.get() > before).await;
    assert!(!server.drain.finish(Duration::from_millis(50)).await);
    assert_eq!(metrics.guests.get(), 0, "shutdown did not wait for the guest");
}

#[tokio::test]
async fn a_moved_guest_is_reused() {
    let builder =
        TestServer::builder("touch").provider("touch", |grant, _| grant.guests = GuestLifetime::Reused);
    let server = builder.start().await;
    assert_eq!(server.text("touch://pages/8").await, "8");
    let metrics = provider_metrics(&server, "touch");
    let (idle, before) = (metrics.guests.get(), metrics.moved_calls.get());
    assert!(idle > 0 && before > 0);
    // The memory is there already, so the guest does not grow.
    for _ in 0..10 {
        assert_eq!(server.text("touch://pages/7").await, "7");
    }
    assert_eq!(metrics.guests.get(), idle);
    assert!(metrics.moved_calls.get() < before + 10);
}

/// A server with the teams `quiet` and `heavy`, whose only tokens are their names. The team `heavy` has this guest.
fn two_teams(heavy: &str) -> (AdminClient, String, WorkDir) {
    let mut config = "[admin]\nlisten = \"127.0.0.1:0\"\n".to_owned();
    for team in ["quiet", "heavy"] {
        let digest = Digest::of(team.as_bytes());
        config += &format!(
            "[[auth.tokens]]\nname = \"{team}\"\ndigest = \"sha256:{digest}\"\nteams = [\"{team}\"]\n\
             [team.{team}]\nplugins = \"{team}\"\nquota = {{ requests = 100000 }}\n"
        );
    }
    config += "[team.heavy.ceiling]\ntools = true\n";
    config += "[team.heavy.provider.hostile_tools]\ntools = true\nsettings = { list = \"bombs\" }\n";
    let work_dir = WorkDir::with_guests("").file("larder.toml", &config);
    for (team, guest) in [("quiet", "echo"), ("heavy", heavy)] {
        std::fs::create_dir(work_dir.path(team)).unwrap();
        let component = work_dir.path(team).join(guest).with_extension("wasm");
        std::fs::copy(component_path(guest), component).unwrap();
    }
    let (admin, url) = AdminClient::open(&work_dir);
    (admin, url, work_dir)
}

async fn timed_read(client: &mut Client, uri: &str) -> Duration {
    let start = Instant::now();
    client.read(uri).await.unwrap();
    start.elapsed()
}

/// The duration that this part of the reads does not exceed.
fn percentile(durations: &mut [Duration], percent: usize) -> Duration {
    durations.sort_unstable();
    durations[(durations.len() - 1) * percent / 100]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_of_another_team_do_not_wait_for_calls_that_use_much_memory() {
    let (admin, url, _work_dir) = two_teams("touch");
    // A server without such calls shows how long other processes of the machine delay a read.
    let (_idle_admin, idle_url, _idle_dir) = two_teams("touch");
    let connect = async |url: &str, token: &str| Client::builder().token(token).http(url).await.unwrap();
    let (mut quiet, mut idle) = (connect(&url, "quiet").await, connect(&idle_url, "quiet").await);
    let mut heavy = JoinSet::new();
    for _ in 0..CALLERS {
        let mut client = connect(&url, "heavy").await;
        heavy.spawn(async move {
            let mut durations = Vec::new();
            loop {
                durations.push(timed_read(&mut client, "touch://fill/100").await);
                if durations.len() == 20 {
                    return percentile(&mut durations, 50);
                }
            }
        });
    }
    let (mut reads, mut idle_reads, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    while reads.len() < READS || calls.len() < CALLERS {
        reads.push(timed_read(&mut quiet, "echo://hello").await);
        idle_reads.push(timed_read(&mut idle, "echo://hello").await);
        calls.extend(heavy.try_join_next().map(Result::unwrap));
    }
    let heavy = percentile(&mut calls, 50);
    // On threads that it shares with such calls, one read in a hundred waits for a third of a call.
    let (slowest, idle) = (percentile(&mut reads, 99), percentile(&mut idle_reads, 99));
    assert!(
        slowest < heavy / 10 + 2 * idle,
        "a read took {slowest:?} next to calls of {heavy:?}, and {idle:?} on a server without them"
    );
    let samples = parse_samples(&admin.get("/metrics").await.1);
    let moved = |team: &str, provider: &str| {
        let key = format!("larder_calls_moved_total{{team=\"{team}\",provider=\"{provider}\"}}");
        sample_value(&samples, &key)
    };
    assert!(moved("heavy", "touch") >= (CALLERS * 20) as f64);
    // A read can be interrupted by another process for a tick.
    assert!(moved("quiet", "echo") < reads.len() as f64 / 10.0);
}

/// A value whose validation with the schema of the tool `unevaluated` takes all of the effort that is allowed.
fn expensive_arguments() -> Map<String, Value> {
    let wide: Map<_, _> = (0..50).map(|n| (format!("a{n}"), json!(1))).collect();
    (0..30).fold(wide.clone(), |inner, _| {
        let mut members = wide.clone();
        members.insert("a".to_owned(), Value::Object(inner));
        members
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_of_another_team_do_not_wait_for_validations() {
    let (admin, url, _work_dir) = two_teams("hostile_tools");
    // A server without such calls shows how long other processes of the machine delay a read.
    let (_idle_admin, idle_url, _idle_dir) = two_teams("hostile_tools");
    let connect = async |url: &str, token: &str| Client::builder().token(token).http(url).await.unwrap();
    let (mut quiet, mut idle) = (connect(&url, "quiet").await, connect(&idle_url, "quiet").await);
    let mut heavy = JoinSet::new();
    for _ in 0..VALIDATING_CALLERS {
        let mut client = connect(&url, "heavy").await;
        heavy.spawn(async move {
            let start = Instant::now();
            // On a slow machine, it is ended at the deadline of the call.
            let result = format!("{:?}", client.call_tool("unevaluated", expensive_arguments()).await);
            assert!(!result.contains("was called") && !result.contains("Unknown tool"), "{result}");
            start.elapsed()
        });
    }
    let (mut reads, mut idle_reads, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    while calls.len() < VALIDATING_CALLERS {
        reads.push(timed_read(&mut quiet, "echo://hello").await);
        idle_reads.push(timed_read(&mut idle, "echo://hello").await);
        calls.extend(heavy.try_join_next().map(Result::unwrap));
    }
    let total = calls.iter().max().copied().unwrap();
    // On the threads that serve requests, a read waits for a whole validation or more.
    let (slowest, idle) = (percentile(&mut reads, 99), percentile(&mut idle_reads, 99));
    assert!(
        slowest < total / (2 * VALIDATING_CALLERS as u32) + 2 * idle,
        "a read took {slowest:?} next to validations of {total:?}, and {idle:?} on a server without them"
    );
    let samples = parse_samples(&admin.get("/metrics").await.1);
    let of_heavy =
        |name: &str| sample_value(&samples, &format!("{name}{{team=\"heavy\",provider=\"hostile_tools\"}}"));
    let moved = of_heavy("larder_calls_moved_total");
    assert!(moved >= VALIDATING_CALLERS as f64, "{moved}");
    // The team is charged for what its calls took on both threads.
    let cpu_time = of_heavy("larder_guest_cpu_seconds_total");
    assert!(cpu_time > total.as_secs_f64() / 8.0, "{cpu_time} s of {total:?}");
}

/// Whether the server has a thread whose name begins so.
#[cfg(target_os = "linux")]
fn has_thread(admin: &AdminClient, name: &str) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", admin.process.id())).unwrap();
    let names =
        tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default());
    names.into_iter().any(|found| found.starts_with(name))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_large_response_is_written_on_a_thread_of_lower_priority() {
    let work_dir = WorkDir::with_guests("sized").file("larder.toml", "[admin]\nlisten = \"127.0.0.1:0\"\n");
    let (admin, url) = AdminClient::open(&work_dir);
    let mut client = Client::builder().http(&url).await.unwrap();
    for (kind, bytes, is_low) in
        [("text", 100_000, false), ("text", 5_000_000, true), ("blob", 5_000_000, true)]
    {
        let reading = client.read(&format!("sized://sized/{kind}/{bytes}")).await.unwrap();
        assert_eq!(reading.contents.len(), 1);
        assert_eq!(has_thread(&admin, "larder-low"), is_low, "{kind} {bytes}");
    }
}
