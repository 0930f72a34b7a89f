mod caching;
mod directories;
mod filters;
mod lists;
mod personal;
mod pins;
mod search;
mod skills;

use std::pin::pin;

use futures_util::FutureExt as _;
use serde_json::json;

use super::*;
use crate::test_team::{TestTeam, template};
use larder_model::input::Answer;
use larder_model::message::BlockValue;
use larder_model::name::ProviderName;
use larder_model::policy::{Grant, ToolGrant};
use larder_model::resource::{Body, Call, Caller, Content, Entry, Freshness, ReadResult, Scope};
use larder_model::search::SearchQuery;
use larder_model::uri::Uri;
use larder_provider::CallError;
use larder_provider::fake::{FakeContent, FakeRead, entry};

fn uri(text: &str) -> Uri {
    Uri::parse(text).unwrap()
}

async fn team(content: &FakeContent) -> TestTeam {
    TestTeam::new([content.provider("wiki", Grant::default())], 2).await
}

fn text_of(of: &Uri, text: String) -> Content {
    Content {
        uri: of.clone(),
        mime_type: None,
        body: Body::Text(text),
        metadata: vec![],
    }
}

fn caller(subject: &str) -> Caller {
    Caller {
        subject: Some(subject.into()),
        ..TestTeam::caller()
    }
}

fn call_by(subject: &str) -> Arc<Call> {
    Arc::new(Call::from_caller(caller(subject)))
}

fn subject(call: &Call) -> Option<&str> {
    call.caller.as_ref()?.subject.as_deref()
}

async fn read(team: &TestTeam, of: &str) -> String {
    read_by(team, &TestTeam::call(), of).await
}

async fn read_by(team: &TestTeam, call: &Arc<Call>, of: &str) -> String {
    match team.gateway.read(call, &uri(of), None).await {
        Ok(result) => match &result.contents[0].body {
            Body::Text(text) => text.clone(),
            Body::Blob(_) => panic!("these tests use text only"),
        },
        Err(error) => format!("error: {error}"),
    }
}

#[tokio::test]
async fn a_read_calls_its_provider_once_while_the_response_is_cached() {
    let content = FakeContent::default().with_text("x:a", "one");
    let team = team(&content).await;
    assert_eq!(read(&team, "x:a").await, "one");
    let _ = content.clone().with_text("x:a", "two");
    assert_eq!(read(&team, "x:a").await, "one");
    assert_eq!(content.calls(), ["probe", "read x:a"]);
}

#[tokio::test]
async fn a_uri_that_no_provider_has_is_not_found_without_a_call() {
    let content = FakeContent::default().with_text("x:a", "one");
    let team = team(&content).await;
    assert_eq!(read(&team, "x:b").await, "error: no resource at `x:b`");
    assert_eq!(content.calls(), ["probe"]);
}

#[tokio::test]
async fn a_known_version_is_not_read_again() {
    let content = FakeContent::default().with_text("x:a", "one");
    let team = team(&content).await;
    let call = TestTeam::call();
    let first = team.gateway.read(&call, &uri("x:a"), None).await.unwrap();
    let again = team
        .gateway
        .read(&call, &uri("x:a"), first.version.as_deref())
        .await;
    assert!(matches!(again, Err(Error::NotModified { .. })), "{again:?}");
}

