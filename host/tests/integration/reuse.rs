//! Guests that are used again where their operator says so: for one caller of one revision, and only so far.

use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_model::name::Teams;
use larder_model::policy::GuestLifetime;
use larder_model::resource::{Body, Call, Caller};

use crate::house::{House, Plan, component};

fn plan() -> Plan {
    Plan::of("again").terms("again", |grant, _| grant.guests = GuestLifetime::Reused)
}

fn of(subject: &str, scopes: &[&str]) -> Arc<Call> {
    let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    Arc::new(Call::from_caller(Caller {
        subject: Some(subject.into()),
        issuer: None,
        teams: Teams::default_team(),
        scopes,
    }))
}

async fn read(house: &House, call: &Arc<Call>, what: &str) -> String {
    match house.gateway.read(call, &format!("again://{what}"), None).await {
        Ok(reading) => match &reading.contents[0].body {
            Body::Text(text) => text.clone(),
            Body::Blob(_) => unreachable!("it gives texts"),
        },
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_guest_lives_for_one_call_unless_its_operator_says_otherwise() {
    let house = Plan::of("again").open().await;
    let ann = of("ann", &[]);
    for _ in 0..3 {
        assert_eq!(read(&house, &ann, "now").await, "call 1 for ann");
    }
}

#[tokio::test]
async fn a_guest_that_is_used_again_never_has_another_caller() {
    let house = plan().open().await;
    let (ann, bob, ann_with_more) = (of("ann", &[]), of("bob", &[]), of("ann", &["all"]));
    assert_eq!(read(&house, &ann, "now").await, "call 1 for ann");
    assert_eq!(read(&house, &ann, "now").await, "call 2 for ann");
    assert_eq!(read(&house, &bob, "now").await, "call 1 for bob");
    // What it was told for the one credential is not for the other.
    assert_eq!(read(&house, &ann_with_more, "now").await, "call 1 for ann");
    assert_eq!(read(&house, &ann, "now").await, "call 3 for ann");
    assert_eq!(read(&house, &bob, "now").await, "call 2 for bob");
}

#[tokio::test]
async fn nor_another_revision() {
    let mut house = plan().open().await;
    let ann = of("ann", &[]);
    read(&house, &ann, "now").await;
    assert_eq!(read(&house, &ann, "now").await, "call 2 for ann");
    let mut newer = std::fs::read(component("again")).unwrap();
    // A custom section: the same component with another digest.
    newer.extend([0, 2, 1, b'x']);
    std::fs::write(house.plugins.join("again.wasm"), newer).unwrap();
    let before = house.reader.snapshot().offers()[0].provider.revision();
    // The first look only sees that the file is being written.
    let began = Instant::now();
    while house.reader.snapshot().offers()[0].provider.revision() == before {
        assert!(began.elapsed() < Duration::from_secs(60), "{}", house.rejected("again.wasm"));
        house.reconcile().run_pass().await;
    }
    assert_eq!(read(&house, &ann, "now").await, "call 1 for ann");
}

#[tokio::test]
async fn calls_at_the_same_time_have_guests_of_their_own() {
    let house = plan().open().await;
    let ann = of("ann", &[]);
    let asked = (0..4).map(|_| read(&house, &ann, "now"));
    let mut calls = futures_util::future::join_all(asked).await;
    calls.extend(futures_util::future::join_all((0..4).map(|_| read(&house, &ann, "now"))).await);
    calls.sort();
    // However they fall together, no guest counts a call twice, and none is shared.
    let first = calls.iter().filter(|call| *call == "call 1 for ann").count();
    assert!((1..=4).contains(&first), "{calls:?}");
    let sum: u32 = calls.iter().map(|call| call[5..6].parse::<u32>().unwrap()).sum();
    assert!((8..=36).contains(&sum), "{calls:?}");
}

#[tokio::test]
async fn a_guest_ends_at_last() {
    let house = plan().open().await;
    let ann = of("ann", &[]);
    let mut longest = 0;
    let mut ended = 0;
    for _ in 0..1_200 {
        let said = read(&house, &ann, "now").await;
        let call: u32 = said.split(' ').nth(1).unwrap().parse().unwrap();
        ended += u32::from(call == 1);
        longest = longest.max(call);
    }
    assert!(longest <= 1_024 && longest > 1, "one guest had {longest} calls");
    assert!(ended >= 2, "there were {ended} guests for 1,200 calls");
}

#[tokio::test]
async fn what_fails_because_of_an_earlier_call_is_asked_once_more() {
    let house = plan().open().await;
    let ann = of("ann", &[]);
    assert_eq!(read(&house, &ann, "now").await, "call 1 for ann");
    assert_eq!(read(&house, &ann, "trap").await, "call 1 for ann", "a new guest does not trap");
    // The new one is kept, the one that trapped is not.
    assert_eq!(read(&house, &ann, "now").await, "call 2 for ann");
    // An error of the provider's own is an answer like any other.
    assert_eq!(read(&house, &ann, "error").await, "no resource at `again://error`");
    assert_eq!(read(&house, &ann, "now").await, "call 4 for ann");
}

#[tokio::test]
async fn a_guest_that_took_much_memory_is_not_kept() {
    let house = plan().open().await;
    let ann = of("ann", &[]);
    assert_eq!(read(&house, &ann, "grow/1000000").await, "call 1 for ann");
    assert_eq!(read(&house, &ann, &format!("grow/{}", 40 << 20)).await, "call 2 for ann");
    assert_eq!(read(&house, &ann, "now").await, "call 1 for ann");
}
