use std::future::poll_fn;

use larder_model::name::{TeamName, Teams};
use larder_model::resource::{Body, Caller, Content, Contents};
use larder_model::uri::Uri;
use larder_runtime::memory_budget::{MemoryBudget, MemoryUse};

use super::*;
use crate::outgoing::waiting_bytes::WaitingBytes;
use crate::wire::json_writer::write_object;

const MIB: usize = 1 << 20;

struct Fixture {
    waiting: WaitingBytes,
    contents: Arc<Contents>,
    response: DeferredResponse,
}

/// A response `{"value":…}` with this body.
fn respond(body: Body) -> Fixture {
    let budget = MemoryBudget::new(64 << 20);
    let waiting = WaitingBytes::new(&budget, 32 << 20);
    let caller = Caller {
        subject: None,
        issuer: None,
        teams: Teams::default_team(),
        scopes: vec![],
    };
    let content = Content {
        uri: Uri::parse("x:1").unwrap(),
        mime_type: None,
        body,
        metadata: vec![],
    };
    let mut contents: Contents = [content].into_iter().collect();
    let answer = budget
        .team(&TeamName::default_team())
        .charge(MemoryUse::Answers, None, 1_000)
        .unwrap();
    contents.hold(Box::new(answer));
    let contents = Arc::new(contents);
    let charge = waiting
        .charge(&caller, HeldContents::large_bytes(&contents))
        .unwrap();
    let pieces = waiting.charge(&caller, MAX_ENCODED).unwrap();
    let held = Arc::new(HeldContents::new(contents.clone(), charge, pieces));
    let mut out = Output::default().with_places_for(&held);
    write_object(&mut out, |o| o.body("value", &contents[0].body));
    let written = out.finish().unwrap();
    assert!(written.bytes.len() < 100, "the content is not written");
    let response = DeferredResponse::new(
        written.bytes.into(),
        *written.places.unwrap(),
        Arc::default(),
    );
    Fixture {
        waiting,
        contents,
        response,
    }
}

async fn next(unsent: &mut UnsentContents, max: usize) -> Bytes {
    poll_fn(|context| unsent.poll_piece(max, context)).await
}

async fn all(mut unsent: UnsentContents) -> Vec<u8> {
    let mut all = Vec::new();
    while unsent.len() > 0 {
        all.extend_from_slice(&next(&mut unsent, 100_000).await);
    }
    assert!(next(&mut unsent, 100_000).await.is_empty());
    all
}

#[tokio::test]
async fn each_reader_gets_the_whole_response_with_the_length_that_was_known_before() {
    let text = "a \"text\"\nwith ü \u{1} ".repeat(100_000);
    let expected = serde_json::json!({ "value": text }).to_string();
    let Fixture {
        waiting,
        contents,
        response,
    } = respond(Body::Text(text));
    drop(contents);
    assert_eq!(response.len(), expected.len());
    let (one, other) = tokio::join!(
        all(UnsentContents::shared(response.clone())),
        all(UnsentContents::shared(response.clone()))
    );
    assert!(one == expected.as_bytes() && other == one);
    assert!(waiting.total() > 0);
    assert!(all(UnsentContents::new(response)).await == one);
    assert_eq!(waiting.total(), 0);
}

#[tokio::test]
async fn only_some_pieces_are_encoded_before_they_are_taken() {
    let Fixture {
        waiting,
        contents,
        response,
    } = respond(Body::Text("\u{1}".repeat(4 * MIB)));
    drop(contents);
    let held = waiting.total() as usize;
    assert_eq!(held, 4 * MIB + MAX_ENCODED);
    let mut unsent = UnsentContents::new(response);
    let first = next(&mut unsent, usize::MAX).await;
    assert!(
        !first.is_empty() && unsent.len() > 23 * MIB,
        "{} of {}",
        first.len(),
        unsent.len()
    );
    let ready: usize = unsent.ready.iter().map(Bytes::len).sum();
    assert!(
        first.len() + ready <= PIECES_AT_ONCE * (PIECE + MAX_STEP),
        "{ready}"
    );
    drop(unsent);
    // The response is dropped on another thread, except for the pieces that were taken.
    while waiting.total() as usize > MAX_ENCODED {
        tokio::task::yield_now().await;
    }
    drop(first);
    while waiting.total() > 0 {
        tokio::task::yield_now().await;
    }
}

/// Sends a response slowly, and returns the maximum of charged bytes in relation to unsent bytes.
async fn send_slowly(
    Fixture {
        waiting,
        contents,
        response,
    }: Fixture,
    is_shared: bool,
) -> (Vec<u8>, bool) {
    let expected = response.len();
    let kept = is_shared.then_some(contents);
    let mut unsent = UnsentContents::new(response);
    let allocation = unsent
        .encoder
        .as_mut()
        .unwrap()
        .allocation
        .as_mut()
        .unwrap();
    allocation.began = Instant::now().checked_sub(SLOW).unwrap();
    let mut sent = Vec::new();
    let mut is_released = true;
    while unsent.len() > 0 {
        let raw_left = 8 * MIB * unsent.len() / expected;
        is_released &= waiting.total() as usize <= 2 * raw_left + LARGE + 2 * MAX_ENCODED;
        sent.extend_from_slice(&next(&mut unsent, 100_000).await);
    }
    drop(unsent);
    assert_eq!(waiting.total(), 0);
    drop(kept);
    (sent, is_released)
}

#[tokio::test]
async fn contents_are_released_as_they_are_sent_unless_others_hold_them() {
    let data: Vec<u8> = (0..8 * MIB).map(|n| (n % 251) as u8).collect();
    let expected = format!(
        "{{\"value\":\"{}\"}}",
        base64_simd::STANDARD.encode_to_string(&data)
    );
    for is_shared in [false, true] {
        let (sent, is_released) = send_slowly(respond(Body::Blob(data.clone())), is_shared).await;
        assert!(sent == expected.as_bytes());
        assert_eq!(is_released, !is_shared);
    }
}
