//! What a component was is known at the next start by the stamp of its file, and is read all the same, later.

use std::path::Path;

use larder_model::name::TeamName;
use larder_runtime::drain::Drain;
use larder_runtime::file_fingerprint::FileFingerprint;
use larder_sandbox::{HashedComponent, Sandbox};

use crate::house::{Plan, component, sandbox};
use crate::process::Place;
use crate::revision::{NOW, revision, text, until};

/// Another one with the cache of these tests.
fn other() -> Sandbox {
    Sandbox::new(&sandbox(), &Drain::new()).unwrap()
}

async fn is_known(file: &Path) -> bool {
    other().find_cached(&TeamName::default_team(), FileFingerprint::of(file).unwrap()).await.is_some()
}

/// Has it known that this file holds what it does not.
async fn lie(file: &Path, bytes: Vec<u8>) {
    let (sandbox, hashed) = (other(), HashedComponent::new(bytes.into()));
    let digest = hashed.digest();
    sandbox.compile_hashed(&TeamName::default_team(), hashed).await.unwrap();
    sandbox.record_digest(FileFingerprint::of(file).unwrap(), digest).await;
}

#[tokio::test]
async fn only_what_was_at_rest_when_it_was_read_is_known() {
    let plan = Plan::of("echo");
    let file = plan.folder().join("echo.wasm");
    let house = plan.open().await;
    assert!(!FileFingerprint::of(&file).unwrap().is_settled() && !is_known(&file).await);
    until("it is at rest", async || FileFingerprint::of(&file).unwrap().is_settled()).await;
    let house = Plan::after(house).await.open().await;
    assert_eq!(house.round.loaded.len(), 1, "{}", house.round);
    assert!(is_known(&file).await);
    std::fs::copy(component("many"), &file).unwrap();
    assert!(!is_known(&file).await);
}

#[tokio::test]
async fn what_is_known_serves_at_once_and_is_read_later() {
    let plan = Plan::of("").file("revision.wasm", &revision(2));
    lie(&plan.folder().join("revision.wasm"), revision(1)).await;
    let mut house = plan.open().await;
    assert_eq!(house.text(NOW).await, text(1), "its file need not be read");
    house.run();
    house.serves(2).await;
    let again = Plan::after(house).await.open().await;
    assert_eq!(again.text(NOW).await, text(2), "the next start knows better");
}

#[tokio::test]
async fn what_is_known_keeps_to_the_limit_for_components() {
    let plan = Plan::of("echo").terms("echo", |grant, _| grant.limits.component_size = 1_000);
    lie(&plan.folder().join("echo.wasm"), std::fs::read(component("echo")).unwrap()).await;
    let house = plan.open().await;
    assert!(house.rejected("echo.wasm").contains("limits.component_size"), "{}", house.rejected("echo.wasm"));
}

/// What the system says of a server with so many providers: bytes that are in no file, and whether pages may be large.
fn server(providers: usize) -> Option<(u64, bool)> {
    let guests: Vec<String> = (0..providers).map(|n| format!("p{n}@echo")).collect();
    let place = Place::of(&guests.join(" "));
    let (running, _) = place.serve("");
    Some((running.anonymous()?, running.fact("THP_enabled")? == "1"))
}

#[test]
fn a_provider_takes_little_memory() {
    // Where the system does not say, there is nothing to compare.
    let (Some((few, _)), Some((more, large))) = (server(1), server(21)) else { return };
    assert!(!large, "large pages would be empty but for a little");
    let each = more.saturating_sub(few) / 20;
    assert!(each < 640 << 10, "{each} bytes for each, of {more} in all");
}
