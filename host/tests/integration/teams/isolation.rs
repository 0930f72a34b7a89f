//! What one team has, another can neither see nor ask for nor guess, also where everything has the same name.

use std::net::Ipv4Addr;
use std::time::Duration;

use larder_core::catalog::Change;
use larder_core::gateway::{Error, Filter};
use larder_core::telemetry::Telemetry;
use larder_mcp::auth::Authenticator;
use larder_mcp::{self as endpoint, Endpoint};
use larder_model::resource::{CompletionRequest, Scope};
use larder_model::uri::Uri;
use serde_json::{Value, json};

use super::{Two, by, caller, text};
use crate::house::Plan;
use crate::process::http_client;
use crate::wire::{self, ACCEPT, JSON, MODERN};

/// A long time, and one call a name.
const KEPT: &str = "fresh://everyone/3600000/0/a";

fn coloured(team: &str, plan: Plan) -> Plan {
    plan.setting("wiki", "colour", team)
}

#[tokio::test]
async fn the_same_names_are_another_providers_in_each_team() {
    let two = Two::of("wiki@echo", 100, coloured).await;
    for team in ["alpha", "beta"] {
        assert_eq!(two.text(team, "echo://setting/colour").await, team);
        let said = two.text(team, "echo://hello").await;
        assert!(said.contains(&format!("caller: ann of {team} with")), "{said}");
    }
    // A provider hears of its own team, and not which others its caller has.
    let said = two.text("alpha beta", "echo://hello").await;
    assert!(said.contains("caller: ann of alpha with") && !said.contains("beta"), "{said}");
}

#[tokio::test]
async fn what_another_team_has_is_as_if_it_were_not() {
    let two = Two::of("", 100, |team, plan| match team {
        "alpha" => plan.file("x.wasm", &std::fs::read(crate::house::component("echo")).unwrap()),
        _ => plan,
    })
    .await;
    assert_eq!(two.uris("alpha").await.len(), 4);
    assert!(two.uris("beta").await.is_empty() && two.uris("gamma").await.is_empty());
    // Listed, matched, claimed, and nowhere: nobody can tell them apart.
    for uri in ["echo://hello", "echo://say/x", "echo-claim:mine/x", "nowhere:x"] {
        assert_eq!(two.text("beta", uri).await, format!("error: no resource at `{uri}`"));
        assert!(!two.gateway.is_readable(&by("beta"), uri).await, "{uri}");
    }
    let ask = |template: &str| CompletionRequest {
        template: template.into(),
        variable: "word".into(),
        prefix: String::new(),
        filled: vec![],
    };
    for template in ["echo://say/{word}", "nowhere:{word}"] {
        let told = two.gateway.complete(&by("beta"), ask(template)).await;
        assert!(matches!(told, Err(Error::UnknownTemplate { .. })), "{told:?}");
    }
    assert!(two.gateway.complete(&by("alpha"), ask("echo://say/{word}")).await.is_ok());
    assert!(two.gateway.instructions(&caller("alpha")).instructions.is_some());
    assert_eq!(two.gateway.instructions(&caller("beta")).instructions, None);
}

#[tokio::test]
async fn a_cursor_of_one_team_is_none_of_the_others() {
    let two = Two::of("wiki@echo many", 3, |_, plan| plan).await;
    for list in [false, true] {
        let next = async |teams: &str, cursor: Option<&str>| match list {
            true => two.gateway.list(&by(teams), cursor, &Filter::default()).await.map(|page| page.next),
            false => {
                two.gateway.templates(&by(teams), cursor, &Filter::default()).await.map(|page| page.next)
            }
        };
        let alphas = next("alpha", None).await.unwrap().unwrap();
        assert!(next("alpha", Some(&alphas)).await.is_ok());
        assert!(next("alpha beta", Some(&alphas)).await.is_ok(), "it is in his view as well");
        let stolen = next("beta", Some(&alphas)).await.unwrap_err();
        let garbage = next("beta", Some("garbage")).await.unwrap_err();
        assert_eq!((&stolen, &stolen), (&garbage, &Error::BadCursor));
    }
}

