//! Very many or very long parts of answers: the host limits the parts that it converts, and the conversion is part of
//! the call.

use std::time::Duration;

use larder_core::gateway::{Error, Filter};

use crate::support::harness::{TestServer, anonymous_call};

async fn server() -> TestServer {
    TestServer::builder("echo excess").start().await
}

/// What was omitted from the lists, for `larder status`.
fn omitted(server: &TestServer) -> Vec<String> {
    let catalog = server.reader.snapshot();
    let offer = catalog
        .offers()
        .iter()
        .find(|offer| offer.name().as_str() == "excess")
        .unwrap()
        .clone();
    offer.omitted.clone()
}

#[tokio::test]
async fn bounds_the_metadata_of_a_content() {
    let result = server()
        .await
        .read("excess://metadata/200000")
        .await
        .unwrap();
    assert_eq!(result.contents[0].metadata.len(), 64);
    assert_eq!(result.version, None, "a version of 2,000 bytes");
}

#[tokio::test]
async fn bounds_the_number_of_contents() {
    let server = server().await;
    let expected = |count: u32| {
        format!("error: `excess` failed: it returned {count} contents; the limit is 1000")
    };
    for kind in ["contents", "others"] {
        assert_eq!(
            server.text(&format!("excess://{kind}/20000")).await,
            expected(20_000)
        );
        assert_eq!(
            server.text(&format!("excess://{kind}/1001")).await,
            expected(1_001)
        );
        assert_eq!(
            server
                .read(&format!("excess://{kind}/1000"))
                .await
                .unwrap()
                .contents
                .len(),
            1_000
        );
    }
}

#[tokio::test]
async fn bounds_the_variables_of_a_match() {
    let server = server().await;
    let expected =
        "error: `excess` failed: it returned 1001 variables of a match; the limit is 1000";
    assert_eq!(server.text("excess://match/a/b/c/1001").await, expected);
    assert!(matches!(
        server.read("excess://match/a/b/c/1000").await,
        Err(Error::NotFound { .. })
    ));
}

#[tokio::test]
async fn bounds_the_fields_of_entries() {
    let server = server().await;
    let page = server
        .gateway
        .list(&anonymous_call(), None, &Filter::default())
        .await
        .unwrap();
    let entry = |uri: &str| {
        page.items
            .iter()
            .find(|entry| entry.uri.as_str() == uri)
            .unwrap()
            .clone()
    };
    let texts = entry("excess://entry/texts");
    let sizes = [
        Some(&texts.name),
        texts.title.as_ref(),
        texts.description.as_ref(),
        texts.version.as_ref(),
    ];
    assert_eq!(
        sizes.map(|text| text.map(String::len)),
        [Some(1_024), Some(1_024), Some(16_384), None]
    );
    let details = &entry("excess://entry/lists").details;
    assert_eq!(
        (
            details.audience.len(),
            details.icons.len(),
            details.metadata.len()
        ),
        (1, 16, 64)
    );
    assert!(details.icons.iter().all(|icon| icon.sizes.len() == 16));
    for expected in [
        "the end of a name of more than 1 KiB",
        "the end of a title of more than 1 KiB",
        "the end of a description of more than 16 KiB",
        "a version of more than 1 KiB",
        "icons beyond the first 16 of an item",
        "metadata beyond the first 64 pairs of an item",
    ] {
        assert!(
            omitted(&server).iter().any(|note| note == expected),
            "{expected}"
        );
    }
}

#[tokio::test]
async fn bounds_the_description() {
    let server = TestServer::builder("excess")
        .setting("excess", "in", "describe")
        .start()
        .await;
    let catalog = server.reader.snapshot();
    let offer = &catalog.offers()[0];
    let texts = [
        &offer.title,
        &offer.version,
        &offer.summary,
        &offer.instructions,
    ];
    let sizes = texts.map(|text| text.as_ref().map(String::len));
    assert_eq!(sizes, [Some(1_024), None, Some(16_384), Some(4_096)]);
    assert_eq!(offer.claims.len(), 1_000);
    for expected in [
        "claims beyond the first 1000",
        "the end of its instructions of more than 4 KiB",
    ] {
        assert!(
            omitted(&server).iter().any(|note| note == expected),
            "{expected}"
        );
    }
}

/// Reads 12 MB of metadata, and in the meantime reads `echo://hello` up to this many times. Then the first caller is
/// gone. Returns the number of answers that other callers got.
async fn reads_during_a_heavy_one(server: &TestServer, most: usize) -> usize {
    let (mut heavy, mut reads) = (std::pin::pin!(server.read("excess://heavy/400")), 0);
    while reads < most {
        tokio::select! {
            biased;
            result = &mut heavy => {
                assert_eq!(result.unwrap().contents.len(), 400);
                break;
            }
            text = server.text("echo://hello") => {
                assert!(text.starts_with("uri: echo://hello"), "{text}");
                reads += 1;
            }
        }
    }
    reads
}

/// The only thread of this test answers other reads between the steps of a long conversion. When the caller is gone,
/// the conversion ends, and the only permit of the provider is free.
#[tokio::test]
async fn a_long_conversion_yields_and_ends_with_its_caller() {
    let builder = TestServer::builder("echo excess").provider("excess", |grant, _| {
        grant.limits.concurrency = 1;
        // Without optimisation, the conversion takes seconds of CPU time.
        grant.limits.timeout = Duration::from_secs(60);
    });
    let server = builder.start().await;
    for most in [1, 2, 5, usize::MAX] {
        assert!(reads_during_a_heavy_one(&server, most).await >= most.min(5));
        assert!(server.read("excess://metadata/1").await.is_ok());
    }
}
