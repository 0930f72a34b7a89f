//! A template whose last variable matches across slashes. Its provider enabled this.

use std::time::Duration;

use larder_core::catalog::Change;
use larder_core::change_detector::Config;
use larder_core::gateway::Error;
use larder_model::resource::CompletionRequest;
use larder_model::uri::Uri;
use serde_json::json;

use crate::support::harness::{TestServer, anonymous_call};
use crate::support::http_server::HttpTestServer;

#[tokio::test]
async fn a_variable_matches_across_slashes() {
    let server = TestServer::builder("across_slashes").start().await;
    assert_eq!(
        server.text("across-slashes:///a").await,
        "across-slashes:///{path}: a",
        "as in RFC 6570"
    );
    assert_eq!(
        server.text("across-slashes:///a/b%20c/d").await,
        "across-slashes:///{path}: a/b c/d"
    );
    assert_eq!(
        server.text("across-slashes://wiki/a").await,
        "across-slashes://wiki/{page}: a"
    );
    let other = server.read("across-slashes://wiki/a/b").await;
    assert!(
        matches!(other, Err(Error::NotFound { .. })),
        "the other template does not match across slashes: {other:?}"
    );
}

#[tokio::test]
async fn its_values_are_checked_like_any_other() {
    let server = TestServer::builder("across_slashes").start().await;
    for uri in [
        "across-slashes:///a/../b",
        "across-slashes:///a/%2e%2e/b",
        "across-slashes:///a/b%2Fc",
        "across-slashes:////etc/passwd",
        "across-slashes:///a/b%00",
        "across-slashes:///C:/a",
    ] {
        let refused = server.read(uri).await;
        assert!(
            matches!(refused, Err(Error::Refused { .. })),
            "{uri}: {refused:?}"
        );
        assert!(
            !server
                .gateway
                .is_readable(&anonymous_call(), &Uri::parse(uri).unwrap())
                .await,
            "a URI that cannot be read must not be watchable: {uri}"
        );
    }
    let raw = TestServer::builder("across_slashes")
        .provider("across_slashes", |grant, _| grant.raw_values = true)
        .start()
        .await;
    assert_eq!(
        raw.text("across-slashes:///a/%2e%2e/b").await,
        "across-slashes:///{path}: a/../b"
    );
}

#[tokio::test]
async fn it_is_listed_and_completed_in_its_original_form() {
    let http = HttpTestServer::start("across_slashes").await;
    let listed = http
        .modern("resources/templates/list", json!({}))
        .await
        .json();
    assert_eq!(
        listed["result"]["resourceTemplates"][0]["uriTemplate"],
        "across-slashes:///{path}"
    );
    let request = CompletionRequest {
        template: "across-slashes:///{path}".into(),
        variable: "path".into(),
        prefix: "docs/".into(),
        filled: vec![],
    };
    let values = http
        .server
        .gateway
        .complete(&anonymous_call(), request)
        .await
        .unwrap()
        .values;
    assert_eq!(values, ["docs/a.md", "docs/b.md"]);
    for value in values {
        let answer = http.read(&format!("across-slashes:///{value}")).await;
        assert!(
            answer.body.contains(&format!("{{path}}: {value}")),
            "{}",
            answer.body
        );
    }
}

#[tokio::test]
async fn it_can_be_watched() {
    let server = TestServer::builder("across_slashes").start().await;
    let uri = Uri::parse("across-slashes:///clock/a/b").unwrap();
    assert!(server.gateway.is_readable(&anonymous_call(), &uri).await);
    let watch = server
        .gateway
        .watch(anonymous_call().caller.as_ref().unwrap());
    assert!(watch.add(uri.clone()));
    let read_interval = Some(Duration::from_millis(20));
    server.start_change_detector(Config {
        version_interval: Duration::from_secs(3_600),
        read_interval,
    });
    let changes = tokio::time::timeout(Duration::from_secs(60), watch.next())
        .await
        .expect("not within a minute");
    assert_eq!(changes, [Change::Updated(uri)]);
}
