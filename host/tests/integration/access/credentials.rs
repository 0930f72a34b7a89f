//! The host adds credentials to HTTP requests of guests. The secret never enters a guest: it is sent only to its hosts,
//! and responses that contain it are refused.

mod authorization_server;
mod aws;
mod client_certificate;
mod client_credentials;
mod commands;
mod server;

use base64_simd::STANDARD;
use larder_model::policy::{
    CredentialPlacement, HostAuth, HostRule, Secret, SecretHosts, TeamCredentials,
};
use larder_runtime::metrics::CredentialOutcome;

use self::server::EchoServer;
use crate::support::harness::{TestServer, TestServerBuilder, call_of, parse_uri};

const SECRET: &str = "hush/hush+hush?hush";
const INTERFACES: [&str; 2] = ["http-client", "wasi-http"];

/// A URI of the guest, which sends a request and then searches for the secret.
fn uri(interface: &str, url: &str) -> String {
    let reversed: String = SECRET.chars().rev().collect();
    format!(
        "credentials://{interface}?url={}&reversed={}",
        encoded(url),
        encoded(&reversed)
    )
}

fn encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(encode).collect()
}

fn rule(upstream: &EchoServer, placement: Option<CredentialPlacement>) -> HostRule {
    HostRule {
        scheme: Some("http".into()),
        host: "127.0.0.1".into(),
        port: Some(upstream.port),
        methods: None,
        private: true,
        auth: placement.map(|placement| HostAuth {
            secret: "token".into(),
            placement,
            certificate: None,
            plain_http: true,
        }),
    }
}

fn with_rules(rules: Vec<HostRule>) -> TestServerBuilder {
    TestServer::builder("credentials")
        .credential("token", SECRET, rules.clone())
        .provider("credentials", |grant, _| {
            grant.hosts = rules;
            grant.limits.http_body = 10_000;
        })
}

async fn with_placement(upstream: &EchoServer, placement: CredentialPlacement) -> TestServer {
    with_rules(vec![rule(upstream, Some(placement))])
        .start()
        .await
}

fn placements() -> [(CredentialPlacement, String); 4] {
    let basic = STANDARD.encode_to_string(format!("me:{SECRET}"));
    let name = || "x-api-key".to_owned();
    [
        (
            CredentialPlacement::Bearer,
            format!("authorization: Bearer {SECRET}"),
        ),
        (
            CredentialPlacement::Basic { user: "me".into() },
            format!("authorization: Basic {basic}"),
        ),
        (
            CredentialPlacement::Header { name: name() },
            format!("x-api-key: {SECRET}"),
        ),
        (
            CredentialPlacement::Query { name: name() },
            "?a=b&x-api-key=hush%2Fhush%2Bhush%3Fhush ".to_owned(),
        ),
    ]
}

