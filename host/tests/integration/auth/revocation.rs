//! What rests on a credential ends with it: requests, sessions, streams.

use std::time::{Duration, SystemTime};

use larder_mcp::auth::{Config, Oauth};
use serde_json::json;

use super::issuer::{Issuer, Pair};
use super::{ask, ask_with, guarded, legacy, listed, ping, session, with_issuer, with_tokens};
use crate::house::Plan;
use crate::listening::{Events, acknowledged, listen};
use crate::wire::{ACCEPT, JSON, MODERN, Wire, meta};

async fn listening(wire: &Wire, token: &str) -> Events {
    let mut events =
        Events::of(listen(wire, &json!({ "resourcesListChanged": true })).bearer_auth(token)).await;
    acknowledged(&events.next().await.unwrap());
    events
}

fn legacy_stream(wire: &Wire, token: &str, session: &str) -> reqwest::RequestBuilder {
    let request = wire.client.get(&wire.url).header("accept", "text/event-stream");
    request.header("mcp-session-id", session).bearer_auth(token)
}

async fn is_closed(mut events: Events) {
    let end = events.next().await.unwrap();
    assert_eq!(end["result"]["resultType"], "complete", "{end}");
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_token_that_is_taken_back_ends_what_it_opened_and_nothing_else() {
    let wire = with_tokens(&[("ann", "a"), ("bob", "b"), ("bob", "b2")]).await;
    let (anns, bobs) = (session(&wire, "a").await, session(&wire, "b").await);
    let ann = listening(&wire, "a").await;
    let mut ann_legacy = Events::of(legacy_stream(&wire, "a", &anns)).await;
    let bob = listening(&wire, "b").await;
    let mut bob_legacy = Events::of(legacy_stream(&wire, "b2", &bobs)).await;

    wire.authenticator.reload(Config { tokens: vec![listed("bob", "b2")], oauth: None });
    assert_eq!(ask_with(&wire, "a").await.status, 401);
    assert_eq!(legacy(&wire, "a", Some(&anns), &ping()).await.status, 401);
    is_closed(ann).await;
    assert!(ann_legacy.next().await.is_none());
    // His other token stays, and so does the session that both had a part in; the stream of the first one ends.
    is_closed(bob).await;
    assert_eq!(legacy(&wire, "b2", Some(&bobs), &ping()).await.status, 200);

    // The same name with other rights is somebody else.
    wire.authenticator.reload(Config { tokens: vec![listed("bob", "b2"), listed("ann", "a")], oauth: None });
    assert_eq!(legacy(&wire, "a", Some(&anns), &ping()).await.status, 404);
    wire.authenticator.reload(Config { tokens: vec![listed("ann", "a")], oauth: None });
    assert!(bob_legacy.next().await.is_none());
}

#[tokio::test]
async fn a_request_that_tells_how_far_it_is_ends_with_its_token() {
    let mut config = crate::wire::config();
    config.auth = Config { tokens: vec![listed("ann", "a")], oauth: None };
    let wire = Wire::with(Plan::of("sleep"), config).await;
    let mut meta = meta();
    meta["progressToken"] = json!("p");
    let params = json!({ "uri": "sleep://hour", "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params });
    let mut request = wire.client.post(&wire.url).bearer_auth("a").body(body.to_string());
    for (name, value) in
        [JSON, ACCEPT, MODERN, ("mcp-method", "resources/read"), ("mcp-name", "sleep://hour")]
    {
        request = request.header(name, value);
    }
    let mut events = Events::of(request).await;
    assert_eq!(events.next().await.unwrap()["method"], "notifications/progress");
    wire.authenticator.reload(Config { tokens: vec![listed("bob", "b")], oauth: None });
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_gate_that_was_shut_does_not_open_when_the_last_token_goes() {
    let wire = with_tokens(&[("ann", "a")]).await;
    wire.authenticator.reload(Config::default());
    for more in [&[][..], &[("authorization", "Bearer a")]] {
        assert_eq!(ask(&wire, more).await.status, 401);
    }
    wire.authenticator.reload(Config { tokens: vec![listed("ann", "a2")], oauth: None });
    assert_eq!(ask_with(&wire, "a2").await.status, 200);
}

#[tokio::test]
async fn a_gate_that_was_open_can_be_shut() {
    let wire = guarded(Config::default()).await;
    assert_eq!(ask(&wire, &[]).await.status, 200);
    assert_eq!(ask_with(&wire, "anything").await.status, 200, "nobody looks at it");
    let anybodys = wire.session("2025-11-25").await;
    let stream = Events::of(listen(&wire, &json!({ "resourcesListChanged": true }))).await;
    wire.authenticator.reload(Config { tokens: vec![listed("ann", "a")], oauth: None });
    assert_eq!(ask(&wire, &[]).await.status, 401);
    assert_eq!(legacy(&wire, "a", Some(&anybodys), &ping()).await.status, 404);
    let mut stream = stream;
    acknowledged(&stream.next().await.unwrap());
    is_closed(stream).await;
}

#[tokio::test]
async fn a_stream_ends_when_its_token_does() {
    let wire = with_tokens(&[("ann", "a")]).await;
    // Long enough to open the stream, short enough to wait for its end; the longer ones are for slow machines.
    for seconds in [2, 8, 25] {
        let mut token = listed("ann", "a");
        token.expires = Some(SystemTime::now() + Duration::from_secs(seconds));
        wire.authenticator.reload(Config { tokens: vec![token], oauth: None });
        let asked = listen(&wire, &json!({ "resourcesListChanged": true })).bearer_auth("a");
        let response = asked.send().await.unwrap();
        if response.status().as_u16() == 401 {
            continue;
        }
        let mut events = Events::from(response);
        acknowledged(&events.next().await.unwrap());
        is_closed(events).await;
        assert_eq!(ask_with(&wire, "a").await.status, 401);
        return;
    }
    panic!("no stream could be opened in time");
}

#[tokio::test]
async fn a_stream_ends_when_its_key_does() {
    let drain = larder_runtime::drain::Drain::new();
    let (old, new) = (Pair::p256(), Pair::p256());
    let issuer = Issuer::of(&drain, json!([old.public("old")])).await;
    let mut oauth = issuer.believed();
    oauth.refresh = Duration::from_millis(20);
    let wire = with_issuer(oauth).await;
    let token = old.token(&json!({ "alg": "ES256", "kid": "old" }), &issuer.claims());
    let stream = listening(&wire, &token).await;
    issuer.rotate(Some(json!([new.public("new")])));
    is_closed(stream).await;
    assert_eq!(ask_with(&wire, &token).await.status, 401, "though it was verified before");
    let token = new.token(&json!({ "alg": "ES256", "kid": "new" }), &issuer.claims());
    assert_eq!(ask_with(&wire, &token).await.status, 200);
}

#[tokio::test]
async fn a_session_ends_when_its_issuer_is_believed_in_another_way() {
    let drain = larder_runtime::drain::Drain::new();
    let key = Pair::p256();
    let issuer = Issuer::of(&drain, json!([key.public("k")])).await;
    let wire = with_issuer(issuer.believed()).await;
    let token = key.token(&json!({ "alg": "ES256", "kid": "k" }), &issuer.claims());
    let anns = session(&wire, &token).await;
    assert_eq!(legacy(&wire, &token, Some(&anns), &ping()).await.status, 200);
    // Such as by what its groups stand for; what the token says is good as before.
    let oauth = Oauth { leeway: Duration::from_secs(1), ..issuer.believed() };
    wire.authenticator.reload(Config { tokens: vec![], oauth: Some(oauth) });
    let began = std::time::Instant::now();
    while legacy(&wire, &token, Some(&anns), &ping()).await.status != 404 {
        assert!(began.elapsed() < Duration::from_secs(30), "it never ends");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let again = session(&wire, &token).await;
    assert_eq!(legacy(&wire, &token, Some(&again), &ping()).await.status, 200);
}

#[tokio::test]
async fn another_issuer_is_another_world() {
    let drain = larder_runtime::drain::Drain::new();
    let key = Pair::p256();
    let issuers = [
        Issuer::of(&drain, json!([key.public("k")])).await,
        Issuer::of(&drain, json!([key.public("k")])).await,
    ];
    let tokens =
        issuers.each_ref().map(|own| key.token(&json!({ "alg": "ES256", "kid": "k" }), &own.claims()));
    let wire = with_issuer(issuers[0].believed()).await;
    let anns = session(&wire, &tokens[0]).await;
    let stream = listening(&wire, &tokens[0]).await;
    wire.authenticator.reload(Config { tokens: vec![], oauth: Some(issuers[1].believed()) });
    is_closed(stream).await;
    assert_eq!(legacy(&wire, &tokens[0], Some(&anns), &ping()).await.status, 401);
    assert_eq!(legacy(&wire, &tokens[1], Some(&anns), &ping()).await.status, 404, "another issuer's ann");
}

#[tokio::test]
async fn a_stream_ends_when_somebody_elses_token_shows_that_its_key_is_gone() {
    let drain = larder_runtime::drain::Drain::new();
    let (old, new) = (Pair::p256(), Pair::p256());
    let issuer = Issuer::of(&drain, json!([old.public("old")])).await;
    let wire = with_issuer(issuer.believed()).await;
    let token = old.token(&json!({ "alg": "ES256", "kid": "old" }), &issuer.claims());
    let stream = listening(&wire, &token).await;
    issuer.rotate(Some(json!([new.public("new")])));
    let other = new.token(&json!({ "alg": "ES256", "kid": "new" }), &issuer.claims());
    assert_eq!(ask_with(&wire, &other).await.status, 200);
    is_closed(stream).await;
}