#[tokio::test]
async fn each_cache_that_one_team_warmed_is_cold_for_the_other() {
    let two = Two::of("fresh", 100, |_, plan| plan).await;
    for uri in [KEPT, "fresh-claim:everyone/3600000/0/a", "fresh://caller/3600000/0/a"] {
        let alphas = two.text("alpha", uri).await;
        assert_eq!(two.text("alpha", uri).await, alphas, "it is kept");
        let betas = two.text("beta", uri).await;
        assert_ne!(betas, alphas, "{uri}");
        assert_eq!((two.text("alpha", uri).await, two.text("beta", uri).await), (alphas, betas));
    }
    // Nor do they share a call that is under way.
    let slow = "fresh://everyone/3600000/200/slow";
    let (one, same, other) =
        tokio::join!(two.text("alpha", slow), two.text("alpha", slow), two.text("beta", slow));
    assert_eq!(one, same);
    assert_ne!(one, other);
}

#[tokio::test]
async fn an_update_in_one_team_voids_and_tells_nothing_in_the_other() {
    let mut two = Two::of("wiki@echo fresh", 100, |_, plan| plan).await;
    let touched = "fresh://everyone/0/0/touch/fresh://everyone/3600000/0/a";
    let (alphas, betas) = (two.text("alpha", KEPT).await, two.text("beta", KEPT).await);
    let watch = |teams: &str| {
        let watch = two.gateway.watch(&caller(teams));
        assert!(watch.add(Uri::parse(KEPT).unwrap()));
        watch.watch_list(true);
        watch
    };
    let (alpha, beta, both) = (watch("alpha"), watch("beta"), watch("alpha beta"));
    two.alpha.run();
    two.beta.run();
    two.text("alpha", touched).await;
    let updated = [Change::Updated(Uri::parse(KEPT).unwrap())];
    for told in [&alpha, &both] {
        assert_eq!(tokio::time::timeout(Duration::from_secs(60), told.next()).await.unwrap(), updated);
    }
    assert_ne!(two.text("alpha", KEPT).await, alphas, "what was kept is void");
    assert_eq!(two.text("beta", KEPT).await, betas);
    // A list that differs is told in its own team, too.
    std::fs::copy(crate::house::component("full"), two.alpha.plugins.join("full.wasm")).unwrap();
    for told in [&alpha, &both] {
        assert_eq!(tokio::time::timeout(Duration::from_secs(60), told.next()).await.unwrap(), [Change::List]);
    }
    // All of alpha's news has come; there is none for beta.
    let quiet = tokio::time::timeout(Duration::from_millis(50), beta.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
}

#[tokio::test]
async fn no_answer_is_for_whoever_may_ask() {
    let two = Two::of("wiki@echo fresh", 100, |_, plan| plan).await;
    let reading = two.gateway.read(&by("alpha"), KEPT, None).await.unwrap();
    assert_eq!(reading.freshness.scope, Scope::Caller);
    assert!(!reading.freshness.ttl.is_zero(), "{}", text(&reading));
    // On the wire, of whatever can be kept by those in between.
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = endpoint::Config { listen: address, caller: caller("alpha"), ..wire::config() };
    let authenticator =
        Authenticator::new(config.auth.clone(), config.caller.clone(), two.alpha.drain.clone());
    let endpoint = Endpoint::new(
        config,
        authenticator,
        two.gateway.clone(),
        two.alpha.drain.clone(),
        (two.alpha.metrics.clone(), Telemetry::default()),
    );
    two.alpha.drain.spawn(async move { endpoint.serve_http(listener).await });
    let client = http_client();
    for (method, mut params) in [
        ("server/discover", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({ "uri": KEPT })),
    ] {
        params["_meta"] = wire::meta();
        let mut request = client.post(format!("http://{address}/mcp"));
        for (name, value) in [JSON, ACCEPT, MODERN, ("mcp-method", method)] {
            request = request.header(name, value);
        }
        if method == "resources/read" {
            request = request.header("mcp-name", KEPT);
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let answer = request.body(body).send().await.unwrap().text().await.unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["result"]["cacheScope"], "private", "{method}: {answer}");
    }
}
