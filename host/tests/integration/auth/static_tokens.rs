//! Tokens of our own.

use std::time::{Duration, SystemTime};

use expect_test::{Expect, expect};
use larder_mcp::auth::{Config, mint};
use serde_json::json;

use super::{ask, ask_with, guarded, legacy, listed, ping, session, shown, with_tokens};
use crate::wire::{ACCEPT, JSON, Wire};

#[tokio::test]
async fn who_has_a_token_is_known_to_the_provider_by_its_name() {
    let wire = with_tokens(&[("ann", "a"), ("bob", "b")]).await;
    for (token, name) in [("a", "ann"), ("b", "bob")] {
        let answer = ask_with(&wire, token).await;
        assert!(answer.body.contains(&format!("caller: {name} of default")), "{}", answer.body);
        assert_eq!(answer.json()["result"]["cacheScope"], "private", "{}", answer.body);
    }
    let listing = wire.client.post(&wire.url).bearer_auth("a");
    assert_ne!(wire.send(listing).await.status, 401);
}

async fn check(wire: &Wire, headers: &[(&str, &str)], expected: Expect) {
    expected.assert_eq(&shown(&ask(wire, headers).await));
}

#[tokio::test]
async fn without_a_token_that_holds_nobody_gets_anything() {
    let wire = with_tokens(&[("ann", "a")]).await;
    check(
        &wire,
        &[],
        expect![[r#"
        401
        Bearer realm="larder"
        a token is required: send it as `Authorization: Bearer …`"#]],
    )
    .await;
    check(
        &wire,
        &[("authorization", "Bearer b")],
        expect![[r#"
        401
        Bearer error="invalid_token", error_description="the token is unknown to this server"
        the token is unknown to this server"#]],
    )
    .await;
    check(&wire, &[("authorization", "Bearer a, Bearer a")], expect![[r#"
        400
        Bearer error="invalid_request", error_description="the Authorization header must be 'Bearer', a space and a token"
        the Authorization header must be `Bearer`, a space and a token"#]]).await;
    check(&wire, &[("authorization", "Basic YTph")], expect![[r#"
        400
        Bearer error="invalid_request", error_description="the Authorization header must be 'Bearer', a space and a token"
        the Authorization header must be `Bearer`, a space and a token"#]]).await;
    check(
        &wire,
        &[("authorization", "Bearer a"), ("authorization", "Bearer a")],
        expect![[r#"
        400
        Bearer error="invalid_request", error_description="the Authorization header is repeated"
        the Authorization header is repeated"#]],
    )
    .await;
    check(&wire, &[("authorization", "Bearer larder_0123")], expect![[r#"
        401
        Bearer error="invalid_token", error_description="the token is mistyped: some of its characters are missing or wrong"
        the token is mistyped: some of its characters are missing or wrong"#]]).await;
    assert_eq!(ask(&wire, &[("authorization", "bearer  a")]).await.status, 200);
    let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {} }).to_string();
    expect![[r#"
        401
        Bearer realm="larder"
        a token is required: send it as `Authorization: Bearer …`"#]]
    .assert_eq(&shown(&wire.post(&[JSON, ACCEPT], body).await));
    let get = wire.send(wire.client.get(&wire.url).header("accept", "text/event-stream")).await;
    let delete = wire.send(wire.client.delete(&wire.url)).await;
    assert_eq!((get.status, delete.status), (401, 401));
}

#[tokio::test]
async fn what_a_browser_asks_before_it_sends_a_token_is_answered() {
    let wire = with_tokens(&[("ann", "a")]).await;
    let asked = wire.client.request(http::Method::OPTIONS, &wire.url).header("origin", "http://localhost:1");
    let answer = wire.send(asked).await;
    assert_eq!(answer.status, 204);
    assert!(answer.headers["access-control-allow-headers"].to_str().unwrap().contains("authorization"));
    let refused = wire.client.post(&wire.url).header("origin", "http://localhost:1");
    let refused = wire.send(refused).await;
    assert_eq!(refused.headers["access-control-allow-origin"], "http://localhost:1");
    assert!(refused.headers["access-control-expose-headers"].to_str().unwrap().contains("www-authenticate"));
}

#[tokio::test]
async fn a_token_in_the_address_is_refused_whatever_else_there_is() {
    let wire = with_tokens(&[("ann", "a")]).await;
    let url = format!("{}?access_token=a", wire.url);
    let alone = wire.send(wire.client.post(&url)).await;
    let both = wire.send(wire.client.post(&url).bearer_auth("a")).await;
    assert_eq!((alone.status, both.status), (400, 400));
    expect![[r#"
        400
        Bearer error="invalid_request", error_description="send the token in the Authorization header: a URL may be logged on the way, so replace this token"
        send the token in the Authorization header: a URL may be logged on the way, so replace this token"#]].assert_eq(&shown(&alone));
    assert_eq!(wire.send(wire.client.post(format!("{}?x=1", wire.url)).bearer_auth("a")).await.status, 415);
}

#[tokio::test]
async fn a_token_ends_when_it_says() {
    let ago = SystemTime::now() - Duration::from_secs(1);
    let ahead = SystemTime::now() + Duration::from_secs(3600);
    let mut tokens = vec![listed("ann", "old"), listed("ann", "new")];
    (tokens[0].expires, tokens[1].expires) = (Some(ago), Some(ahead));
    let wire = guarded(Config { tokens, oauth: None }).await;
    expect![[r#"
        401
        Bearer error="invalid_token", error_description="the token has expired"
        the token has expired"#]]
    .assert_eq(&shown(&ask_with(&wire, "old").await));
    assert_eq!(ask_with(&wire, "new").await.status, 200);
}

#[tokio::test]
async fn a_session_is_worthless_to_others() {
    let wire = with_tokens(&[("ann", "a"), ("ann", "a2"), ("bob", "b")]).await;
    let anns = session(&wire, "a").await;
    let stolen = legacy(&wire, "b", Some(&anns), &ping()).await;
    let unknown = legacy(&wire, "b", Some("never-was"), &ping()).await;
    assert_eq!((stolen.status, &stolen.body), (404, &unknown.body), "no hint that it exists");
    let delete = wire.client.delete(&wire.url).bearer_auth("b").header("mcp-session-id", &anns);
    assert_eq!(wire.send(delete).await.status, 404);
    let stream = wire.client.get(&wire.url).bearer_auth("b").header("mcp-session-id", &anns);
    assert_eq!(wire.send(stream.header("accept", "text/event-stream")).await.status, 404);
    assert_eq!(legacy(&wire, "a", Some(&anns), &ping()).await.status, 200);
    assert_eq!(legacy(&wire, "a2", Some(&anns), &ping()).await.status, 200, "her other token");
    assert_eq!(wire.legacy(&anns, "ping", json!({})).await.status, 401, "the id alone proves nothing");
}

#[tokio::test]
async fn a_minted_token_is_accepted_and_a_slip_in_it_is_told() {
    let token = mint().unwrap();
    let wire = with_tokens(&[("ann", &token)]).await;
    assert_eq!(ask_with(&wire, &token).await.status, 200);
    let answer = ask_with(&wire, &token[..78]).await;
    assert!(answer.status == 401 && answer.body.contains("mistyped"), "{}", answer.body);
    assert!(!answer.body.contains(&token[..20]), "no part of a token is said");
}
