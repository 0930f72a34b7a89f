//! Notifications of changed lists in both eras: for each list that differs for the client, and for no other list.

use larder_model::policy::{Access, ApprovalMode, Dir, ToolGrant};
use serde_json::json;

use super::{call, names};
use crate::protocol::subscriptions::{Events, listen};
use crate::support::harness::{SLOW_WAIT, TestServer, eventually_within};
use crate::support::http_server::HttpTestServer;

/// A server with `conformance`, which changes its lists when it is called, and `interactive`, which only reports
/// changes.
async fn serve(state: &std::path::Path) -> HttpTestServer {
    let mut builder =
        TestServer::builder("conformance interactive").approve("conformance", ApprovalMode::Always);
    for name in ["conformance", "interactive"] {
        builder = builder.provider(name, |grant, _| {
            (grant.tools, grant.prompts) = (ToolGrant::All, true)
        });
    }
    let dir = Dir {
        host: state.to_owned(),
        guest: "/state".to_owned(),
        access: Access::Write,
        is_canonical: false,
    };
    let builder = builder.provider("conformance", |grant, _| grant.dirs.push(dir));
    let mut server = HttpTestServer::from_builder(builder).await;
    server.run_reconciler();
    server
}

/// How often the lists of `interactive` were requested.
fn lists_of_interactive(server: &HttpTestServer) -> u64 {
    let catalog = server.server.reader.snapshot();
    let offer = catalog
        .offers()
        .iter()
        .find(|offer| offer.name().as_str() == "interactive")
        .unwrap();
    offer
        .provider
        .metrics()
        .calls(larder_runtime::metrics::Outcome::Ok)
}

#[tokio::test]
async fn only_a_list_that_differs_is_reported() {
    let state = tempfile::tempdir().unwrap();
    let server = serve(state.path()).await;
    let all = json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true });
    let mut modern = Events::of(listen(&server, &all)).await;
    modern.next().await.unwrap();
    let session = server.session("2025-11-25").await;
    let stream = server
        .client
        .get(&server.url)
        .header("accept", "text/event-stream");
    let mut legacy = Events::of(stream.header("mcp-session-id", &session)).await;
    for (trigger, kind, entry) in [
        ("test_trigger_tool_change", "tools", "test_added_tool"),
        ("test_trigger_prompt_change", "prompts", "test_added_prompt"),
    ] {
        for is_there in [true, false] {
            // Reports a change of both lists, although neither list differs.
            let before = lists_of_interactive(&server);
            call(&server, "change", json!({})).await;
            // The call itself, the description and at least three lists.
            let listed = async || lists_of_interactive(&server) >= before + 4;
            eventually_within(SLOW_WAIT, "the lists are requested again", listed).await;
            call(&server, trigger, json!({})).await;
            let expected = format!("notifications/{kind}/list_changed");
            for events in [&mut modern, &mut legacy] {
                assert_eq!(events.next().await.unwrap()["method"], *expected);
            }
            assert_eq!(
                names(&server, kind).await.contains(&entry.to_owned()),
                is_there
            );
        }
    }
}
