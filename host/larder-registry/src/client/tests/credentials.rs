//! Credentials are sent only to the registry and to the address where it issues tokens.

use larder_model::policy::Secret;

use super::server::{Behaviour, TestRegistry};
use super::*;
use crate::Credentials;

/// The beginning of the secrets of these tests.
pub(super) const HUSH: &str = "hush";

pub(super) fn password() -> Credentials {
    Credentials::Basic {
        username: "ann".into(),
        password: Secret::new("hush-hush"),
    }
}

pub(super) fn identity() -> Credentials {
    Credentials::Identity(Secret::new("hush-identity"))
}

pub(super) fn client_with(registry: &TestRegistry, credentials: Option<Credentials>) -> Client {
    let settings = Registry {
        credentials,
        ..plain()
    };
    Client::new(access(&[(registry.address(), settings)])).unwrap()
}

/// Pushes to `team/wiki:1`.
pub(super) async fn push(client: &Client, registry: &TestRegistry) -> Result<Digest, Error> {
    let Reference::Image(image) = reference(registry, "team/wiki:1") else {
        panic!()
    };
    let upload = Upload::new(client, &image, Arc::new(NoProgress));
    let component = Bytes::from(vec![7; 300_000]);
    upload
        .component(
            "wiki.wasm",
            component,
            &Interfaces::default(),
            &BTreeMap::new(),
        )
        .await
}

/// Pulls and pushes with each kind of credentials. Returns the errors.
async fn errors_of_both(registry: &TestRegistry) -> Vec<String> {
    let mut errors = Vec::new();
    for credentials in [password(), identity()] {
        let client = client_with(registry, Some(credentials));
        errors.push(error(&client, registry).await.to_string());
        errors.push(push(&client, registry).await.unwrap_err().to_string());
    }
    errors
}

#[tokio::test]
async fn answers_challenges_without_showing_credentials() {
    let basic = password();
    for (scheme, credentials) in [
        ("basic", basic.clone()),
        ("bearer", basic),
        ("bearer", identity()),
        ("token", Credentials::Bearer(Secret::new("hush-token"))),
    ] {
        let registry = TestRegistry::start(Behaviour {
            auth: Some(scheme),
            ..Behaviour::default()
        })
        .await;
        registry.push("team/wiki", "1", b"component one");
        let (_folder, store) = store();
        let client = client_with(&registry, Some(credentials));
        let shown = format!("{client:?}");
        client
            .pull(&reference(&registry, "team/wiki:1"), &store, &NoProgress)
            .await
            .unwrap();
        let wrong = Credentials::Basic {
            username: "ann".into(),
            password: Secret::new("hush-wrong"),
        };
        let refused = error(&client_with(&registry, Some(wrong)), &registry).await;
        let missing = error(&client_with(&registry, None), &registry).await;
        for error in [&refused, &missing] {
            assert!(matches!(error, Error::Refused { .. }), "{scheme}: {error}");
        }
        let shown = format!("{shown} {client:?} {refused} {refused:?} {missing}");
        assert!(!shown.contains(HUSH), "{shown}");
    }
}

#[tokio::test]
async fn tokens_are_requested_at_no_other_host_without_tls() {
    let other = TestRegistry::start_at("127.0.0.2", Behaviour::default()).await;
    let realm = Some(format!("http://{}/token", other.address()));
    let registry = TestRegistry::start(Behaviour {
        auth: Some("bearer"),
        realm,
        ..Behaviour::default()
    })
    .await;
    registry.push("team/wiki", "1", b"component one");
    for error in errors_of_both(&registry).await {
        assert!(
            error.contains("the address where it issues tokens is not allowed"),
            "{error}"
        );
    }
    assert!(other.requests().is_empty(), "{:?}", other.received());
}

#[tokio::test]
async fn requests_for_tokens_are_not_redirected() {
    let other = TestRegistry::start_at("127.0.0.2", Behaviour::default()).await;
    let redirect = Some(("/token", format!("http://{}/token", other.address())));
    let registry = TestRegistry::start(Behaviour {
        auth: Some("bearer"),
        redirect,
        ..Behaviour::default()
    })
    .await;
    registry.push("team/wiki", "1", b"component one");
    for error in errors_of_both(&registry).await {
        assert!(
            error.contains("redirects a request that must not be redirected"),
            "{error}"
        );
    }
    assert!(other.requests().is_empty(), "{:?}", other.received());
}

#[tokio::test]
async fn a_response_with_a_token_is_bounded_and_checked() {
    for (behaviour, expected) in [
        (
            Behaviour {
                endless: Some("/token"),
                ..Behaviour::default()
            },
            "a token is larger than 1 MiB",
        ),
        (
            Behaviour {
                token: Some("{}"),
                ..Behaviour::default()
            },
            "contains none",
        ),
        (
            Behaviour {
                token: Some(r#"{"token":"hush\nhush"}"#),
                ..Behaviour::default()
            },
            "contains characters that a header cannot contain",
        ),
        (
            Behaviour {
                token: Some(r#"{"token":"t","expires_in":-1}"#),
                ..Behaviour::default()
            },
            "contains none",
        ),
    ] {
        let registry = TestRegistry::start(Behaviour {
            auth: Some("bearer"),
            ..behaviour.clone()
        })
        .await;
        registry.push("team/wiki", "1", b"component one");
        for error in errors_of_both(&registry).await {
            assert!(
                error.contains(expected) && !error.contains(HUSH),
                "{behaviour:?}: {error}"
            );
        }
    }
}

#[tokio::test]
async fn a_token_can_have_any_lifetime() {
    for token in [
        r#"{"token":"hush-issued","expires_in":18446744073709551615}"#,
        r#"{"token":"hush-issued","expires_in":9223372036854775808}"#,
        r#"{"token":"hush-issued","expires_in":0}"#,
    ] {
        let behaviour = Behaviour {
            auth: Some("bearer"),
            token: Some(token),
            ..Behaviour::default()
        };
        let registry = TestRegistry::start(behaviour).await;
        registry.push("team/wiki", "1", b"component one");
        let client = client_with(&registry, None);
        let (_folder, store) = store();
        client
            .pull(&reference(&registry, "team/wiki:1"), &store, &NoProgress)
            .await
            .unwrap();
        push(&client, &registry).await.unwrap();
    }
}
