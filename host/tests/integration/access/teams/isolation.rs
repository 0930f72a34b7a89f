//! A team can neither see, read nor guess the resources of another team, also if all names are the same.

use std::net::Ipv4Addr;
use std::time::Duration;

use larder_core::catalog::Change;
use larder_core::gateway::{Error, Filter};
use larder_mcp::auth::Authenticator;
use larder_mcp::{self as endpoint, Endpoint, EndpointParts};
use larder_model::resource::{CompletionRequest, Scope};
use larder_model::uri::Uri;
use serde_json::{Value, json};

use super::{TwoTeams, call_by, caller, text};
use crate::support::harness::{TestServerBuilder, parse_uri};
use crate::support::http_server::{self, ACCEPT, JSON, MODERN};
use crate::support::process::http_client;

/// A resource whose responses may be cached for an hour. Each call of its provider returns another text.
const CACHEABLE: &str = "fresh://everyone/3600000/0/a";

fn with_colour(team: &str, builder: TestServerBuilder) -> TestServerBuilder {
    builder.setting("wiki", "colour", team)
}

#[tokio::test]
async fn each_team_has_its_own_provider_under_the_same_name() {
    let two = TwoTeams::start("wiki@echo", 100, with_colour).await;
    for team in ["alpha", "beta"] {
        assert_eq!(two.text(team, "echo://setting/colour").await, team);
        let response = two.text(team, "echo://hello").await;
        assert!(
            response.contains(&format!("caller: ann of {team} with")),
            "{response}"
        );
    }
    // A provider gets its own team, but not the other teams of its caller.
    let response = two.text("alpha beta", "echo://hello").await;
    assert!(
        response.contains("caller: ann of alpha with") && !response.contains("beta"),
        "{response}"
    );
}

#[tokio::test]
async fn resources_of_another_team_look_like_missing_ones() {
    let two = TwoTeams::start("", 100, |team, builder| match team {
        "alpha" => builder.file(
            "x.wasm",
            &std::fs::read(crate::support::harness::component_path("echo")).unwrap(),
        ),
        _ => builder,
    })
    .await;
    assert_eq!(two.uris("alpha").await.len(), 4);
    assert!(two.uris("beta").await.is_empty() && two.uris("gamma").await.is_empty());
    // These URIs look the same: a listed URI, a URI that matches a template, a claimed URI, and a URI that does not
    // exist.
    for uri in [
        "echo://hello",
        "echo://say/x",
        "echo-claim:mine/x",
        "nowhere:x",
    ] {
        assert_eq!(
            two.text("beta", uri).await,
            format!("error: no resource at `{uri}`")
        );
        assert!(
            !two.gateway
                .is_readable(&call_by("beta"), &parse_uri(uri))
                .await,
            "{uri}"
        );
    }
    let request = |template: &str| CompletionRequest {
        template: template.into(),
        variable: "word".into(),
        prefix: String::new(),
        filled: vec![],
    };
    for template in ["echo://say/{word}", "nowhere:{word}"] {
        let result = two
            .gateway
            .complete(&call_by("beta"), request(template))
            .await;
        assert!(
            matches!(result, Err(Error::UnknownTemplate { .. })),
            "{result:?}"
        );
    }
    assert!(
        two.gateway
            .complete(&call_by("alpha"), request("echo://say/{word}"))
            .await
            .is_ok()
    );
    assert!(
        two.gateway
            .instructions(&caller("alpha"))
            .instructions
            .is_some()
    );
    assert_eq!(two.gateway.instructions(&caller("beta")).instructions, None);
}

#[tokio::test]
async fn rejects_a_cursor_of_another_team() {
    let two = TwoTeams::start("wiki@echo many", 3, |_, builder| builder).await;
    for list in [false, true] {
        let next = async |teams: &str, cursor: Option<&str>| {
            let call = call_by(teams);
            let filter = Filter::default();
            if list {
                let page = two.gateway.list(&call, cursor, &filter).await;
                page.map(|page| page.next)
            } else {
                let page = two.gateway.templates(&call, cursor, &filter).await;
                page.map(|page| page.next)
            }
        };
        let alpha_cursor = next("alpha", None).await.unwrap().unwrap();
        assert!(next("alpha", Some(&alpha_cursor)).await.is_ok());
        assert!(
            next("alpha beta", Some(&alpha_cursor)).await.is_ok(),
            "it is valid in the view of both teams"
        );
        let foreign = next("beta", Some(&alpha_cursor)).await.unwrap_err();
        let garbage = next("beta", Some("garbage")).await.unwrap_err();
        assert_eq!((&foreign, &foreign), (&garbage, &Error::BadCursor));
    }
}

