//! What a tool can find out about the client, and send to the client.

use std::sync::Arc;
use std::time::Duration;

use larder_model::interaction::{Interaction, LogMessage, Severity};
use larder_model::name::Teams;
use larder_model::policy::{Grant, Secret};
use larder_model::resource::{Call, Caller};
use larder_provider::Signal;
use serde_json::json;
use tokio::sync::mpsc;

use super::{interactive, load, permit, permit_for, tool_call};

/// Returns a call with a client that supports URL elicitation, and the receiver of its log messages.
fn call_with_client(capacity: usize) -> (Arc<Call>, mpsc::Receiver<LogMessage>) {
    let (sender, receiver) = mpsc::channel(capacity);
    let interaction = Interaction {
        capabilities: json!({ "elicitation": { "url": {} } }),
        log_level: Some(Severity::Info),
        log: Some(sender),
    };
    let teams = Teams::default_team();
    let caller = Caller {
        subject: None,
        issuer: None,
        teams,
        scopes: vec![],
    };
    let mut call = Call::from_caller(caller);
    call.interaction = Some(interaction);
    (Arc::new(call), receiver)
}

fn messages(mut receiver: mpsc::Receiver<LogMessage>) -> Vec<String> {
    let mut all = Vec::new();
    while let Ok(LogMessage {
        severity,
        logger,
        data,
    }) = receiver.try_recv()
    {
        all.push(format!("{severity:?} {logger:?} {}", data.get()));
    }
    all
}

#[tokio::test]
async fn a_tool_talks_to_the_client() {
    let loaded = interactive().await;
    let (call, receiver) = call_with_client(10);
    let text = loaded
        .tool_text(permit_for(&call), tool_call("tell", "{}"))
        .await;
    assert_eq!(text, "text true false Some(Severity::Info)");
    assert_eq!(
        messages(receiver),
        [
            r#"Warning Some("alogger") {"n":1}"#,
            r#"Error None "no json at all""#
        ]
    );
    // Without a client, nothing is supported, and messages are dropped.
    let text = loaded.tool_text(permit(), tool_call("tell", "{}")).await;
    assert_eq!(text, "text false false None");
}

#[tokio::test]
async fn log_messages_for_the_client_have_limits() {
    let change = |grant: &mut Grant| {
        grant.limits.notifications = 5;
        grant.settings.insert("more".into(), "100".into());
    };
    let loaded = load("interactive", change).await;
    let (call, receiver) = call_with_client(100);
    loaded
        .tool_text(permit_for(&call), tool_call("tell", "{}"))
        .await;
    let received = messages(receiver);
    // The message below the level does not count.
    assert_eq!(received.len(), 5, "{received:?}");
    // A client that receives no messages does not stop the guest.
    let (call, receiver) = call_with_client(1);
    let text = loaded
        .tool_text(permit_for(&call), tool_call("tell", "{}"))
        .await;
    assert!(text.starts_with("text true"), "{text}");
    assert_eq!(messages(receiver).len(), 1);
}

#[tokio::test]
async fn log_messages_for_the_client_contain_no_secrets() {
    let change = |grant: &mut Grant| {
        grant.secrets = [("token".to_owned(), Secret::new("no json at all"))]
            .into_iter()
            .collect();
    };
    let loaded = load("interactive", change).await;
    let (call, receiver) = call_with_client(10);
    loaded
        .tool_text(permit_for(&call), tool_call("tell", "{}"))
        .await;
    assert_eq!(messages(receiver)[1], r#"Error None "[secret]""#);
}

#[tokio::test]
async fn a_tool_announces_changes() {
    let mut loaded = interactive().await;
    loaded.call_tool("change", "{}").await.unwrap();
    for expected in [Signal::ToolsChanged, Signal::PromptsChanged] {
        let signal = tokio::time::timeout(Duration::from_secs(60), loaded.signals.recv()).await;
        assert_eq!(signal.unwrap().1, expected);
    }
}
