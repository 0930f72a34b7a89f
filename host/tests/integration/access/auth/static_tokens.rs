//! Static tokens of the configuration file.

use std::time::{Duration, SystemTime};

use expect_test::{Expect, expect};
use larder_mcp::auth::{Config, mint};
use serde_json::json;

use super::{
    legacy, ping, read_hello, read_with_token, session, static_token, summary, with_auth,
    with_tokens,
};
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON};

#[tokio::test]
async fn the_provider_gets_the_name_of_the_token() {
    let http = with_tokens(&[("ann", "a"), ("bob", "b")]).await;
    for (token, name) in [("a", "ann"), ("b", "bob")] {
        let answer = read_with_token(&http, token).await;
        assert!(
            answer.body.contains(&format!("caller: {name} of default")),
            "{}",
            answer.body
        );
        assert!(!answer.body.contains("issued by"), "{}", answer.body);
        assert_eq!(
            answer.json()["result"]["cacheScope"],
            "private",
            "{}",
            answer.body
        );
    }
    let listing = http.client.post(&http.url).bearer_auth("a");
    assert_ne!(http.send(listing).await.status, 401);
}

async fn check(http: &HttpTestServer, headers: &[(&str, &str)], expected: Expect) {
    expected.assert_eq(&summary(&read_hello(http, headers).await));
}

