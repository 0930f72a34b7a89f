//! Lists for which providers have to be called, and providers that respond late or never.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use larder_core::gateway::Filter;
use larder_model::resource::{Call, Caller, Entry, Page};
use serde_json::json;

use crate::support::harness::{SLOW_WAIT, TestServer, TestServerBuilder, anonymous_call};
use crate::support::process::WorkDir;

const HOUR: Duration = Duration::from_secs(3_600);

/// Adds guests `personal` under these names, whose lists take this long for callers.
fn with_delay(names: &[String], others: &str, delay: Duration) -> TestServerBuilder {
    let guests = names
        .iter()
        .map(|name| format!("{name}@personal "))
        .collect::<String>()
        + others;
    names
        .iter()
        .fold(TestServer::builder(&guests), |builder, name| {
            let builder = builder.setting(name, "delay_ms", &delay.as_millis().to_string());
            builder.provider(name, |grant, _| grant.limits.timeout = HOUR)
        })
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("p{number:02}")).collect()
}

fn call_by(subject: &str) -> Arc<Call> {
    let caller = anonymous_call().caller.clone().unwrap();
    Arc::new(Call::from_caller(Caller {
        subject: Some(subject.into()),
        ..caller
    }))
}

async fn page(server: &TestServer, call: &Arc<Call>, cursor: Option<&str>) -> Page<Arc<Entry>> {
    let filter = Filter::default();
    let page = server.gateway.list(call, cursor, &filter);
    tokio::time::timeout(SLOW_WAIT, page)
        .await
        .expect("no page in time")
        .unwrap()
}

#[tokio::test]
async fn lists_that_hang_are_skipped_together() {
    let names = names(8);
    let server = with_delay(&names, "echo z@many", HOUR)
        .setting("z", "count", "2")
        .start()
        .await;
    let page = page(&server, &anonymous_call(), None).await;
    assert_eq!((page.items.len(), page.next), (6, None));
    assert_eq!(
        (page.incomplete, page.freshness.ttl),
        (names, Duration::ZERO)
    );
}

#[tokio::test]
async fn a_list_that_hangs_repeatedly_is_not_called_for_a_while() {
    let server = with_delay(&names(1), "echo", HOUR).start().await;
    let lists = async || {
        let call = anonymous_call();
        join_all((0..5).map(|_| page(&server, &call, None))).await
    };
    let provider = server.reader.snapshot().offers()[1].provider.clone();
    lists().await;
    assert!(provider.circuits().list_open_for.is_some());
    for page in lists().await {
        assert_eq!(
            (page.items.len(), &page.incomplete[..]),
            (4, &["p00".to_owned()][..])
        );
    }
    let calls = |outcome| provider.metrics().calls(outcome);
    use larder_runtime::metrics::Outcome;
    assert_eq!(
        (calls(Outcome::Deadline), calls(Outcome::CircuitOpen)),
        (5, 5)
    );
    // Nothing is wrong with reads.
    assert_eq!(provider.circuits().calls_open_for, None);
    let uri = crate::support::harness::parse_uri("personal://ann/a");
    assert!(
        server
            .gateway
            .read(&call_by("ann"), &uri, None)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_read_that_joined_another_waits_no_longer_than_for_its_own_call() {
    let builder = TestServer::builder("sleep").provider("sleep", |grant, _| {
        grant.limits.timeout = Duration::from_secs(1);
        grant.limits.queue_timeout = HOUR;
        // If each read waited for the whole time of its own call, the reads would take a minute, one after another.
        grant.limits.concurrency = 1;
    });
    let server = builder.start().await;
    let began = Instant::now();
    let reads = join_all((0..60).map(|_| server.read("sleep://hour"))).await;
    let took = began.elapsed();
    assert!(took < Duration::from_secs(30), "{took:?}");
    for read in reads {
        let error = read.unwrap_err().to_string();
        // Reads after the end of the first call have no time left for a call of their own.
        assert!(
            error.contains("it did not respond within 1s") || error.contains("is busy"),
            "{error}"
        );
    }
}

#[test]
fn the_command_names_what_is_missing_and_fails() {
    let config = "[provider.slow]\nsettings = { delay_ms = '3600000' }\n";
    let work_dir = WorkDir::with_guests("slow@personal echo").file("larder.toml", config);
    let (_server, url) = work_dir.serve("--plugins plugins --config larder.toml");
    let output = work_dir.larder(&format!("list --url {url}"));
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    let note = "larder: resources may be missing from: slow";
    assert!(output.stderr.contains(note), "{}", output.stderr);
    assert!(output.stdout.contains("echo://hello"), "{}", output.stdout);
    let output = work_dir.larder(&format!("list --json --url {url}"));
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    assert_eq!(output.json()["incomplete"], json!(["slow"]));
    work_dir
        .larder(&format!("templates --url {url}"))
        .expect_success();
}
