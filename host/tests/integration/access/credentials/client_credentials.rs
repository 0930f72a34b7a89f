//! The host gets an access token with the secret of a client, and adds the token to requests of guests. Guests find
//! neither of them. Authorization servers that misbehave cause clear errors.

use std::time::Duration;

use larder_model::policy::{
    ClientAuthentication, CredentialPlacement, HostAuth, HostRule, OauthClient, Secret, TokenServer,
};
use larder_runtime::metrics::CredentialOutcome;
use serde_json::json;

use super::authorization_server::{Answer, AuthorizationServer, METADATA, OPENID_METADATA, TOKEN};
use super::server::EchoServer;
use super::{INTERFACES, SECRET, count, encoded, rule, uri};
use crate::support::harness::TestServer;

const ACCESS_TOKEN: &str = "access/token+access?token";

struct Fixture {
    upstream: EchoServer,
    issuer: AuthorizationServer,
    server: TestServer,
}

fn client(server: TokenServer) -> OauthClient {
    OauthClient {
        server,
        client_id: "larder".into(),
        authentication: ClientAuthentication::Secret,
        scopes: vec!["read".into(), "list".into()],
        audience: None,
        resource: Some("https://api.example".into()),
    }
}

/// A rule for the host of an origin, for the hosts of a secret.
fn host_of(origin: &str) -> HostRule {
    let (_, port) = origin.rsplit_once(':').unwrap();
    HostRule {
        scheme: Some("http".into()),
        port: Some(port.parse().unwrap()),
        ..HostRule::of_host("127.0.0.1")
    }
}

async fn start_with(
    issuer: AuthorizationServer,
    secret: &str,
    change: impl FnOnce(&mut OauthClient),
) -> Fixture {
    let upstream = EchoServer::start();
    let mut client = client(TokenServer::Issuer(issuer.origin.clone()));
    change(&mut client);
    let rule = HostRule {
        auth: Some(HostAuth {
            secret: "token".into(),
            placement: CredentialPlacement::ClientCredentials(client),
            certificate: None,
            plain_http: true,
        }),
        ..rule(&upstream, None)
    };
    let hosts = vec![rule.clone(), host_of(&issuer.origin)];
    let server = TestServer::builder("credentials")
        .credential("token", secret, hosts)
        .provider("credentials", |grant, _| grant.hosts = vec![rule])
        .start()
        .await;
    Fixture {
        upstream,
        issuer,
        server,
    }
}

async fn start() -> Fixture {
    let issuer = AuthorizationServer::start(ACCESS_TOKEN).await;
    start_with(issuer, SECRET, |_| {}).await
}

impl Fixture {
    async fn get(&self, interface: &str, path: &str) -> String {
        self.server
            .text(&uri(interface, &self.upstream.url(path)))
            .await
    }

