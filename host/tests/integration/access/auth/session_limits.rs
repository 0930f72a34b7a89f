//! The session limit of one caller among the sessions of all callers.

use larder_mcp::auth::{Config, Token};
use larder_model::name::TeamName;
use serde_json::json;

use super::{legacy, ping, session, static_token, with_auth};
use crate::protocol::subscriptions::Events;
use crate::support::http_server::HttpTestServer;

fn token_of_team(name: &str, team: &str) -> Token {
    let mut token = static_token(name, name);
    token.caller.teams = TeamName::parse(team).unwrap().into();
    token
}

/// A server with two teams and at most four sessions.
async fn two_teams() -> HttpTestServer {
    with_auth(Config {
        tokens: vec![token_of_team("ann", "alpha"), token_of_team("bob", "beta")],
        oauth: None,
    })
    .await
}

#[tokio::test]
async fn a_new_session_evicts_a_session_of_the_same_caller() {
    let http = two_teams().await;
    let anns = [session(&http, "ann").await, session(&http, "ann").await];
    let first = session(&http, "bob").await;
    for _ in 0..20 {
        session(&http, "bob").await;
    }
    for own in &anns {
        assert_eq!(legacy(&http, "ann", Some(own), &ping()).await.status, 200);
    }
    assert_eq!(
        legacy(&http, "bob", Some(&first), &ping()).await.status,
        404
    );
}

#[tokio::test]
async fn a_caller_with_all_sessions_in_use_does_not_lock_out_others() {
    let http = two_teams().await;
    let mut streams = Vec::new();
    for _ in 0..4 {
        let own = session(&http, "bob").await;
        let request = http
            .client
            .get(&http.url)
            .header("accept", "text/event-stream")
            .bearer_auth("bob");
        streams.push(Events::of(request.header("mcp-session-id", own)).await);
    }
    let body = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
        },
    });
    assert_eq!(
        legacy(&http, "bob", None, &body).await.status,
        503,
        "bob has all sessions"
    );
    let anns = session(&http, "ann").await;
    assert_eq!(legacy(&http, "ann", Some(&anns), &ping()).await.status, 200);
    assert!(
        streams[0].next().await.is_none(),
        "bob's oldest session was not evicted"
    );
}
