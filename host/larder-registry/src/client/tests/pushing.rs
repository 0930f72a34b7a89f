//! Uploads have the same checks as pulls.

use super::credentials::{HUSH, client_with, identity, password, push};
use super::server::{Behaviour, TestRegistry};
use super::*;
use crate::Credentials;

#[tokio::test]
async fn pushes_what_it_pulls_again() {
    for (scheme, credentials) in [
        (None, None),
        (Some("basic"), Some(password())),
        (Some("bearer"), Some(password())),
        (Some("bearer"), Some(identity())),
        (
            Some("token"),
            Some(Credentials::Bearer(larder_model::policy::Secret::new(
                "hush-token",
            ))),
        ),
    ] {
        let registry = TestRegistry::start(Behaviour {
            auth: scheme,
            ..Behaviour::default()
        })
        .await;
        let client = client_with(&registry, credentials);
        let digest = push(&client, &registry).await.unwrap();
        let (_folder, store) = store();
        let pulled = client
            .pull(&reference(&registry, "team/wiki:1"), &store, &NoProgress)
            .await
            .unwrap();
        assert_eq!(pulled.component.manifest, digest, "{scheme:?}");
        assert_eq!(pulled.component.size, 300_000);
        // Content that the registry already has is not sent again.
        let before = registry.received().len();
        assert_eq!(push(&client, &registry).await.unwrap(), digest);
        let again = registry.received().split_off(before);
        assert!(
            again
                .iter()
                .all(|request| !request.path.contains("/uploads/")),
            "{again:?}"
        );
    }
}

#[tokio::test]
async fn a_push_sends_credentials_only_when_they_are_demanded() {
    let behaviour = Behaviour {
        auth: Some("bearer"),
        is_public: true,
        ..Behaviour::default()
    };
    let registry = TestRegistry::start(behaviour).await;
    push(&client_with(&registry, Some(password())), &registry)
        .await
        .unwrap();
    let received = registry.received();
    assert_eq!(
        (
            received[0].method.as_str(),
            received[0].authorization.as_str()
        ),
        ("HEAD", "")
    );
    let tokens: Vec<_> = received
        .iter()
        .filter(|request| request.path == "/token")
        .collect();
    assert_eq!(tokens.len(), 1, "{received:?}");
    assert_eq!(
        tokens[0].query,
        "scope=repository%3Ateam%2Fwiki%3Apull%2Cpush&service=test"
    );
    let open = TestRegistry::start(Behaviour::default()).await;
    push(&client_with(&open, Some(password())), &open)
        .await
        .unwrap();
    assert!(
        open.received()
            .iter()
            .all(|request| request.authorization.is_empty())
    );
}

#[tokio::test]
async fn uploads_to_another_host_have_no_credentials() {
    let other = TestRegistry::start_at("127.0.0.2", Behaviour::default()).await;
    let upload_address = Some(format!("http://{}/v2/up/1", other.address()));
    let behaviour = Behaviour {
        auth: Some("basic"),
        upload_address,
        ..Behaviour::default()
    };
    let registry = TestRegistry::start(behaviour).await;
    push(&client_with(&registry, Some(password())), &registry)
        .await
        .unwrap();
    assert!(registry.has_manifest("team/wiki", "1"));
    let received = other.received();
    assert_eq!(
        received.len(),
        2,
        "the component and the configuration: {received:?}"
    );
    assert!(
        received
            .iter()
            .all(|request| request.authorization.is_empty()),
        "{received:?}"
    );
}

#[tokio::test]
async fn a_challenge_of_another_host_is_not_answered() {
    let demanding = Behaviour {
        auth: Some("basic"),
        ..Behaviour::default()
    };
    let other = TestRegistry::start_at("127.0.0.2", demanding).await;
    let upload_address = Some(format!("http://{}/v2/up/1", other.address()));
    let registry = TestRegistry::start(Behaviour {
        upload_address,
        ..Behaviour::default()
    })
    .await;
    let refused = push(&client_with(&registry, Some(password())), &registry)
        .await
        .unwrap_err();
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
    assert!(
        other
            .received()
            .iter()
            .all(|request| request.authorization.is_empty())
    );
}

#[tokio::test]
async fn uploads_are_not_redirected() {
    for part in ["/blobs/uploads/", "/blobs/uploads/1", "/manifests/"] {
        let other = TestRegistry::start_at("127.0.0.2", Behaviour::default()).await;
        let redirect = Some((part, format!("http://{}/v2/up/1", other.address())));
        let registry = TestRegistry::start(Behaviour {
            redirect,
            ..Behaviour::default()
        })
        .await;
        let error = push(&client_with(&registry, Some(password())), &registry)
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("redirects a request that must not be redirected"),
            "{part}: {error}"
        );
        assert!(
            other.requests().is_empty(),
            "{part}: {:?}",
            other.received()
        );
    }
}

#[tokio::test]
async fn a_push_ends_if_the_registry_is_silent() {
    for silent in [
        "/blobs/sha256",
        "/blobs/uploads/",
        "/blobs/uploads/1",
        "/manifests/",
    ] {
        let registry = TestRegistry::start(Behaviour {
            silent: Some(silent),
            ..Behaviour::default()
        })
        .await;
        let mut access = access(&[(registry.address(), plain())]);
        access.limits.stall = Duration::from_millis(200);
        let error = push(&Client::new(access).unwrap(), &registry)
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains("sent nothing for"), "{silent}: {error}");
    }
}

#[tokio::test]
async fn a_refusal_shows_no_credentials() {
    let registry = TestRegistry::start(Behaviour {
        auth: Some("bearer"),
        ..Behaviour::default()
    })
    .await;
    let wrong = Credentials::Identity(larder_model::policy::Secret::new("hush-wrong"));
    for credentials in [None, Some(wrong)] {
        let refused = push(&client_with(&registry, credentials), &registry)
            .await
            .unwrap_err();
        assert!(matches!(refused, Error::Refused { .. }), "{refused}");
        assert!(!format!("{refused} {refused:?}").contains(HUSH));
    }
}
