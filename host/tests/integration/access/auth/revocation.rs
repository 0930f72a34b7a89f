//! Requests, sessions and streams end when their credential is revoked or expires.

use std::time::{Duration, SystemTime};

use larder_mcp::auth::{Config, Oauth};
use serde_json::json;

use super::issuer::{Issuer, Pair};
use super::{
    legacy, ping, read_hello, read_with_token, session, static_token, with_auth, with_issuer,
    with_tokens,
};
use crate::protocol::subscriptions::{Events, acknowledged, listen};
use crate::support::harness::{TestServer, eventually};
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON, MODERN, meta};

async fn open_listen_stream(http: &HttpTestServer, token: &str) -> Events {
    let mut events =
        Events::of(listen(http, &json!({ "resourcesListChanged": true })).bearer_auth(token)).await;
    acknowledged(&events.next().await.unwrap());
    events
}

fn legacy_stream_request(
    http: &HttpTestServer,
    token: &str,
    session: &str,
) -> reqwest::RequestBuilder {
    let request = http
        .client
        .get(&http.url)
        .header("accept", "text/event-stream");
    request.header("mcp-session-id", session).bearer_auth(token)
}

async fn assert_closed(mut events: Events) {
    let end = events.next().await.unwrap();
    assert_eq!(end["result"]["resultType"], "complete", "{end}");
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_removed_token_ends_its_streams_and_sessions_and_no_others() {
    let http = with_tokens(&[("ann", "a"), ("bob", "b"), ("bob", "b2")]).await;
    let (anns, bobs) = (session(&http, "a").await, session(&http, "b").await);
    let ann = open_listen_stream(&http, "a").await;
    let mut ann_legacy = Events::of(legacy_stream_request(&http, "a", &anns)).await;
    let bob = open_listen_stream(&http, "b").await;
    let mut bob_legacy = Events::of(legacy_stream_request(&http, "b2", &bobs)).await;

    http.authenticator.reload(Config {
        tokens: vec![static_token("bob", "b2")],
        oauth: None,
    });
    assert_eq!(read_with_token(&http, "a").await.status, 401);
    assert_eq!(legacy(&http, "a", Some(&anns), &ping()).await.status, 401);
    assert_closed(ann).await;
    assert!(ann_legacy.next().await.is_none());
    // Bob's other token is still valid, and the session that both tokens used is still open. The stream of the removed
    // token ends.
    assert_closed(bob).await;
    assert_eq!(legacy(&http, "b2", Some(&bobs), &ping()).await.status, 200);

    // A token that is removed and added again does not get its sessions back.
    http.authenticator.reload(Config {
        tokens: vec![static_token("bob", "b2"), static_token("ann", "a")],
        oauth: None,
    });
    assert_eq!(legacy(&http, "a", Some(&anns), &ping()).await.status, 404);
    http.authenticator.reload(Config {
        tokens: vec![static_token("ann", "a")],
        oauth: None,
    });
    assert!(bob_legacy.next().await.is_none());
}

#[tokio::test]
async fn a_request_with_progress_ends_with_its_token() {
    let mut config = crate::support::http_server::config();
    config.auth = Config {
        tokens: vec![static_token("ann", "a")],
        oauth: None,
    };
    let http = HttpTestServer::with_config(TestServer::builder("sleep"), config).await;
    let mut meta = meta();
    meta["progressToken"] = json!("p");
    let params = json!({ "uri": "sleep://hour", "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params });
    let mut request = http
        .client
        .post(&http.url)
        .bearer_auth("a")
        .body(body.to_string());
    for (name, value) in [
        JSON,
        ACCEPT,
        MODERN,
        ("mcp-method", "resources/read"),
        ("mcp-name", "sleep://hour"),
    ] {
        request = request.header(name, value);
    }
    let mut events = Events::of(request).await;
    assert_eq!(
        events.next().await.unwrap()["method"],
        "notifications/progress"
    );
    http.authenticator.reload(Config {
        tokens: vec![static_token("bob", "b")],
        oauth: None,
    });
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn authentication_stays_required_when_the_last_token_is_removed() {
    let http = with_tokens(&[("ann", "a")]).await;
    http.authenticator.reload(Config::default());
    for more in [&[][..], &[("authorization", "Bearer a")]] {
        assert_eq!(read_hello(&http, more).await.status, 401);
    }
    http.authenticator.reload(Config {
        tokens: vec![static_token("ann", "a2")],
        oauth: None,
    });
    assert_eq!(read_with_token(&http, "a2").await.status, 200);
}

#[tokio::test]
async fn authentication_can_be_required_by_a_reload() {
    let http = with_auth(Config::default()).await;
    assert_eq!(read_hello(&http, &[]).await.status, 200);
    assert_eq!(
        read_with_token(&http, "anything").await.status,
        200,
        "tokens are ignored"
    );
    let anonymous = http.session("2025-11-25").await;
    let stream = Events::of(listen(&http, &json!({ "resourcesListChanged": true }))).await;
    http.authenticator.reload(Config {
        tokens: vec![static_token("ann", "a")],
        oauth: None,
    });
    assert_eq!(read_hello(&http, &[]).await.status, 401);
    assert_eq!(
        legacy(&http, "a", Some(&anonymous), &ping()).await.status,
        404
    );
    let mut stream = stream;
    acknowledged(&stream.next().await.unwrap());
    assert_closed(stream).await;
}

#[tokio::test]
async fn a_stream_ends_when_its_token_expires() {
    let http = with_tokens(&[("ann", "a")]).await;
    // Long enough to open the stream and short enough to wait for its end. The longer times are for slow
    // machines.
    for seconds in [2, 8, 25] {
        let mut token = static_token("ann", "a");
        token.expires = Some(SystemTime::now() + Duration::from_secs(seconds));
        http.authenticator.reload(Config {
            tokens: vec![token],
            oauth: None,
        });
        let request = listen(&http, &json!({ "resourcesListChanged": true })).bearer_auth("a");
        let response = request.send().await.unwrap();
        if response.status().as_u16() == 401 {
            continue;
        }
        let mut events = Events::from(response);
        acknowledged(&events.next().await.unwrap());
        assert_closed(events).await;
        assert_eq!(read_with_token(&http, "a").await.status, 401);
        return;
    }
    panic!("no stream could be opened in time");
}

#[tokio::test]
async fn a_stream_ends_when_the_issuer_removes_its_key() {
    let drain = larder_runtime::drain::Drain::new();
    let (old, new) = (Pair::p256(), Pair::p256());
    let issuer = Issuer::start(&drain, json!([old.public("old")])).await;
    let mut oauth = issuer.oauth_config();
    oauth.refresh = Duration::from_millis(20);
    let http = with_issuer(oauth).await;
    let token = old.token(&json!({ "alg": "ES256", "kid": "old" }), &issuer.claims());
    let stream = open_listen_stream(&http, &token).await;
    issuer.rotate(Some(json!([new.public("new")])));
    assert_closed(stream).await;
    assert_eq!(
        read_with_token(&http, &token).await.status,
        401,
        "the token is refused though it was verified before"
    );
    let token = new.token(&json!({ "alg": "ES256", "kid": "new" }), &issuer.claims());
    assert_eq!(read_with_token(&http, &token).await.status, 200);
}

#[tokio::test]
async fn a_session_ends_when_the_issuer_configuration_changes() {
    let drain = larder_runtime::drain::Drain::new();
    let key = Pair::p256();
    let issuer = Issuer::start(&drain, json!([key.public("k")])).await;
    let http = with_issuer(issuer.oauth_config()).await;
    let token = key.token(&json!({ "alg": "ES256", "kid": "k" }), &issuer.claims());
    let anns = session(&http, &token).await;
    assert_eq!(
        legacy(&http, &token, Some(&anns), &ping()).await.status,
        200
    );
    // The token itself is still valid, but another configuration may map its claims to other teams.
    let oauth = Oauth {
        leeway: Duration::from_secs(1),
        ..issuer.oauth_config()
    };
    http.authenticator.reload(Config {
        tokens: vec![],
        oauth: Some(oauth),
    });
    let ended = async || legacy(&http, &token, Some(&anns), &ping()).await.status == 404;
    eventually("the session ends", ended).await;
    let again = session(&http, &token).await;
    assert_eq!(
        legacy(&http, &token, Some(&again), &ping()).await.status,
        200
    );
}

#[tokio::test]
async fn sessions_and_streams_end_when_the_issuer_changes() {
    let drain = larder_runtime::drain::Drain::new();
    let key = Pair::p256();
    let issuers = [
        Issuer::start(&drain, json!([key.public("k")])).await,
        Issuer::start(&drain, json!([key.public("k")])).await,
    ];
    let tokens = issuers
        .each_ref()
        .map(|own| key.token(&json!({ "alg": "ES256", "kid": "k" }), &own.claims()));
    let http = with_issuer(issuers[0].oauth_config()).await;
    let anns = session(&http, &tokens[0]).await;
    let stream = open_listen_stream(&http, &tokens[0]).await;
    http.authenticator.reload(Config {
        tokens: vec![],
        oauth: Some(issuers[1].oauth_config()),
    });
    assert_closed(stream).await;
    assert_eq!(
        legacy(&http, &tokens[0], Some(&anns), &ping()).await.status,
        401
    );
    assert_eq!(
        legacy(&http, &tokens[1], Some(&anns), &ping()).await.status,
        404,
        "another issuer's ann"
    );
}

#[tokio::test]
async fn a_stream_ends_when_a_token_with_a_new_key_makes_the_keys_reload() {
    let drain = larder_runtime::drain::Drain::new();
    let (old, new) = (Pair::p256(), Pair::p256());
    let issuer = Issuer::start(&drain, json!([old.public("old")])).await;
    let http = with_issuer(issuer.oauth_config()).await;
    let token = old.token(&json!({ "alg": "ES256", "kid": "old" }), &issuer.claims());
    let stream = open_listen_stream(&http, &token).await;
    issuer.rotate(Some(json!([new.public("new")])));
    let other = new.token(&json!({ "alg": "ES256", "kid": "new" }), &issuer.claims());
    assert_eq!(read_with_token(&http, &other).await.status, 200);
    assert_closed(stream).await;
}
