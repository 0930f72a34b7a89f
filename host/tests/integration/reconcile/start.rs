//! The start of a server waits for components to be compiled, but only for a short time for the providers' own calls.

use std::io;
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use larder_core::reconcile::StartLimits;
use larder_core::source::{MemorySource, Scan, ScanTriggers, Source};

use super::not_served;
use crate::harness::{SLOW_WAIT, TestServer, TestServerBuilder, eventually_within};
use crate::process::WorkDir;
use crate::revision::{NOW, revision, text};

const HOUR: Duration = Duration::from_secs(3_600);
/// The start of these tests ends because of the second limit.
const LIMITS: StartLimits = StartLimits { total: HOUR, own_calls: Duration::from_secs(1) };

/// Makes the call `describe` of a guest `sleep` take this long.
fn hanging(builder: TestServerBuilder, name: &str, timeout: Duration) -> TestServerBuilder {
    let builder = builder.setting(name, "in", "describe");
    builder.provider(name, |grant, _| grant.limits.timeout = timeout)
}

fn problems(server: &TestServer) -> Vec<String> {
    server.health.problems().into_iter().map(|problem| problem.message).collect()
}

#[tokio::test]
async fn providers_that_hang_delay_neither_the_start_nor_others() {
    // More than are loaded or probed at the same time. The last one in order works.
    let names: Vec<_> = ('a'..='i').map(String::from).collect();
    let guests = names.iter().map(|name| format!("{name}@sleep ")).collect::<String>() + "z@echo";
    let builder =
        names.iter().fold(TestServer::builder(&guests), |builder, name| hanging(builder, name, HOUR));
    let mut server = tokio::time::timeout(SLOW_WAIT, builder.start_limits(LIMITS).start()).await.unwrap();
    assert!(server.text("echo://hello").await.starts_with("uri: echo://hello"));
    let files: Vec<_> = names.iter().map(|name| format!("{name}.wasm")).collect();
    assert_eq!(problems(&server), [format!("team default: not loaded yet: {}", files.join(", "))]);
    server.run_reconciler();
    server.drain.finish(Duration::from_secs(10)).await;
}

#[tokio::test]
async fn a_provider_that_was_not_ready_at_the_start_is_added_when_it_is() {
    let builder = hanging(TestServer::builder("echo sleep"), "sleep", Duration::from_secs(5));
    let mut server = builder.start_limits(LIMITS).start().await;
    assert_eq!(problems(&server), ["team default: not loaded yet: sleep.wasm"]);
    server.run_reconciler();
    eventually_within(SLOW_WAIT, "its load ends", async || problems(&server).is_empty()).await;
    let reason = server.rejection_reason("sleep.wasm");
    assert!(reason.contains("it did not respond within 5s"), "{reason}");
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
        // The error is that the gate is open: its sender is gone.
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
    let slow = SlowSource { source: source.clone(), gate: Mutex::new(opened) };
    let limits = StartLimits { total: Duration::from_millis(50), ..LIMITS };
    let builder = TestServer::builder("").source(slow).scan_interval(HOUR).start_limits(limits);
    let mut server = builder.start().await;
    assert_eq!(problems(&server), ["team default: its sources have not been read yet"]);
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
    let builder = hanging(TestServer::builder("echo sleep"), "sleep", Duration::from_millis(1_500));
    let server = builder.start().await;
    assert!(server.rejection_reason("sleep.wasm").contains("it did not respond within 1.5s"));
}

const SLOW: &str =
    "[provider.sleep]\nsettings.in = 'describe'\nlimits.timeout = '1h'\n[admin]\nlisten = '127.0.0.1:0'\n";

#[test]
fn a_server_starts_without_a_provider_that_hangs() {
    let work_dir = WorkDir::with_guests("echo sleep").file("larder.toml", SLOW);
    let began = Instant::now();
    let (mut server, url) = work_dir.serve("");
    // It compiles the components first. Without the limit for own calls, it would wait for 45 seconds.
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    server.find_stderr("  team default: not loaded yet: sleep.wasm");
    assert!(
        work_dir.larder(&format!("read echo://hello --url {url}")).expect_success().contains("echo://hello")
    );
    server.signal("KILL");
    let mut stdio = work_dir.start("serve --stdio");
    stdio.find_stderr("  team default: not loaded yet: sleep.wasm");
    stdio.signal("KILL");
}

#[test]
fn commands_wait_for_a_slow_provider() {
    let work_dir = WorkDir::with_guests("echo sleep").file("larder.toml", &SLOW.replace("1h", "2s"));
    for command in ["check", "list --in-process"] {
        let output = work_dir.larder(command);
        let reason = "sleep.wasm is rejected: cannot get its description: it did not respond within 2s (`limits.timeout`)";
        assert!(output.stderr.contains(reason), "{}", output.stderr);
    }
}
