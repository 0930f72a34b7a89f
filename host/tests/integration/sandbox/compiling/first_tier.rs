//! A large component that somebody waits for is served before its code is optimised.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::GuestLifetime;
use larder_provider::{CompileJob, HashedComponent, Priority, Rejection};
use larder_sandbox::{CachedComponent, CompiledComponent, Sandbox};
use serde_json::json;

use super::{TestCompiler, pid, with_length};
use crate::protocol::subscriptions::{Events, acknowledged, listen};
use crate::support::harness::{SLOW_WAIT, TestServer, eventually_within};
use crate::support::http_server::HttpTestServer;
use crate::support::revision::{NOW, READ_PAUSE, revision, text};

/// The revision with a custom section of 8 MiB.
pub(super) fn large(number: u32) -> Bytes {
    let section = with_length(&[0], &[[1, b'x'].as_slice(), &vec![0; 8 << 20]].concat());
    [revision(number), section].concat().into()
}

impl TestCompiler {
    /// A server with a large component, whose compiler waits before it optimises.
    async fn server(&self, guests: GuestLifetime) -> HttpTestServer {
        let builder = TestServer::builder("")
            .compiler(self.compiler("hangs-in-optimisation"), self.cache())
            .provider("revision", |grant, _| grant.guests = guests)
            .file("revision.wasm", &large(1));
        let mut http = HttpTestServer::from_builder(builder).await;
        http.run_reconciler();
        http
    }

    /// Lets the compiler optimise.
    fn go(&self) {
        fs::write(self.folder.path().join("go"), "").unwrap();
    }

    /// The arguments of the compilations so far that tell how it compiles.
    fn modes(&self) -> Vec<String> {
        let runs = fs::read_to_string(self.folder.path().join("runs")).unwrap_or_default();
        let modes = ["--nice=0", "--nice=5", "--nice=10", "--unoptimised"];
        let mode = |run: &str| {
            modes
                .into_iter()
                .filter(|mode| run.contains(mode))
                .collect::<Vec<_>>()
                .join(" ")
        };
        runs.lines().map(mode).collect()
    }
}

/// The number of components whose code is not optimised.
fn unoptimised(http: &HttpTestServer) -> i64 {
    http.server.metrics.server().unoptimised_components.get()
}

fn provider_revision(http: &HttpTestServer) -> u64 {
    let catalog = http.server.reader.snapshot();
    catalog.offers()[0].provider.revision()
}

/// Reads until `done` is set, and returns the number of reads.
async fn read_until(http: &HttpTestServer, done: &AtomicBool) -> usize {
    let mut reads = 0;
    while !done.load(Ordering::Relaxed) {
        let answer = http.read(NOW).await;
        assert_eq!(answer.verdict(), "200 ok", "{}", answer.body);
        assert_eq!(answer.json()["result"]["contents"][0]["text"], text(1));
        reads += 1;
        tokio::time::sleep(READ_PAUSE).await;
    }
    reads
}

#[tokio::test]
async fn optimised_code_replaces_code_of_the_same_revision() {
    for guests in [GuestLifetime::Fresh, GuestLifetime::Reused] {
        let test = TestCompiler::new();
        let http = test.server(guests).await;
        assert_eq!((unoptimised(&http), test.files("cwasm").len()), (1, 1));
        let revision = provider_revision(&http);
        let wanted = json!({ "resourcesListChanged": true, "resourceSubscriptions": [NOW] });
        let mut events = Events::of(listen(&http, &wanted)).await;
        acknowledged(&events.next().await.unwrap());
        let done = AtomicBool::new(false);
        let optimise = async {
            test.go();
            eventually_within(SLOW_WAIT, "the code is optimised", async || {
                unoptimised(&http) == 0
            })
            .await;
            // Some reads with the new code.
            tokio::time::sleep(Duration::from_millis(100)).await;
            done.store(true, Ordering::Relaxed);
        };
        let (reads, ()) = tokio::join!(read_until(&http, &done), optimise);
        assert!(reads > 10, "{reads}");
        assert_eq!(test.modes(), ["--nice=0 --unoptimised", "--nice=10"]);
        assert_eq!(provider_revision(&http), revision);
        assert_eq!(
            test.files("cwasm").len(),
            1,
            "the other code is not needed any more"
        );
        let notified = tokio::time::timeout(Duration::from_millis(200), events.next()).await;
        assert!(notified.is_err(), "{notified:?}");
    }
}

