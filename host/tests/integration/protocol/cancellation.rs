//! Calls that end before their response: clients that disconnect, and clients that cancel.

use std::time::Duration;

use larder_client::Client;
use serde_json::json;

use crate::support::harness::{TestServer, TestServerBuilder, call_in_flight};
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON};

/// A server whose provider `sleep` allows one call at a time, which may take an hour.
pub(crate) fn one_call_at_a_time() -> TestServerBuilder {
    TestServer::builder("echo sleep").provider("sleep", |grant, _| {
        grant.limits.concurrency = 1;
        grant.limits.queue_timeout = Duration::from_secs(60);
        grant.limits.timeout = Duration::from_secs(3_600);
    })
}

/// Drops a request as soon as its call is in flight.
async fn abandon<T>(http: &HttpTestServer, request: impl Future<Output = T>) {
    tokio::select! {
        _ = request => panic!("the request has ended"),
        () = call_in_flight(&http.server.reader) => {}
    }
}

/// Whether the only permit is free: then a short read succeeds.
async fn can_call(http: &HttpTestServer) -> bool {
    http.read("sleep://ms/1").await.verdict() == "200 ok"
}

#[tokio::test]
async fn a_disconnect_of_a_modern_client_cancels_its_call() {
    let http = HttpTestServer::from_builder(one_call_at_a_time()).await;
    abandon(&http, http.read("sleep://hour")).await;
    assert!(can_call(&http).await);
}

#[tokio::test]
async fn a_legacy_call_ends_by_a_cancellation_and_not_by_a_disconnect() {
    let http = HttpTestServer::from_builder(one_call_at_a_time()).await;
    let session = http.session("2025-11-25").await;
    let hour = http.legacy(&session, "resources/read", json!({ "uri": "sleep://hour" }));
    abandon(&http, hour).await;
    let call = tokio::time::timeout(Duration::from_millis(300), can_call(&http)).await;
    assert!(call.is_err(), "the call ended with its connection");
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    let answer = http
        .post(
            &[JSON, ACCEPT, ("mcp-session-id", &session)],
            cancel.to_string(),
        )
        .await;
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
    assert!(can_call(&http).await);
}

#[tokio::test]
async fn the_next_request_of_our_client_cancels_an_abandoned_one() {
    let http = HttpTestServer::from_builder(one_call_at_a_time()).await;
    let connect = Client::builder().revision("2025-11-25".parse().unwrap());
    let mut client = connect.http(&http.url).await.unwrap();
    abandon(&http, client.read("sleep://hour")).await;
    client.read("echo://hello").await.unwrap();
    assert!(can_call(&http).await);
    client.close().await;
}