#[tokio::test]
async fn teams_share_no_cached_responses() {
    let two = TwoTeams::start("fresh", 100, |_, builder| builder).await;
    for uri in [
        CACHEABLE,
        "fresh-claim:everyone/3600000/0/a",
        "fresh://caller/3600000/0/a",
    ] {
        let alpha_value = two.text("alpha", uri).await;
        assert_eq!(
            two.text("alpha", uri).await,
            alpha_value,
            "the response is cached"
        );
        let beta_value = two.text("beta", uri).await;
        assert_ne!(beta_value, alpha_value, "{uri}");
        assert_eq!(
            (two.text("alpha", uri).await, two.text("beta", uri).await),
            (alpha_value, beta_value)
        );
    }
    // Teams do not share a call in flight either.
    let slow = "fresh://everyone/3600000/200/slow";
    let (one, same, other) = tokio::join!(
        two.text("alpha", slow),
        two.text("alpha", slow),
        two.text("beta", slow)
    );
    assert_eq!(one, same);
    assert_ne!(one, other);
}

#[tokio::test]
async fn an_update_in_one_team_does_not_affect_another() {
    let mut two = TwoTeams::start("wiki@echo fresh", 100, |_, builder| builder).await;
    let touched = "fresh://everyone/0/0/touch/fresh://everyone/3600000/0/a";
    let (alpha_value, beta_value) = (
        two.text("alpha", CACHEABLE).await,
        two.text("beta", CACHEABLE).await,
    );
    let watch = |teams: &str| {
        let watch = two.gateway.watch(&caller(teams));
        assert!(watch.add(Uri::parse(CACHEABLE).unwrap()));
        watch.watch_list(true);
        watch
    };
    let (alpha, beta, both) = (watch("alpha"), watch("beta"), watch("alpha beta"));
    two.alpha.run_reconciler();
    two.beta.run_reconciler();
    two.text("alpha", touched).await;
    let updated = [Change::Updated(Uri::parse(CACHEABLE).unwrap())];
    for watch in [&alpha, &both] {
        assert_eq!(
            tokio::time::timeout(Duration::from_secs(60), watch.next())
                .await
                .unwrap(),
            updated
        );
    }
    assert_ne!(
        two.text("alpha", CACHEABLE).await,
        alpha_value,
        "the cached response is invalid"
    );
    assert_eq!(two.text("beta", CACHEABLE).await, beta_value);
    // A list change is sent only in its own team.
    std::fs::copy(
        crate::support::harness::component_path("full"),
        two.alpha.plugins.join("full.wasm"),
    )
    .unwrap();
    for watch in [&alpha, &both] {
        assert_eq!(
            tokio::time::timeout(Duration::from_secs(60), watch.next())
                .await
                .unwrap(),
            [Change::List]
        );
    }
    // All changes of alpha have arrived. There are no changes for beta.
    let quiet = tokio::time::timeout(Duration::from_millis(50), beta.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
}

#[tokio::test]
async fn no_response_may_be_cached_publicly() {
    let two = TwoTeams::start("wiki@echo fresh", 100, |_, builder| builder).await;
    let reading = two
        .gateway
        .read(&call_by("alpha"), &parse_uri(CACHEABLE), None)
        .await
        .unwrap();
    assert_eq!(reading.freshness.scope, Scope::Caller);
    assert!(!reading.freshness.ttl.is_zero(), "{}", text(&reading));
    // The same holds over HTTP for each response that proxies could cache.
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .unwrap();
    let address = listener.local_addr().unwrap();
    let config = endpoint::Config {
        listen: address.into(),
        caller: caller("alpha"),
        ..http_server::config()
    };
    let authenticator = Authenticator::new(
        config.auth.clone(),
        config.caller.clone(),
        two.alpha.drain.clone(),
    );
    let endpoint = Endpoint::new(
        config,
        EndpointParts::new(
            authenticator,
            two.gateway.clone(),
            two.alpha.drain.clone(),
            two.alpha.metrics.clone(),
        ),
    );
    two.alpha
        .drain
        .spawn(async move { endpoint.serve_http(listener).await });
    let client = http_client();
    for (method, mut params) in [
        ("server/discover", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": CACHEABLE })),
    ] {
        params["_meta"] = http_server::meta();
        let mut request = client.post(format!("http://{address}/mcp"));
        for (name, value) in [JSON, ACCEPT, MODERN, ("mcp-method", method)] {
            request = request.header(name, value);
        }
        if method == "resources/read" {
            request = request.header("mcp-name", CACHEABLE);
        }
        let body =
            json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let answer = request
            .body(body)
            .send()
            .await
            .unwrap()
            .text()
            .await
            .unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(
            answer["result"]["cacheScope"], "private",
            "{method}: {answer}"
        );
    }
}
