//! Reused guests, which the operator enables for a provider. Each guest serves one caller of one revision, for a
//! limited number of calls.

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_model::name::Teams;
use larder_model::policy::{GuestLifetime, Limits};
use larder_model::resource::{Body, Call, Caller};

use crate::support::harness::{TestServer, TestServerBuilder, component_path, parse_uri};

fn reusing_guests() -> TestServerBuilder {
    TestServer::builder("again").provider("again", |grant, _| grant.guests = GuestLifetime::Reused)
}

fn call_by(subject: &str, scopes: &[&str]) -> Arc<Call> {
    let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    Arc::new(Call::from_caller(Caller {
        subject: Some(subject.into()),
        issuer: None,
        teams: Teams::default_team(),
        scopes,
    }))
}

async fn read(server: &TestServer, call: &Arc<Call>, what: &str) -> String {
    match server
        .gateway
        .read(call, &parse_uri(&format!("again://{what}")), None)
        .await
    {
        Ok(reading) => match &reading.contents[0].body {
            Body::Text(text) => text.clone(),
            Body::Blob(_) => unreachable!("the guest returns text only"),
        },
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_guest_serves_one_call_by_default() {
    let server = TestServer::builder("again").start().await;
    let ann = call_by("ann", &[]);
    for _ in 0..3 {
        assert_eq!(read(&server, &ann, "now").await, "call 1 for ann");
    }
}

#[tokio::test]
async fn a_reused_guest_serves_only_one_caller() {
    let server = reusing_guests().start().await;
    let (ann, bob, ann_with_more) = (
        call_by("ann", &[]),
        call_by("bob", &[]),
        call_by("ann", &["all"]),
    );
    assert_eq!(read(&server, &ann, "now").await, "call 1 for ann");
    assert_eq!(read(&server, &ann, "now").await, "call 2 for ann");
    assert_eq!(read(&server, &bob, "now").await, "call 1 for bob");
    // The same subject with other scopes is another caller.
    assert_eq!(read(&server, &ann_with_more, "now").await, "call 1 for ann");
    assert_eq!(read(&server, &ann, "now").await, "call 3 for ann");
    assert_eq!(read(&server, &bob, "now").await, "call 2 for bob");
}

#[tokio::test]
async fn a_reused_guest_serves_only_one_revision() {
    let mut server = reusing_guests().start().await;
    let ann = call_by("ann", &[]);
    read(&server, &ann, "now").await;
    assert_eq!(read(&server, &ann, "now").await, "call 2 for ann");
    let mut newer = std::fs::read(component_path("again")).unwrap();
    // An empty custom section gives the same component another digest.
    newer.extend([0, 2, 1, b'x']);
    std::fs::write(server.plugins.join("again.wasm"), newer).unwrap();
    let before = server.reader.snapshot().offers()[0].provider.revision();
    // The first pass only finds out that the file may still be written.
    let began = Instant::now();
    while server.reader.snapshot().offers()[0].provider.revision() == before {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{}",
            server.rejection_reason("again.wasm")
        );
        server.reconciler().run_pass().await;
    }
    assert_eq!(read(&server, &ann, "now").await, "call 1 for ann");
}

#[tokio::test]
async fn concurrent_calls_use_different_guests() {
    let server = reusing_guests().start().await;
    let ann = call_by("ann", &[]);
    let concurrent = (0..4).map(|_| read(&server, &ann, "now"));
    let mut calls = futures_util::future::join_all(concurrent).await;
    calls.extend(futures_util::future::join_all((0..4).map(|_| read(&server, &ann, "now"))).await);
    calls.sort();
    // The calls may overlap in any way: each guest counts only its own calls.
    let first = calls
        .iter()
        .filter(|call| *call == "call 1 for ann")
        .count();
    assert!((1..=4).contains(&first), "{calls:?}");
    let sum: u32 = calls
        .iter()
        .map(|call| call[5..6].parse::<u32>().unwrap())
        .sum();
    assert!((8..=36).contains(&sum), "{calls:?}");
}

#[tokio::test]
async fn a_guest_serves_a_limited_number_of_calls() {
    let server = reusing_guests().start().await;
    let ann = call_by("ann", &[]);
    let mut most_calls = 0;
    let mut guests = 0;
    for _ in 0..1_200 {
        let response = read(&server, &ann, "now").await;
        let call: u32 = response.split(' ').nth(1).unwrap().parse().unwrap();
        guests += u32::from(call == 1);
        most_calls = most_calls.max(call);
    }
    assert!(
        most_calls <= 1_024 && most_calls > 1,
        "one guest had {most_calls} calls"
    );
    assert!(guests >= 2, "there were {guests} guests for 1,200 calls");
}

#[tokio::test]
async fn retries_a_call_that_a_reused_guest_fails() {
    let server = reusing_guests().start().await;
    let ann = call_by("ann", &[]);
    assert_eq!(read(&server, &ann, "now").await, "call 1 for ann");
    assert_eq!(
        read(&server, &ann, "trap").await,
        "call 1 for ann",
        "a fresh guest does not trap"
    );
    // The fresh guest is kept for reuse, the guest that trapped is not.
    assert_eq!(read(&server, &ann, "now").await, "call 2 for ann");
    // An error that the provider returns is a normal response.
    assert_eq!(
        read(&server, &ann, "error").await,
        "no resource at `again://error`"
    );
    assert_eq!(read(&server, &ann, "now").await, "call 4 for ann");
}

#[tokio::test]
async fn a_retry_has_only_the_time_that_is_left() {
    let server = TestServer::builder("again").provider("again", |grant, _| {
        grant.guests = GuestLifetime::Reused;
        grant.limits.timeout = Duration::from_secs(1);
    });
    let server = server.start().await;
    let ann = call_by("ann", &[]);
    assert_eq!(read(&server, &ann, "now").await, "call 1 for ann");
    // The reused guest traps after 700 ms, and the fresh guest would respond after another 700 ms.
    let expected = "the provider `again` failed: it did not respond within 1s (`limits.timeout`)";
    assert_eq!(read(&server, &ann, "slow-trap").await, expected);
}

#[tokio::test]
async fn a_retry_knows_the_time_that_is_left() {
    let server = reusing_guests().start().await;
    let ann = call_by("ann", &[]);
    let left: u128 = read(&server, &ann, "left").await.parse().unwrap();
    let timeout = Limits::default().timeout.as_millis();
    assert!((1..=timeout).contains(&left), "{left}");
    let left: u128 = read(&server, &ann, "left").await.parse().unwrap();
    assert!((1..=timeout - 700).contains(&left), "{left}");
}

#[tokio::test]
async fn does_not_reuse_a_guest_with_much_memory() {
    let server = reusing_guests().start().await;
    let ann = call_by("ann", &[]);
    assert_eq!(read(&server, &ann, "grow/1000000").await, "call 1 for ann");
    assert_eq!(
        read(&server, &ann, &format!("grow/{}", 40 << 20)).await,
        "call 2 for ann"
    );
    assert_eq!(read(&server, &ann, "now").await, "call 1 for ann");
}
