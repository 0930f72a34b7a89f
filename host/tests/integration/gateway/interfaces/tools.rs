//! Lists of tools, and calls of tools.

use std::path::Path;

use expect_test::expect;
use larder_model::input::{Answer, InputResponse, ProvidedInput};
use larder_model::policy::{Access, Dir, Grant, GuestLifetime};
use larder_model::tool::ToolCall;
use larder_provider::{CallError, Provider as _};

use super::{interactive, load, page, permit, shown, tool_call};

#[tokio::test]
async fn lists_tools() {
    let loaded = interactive().await;
    let first = loaded.provider.list_tools(permit(), None).await.unwrap();
    let tool = &first.items[0];
    assert_eq!(tool.title.as_deref(), Some("Everything"));
    // The order of the properties stays the same, and the schema is one line.
    assert_eq!(
        tool.input_schema.get(),
        r#"{"type":"object","properties":{"z":{},"a":{}}}"#
    );
    assert_eq!(
        tool.output_schema.as_ref().unwrap().get(),
        r#"{"type":"object"}"#
    );
    assert_eq!(
        (tool.hints.read_only, tool.hints.destructive),
        (Some(true), Some(false))
    );
    assert_eq!((tool.hints.long_running, tool.metadata.len()), (None, 1));
    assert!(
        first.bytes > 50 && first.next.as_deref() == Some("2"),
        "{first:?}"
    );
    let all = loaded.provider.all_tools().await;
    expect![[r#"
        everything ask tell change append next None
    "#]]
    .assert_eq(&page(all, |tool| tool.name.to_string()));
}

#[tokio::test]
async fn a_list_of_tools_has_limits() {
    let loaded = load("interactive", |grant| grant.limits.catalog_entries = 3).await;
    expect![[r#"
        everything ask tell next None
        omitted: tools beyond the first 3 (`limits.catalog_entries`)
    "#]]
    .assert_eq(&page(loaded.provider.all_tools().await, |tool| {
        tool.name.to_string()
    }));
    let loaded = load("interactive", |grant| grant.limits.page_entries = 1).await;
    expect!["error: a page has 2 tools; the limit is 1 (`limits.page_entries`)"]
        .assert_eq(&page(loaded.provider.all_tools().await, |tool| {
            tool.name.to_string()
        }));
}

#[tokio::test]
async fn calls_a_tool() {
    let loaded = interactive().await;
    let Answer::Complete(result) = loaded
        .call_tool("everything", "{ \"b\": 1, \"a\": [ ] }")
        .await
        .unwrap()
    else {
        panic!("it requires input")
    };
    assert_eq!(result.structured.unwrap().get(), r#"{"b":1,"a":[]}"#);
    assert!(result.is_error);
    let blocks: String = result
        .content
        .iter()
        .map(|block| shown(block) + "\n")
        .collect();
    expect![[r#"
        text a text [User] Some(1.0) example.com/x={}
        image image/png [1, 2, 3]
        audio audio/ogg [1, 2, 3]
        link interactive:page
        embedded interactive:note Some("text/plain") a note
    "#]]
    .assert_eq(&blocks);
    assert_eq!(
        loaded.call_tool("unknown", "{}").await.unwrap_err(),
        CallError::NotFound
    );
}

#[tokio::test]
async fn a_tool_asks_for_input_and_is_called_again() {
    let loaded = interactive().await;
    let Answer::InputRequired(required) = loaded.call_tool("ask", "{}").await.unwrap() else {
        panic!("it requires no input")
    };
    let request = &required.requests[0];
    assert_eq!(
        (request.key.as_str(), request.method.as_str()),
        ("name", "elicitation/create")
    );
    assert_eq!(
        request.params.get(),
        r#"{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}"#
    );
    let response = |key: &str, outcome| InputResponse {
        key: key.into(),
        outcome,
    };
    let responses = vec![
        response("name", Ok("{}".into())),
        response("other", Err("{\"code\":1}".into())),
    ];
    let input = ProvidedInput {
        responses,
        state: required.state,
    };
    let again = ToolCall {
        input: Some(input),
        ..tool_call("ask", "{}")
    };
    assert_eq!(
        loaded.tool_text(permit(), again).await,
        "text asked; name: {}, other failed: {\"code\":1}"
    );
}

fn append_to(folder: &Path) -> impl FnOnce(&mut Grant) {
    let dir = Dir {
        host: folder.to_owned(),
        guest: "/data".into(),
        access: Access::Write,
        is_canonical: false,
    };
    move |grant: &mut Grant| {
        grant.guests = GuestLifetime::Reused;
        grant.dirs = vec![dir];
    }
}

#[tokio::test]
async fn a_tool_that_traps_halfway_in_a_reused_guest_runs_once() {
    let folder = tempfile::tempdir().unwrap();
    let loaded = load("interactive", append_to(folder.path())).await;
    let append = async |arguments: &str| {
        loaded
            .tool_text(permit(), tool_call("append", arguments))
            .await
    };
    assert_eq!(append("one").await, "text appended");
    let text = append("trap").await;
    assert!(text.starts_with("error: it trapped"), "{text}");
    assert_eq!(append("two").await, "text appended");
    let calls = std::fs::read_to_string(folder.path().join("calls")).unwrap();
    assert_eq!(calls, "one\ntrap\ntwo\n");
}
