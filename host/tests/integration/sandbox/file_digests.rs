//! The digest of a component is recorded with the fingerprint of its file. The next start uses the recorded
//! digest, and reads the file later to check it.

use std::path::Path;

use larder_model::name::TeamName;
use larder_provider::HashedComponent;
use larder_runtime::drain::Drain;
use larder_runtime::file_fingerprint::FileFingerprint;
use larder_sandbox::Sandbox;

use crate::support::harness::{
    SLOW_WAIT, TestServer, TestServerBuilder, component_path, eventually_within, sandbox_config,
};
use crate::support::process::WorkDir;
use crate::support::revision::{NOW, revision, text};

/// Returns another sandbox that uses the same cache of compiled components.
fn second_sandbox() -> Sandbox {
    Sandbox::new(&sandbox_config(), &Drain::new()).unwrap()
}

async fn has_recorded_digest(file: &Path) -> bool {
    second_sandbox()
        .find_cached(
            &TeamName::default_team(),
            FileFingerprint::of(file).unwrap(),
        )
        .await
        .is_some()
}

/// Records the digest of other bytes for this file.
async fn record_wrong_digest(file: &Path, bytes: Vec<u8>) {
    let (sandbox, hashed) = (second_sandbox(), HashedComponent::new(bytes.into()));
    let digest = hashed.digest();
    sandbox
        .compile_hashed(&TeamName::default_team(), hashed)
        .await
        .unwrap();
    sandbox
        .record_digest(FileFingerprint::of(file).unwrap(), digest)
        .await;
}

#[tokio::test]
async fn records_only_settled_files() {
    let builder = TestServer::builder("echo");
    let file = builder.folder().join("echo.wasm");
    let server = builder.start().await;
    assert!(!FileFingerprint::of(&file).unwrap().is_settled() && !has_recorded_digest(&file).await);
    eventually_within(SLOW_WAIT, "the file is settled", async || {
        FileFingerprint::of(&file).unwrap().is_settled()
    })
    .await;
    let server = TestServerBuilder::restart(server).await.start().await;
    assert_eq!(server.first_pass.loaded.len(), 1, "{}", server.first_pass);
    assert!(has_recorded_digest(&file).await);
    std::fs::copy(component_path("many"), &file).unwrap();
    assert!(!has_recorded_digest(&file).await);
}

#[tokio::test]
async fn starts_with_the_recorded_digest_and_reads_the_file_later() {
    let builder = TestServer::builder("").file("revision.wasm", &revision(2));
    record_wrong_digest(&builder.folder().join("revision.wasm"), revision(1)).await;
    let mut server = builder.start().await;
    assert_eq!(server.text(NOW).await, text(1), "the file was not read");
    server.run_reconciler();
    server.wait_for_revision(2).await;
    let restarted = TestServerBuilder::restart(server).await.start().await;
    assert_eq!(
        restarted.text(NOW).await,
        text(2),
        "the correct digest was recorded"
    );
}

#[tokio::test]
async fn applies_the_component_size_limit_to_recorded_digests() {
    let builder = TestServer::builder("echo")
        .provider("echo", |grant, _| grant.limits.component_size = 1_000);
    record_wrong_digest(
        &builder.folder().join("echo.wasm"),
        std::fs::read(component_path("echo")).unwrap(),
    )
    .await;
    let server = builder.start().await;
    assert!(
        server
            .rejection_reason("echo.wasm")
            .contains("limits.component_size"),
        "{}",
        server.rejection_reason("echo.wasm")
    );
}

/// Starts a server with this many providers. Returns its anonymous memory in bytes, and whether it may use transparent
/// huge pages; none if the system does not report these values.
fn start_and_measure(providers: usize) -> Option<(u64, bool)> {
    let guests: Vec<String> = (0..providers).map(|n| format!("p{n}@echo")).collect();
    let work_dir = WorkDir::with_guests(&guests.join(" "));
    let (running, _) = work_dir.serve("");
    Some((
        running.anonymous_memory()?,
        running.proc_status("THP_enabled")? == "1",
    ))
}

#[test]
fn each_provider_needs_little_memory() {
    // A system that does not report these values is skipped.
    let (Some((few, _)), Some((many, huge_pages))) = (start_and_measure(1), start_and_measure(21))
    else {
        return;
    };
    assert!(!huge_pages, "transparent huge pages would be mostly empty");
    let each = many.saturating_sub(few) / 20;
    assert!(
        each < 640 << 10,
        "{each} bytes for each provider, {many} bytes in all"
    );
}
