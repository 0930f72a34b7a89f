//! What one revision leaves to the next: what is no change, what is refused, and who is still at work.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use larder_core::reconcile::ReconcilePass;
use larder_model::policy::{Access, Dir};
use larder_sandbox::provider::Provider;

use super::{file, first, running};
use crate::house::{House, Plan, component, someone};
use crate::revision::{revision, text, until};

fn provider(house: &House, name: &str) -> Arc<Provider> {
    let catalog = house.reader.snapshot();
    let offer = catalog.offers().iter().find(|offer| offer.name().as_str() == name);
    offer.unwrap_or_else(|| panic!("{name} is not served")).provider.clone()
}

#[tokio::test]
async fn the_same_bytes_again_are_not_a_change() {
    let house = first().await;
    let before = provider(&house, "revision");
    let watch = house.gateway.watch(someone().caller.as_ref().unwrap());
    watch.watch_list(true);
    fs::write(file(&house), revision(1)).unwrap();
    fs::write(house.plugins.join("new"), revision(1)).unwrap();
    fs::rename(house.plugins.join("new"), file(&house)).unwrap();
    fs::File::open(file(&house)).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    // A later change that no list shows: when it was seen, so were those before.
    fs::write(house.plugins.join("bad.wasm"), "no component").unwrap();
    until("the bad one is refused", async || house.rejected("bad.wasm") != "bad.wasm was not rejected").await;
    assert!(Arc::ptr_eq(&provider(&house, "revision"), &before), "it was loaded again");
    assert!(watch.next().now_or_never().is_none(), "nothing that is listed differs");
    // The watch does hear what is one.
    fs::write(file(&house), revision(2)).unwrap();
    tokio::time::timeout(Duration::from_secs(60), watch.next()).await.unwrap();
    house.serves(2).await;
}

#[tokio::test]
async fn a_bad_revision_leaves_the_good_one_and_says_why() {
    let house = first().await;
    let unknown = fs::read(component("unknown")).unwrap();
    let half = revision(2)[..20_000].to_vec();
    for (bad, reason) in
        [(b"no component".to_vec(), ""), (half, ""), (unknown, "other:thing/api"), (vec![], "empty")]
    {
        let change = async {
            fs::write(file(&house), &bad).unwrap();
            until("it is refused", async || {
                let said = house.rejected("revision.wasm");
                said != "revision.wasm was not rejected" && said.contains(reason)
            })
            .await;
        };
        house.answers(&[1], change).await;
    }
    fs::write(file(&house), revision(3)).unwrap();
    house.serves(3).await;
    assert_eq!(house.rejected("revision.wasm"), "revision.wasm was not rejected");
}

#[tokio::test]
async fn a_new_revision_is_probed_before_it_serves() {
    let house = first().await;
    let change = async {
        // It compiles, and traps when it is asked.
        fs::copy(component("trap_start"), file(&house)).unwrap();
        until("it is refused", async || house.rejected("revision.wasm") != "revision.wasm was not rejected")
            .await;
    };
    house.answers(&[1], change).await;
}

#[tokio::test]
async fn a_request_in_flight_ends_on_the_revision_it_began_with() {
    let gate = tempfile::TempDir::new().unwrap();
    let host = gate.path().canonicalize().unwrap();
    let plan = Plan::of("").file("revision.wasm", &revision(1)).terms("revision", |grant, _| {
        grant.dirs.push(Dir { host, guest: "/gate".into(), access: Access::Write, is_canonical: false });
        grant.limits.timeout = Duration::from_secs(120);
    });
    let house = running(plan).await;
    let waits = gate.path().join("waits");
    let swaps = async {
        until("the guest waits", async || waits.exists()).await;
        for number in 2..5 {
            fs::write(file(&house), revision(number)).unwrap();
            house.serves(number).await;
        }
        fs::write(gate.path().join("open"), "").unwrap();
    };
    let (old, ()) = tokio::join!(house.text("revision://template/gate"), swaps);
    assert_eq!(old, text(1));
    assert_eq!(house.text("revision://template/gate").await, text(4));
}

#[tokio::test]
async fn an_old_revision_goes_with_its_last_request() {
    let mut house = first().await;
    // The round that loaded it tells of it, and so holds it.
    house.round = ReconcilePass::default();
    let old = Arc::downgrade(&provider(&house, "revision"));
    fs::write(file(&house), revision(2)).unwrap();
    house.serves(2).await;
    until("nobody holds the old one", async || old.strong_count() == 0).await;
}

#[tokio::test]
async fn settings_beside_the_component_take_effect() {
    let house = running(Plan::of("echo")).await;
    assert_eq!(house.text("echo://setting/x").await, "unset");
    let beside = house.plugins.join("echo.toml");
    for value in ["first", "second"] {
        fs::write(&beside, format!("[settings]\nx = \"{value}\"\n")).unwrap();
        until(value, async || house.text("echo://setting/x").await == value).await;
    }
    fs::remove_file(beside).unwrap();
    until("no setting", async || house.text("echo://setting/x").await == "unset").await;
}