#[tokio::test]
async fn a_list_has_pages_from_the_catalog_and_from_the_provider() {
    let content = ["x:1", "x:2", "x:3", "x:4", "x:5"]
        .into_iter()
        .fold(FakeContent::default(), |content, uri| {
            content.with_text(uri, "text")
        });
    let mut grant = Grant::default();
    grant.limits.catalog_entries = 3;
    let team = TestTeam::new([content.provider("wiki", grant)], 2).await;
    let call = TestTeam::call();
    let mut pages = Vec::new();
    let mut cursor = None;
    loop {
        let page = team
            .gateway
            .list(&call, cursor.as_deref(), &Filter::default())
            .await
            .unwrap();
        let uris: Vec<_> = page.items.iter().map(|entry| entry.uri.as_str()).collect();
        pages.push(uris.join(" "));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(pages.join(" "), "x:1 x:2 x:3 x:4 x:5");
    assert!(pages.len() > 2, "{pages:?}");
    assert!(
        content.calls().contains(&"list 3".to_owned()),
        "{content:?}"
    );
}

#[tokio::test]
async fn a_search_is_incomplete_until_all_text_is_indexed() {
    let content = FakeContent::default().with_text("x:a", "one");
    let grant = Grant {
        index: true,
        ..Grant::default()
    };
    let team = TestTeam::new([content.provider("wiki", grant)], 10).await;
    let wiki = ProviderName::parse("wiki").unwrap();
    let query = SearchQuery {
        text: "a".into(),
        ..SearchQuery::default()
    };
    let incomplete = async || {
        let page = team.gateway.search(&TestTeam::call(), &query, None).await;
        page.unwrap().incomplete
    };
    assert_eq!(incomplete().await, ["wiki"]);
    team.index.set_pending(&wiki, 1);
    assert_eq!(incomplete().await, ["wiki"]);
    team.index.set_pending(&wiki, 0);
    assert!(incomplete().await.is_empty());
    team.index.set_error(&wiki, Some("it is full".into()));
    assert_eq!(incomplete().await, ["wiki"]);
}

#[tokio::test]
async fn a_failing_provider_fails_only_its_own_reads() {
    let broken = FakeContent::default().with_text("x:a", "one");
    let healthy = FakeContent::default().with_text("y:a", "two");
    let providers = [
        broken.provider("broken", Grant::default()),
        healthy.provider("healthy", Grant::default()),
    ];
    let team = TestTeam::new(providers, 10).await;
    broken.fail(CallError::Unavailable("the disk is full".into()));
    assert_eq!(
        read(&team, "x:a").await,
        "error: `broken` is unavailable: the disk is full"
    );
    assert_eq!(read(&team, "y:a").await, "two");
    let page = team
        .gateway
        .list(&TestTeam::call(), None, &Filter::default())
        .await
        .unwrap();
    assert_eq!(page.items.len(), 2, "lists are answered from the catalog");
}

#[tokio::test]
async fn dropping_the_future_of_a_read_ends_its_call() {
    let content = FakeContent::default().with_text("x:a", "one");
    let team = team(&content).await;
    content.pause();
    {
        let mut reading = pin!(read(&team, "x:a"));
        assert_eq!(reading.as_mut().now_or_never(), None);
        assert_eq!(content.running(), 1);
    }
    assert_eq!(content.running(), 0);
    content.resume();
    assert_eq!(
        read(&team, "x:a").await,
        "one",
        "nothing waits for the read"
    );
    assert_eq!(content.calls(), ["probe", "read x:a", "read x:a"]);
}

#[tokio::test]
async fn concurrent_reads_of_a_resource_share_one_call() {
    let content = FakeContent::default().with_text("x:a", "one");
    let team = team(&content).await;
    content.pause();
    let release = async {
        while content.running() == 0 {
            tokio::task::yield_now().await;
        }
        content.resume();
    };
    let (first, second, ()) = futures_util::join!(read(&team, "x:a"), read(&team, "x:a"), release);
    assert_eq!([first, second], ["one", "one"]);
    assert_eq!(content.calls(), ["probe", "read x:a"]);
}

#[tokio::test]
async fn arguments_that_do_not_match_the_schema_reach_no_guest() {
    let schema = r#"{"type": "object", "properties": {"n": {"type": "number"}}}"#;
    let content = FakeContent::default().with_tool("double", schema);
    let grant = Grant {
        tools: ToolGrant::All,
        ..Grant::default()
    };
    let team = TestTeam::new([content.provider("calculator", grant)], 2).await;
    let call_tool = async |arguments| {
        let request = ToolRequest {
            name: "double".into(),
            arguments: Arc::new(arguments),
            input: None,
            asked_by: None,
        };
        let answer = team.gateway.call_tool(&TestTeam::call(), &request).await;
        match answer.unwrap().answer {
            Answer::Complete(result) => result,
            Answer::InputRequired(_) => panic!("the tool requests no input"),
        }
    };
    let refused = call_tool(json!({"n": "two"})).await;
    assert!(refused.is_error);
    assert_eq!(content.calls(), ["probe"]);
    let result = call_tool(json!({"n": 2})).await;
    assert!(!result.is_error);
    assert!(
        matches!(&result.content[0].value, BlockValue::Text(text) if text == r#"{"n":2}"#),
        "{result:?}"
    );
    assert_eq!(content.calls(), ["probe", "call double"]);
}
