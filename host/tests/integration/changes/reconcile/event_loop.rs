//! The loop: the triggers of a scan, the loads that are retried, and which of several loads counts.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use larder_core::catalog::Catalog;
use larder_core::source::{
    Artifact, Blob, BlobRevision, Content, FetchOutcome, MemorySource, Signatures,
};
use larder_model::name::Digest;
use larder_signature::testing::Signer;
use larder_signature::{PrivateKey, PublicKey, Rule};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::compile_and_pause;
use crate::support::harness::{
    SLOW_WAIT, TestServer, TestServerBuilder, component_path, eventually_within,
};
use crate::support::revision::{NOW, revision, text};

/// Longer than all other waits of the reconciler.
const SCAN_INTERVAL: Duration = Duration::from_secs(3_600);

/// Starts the loop of a server that scans only after a trigger.
async fn start_running(source: &MemorySource) -> TestServer {
    run(TestServer::builder("").source(source.clone())).await
}

async fn run(builder: TestServerBuilder) -> TestServer {
    let mut server = builder.scan_interval(SCAN_INTERVAL).start().await;
    server.run_reconciler();
    server
}

/// Signs revision 1.
fn sign(signer: &Signer) -> TestContent {
    let key = PrivateKey::from_pem(&signer.private_key()).unwrap();
    TestContent::new(key.sign_blob(&revision(1)).unwrap().into_bytes())
}

/// Starts the loop of a server that requires a signature of this signer. It has revision 1 with this signature.
async fn start_with_signature(signature: TestContent, trusted: &Signer) -> TestServer {
    let source = MemorySource::default();
    let files = vec![("revision.wasm.sig".to_owned(), signature.blob())];
    let signatures = Signatures {
        files,
        ..Signatures::default()
    };
    let artifact = Artifact {
        signatures,
        ..Artifact::in_memory("revision", revision(1))
    };
    source.change(|memory| memory.put(artifact));
    let keys = vec![(
        "release".to_owned(),
        PublicKey::from_pem(&trusted.public_key()).unwrap(),
    )];
    let rule = Rule {
        location: "[trust]".into(),
        keys,
        is_required: true,
        ..Rule::default()
    };
    run(TestServer::builder("").source(source).trust(rule)).await
}

/// Waits until a catalog is published for which `condition` holds.
async fn wait_for_catalog(
    server: &TestServer,
    limit: Duration,
    condition: impl Fn(&Catalog) -> bool,
) {
    let mut published = server.reader.published();
    let holds = async {
        while !condition(&server.reader.snapshot()) {
            published.changed().await.unwrap();
        }
    };
    tokio::time::timeout(limit, holds)
        .await
        .expect("the catalog was not published in time");
}

fn serves(component: &[u8]) -> impl Fn(&Catalog) -> bool + use<> {
    let digest = Digest::of(component);
    move |catalog| {
        catalog
            .offers()
            .iter()
            .any(|offer| offer.provider.digest() == digest)
    }
}

/// A component or a signature that cannot be read while `is_broken`, and whose reads wait for `gate` if there is one.
struct TestContent {
    bytes: bytes::Bytes,
    is_broken: Arc<AtomicBool>,
    gate: Option<Mutex<mpsc::Receiver<()>>>,
    is_read: Arc<Notify>,
    /// Notified when it is found out that the content was replaced in the meantime.
    is_replaced: Option<Arc<Notify>>,
}

impl TestContent {
    fn new(component: Vec<u8>) -> Self {
        let (is_broken, is_read) = (Arc::default(), Arc::default());
        Self {
            bytes: component.into(),
            is_broken,
            gate: None,
            is_read,
            is_replaced: None,
        }
    }

    /// Returns the artifact `revision` with this content.
    fn artifact(self) -> Artifact {
        Artifact {
            component: self.blob(),
            ..Artifact::in_memory("revision", "")
        }
    }

    fn blob(self) -> Blob {
        let digest = BlobRevision::Digest(Digest::of(&self.bytes));
        Blob::new(digest, self)
    }
}

impl Content for TestContent {
    fn fetch(&self, limit: u64) -> io::Result<FetchOutcome> {
        self.is_read.notify_one();
        if let Some(gate) = &self.gate {
            // An error means that the gate is open: its sender is gone.
            let _ = gate.lock().unwrap().recv();
        }
        if self.is_broken.load(Ordering::Relaxed) {
            Err(io::Error::other("broken"))
        } else {
            self.bytes.fetch(limit)
        }
    }

    fn is_unchanged(&self) -> bool {
        self.is_replaced
            .as_ref()
            .inspect(|found_out| found_out.notify_one())
            .is_none()
    }
}

#[tokio::test]
async fn a_change_of_the_source_triggers_a_scan() {
    compile_and_pause(&[&revision(1), &revision(2)]).await;
    let source = MemorySource::default();
    source.put("revision", revision(1));
    let server = start_running(&source).await;
    // The first scan of the loop registers the trigger.
    tokio::time::sleep(Duration::from_secs(1)).await;
    source.put("revision", revision(2));
    wait_for_catalog(&server, Duration::from_secs(1), serves(&revision(2))).await;
    assert_eq!(server.text(NOW).await, text(2));
    source.remove("revision");
    wait_for_catalog(&server, Duration::from_secs(1), |catalog| {
        catalog.offers().is_empty()
    })
    .await;
}

