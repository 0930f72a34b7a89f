//! A template whose last variable takes slashes, because its provider asked for it.

use std::time::Duration;

use larder_core::catalog::Change;
use larder_core::change_detector::Config;
use larder_core::gateway::Error;
use larder_model::resource::CompletionRequest;
use larder_model::uri::Uri;
use serde_json::json;

use crate::house::{Plan, someone};
use crate::wire::Wire;

#[tokio::test]
async fn a_greedy_template_reads_what_has_slashes() {
    let house = Plan::of("greedy").open().await;
    assert_eq!(house.text("greedy:///a").await, "greedy:///{path}: a", "as RFC 6570 has it");
    assert_eq!(house.text("greedy:///a/b%20c/d").await, "greedy:///{path}: a/b c/d");
    assert_eq!(house.text("greedy://wiki/a").await, "greedy://wiki/{page}: a");
    let other = house.read("greedy://wiki/a/b").await;
    assert!(matches!(other, Err(Error::NotFound { .. })), "the other template did not ask for it: {other:?}");
}

#[tokio::test]
async fn its_values_are_screened_like_any_other() {
    let house = Plan::of("greedy").open().await;
    for uri in [
        "greedy:///a/../b",
        "greedy:///a/%2e%2e/b",
        "greedy:///a/b%2Fc",
        "greedy:////etc/passwd",
        "greedy:///a/b%00",
        "greedy:///C:/a",
    ] {
        let refused = house.read(uri).await;
        assert!(matches!(refused, Err(Error::Refused { .. })), "{uri}: {refused:?}");
        assert!(
            !house.gateway.is_readable(&someone(), uri).await,
            "what cannot be read cannot be watched: {uri}"
        );
    }
    let raw = Plan::of("greedy").terms("greedy", |grant, _| grant.raw_values = true).open().await;
    assert_eq!(raw.text("greedy:///a/%2e%2e/b").await, "greedy:///{path}: a/../b");
}

#[tokio::test]
async fn it_is_listed_and_completed_as_it_is_written() {
    let wire = Wire::of("greedy").await;
    let listed = wire.modern("resources/templates/list", json!({})).await.json();
    assert_eq!(listed["result"]["resourceTemplates"][0]["uriTemplate"], "greedy:///{path}");
    let ask = CompletionRequest {
        template: "greedy:///{path}".into(),
        variable: "path".into(),
        prefix: "docs/".into(),
        filled: vec![],
    };
    let values = wire.house.gateway.complete(&someone(), ask).await.unwrap().values;
    assert_eq!(values, ["docs/a.md", "docs/b.md"]);
    for value in values {
        let answer = wire.read(&format!("greedy:///{value}")).await;
        assert!(answer.body.contains(&format!("{{path}}: {value}")), "{}", answer.body);
    }
}

#[tokio::test]
async fn it_can_be_watched() {
    let house = Plan::of("greedy").open().await;
    let uri = "greedy:///clock/a/b";
    assert!(house.gateway.is_readable(&someone(), uri).await);
    let watch = house.gateway.watch(someone().caller.as_ref().unwrap());
    assert!(watch.add(Uri::parse(uri).unwrap()));
    let read_interval = Some(Duration::from_millis(20));
    house.look_out(Config { version_interval: Duration::from_secs(3_600), read_interval });
    let told =
        tokio::time::timeout(Duration::from_secs(60), watch.next()).await.expect("not within a minute");
    assert_eq!(told, [Change::Updated(Uri::parse(uri).unwrap())]);
}