fn count(server: &TestServer, outcome: CredentialOutcome) -> u64 {
    let catalog = server.reader.snapshot();
    let provider = &catalog.offers()[0].provider;
    provider.metrics().credentials(outcome)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_credential_arrives_and_the_guest_does_not_find_it() {
    let upstream = EchoServer::start();
    for (placement, sent) in placements() {
        let server = with_placement(&upstream, placement).await;
        for interface in INTERFACES {
            let text = server.text(&uri(interface, &upstream.url("ok?a=b"))).await;
            assert!(text.starts_with("200 ") && text.contains("hello"), "{text}");
            assert!(text.ends_with("not found"), "{interface}: {text}");
            let requests = upstream.take_requests();
            assert_eq!(requests.len(), 1, "{requests:?}");
            assert!(requests[0].contains(&sent), "{interface}: {requests:?}");
        }
        assert_eq!(count(&server, CredentialOutcome::Ok), 2);
    }
}

/// The search of the guest finds a secret that it receives.
#[tokio::test]
async fn the_guest_finds_a_secret_in_its_settings() {
    let server = TestServer::builder("credentials")
        .setting("credentials", "token", SECRET)
        .start()
        .await;
    let uri = uri("setting", "").replace("url=", "name=token");
    let text = server.text(&uri).await;
    assert_eq!(text, format!("Some({SECRET:?})\nfound"));
    let upstream = EchoServer::start();
    let server = with_placement(&upstream, CredentialPlacement::Bearer).await;
    assert_eq!(server.text(&uri).await, "None\nnot found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_that_contains_the_secret_is_refused() {
    let upstream = EchoServer::start();
    for (placement, _) in placements() {
        let server = with_placement(&upstream, placement.clone()).await;
        for interface in INTERFACES {
            for path in ["echo?a=b", "pieces?a=b"] {
                let text = server.text(&uri(interface, &upstream.url(path))).await;
                let what = format!("{placement:?} {interface} {path}: {text}");
                assert!(text.ends_with("not found"), "{what}");
                assert!(!text.contains("hush") && !text.contains("aHVz"), "{what}");
                let is_refused = match interface {
                    "http-client" => text.contains("Denied") && text.contains("`token`"),
                    _ => text.contains("failed") || text.contains("HttpRequestDenied"),
                };
                assert!(is_refused, "{what}");
            }
        }
        assert_eq!(count(&server, CredentialOutcome::Echoed), 4);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_secret_is_removed_from_headers() {
    let upstream = EchoServer::start();
    for (placement, _) in placements() {
        let server = with_placement(&upstream, placement.clone()).await;
        for interface in INTERFACES {
            let text = server.text(&uri(interface, &upstream.url("headers"))).await;
            let what = format!("{placement:?} {interface}: {text}");
            assert!(
                text.starts_with("200 ") && text.contains("[secret]"),
                "{what}"
            );
            assert!(
                !text.contains("hush") && text.ends_with("not found"),
                "{what}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_sets_the_credential_itself_is_refused() {
    let upstream = EchoServer::start();
    let bearer = with_placement(&upstream, CredentialPlacement::Bearer).await;
    let name = "key".to_owned();
    let query = with_placement(&upstream, CredentialPlacement::Query { name }).await;
    let own_header = uri("http-client", &upstream.url("ok")) + "&header=Authorization%3A%20own";
    let text = bearer.text(&own_header).await;
    assert!(
        text.contains("the host adds the header `authorization` to this request: remove it"),
        "{text}"
    );
    let wasi = own_header.replace("http-client", "wasi-http");
    let text = bearer.text(&wasi).await;
    assert!(text.contains("HttpRequestDenied"), "{text}");
    for interface in INTERFACES {
        let text = query
            .text(&uri(interface, &upstream.url("ok?key=own")))
            .await;
        assert!(text.contains("Denied"), "{interface}: {text}");
    }
    assert!(upstream.take_requests().is_empty());
    assert_eq!(count(&bearer, CredentialOutcome::Denied), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_hosts_and_redirects_get_no_credential() {
    let upstream = EchoServer::start();
    let other = EchoServer::start();
    let rules = vec![
        rule(&upstream, Some(CredentialPlacement::Bearer)),
        rule(&other, None),
    ];
    let server = with_rules(rules).start().await;
    for interface in INTERFACES {
        let text = server.text(&uri(interface, &other.url("ok"))).await;
        assert!(text.starts_with("200 "), "{text}");
        assert!(!other.take_requests()[0].contains("authorization"));
        // The guest gets the redirect. It is not followed.
        let text = server
            .text(&uri(interface, &upstream.url("redirect")))
            .await;
        assert!(text.starts_with("302 "), "{text}");
        assert_eq!(upstream.take_requests().len(), 1);
        let text = server
            .text(&uri(interface, &upstream.url("unauthorized")))
            .await;
        assert!(text.starts_with("401 "), "{text}");
        assert_eq!(upstream.take_requests().len(), 1);
    }
    assert_eq!(count(&server, CredentialOutcome::Ok), 2);
    assert_eq!(count(&server, CredentialOutcome::Rejected), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_value_or_none_takes_effect_on_the_next_request() {
    let upstream = EchoServer::start();
    let server = with_placement(&upstream, CredentialPlacement::Bearer).await;
    let team = server.reader.team().clone();
    let uri = uri("http-client", &upstream.url("ok"));
    let set = |credentials: TeamCredentials| {
        server.credentials.set([(team.clone(), credentials)].into());
    };
    assert!(server.text(&uri).await.starts_with("200 "));
    let mut rotated = server.credentials.get(&team, "token").unwrap();
    rotated.secret = Secret::new("another-secret");
    set([("token".to_owned(), rotated.clone())].into());
    assert!(server.text(&uri).await.starts_with("200 "));
    let requests = upstream.take_requests();
    assert!(requests[0].contains(SECRET) && requests[1].contains("Bearer another-secret"));
    rotated.hosts = SecretHosts::default();
    set([("token".to_owned(), rotated)].into());
    let text = server.text(&uri).await;
    assert!(
        text.contains("may not be sent to http://127.0.0.1"),
        "{text}"
    );
    set(TeamCredentials::new());
    let text = server.text(&uri).await;
    assert!(
        text.contains("the secret `token` is not available"),
        "{text}"
    );
    assert!(upstream.take_requests().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_cannot_use_the_secret_of_another_team() {
    let upstream = EchoServer::start();
    let own = with_placement(&upstream, CredentialPlacement::Bearer).await;
    // The grant names the secret, but only the other team has it.
    let other = with_rules(vec![rule(&upstream, Some(CredentialPlacement::Bearer))])
        .team("other")
        .start()
        .await;
    let team = own.reader.team().clone();
    let token = own.credentials.get(&team, "token").unwrap();
    let only_own = [(team, [("token".to_owned(), token)].into())];
    other.credentials.set(only_own.into());
    let uri = uri("http-client", &upstream.url("ok"));
    assert!(own.text(&uri).await.starts_with("200 "));
    let call = call_of(other.reader.team().clone().into());
    let read = other.gateway.read(&call, &parse_uri(&uri), None).await;
    let text = format!("{:?}", read.unwrap().contents[0].body);
    assert!(
        text.contains("the secret `token` is not available"),
        "{text}"
    );
    assert_eq!(upstream.take_requests().len(), 1);
}
