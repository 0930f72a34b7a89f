//! Optimising the code of a large component fails, and is tried again later.

use std::fs;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tracing::Level;
use tracing::subscriber::DefaultGuard;

use super::TestCompiler;
use super::first_tier::large;
use crate::support::harness::{SLOW_WAIT, TestServer, eventually_within};

/// The log of this thread, which runs all tasks of its test.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Log {
    /// Collects warnings until the guard is dropped.
    fn start() -> (Self, DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_max_level(Level::WARN)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    /// The lines about failures to optimise.
    fn failures(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines()
            .filter(|line| line.contains("cannot optimise"))
            .map(ToOwned::to_owned)
            .collect()
    }

    /// Waits for this number of failures. From then on, no compiler runs until time has passed.
    async fn wait_for_failures(&self, count: usize) {
        eventually_within(SLOW_WAIT, "it fails", async || {
            self.failures().len() == count
        })
        .await;
    }
}

/// A server with a large component, whose compiler cannot optimise it.
async fn server(test: &TestCompiler) -> TestServer {
    let compiler = test.compiler("dies-in-optimisation");
    let builder = TestServer::builder("").compiler(compiler, test.cache());
    builder.file("revision.wasm", &large(1)).start().await
}

/// The number of components whose code is not optimised.
fn unoptimised(server: &TestServer) -> i64 {
    server.metrics.server().unoptimised_components.get()
}

/// Moves the clock forward. No compiler may run at this time, because its time limit would pass.
async fn skip(minutes: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(minutes * 60)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn there_are_three_more_attempts() {
    let (log, _guard) = Log::start();
    let test = TestCompiler::new();
    let server = server(&test).await;
    for (failures, minutes) in (1..).zip([1, 4, 16]) {
        log.wait_for_failures(failures).await;
        assert_eq!(test.runs(), failures + 1);
        skip(minutes).await;
    }
    log.wait_for_failures(4).await;
    assert_eq!((test.runs(), unoptimised(&server)), (5, 1));
    let next = [
        "retry_in=60s",
        "retry_in=240s",
        "retry_in=960s",
        "it stays slower until it is loaded again",
    ];
    for (failure, next) in log.failures().iter().zip(next) {
        assert!(
            failure.contains("WARN") && failure.contains(next),
            "{next}: {failure}"
        );
    }
}

#[tokio::test]
async fn another_attempt_may_succeed() {
    let (log, _guard) = Log::start();
    let test = TestCompiler::new();
    let server = server(&test).await;
    log.wait_for_failures(1).await;
    assert_eq!(unoptimised(&server), 1);
    fs::write(test.folder.path().join("go"), "").unwrap();
    skip(1).await;
    eventually_within(SLOW_WAIT, "the code is optimised", async || {
        unoptimised(&server) == 0
    })
    .await;
    assert_eq!((test.runs(), log.failures().len()), (3, 1));
}
