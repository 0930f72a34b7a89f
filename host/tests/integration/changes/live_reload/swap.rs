//! Replacing a revision: identical bytes, components that are rejected, and requests that are still in
//! flight.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use larder_core::reconcile::ReconcilePass;
use larder_model::policy::{Access, Dir};
use larder_provider::Provider;

use super::{component_file, start_running, start_with_first_revision};
use crate::support::harness::{
    SLOW_WAIT, TestServer, anonymous_call, component_path, eventually_within,
};
use crate::support::revision::{revision, text};

fn provider(server: &TestServer, name: &str) -> Arc<dyn Provider> {
    let catalog = server.reader.snapshot();
    let offer = catalog
        .offers()
        .iter()
        .find(|offer| offer.name().as_str() == name);
    offer
        .unwrap_or_else(|| panic!("{name} is not served"))
        .provider
        .clone()
}

#[tokio::test]
async fn writing_the_same_bytes_is_not_a_change() {
    let server = start_with_first_revision().await;
    let before = provider(&server, "revision");
    let watch = server
        .gateway
        .watch(anonymous_call().caller.as_ref().unwrap());
    watch.watch_list(true);
    fs::write(component_file(&server), revision(1)).unwrap();
    fs::write(server.plugins.join("new"), revision(1)).unwrap();
    fs::rename(server.plugins.join("new"), component_file(&server)).unwrap();
    fs::File::open(component_file(&server))
        .unwrap()
        .set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    // A later change that does not affect the list. When it was handled, the earlier changes were handled as well.
    fs::write(server.plugins.join("bad.wasm"), "no component").unwrap();
    eventually_within(SLOW_WAIT, "the invalid component is rejected", async || {
        server.rejection_reason("bad.wasm") != "bad.wasm was not rejected"
    })
    .await;
    assert!(
        Arc::ptr_eq(&provider(&server, "revision"), &before),
        "it was loaded again"
    );
    assert!(
        watch.next().now_or_never().is_none(),
        "the list did not change"
    );
    // The watch does report a real change.
    fs::write(component_file(&server), revision(2)).unwrap();
    tokio::time::timeout(Duration::from_secs(60), watch.next())
        .await
        .unwrap();
    server.wait_for_revision(2).await;
}

#[tokio::test]
async fn an_invalid_revision_is_reported_and_the_old_one_stays() {
    let server = start_with_first_revision().await;
    let unknown = fs::read(component_path("unknown")).unwrap();
    let half = revision(2)[..20_000].to_vec();
    for (bad, reason) in [
        (b"no component".to_vec(), ""),
        (half, ""),
        (unknown, "other:thing/api"),
        (vec![], "empty"),
    ] {
        let change = async {
            fs::write(component_file(&server), &bad).unwrap();
            eventually_within(SLOW_WAIT, "it is rejected", async || {
                let rejection = server.rejection_reason("revision.wasm");
                rejection != "revision.wasm was not rejected" && rejection.contains(reason)
            })
            .await;
        };
        server.only_revisions_answer(&[1], change).await;
    }
    fs::write(component_file(&server), revision(3)).unwrap();
    server.wait_for_revision(3).await;
    assert_eq!(
        server.rejection_reason("revision.wasm"),
        "revision.wasm was not rejected"
    );
}

#[tokio::test]
async fn probes_a_new_revision_before_it_serves() {
    let server = start_with_first_revision().await;
    let change = async {
        // The component compiles, but its first call traps.
        fs::copy(component_path("trap_start"), component_file(&server)).unwrap();
        eventually_within(SLOW_WAIT, "it is rejected", async || {
            server.rejection_reason("revision.wasm") != "revision.wasm was not rejected"
        })
        .await;
    };
    server.only_revisions_answer(&[1], change).await;
}

#[tokio::test]
async fn a_request_in_flight_finishes_on_its_revision() {
    let gate = tempfile::TempDir::new().unwrap();
    let host = gate.path().canonicalize().unwrap();
    let builder = TestServer::builder("")
        .file("revision.wasm", &revision(1))
        .provider("revision", |grant, _| {
            grant.dirs.push(Dir {
                host,
                guest: "/gate".into(),
                access: Access::Write,
                is_canonical: false,
            });
            grant.limits.timeout = Duration::from_secs(120);
        });
    let server = start_running(builder).await;
    let waiting_file = gate.path().join("waits");
    let replacements = async {
        eventually_within(SLOW_WAIT, "the guest waits", async || waiting_file.exists()).await;
        for number in 2..5 {
            fs::write(component_file(&server), revision(number)).unwrap();
            server.wait_for_revision(number).await;
        }
        fs::write(gate.path().join("open"), "").unwrap();
    };
    let (old, ()) = tokio::join!(server.text("revision://template/gate"), replacements);
    assert_eq!(old, text(1));
    assert_eq!(server.text("revision://template/gate").await, text(4));
}

#[tokio::test]
async fn an_old_revision_is_dropped_after_its_last_request() {
    let mut server = start_with_first_revision().await;
    // The result of the pass that loaded the revision keeps a reference to it.
    server.first_pass = ReconcilePass::default();
    let old = Arc::downgrade(&provider(&server, "revision"));
    fs::write(component_file(&server), revision(2)).unwrap();
    server.wait_for_revision(2).await;
    eventually_within(SLOW_WAIT, "the old revision is dropped", async || {
        old.strong_count() == 0
    })
    .await;
}

#[tokio::test]
async fn the_settings_file_of_a_component_takes_effect() {
    let server = start_running(TestServer::builder("echo")).await;
    assert_eq!(server.text("echo://setting/x").await, "unset");
    let settings_file = server.plugins.join("echo.toml");
    for value in ["first", "second"] {
        fs::write(&settings_file, format!("[settings]\nx = \"{value}\"\n")).unwrap();
        eventually_within(SLOW_WAIT, "the setting has its new value", async || {
            server.text("echo://setting/x").await == value
        })
        .await;
    }
    fs::remove_file(settings_file).unwrap();
    eventually_within(SLOW_WAIT, "the setting is removed", async || {
        server.text("echo://setting/x").await == "unset"
    })
    .await;
}