#[tokio::test]
async fn refuses_requests_without_a_valid_token() {
    let http = with_tokens(&[("ann", "a")]).await;
    check(
        &http,
        &[],
        expect![[r#"
        401
        Bearer realm="larder"
        a token is required: send it as `Authorization: Bearer …`"#]],
    )
    .await;
    check(
        &http,
        &[("authorization", "Bearer b")],
        expect![[r#"
        401
        Bearer error="invalid_token", error_description="the token is unknown to this server"
        the token is unknown to this server"#]],
    )
    .await;
    check(&http, &[("authorization", "Bearer a, Bearer a")], expect![[r#"
        400
        Bearer error="invalid_request", error_description="the Authorization header must be 'Bearer', a space and a token"
        the Authorization header must be `Bearer`, a space and a token"#]]).await;
    check(&http, &[("authorization", "Basic YTph")], expect![[r#"
        400
        Bearer error="invalid_request", error_description="the Authorization header must be 'Bearer', a space and a token"
        the Authorization header must be `Bearer`, a space and a token"#]]).await;
    check(
        &http,
        &[("authorization", "Bearer a"), ("authorization", "Bearer a")],
        expect![[r#"
        400
        Bearer error="invalid_request", error_description="the Authorization header is repeated"
        the Authorization header is repeated"#]],
    )
    .await;
    check(&http, &[("authorization", "Bearer larder_0123")], expect![[r#"
        401
        Bearer error="invalid_token", error_description="the token is mistyped: some of its characters are missing or wrong"
        the token is mistyped: some of its characters are missing or wrong"#]]).await;
    assert_eq!(
        read_hello(&http, &[("authorization", "bearer  a")])
            .await
            .status,
        200
    );
    let body =
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {} }).to_string();
    expect![[r#"
        401
        Bearer realm="larder"
        a token is required: send it as `Authorization: Bearer …`"#]]
    .assert_eq(&summary(&http.post(&[JSON, ACCEPT], body).await));
    let get = http
        .send(
            http.client
                .get(&http.url)
                .header("accept", "text/event-stream"),
        )
        .await;
    let delete = http.send(http.client.delete(&http.url)).await;
    assert_eq!((get.status, delete.status), (401, 401));
}

#[tokio::test]
async fn answers_cors_preflight_requests_without_a_token() {
    let http = with_tokens(&[("ann", "a")]).await;
    let request = http
        .client
        .request(http::Method::OPTIONS, &http.url)
        .header("origin", "http://localhost:1");
    let answer = http.send(request).await;
    assert_eq!(answer.status, 204);
    assert!(
        answer.headers["access-control-allow-headers"]
            .to_str()
            .unwrap()
            .contains("authorization")
    );
    let refused = http
        .client
        .post(&http.url)
        .header("origin", "http://localhost:1");
    let refused = http.send(refused).await;
    assert_eq!(
        refused.headers["access-control-allow-origin"],
        "http://localhost:1"
    );
    assert!(
        refused.headers["access-control-expose-headers"]
            .to_str()
            .unwrap()
            .contains("www-authenticate")
    );
}

#[tokio::test]
async fn refuses_a_token_in_the_url() {
    let http = with_tokens(&[("ann", "a")]).await;
    let url = format!("{}?access_token=a", http.url);
    let alone = http.send(http.client.post(&url)).await;
    let both = http.send(http.client.post(&url).bearer_auth("a")).await;
    assert_eq!((alone.status, both.status), (400, 400));
    expect![[r#"
        400
        Bearer error="invalid_request", error_description="send the token in the Authorization header: a URL may be logged on the way, so replace this token"
        send the token in the Authorization header: a URL may be logged on the way, so replace this token"#]].assert_eq(&summary(&alone));
    assert_eq!(
        http.send(
            http.client
                .post(format!("{}?x=1", http.url))
                .bearer_auth("a")
        )
        .await
        .status,
        415
    );
}

#[tokio::test]
async fn a_token_expires() {
    let ago = SystemTime::now() - Duration::from_secs(1);
    let ahead = SystemTime::now() + Duration::from_secs(3600);
    let mut tokens = vec![static_token("ann", "old"), static_token("ann", "new")];
    (tokens[0].expires, tokens[1].expires) = (Some(ago), Some(ahead));
    let http = with_auth(Config {
        tokens,
        oauth: None,
    })
    .await;
    expect![[r#"
        401
        Bearer error="invalid_token", error_description="the token has expired"
        the token has expired"#]]
    .assert_eq(&summary(&read_with_token(&http, "old").await));
    assert_eq!(read_with_token(&http, "new").await.status, 200);
}

#[tokio::test]
async fn a_session_cannot_be_used_by_another_caller() {
    let http = with_tokens(&[("ann", "a"), ("ann", "a2"), ("bob", "b")]).await;
    let anns = session(&http, "a").await;
    let stolen = legacy(&http, "b", Some(&anns), &ping()).await;
    let unknown = legacy(&http, "b", Some("never-was"), &ping()).await;
    assert_eq!(
        (stolen.status, &stolen.body),
        (404, &unknown.body),
        "the response reveals that the session exists"
    );
    let delete = http
        .client
        .delete(&http.url)
        .bearer_auth("b")
        .header("mcp-session-id", &anns);
    assert_eq!(http.send(delete).await.status, 404);
    let stream = http
        .client
        .get(&http.url)
        .bearer_auth("b")
        .header("mcp-session-id", &anns);
    assert_eq!(
        http.send(stream.header("accept", "text/event-stream"))
            .await
            .status,
        404
    );
    assert_eq!(legacy(&http, "a", Some(&anns), &ping()).await.status, 200);
    assert_eq!(
        legacy(&http, "a2", Some(&anns), &ping()).await.status,
        200,
        "another token of the same caller"
    );
    assert_eq!(
        http.legacy(&anns, "ping", json!({})).await.status,
        401,
        "the session id without a token is refused"
    );
}

#[tokio::test]
async fn accepts_a_minted_token_and_reports_a_mistyped_one() {
    let token = mint().unwrap();
    let http = with_tokens(&[("ann", &token)]).await;
    assert_eq!(read_with_token(&http, &token).await.status, 200);
    let answer = read_with_token(&http, &token[..78]).await;
    assert!(
        answer.status == 401 && answer.body.contains("mistyped"),
        "{}",
        answer.body
    );
    assert!(
        !answer.body.contains(&token[..20]),
        "the response contains a part of the token"
    );
}
