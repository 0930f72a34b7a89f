//! What one caller takes of what all share.

use larder_mcp::auth::{Config, Token};
use larder_model::name::TeamName;
use serde_json::json;

use super::{guarded, legacy, listed, ping, session};
use crate::listening::Events;
use crate::wire::Wire;

fn of_team(name: &str, team: &str) -> Token {
    let mut token = listed(name, name);
    token.caller.teams = TeamName::parse(team).unwrap().into();
    token
}

/// The table holds four sessions.
async fn two_teams() -> Wire {
    guarded(Config { tokens: vec![of_team("ann", "alpha"), of_team("bob", "beta")], oauth: None }).await
}

#[tokio::test]
async fn who_opens_session_after_session_ends_his_own() {
    let wire = two_teams().await;
    let anns = [session(&wire, "ann").await, session(&wire, "ann").await];
    let first = session(&wire, "bob").await;
    for _ in 0..20 {
        session(&wire, "bob").await;
    }
    for own in &anns {
        assert_eq!(legacy(&wire, "ann", Some(own), &ping()).await.status, 200);
    }
    assert_eq!(legacy(&wire, "bob", Some(&first), &ping()).await.status, 404);
}

#[tokio::test]
async fn who_has_all_sessions_in_use_keeps_nobody_out() {
    let wire = two_teams().await;
    let mut streams = Vec::new();
    for _ in 0..4 {
        let own = session(&wire, "bob").await;
        let request = wire.client.get(&wire.url).header("accept", "text/event-stream").bearer_auth("bob");
        streams.push(Events::of(request.header("mcp-session-id", own)).await);
    }
    let body = json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
        },
    });
    assert_eq!(legacy(&wire, "bob", None, &body).await.status, 503, "he has all of them");
    let anns = session(&wire, "ann").await;
    assert_eq!(legacy(&wire, "ann", Some(&anns), &ping()).await.status, 200);
    assert!(streams[0].next().await.is_none(), "his oldest made room");
}