#[tokio::test]
async fn a_restart_uses_code_that_is_not_optimised() {
    let test = TestCompiler::new();
    let http = test.server(GuestLifetime::Fresh).await;
    assert_eq!(unoptimised(&http), 1);
    http.server.drain.finish(Duration::from_secs(10)).await;
    let again = test.server(GuestLifetime::Fresh).await;
    assert_eq!(
        (
            unoptimised(&again),
            again.read(NOW).await.verdict().as_str()
        ),
        (1, "200 ok")
    );
    test.go();
    eventually_within(SLOW_WAIT, "the code is optimised", async || {
        unoptimised(&again) == 0
    })
    .await;
    let awaited = test
        .modes()
        .into_iter()
        .filter(|mode| mode.contains("--nice=0"));
    assert_eq!(awaited.count(), 1);
}

#[tokio::test]
async fn a_new_revision_replaces_code_that_is_not_optimised() {
    let test = TestCompiler::new();
    let http = test.server(GuestLifetime::Fresh).await;
    // The compilation of the second revision does not wait until the first one is optimised.
    pid(&test).await;
    let new = http.server.folder.path().join("new");
    fs::write(&new, large(2)).unwrap();
    fs::rename(&new, http.server.plugins.join("revision.wasm")).unwrap();
    http.server.wait_for_revision(2).await;
    assert_eq!(unoptimised(&http), 1);
    test.go();
    eventually_within(SLOW_WAIT, "the code is optimised", async || {
        unoptimised(&http) == 0
    })
    .await;
    http.server.wait_for_revision(2).await;
    let first_tier = "--nice=0 --unoptimised";
    assert_eq!(
        test.modes(),
        [first_tier, "--nice=10", first_tier, "--nice=10"]
    );
}

async fn try_to_compile(
    sandbox: &Sandbox,
    bytes: Bytes,
    priority: Priority,
) -> Result<CachedComponent, Rejection> {
    let (team, provider) = (
        TeamName::default_team(),
        ProviderName::parse("wiki").unwrap(),
    );
    let job = CompileJob {
        team: &team,
        provider: Some(&provider),
        priority,
    };
    Ok(sandbox
        .compile_for(&job, HashedComponent::new(bytes))
        .await?
        .0)
}

async fn compile(sandbox: &Sandbox, bytes: Bytes, priority: Priority) -> CompiledComponent {
    sandbox
        .link(try_to_compile(sandbox, bytes, priority).await.unwrap())
        .unwrap()
}

#[tokio::test]
async fn a_large_replacement_is_not_optimised_at_first() {
    let test = TestCompiler::new();
    let sandbox = test.sandbox(|config| config.program = test.compiler("counts"));
    compile(&sandbox, large(1), Priority::Replacement).await;
    compile(&sandbox, large(1), Priority::Optimisation).await;
    assert_eq!(test.modes(), ["--nice=5 --unoptimised", "--nice=10"]);
}

#[tokio::test]
async fn a_limit_that_only_optimised_code_meets_is_no_rejection() {
    let test = TestCompiler::new();
    compile(&test.sandbox(|_| {}), large(1), Priority::Optimisation).await;
    let code = fs::metadata(test.entry()).unwrap().len();
    let other = TestCompiler::new();
    let sandbox = other.sandbox(|config| {
        config.program = other.compiler("counts");
        config.code = code;
    });
    compile(&sandbox, large(1), Priority::Awaited).await;
    assert_eq!(other.modes(), ["--nice=0 --unoptimised", "--nice=0"]);
}

#[tokio::test]
async fn a_component_that_takes_too_long_is_not_optimised_at_once() {
    let test = TestCompiler::new();
    let sandbox = test.sandbox(|config| {
        config.program = test.compiler("hangs");
        config.timeout = Duration::from_secs(1);
    });
    assert!(
        try_to_compile(&sandbox, large(1), Priority::Awaited)
            .await
            .is_err()
    );
    assert_eq!(test.modes(), ["--nice=0 --unoptimised"]);
}