    /// Sends a request that fails, and returns the error that the guest gets.
    async fn fail(&self) -> String {
        let text = self.get("http-client", "ok").await;
        assert!(self.upstream.take_requests().is_empty(), "{text}");
        assert!(text.starts_with("Failure::Unreachable("), "{text}");
        assert!(!text.contains("hush"), "{text}");
        text
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_arrives_and_the_guest_finds_neither_it_nor_the_secret() {
    let test = start().await;
    let reversed: String = ACCESS_TOKEN.chars().rev().collect();
    for interface in INTERFACES {
        let uri = uri(interface, &test.upstream.url("ok"));
        let (uri_without, _) = uri.split_once("&reversed=").unwrap();
        for uri in [
            &uri,
            &format!("{uri_without}&reversed={}", encoded(&reversed)),
        ] {
            let text = test.server.text(uri).await;
            assert!(
                text.starts_with("200 ") && text.ends_with("not found"),
                "{text}"
            );
            let request = test.upstream.take_requests().pop().unwrap();
            let bearer = format!("authorization: Bearer {ACCESS_TOKEN}");
            assert!(request.contains(&bearer), "{request}");
        }
        let text = test.get(interface, "headers").await;
        assert!(
            text.contains("[secret]") && !text.contains("access/token"),
            "{text}"
        );
        let text = test.get(interface, "echo").await;
        assert!(!text.contains("access/token"), "{text}");
    }
    assert_eq!(count(&test.server, CredentialOutcome::Echoed), 2);
    assert_eq!(count(&test.server, CredentialOutcome::Renewed), 1);
    let basic = base64_simd::STANDARD.encode_to_string("larder:hush%2Fhush%2Bhush%3Fhush");
    assert_eq!(
        test.issuer.take_requests(),
        [
            format!("GET {METADATA}  "),
            format!(
                "POST {TOKEN} Basic {basic} grant_type=client_credentials&scope=read+list&resource=https%3A%2F%2Fapi.example"
            ),
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rotated_secret_needs_a_new_token_and_a_removed_one_gets_none() {
    let test = start().await;
    test.get("http-client", "ok").await;
    test.issuer.take_requests();
    let team = test.server.reader.team().clone();
    let mut credential = test.server.credentials.get(&team, "token").unwrap();
    credential.secret = Secret::new("another-secret");
    let set = |credentials| {
        test.server
            .credentials
            .set([(team.clone(), credentials)].into())
    };
    set([("token".to_owned(), credential)].into());
    test.issuer.set(TOKEN, Answer::token("second-token"));
    test.get("http-client", "ok").await;
    let requests = test.upstream.take_requests();
    assert!(requests[1].contains("Bearer second-token"), "{requests:?}");
    set(std::collections::BTreeMap::new());
    let text = test.get("http-client", "ok").await;
    assert!(
        text.contains("the secret `token` is not available"),
        "{text}"
    );
    assert!(test.upstream.take_requests().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_can_prove_its_identity_with_a_token_or_a_key() {
    let issuer = AuthorizationServer::start(ACCESS_TOKEN).await;
    let endpoint = format!("{}{TOKEN}", issuer.origin);
    let test = start_with(issuer, "token-of-another-system", |client| {
        client.authentication = ClientAuthentication::Assertion;
        client.server = TokenServer::Endpoint(endpoint);
    })
    .await;
    assert!(test.get("http-client", "ok").await.starts_with("200 "));
    let requests = test.issuer.take_requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    for part in [
        "POST /token  ",
        "client_id=larder",
        "client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer",
        "client_assertion=token-of-another-system",
    ] {
        assert!(requests[0].contains(part), "{part}: {requests:?}");
    }
    let key = rcgen::KeyPair::generate().unwrap().serialize_pem();
    let issuer = AuthorizationServer::start(ACCESS_TOKEN).await;
    let test = start_with(issuer, &key, |client| {
        client.authentication = ClientAuthentication::PrivateKey { key_id: None };
    })
    .await;
    assert!(test.get("http-client", "ok").await.starts_with("200 "));
    let request = test.issuer.take_requests().pop().unwrap();
    let (_, assertion) = request.split_once("client_assertion=").unwrap();
    assert_eq!(assertion.split('.').count(), 3, "{request}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_metadata_can_be_at_the_other_url() {
    let test = start().await;
    test.issuer.remove(METADATA);
    let endpoint = format!("{}{TOKEN}", test.issuer.origin);
    test.issuer
        .set_metadata(OPENID_METADATA, &test.issuer.origin, &endpoint);
    assert!(test.get("http-client", "ok").await.starts_with("200 "));
    assert_eq!(test.issuer.take_requests().len(), 3);
}

/// Checks the error for a token endpoint that answers like this.
async fn check_endpoint(answer: Answer, expected: &str) {
    let test = start().await;
    test.issuer.set(TOKEN, answer);
    let text = test.fail().await;
    assert!(text.contains(expected), "{expected}: {text}");
    assert!(text.contains(&test.issuer.origin), "{text}");
    assert_eq!(count(&test.server, CredentialOutcome::Renewed), 0);
    assert_eq!(count(&test.server, CredentialOutcome::Failed), 2);
    // A guest that tries again at once causes no other request.
    test.issuer.take_requests();
    test.fail().await;
    assert!(test.issuer.take_requests().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_refuses_the_client() {
    let answer = Answer::text(401, r#"{"error":"invalid_client"}"#);
    check_endpoint(answer, "it refuses the client (status 401").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_answers_garbage() {
    let answer = Answer::text(200, "<html>hello");
    check_endpoint(answer, "its response is not the JSON of a token").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_redirects() {
    let answer = Answer {
        location: Some("http://127.0.0.1:1/token"),
        ..Answer::text(307, "")
    };
    check_endpoint(answer, "redirects are not followed").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_slow() {
    let answer = Answer {
        delay: Duration::from_secs(60),
        ..Answer::token(ACCESS_TOKEN)
    };
    check_endpoint(answer, "it did not answer within 5 seconds").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_a_huge_response() {
    let answer = Answer::text(200, &"x".repeat(70_000));
    check_endpoint(answer, "the response is larger than 64 KiB").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_with_an_absurd_lifetime() {
    let token = json!({ "access_token": ACCESS_TOKEN, "token_type": "Bearer", "expires_in": -1 });
    check_endpoint(Answer::json(&token), "the lifetime of its token is").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metadata_that_cannot_be_used() {
    let huge = Answer::text(200, &"x".repeat(70_000));
    let other = json!({ "issuer": "https://other.example", "token_endpoint": "x" });
    for (answer, expected) in [
        (
            Answer::text(404, ""),
            "it has no metadata (status 404, 404)",
        ),
        (
            Answer::text(200, "[]"),
            "its metadata is not the JSON of a server",
        ),
        (huge, "the response is larger than 64 KiB"),
        (Answer::json(&other), "its metadata is about the issuer"),
    ] {
        let test = start().await;
        test.issuer.set(METADATA, answer);
        let text = test.fail().await;
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_discovered_endpoint_must_be_a_host_of_the_secret() {
    for endpoint in [
        "http://169.254.169.254/token",
        "http://localhost:1/token",
        "http://127.0.0.1:1/token",
    ] {
        let test = start().await;
        test.issuer
            .set_metadata(METADATA, &test.issuer.origin, endpoint);
        let text = test.get("http-client", "ok").await;
        assert!(text.starts_with("Failure::Denied("), "{text}");
        assert!(
            text.contains("the secret `token` may not be sent to"),
            "{text}"
        );
        assert!(test.upstream.take_requests().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_the_host_refuses_is_kept_for_a_while() {
    let test = start().await;
    for _ in 0..3 {
        let text = test.get("http-client", "unauthorized").await;
        assert!(text.starts_with("401 "), "{text}");
    }
    assert_eq!(count(&test.server, CredentialOutcome::Rejected), 3);
    assert_eq!(count(&test.server, CredentialOutcome::Renewed), 1);
}
