//! Calls that take long or need much memory continue on threads of their own, so that the threads that received them
//! serve other requests. The results of the calls do not change.

mod other_teams;

use std::time::Duration;

use larder_client::Client;
use larder_model::name::ProviderName;
use larder_model::policy::GuestLifetime;
use larder_runtime::metrics::ProviderMetrics;

use crate::administration::admin::AdminClient;
use crate::support::harness::{TestServer, eventually};
use crate::support::process::WorkDir;

/// The metrics of a provider.
fn provider_metrics(server: &TestServer, name: &str) -> std::sync::Arc<ProviderMetrics> {
    server
        .metrics
        .provider(server.reader.team(), &ProviderName::parse(name).unwrap())
}

fn moved_calls(server: &TestServer, name: &str) -> u64 {
    provider_metrics(server, name).moved_calls.get()
}

#[tokio::test]
async fn a_call_is_moved_before_its_guest_uses_much_memory() {
    let server = TestServer::builder("echo touch_memory").start().await;
    for uri in ["touch-memory://fill/100", "touch-memory://pages/100"] {
        let before = moved_calls(&server, "touch_memory");
        assert_eq!(server.text(uri).await, "100");
        assert_eq!(moved_calls(&server, "touch_memory"), before + 1);
    }
    let before = moved_calls(&server, "touch_memory");
    for _ in 0..20 {
        assert_eq!(server.text("touch-memory://pages/1").await, "1");
    }
    // A call that another process interrupted may have been moved.
    assert!(moved_calls(&server, "touch_memory") < before + 10);
    // The guest is cleared before its call ends.
    assert_eq!(provider_metrics(&server, "touch_memory").guests.get(), 0);
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
    let expected =
        "error: the provider `spin` failed: it exceeded its CPU time of 100ms (`limits.cpu_time`)";
    assert_eq!(server.text("spin://forever").await, expected);
    assert_eq!(metrics.moved_calls.get(), before + 1);
    assert!(metrics.cpu_seconds() >= limit.as_secs_f64());
    // A waiting guest does not use a thread. On a busy machine, some of these calls take a tick before they wait.
    let (before, calls) = (moved_calls(&server, "sleep"), 20);
    for _ in 0..calls {
        assert_eq!(server.text("sleep://ms/10").await, "slept");
    }
    assert!(moved_calls(&server, "sleep") < before + calls);
}

#[tokio::test]
async fn a_moved_call_keeps_its_memory_limit() {
    let builder =
        TestServer::builder("eat").provider("eat", |grant, _| grant.limits.memory = 16 << 20);
    let server = builder.start().await;
    let expected = "error: the provider `eat` failed: it needs more than its 16 MiB of memory (`limits.memory`)";
    assert_eq!(server.text("eat://everything").await, expected);
    assert!(moved_calls(&server, "eat") > 0);
}

/// A server with a guest that computes until its call ends.
async fn spinning() -> TestServer {
    let builder = TestServer::builder("spin").provider("spin", |grant, _| {
        (grant.limits.cpu_time, grant.limits.timeout) =
            (Duration::from_secs(600), Duration::from_secs(600));
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
    server
        .drain
        .spawn(async move { reader.read("spin://forever").await });
    eventually("the call is moved", async || {
        metrics.moved_calls.get() > before
    })
    .await;
    assert!(!server.drain.finish(Duration::from_millis(50)).await);
    assert_eq!(
        metrics.guests.get(),
        0,
        "shutdown did not wait for the guest"
    );
}

#[tokio::test]
async fn a_moved_guest_is_reused() {
    let builder = TestServer::builder("touch_memory").provider("touch_memory", |grant, _| {
        grant.guests = GuestLifetime::Reused
    });
    let server = builder.start().await;
    assert_eq!(server.text("touch-memory://pages/8").await, "8");
    let metrics = provider_metrics(&server, "touch_memory");
    let (idle, before) = (metrics.guests.get(), metrics.moved_calls.get());
    assert!(idle > 0 && before > 0);
    // The memory exists already, so the guest does not grow.
    for _ in 0..10 {
        assert_eq!(server.text("touch-memory://pages/7").await, "7");
    }
    assert_eq!(metrics.guests.get(), idle);
    assert!(metrics.moved_calls.get() < before + 10);
}

/// Whether the server has a thread whose name begins with this.
#[cfg(target_os = "linux")]
fn has_thread(admin: &AdminClient, name: &str) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", admin.process.id())).unwrap();
    let names = tasks
        .map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default());
    names.into_iter().any(|found| found.starts_with(name))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_large_response_is_written_on_a_thread_of_lower_priority() {
    let work_dir =
        WorkDir::with_guests("sized").file("larder.toml", "[admin]\nlisten = \"127.0.0.1:0\"\n");
    let (admin, url) = AdminClient::open(&work_dir);
    let mut client = Client::builder().http(&url).await.unwrap();
    for (kind, bytes, is_low) in [
        ("text", 100_000, false),
        ("text", 5_000_000, true),
        ("blob", 5_000_000, true),
    ] {
        let reading = client
            .read(&format!("sized://sized/{kind}/{bytes}"))
            .await
            .unwrap();
        assert_eq!(reading.contents.len(), 1);
        assert_eq!(has_thread(&admin, "larder-low"), is_low, "{kind} {bytes}");
    }
}