#[tokio::test]
async fn retries_a_component_that_could_not_be_read() {
    compile_and_pause(&[&revision(1)]).await;
    let (source, content) = (MemorySource::default(), TestContent::new(revision(1)));
    let is_broken = content.is_broken.clone();
    is_broken.store(true, Ordering::Relaxed);
    source.change(|memory| memory.put(content.artifact()));
    let began = Instant::now();
    let server = start_running(&source).await;
    assert_eq!(
        server.rejection_reason("memory:revision"),
        "cannot read the file: broken"
    );
    // The first retry fails as well.
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(server.reader.snapshot().offers().is_empty());
    is_broken.store(false, Ordering::Relaxed);
    wait_for_catalog(&server, Duration::from_secs(60), serves(&revision(1))).await;
    let waited = began.elapsed();
    assert!(waited >= Duration::from_secs(15 + 30), "{waited:?}");
    assert!(server.reader.snapshot().rejected().is_empty());
}

#[tokio::test]
async fn verifies_a_component_again_whose_signature_could_not_be_read() {
    compile_and_pause(&[&revision(1)]).await;
    let signer = Signer::ecdsa();
    let signature = sign(&signer);
    let is_broken = signature.is_broken.clone();
    is_broken.store(true, Ordering::Relaxed);
    let server = start_with_signature(signature, &signer).await;
    let reason = server.rejection_reason("memory:revision");
    assert!(
        reason.ends_with("is trusted: revision.wasm.sig: it cannot be read: broken"),
        "{reason}"
    );
    is_broken.store(false, Ordering::Relaxed);
    wait_for_catalog(&server, Duration::from_secs(60), serves(&revision(1))).await;
    assert!(server.reader.snapshot().rejected().is_empty());
}

#[tokio::test]
async fn does_not_verify_a_wrong_signature_again() {
    compile_and_pause(&[]).await;
    let signature = sign(&Signer::ecdsa());
    let is_read = signature.is_read.clone();
    let server = start_with_signature(signature, &Signer::ecdsa()).await;
    let reason = server.rejection_reason("memory:revision");
    assert!(
        reason.ends_with("it was not made with the key release"),
        "{reason}"
    );
    is_read.notified().await;
    let again = tokio::time::timeout(SCAN_INTERVAL / 2, is_read.notified()).await;
    assert!(again.is_err(), "the signature was read again");
}

#[tokio::test]
async fn a_component_that_is_replaced_while_it_is_read_is_not_rejected() {
    compile_and_pause(&[&revision(2)]).await;
    let (source, mut content) = (MemorySource::default(), TestContent::new(revision(1)));
    let server = start_running(&source).await;
    // The first scan of the loop registers the trigger.
    tokio::time::sleep(Duration::from_secs(1)).await;
    content.is_broken.store(true, Ordering::Relaxed);
    let found_out = content.is_replaced.insert(Arc::default()).clone();
    let artifact = content.artifact();
    source.change(|memory| memory.put(artifact.clone()));
    found_out.notified().await;
    source.put("revision", revision(2));
    wait_for_catalog(&server, Duration::from_secs(1), |catalog| {
        assert!(catalog.rejected().is_empty());
        serves(&revision(2))(catalog)
    })
    .await;
    // If the source does not find another component, the error is reported.
    source.change(|memory| memory.put(artifact));
    found_out.notified().await;
    wait_for_catalog(&server, Duration::from_secs(3), |catalog| {
        !catalog.rejected().is_empty()
    })
    .await;
}

#[tokio::test]
async fn the_newest_load_wins() {
    let source = MemorySource::default();
    source.put("revision", revision(1));
    let server = start_running(&source).await;
    let (gate, opened) = mpsc::channel();
    let slow = TestContent {
        gate: Some(Mutex::new(opened)),
        ..TestContent::new(revision(2))
    };
    let is_read = slow.is_read.clone();
    source.change(|memory| memory.put(slow.artifact()));
    is_read.notified().await;
    source.put("revision", revision(3));
    wait_for_catalog(&server, SLOW_WAIT, serves(&revision(3))).await;
    drop(gate);
    // The slow load has ended when its content is not referenced any more. If its result counted, the result would be
    // published before a later change.
    eventually_within(SLOW_WAIT, "the slow load has ended", async || {
        Arc::strong_count(&is_read) == 1
    })
    .await;
    let echo = std::fs::read(component_path("echo")).unwrap();
    source.put("echo", echo.clone());
    wait_for_catalog(&server, SLOW_WAIT, serves(&echo)).await;
    assert_eq!(server.text(NOW).await, text(3));
}

#[tokio::test]
async fn a_slow_load_does_not_delay_other_components() {
    let source = MemorySource::default();
    let server = start_running(&source).await;
    let (gate, opened) = mpsc::channel();
    let slow = TestContent {
        gate: Some(Mutex::new(opened)),
        ..TestContent::new(revision(1))
    };
    let echo = std::fs::read(component_path("echo")).unwrap();
    source.change(|memory| {
        memory.put(slow.artifact());
        // In the order of names, this component comes after the slow one, so it is loaded later.
        memory.put(Artifact::in_memory("z", echo.clone()));
    });
    wait_for_catalog(&server, SLOW_WAIT, serves(&echo)).await;
    assert_eq!(server.text(NOW).await, super::not_served());
    drop(gate);
    wait_for_catalog(&server, SLOW_WAIT, serves(&revision(1))).await;
}
