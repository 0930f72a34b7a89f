//! Tests with a small registry over HTTP.

mod credentials;
mod pushing;
mod server;

use std::collections::BTreeMap;
use std::time::Duration;

use self::server::{Behaviour, TestRegistry};
use super::*;
use crate::{Component, Interfaces, Limits, NoProgress, Package, Registry, Store, Upload};

/// Requests must not take longer than this.
const STALL: Duration = Duration::from_secs(20);

fn access(registries: &[(&str, Registry)]) -> Access {
    let registries = registries
        .iter()
        .map(|(name, registry)| ((*name).to_owned(), registry.clone()));
    Access {
        registries: registries.collect(),
        limits: Limits {
            stall: STALL,
            component: 1 << 20,
            ..Limits::default()
        },
        ..Access::default()
    }
}

fn plain() -> Registry {
    Registry {
        plain_http: true,
        ..Registry::default()
    }
}

fn client(registry: &TestRegistry) -> Client {
    Client::new(access(&[(registry.address(), plain())])).unwrap()
}

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, store)
}

fn reference(registry: &TestRegistry, rest: &str) -> Reference {
    format!("{}/{rest}", registry.address()).parse().unwrap()
}

/// Pulls `team/wiki:1`, and returns the error.
async fn error(client: &Client, registry: &TestRegistry) -> Error {
    let (_folder, store) = store();
    let error = client
        .pull(&reference(registry, "team/wiki:1"), &store, &NoProgress)
        .await
        .unwrap_err();
    let blobs = std::fs::read_dir(store.folder().join("blobs/sha256")).unwrap();
    let names: Vec<_> = blobs.map(|item| item.unwrap().file_name()).collect();
    let unverified = names.iter().filter(|name| {
        let bytes = std::fs::read(store.folder().join("blobs/sha256").join(name)).unwrap();
        Digest::of(&bytes).to_string() != name.to_string_lossy()
    });
    assert_eq!(
        unverified.count(),
        0,
        "the store has something that was not verified"
    );
    error
}

#[tokio::test]
async fn pulls_a_tag_and_a_digest() {
    let registry = TestRegistry::start(Behaviour::default()).await;
    let (manifest, component) = registry.push("team/wiki", "1", b"component one");
    let (_folder, store) = store();
    let client = client(&registry);
    let pulled = client
        .pull(&reference(&registry, "team/wiki:1"), &store, &NoProgress)
        .await
        .unwrap();
    assert!(pulled.transferred);
    assert_eq!(
        (pulled.component.manifest, pulled.component.component),
        (manifest, component)
    );
    assert_eq!(
        store.read(&component, 100).unwrap(),
        b"component one".as_slice()
    );
    assert_eq!(Component::of(&store, &manifest).unwrap(), pulled.component);
    let requests = registry.requests().len();
    let pinned = reference(&registry, &format!("team/wiki@sha256:{manifest}"));
    let again = client.pull(&pinned, &store, &NoProgress).await.unwrap();
    assert!(!again.transferred);
    let new = registry.requests().split_off(requests);
    assert!(new.iter().all(|path| !path.contains("/blobs/")), "{new:?}");
}

#[tokio::test]
async fn refuses_content_that_differs() {
    for (behaviour, expected) in [
        (
            Behaviour {
                cut_blob_at: Some(5),
                ..Behaviour::default()
            },
            "has 5 bytes instead of 13",
        ),
        (
            Behaviour {
                extra_blob_bytes: 7,
                ..Behaviour::default()
            },
            "has 20 bytes instead of 13",
        ),
        (
            Behaviour {
                flip_blob: true,
                ..Behaviour::default()
            },
            "was changed or damaged",
        ),
        (
            Behaviour {
                endless: Some("/blobs/"),
                ..Behaviour::default()
            },
            "bytes instead of 13",
        ),
        (
            Behaviour {
                endless: Some("/manifests/"),
                ..Behaviour::default()
            },
            "is larger than 4 MiB",
        ),
        (
            Behaviour {
                endless: Some("/referrers/"),
                ..Behaviour::default()
            },
            "is larger than 4 MiB",
        ),
        (
            Behaviour {
                silent: Some("/blobs/"),
                ..Behaviour::default()
            },
            "sent nothing for",
        ),
        (
            Behaviour {
                silent: Some("/manifests/"),
                ..Behaviour::default()
            },
            "sent nothing for",
        ),
        (
            Behaviour {
                status: Some(503),
                ..Behaviour::default()
            },
            "is not available: HTTP 503",
        ),
        (
            Behaviour {
                status: Some(429),
                ..Behaviour::default()
            },
            "is not available: HTTP 429",
        ),
        (
            Behaviour {
                status: Some(403),
                ..Behaviour::default()
            },
            "refuses access to team/wiki",
        ),
        (
            Behaviour {
                status: Some(404),
                ..Behaviour::default()
            },
            "does not exist in the registry",
        ),
        (
            Behaviour {
                redirects: true,
                ..Behaviour::default()
            },
            "redirects too often",
        ),
    ] {
        let is_silent = behaviour.silent.is_some();
        let registry = TestRegistry::start(behaviour.clone()).await;
        registry.push("team/wiki", "1", b"component one");
        let mut access = access(&[(registry.address(), plain())]);
        if is_silent {
            access.limits.stall = Duration::from_millis(200);
        }
        let error = error(&Client::new(access).unwrap(), &registry)
            .await
            .to_string();
        assert!(error.contains(expected), "{behaviour:?}: {error}");
    }
}

#[tokio::test]
async fn a_pinned_manifest_must_have_its_digest() {
    let registry = TestRegistry::start(Behaviour::default()).await;
    let (manifest, _) = registry.push("team/wiki", "1", b"component one");
    registry.replace_manifest("team/wiki", &manifest, "{}");
    let (_folder, store) = store();
    let pinned = reference(&registry, &format!("team/wiki@sha256:{manifest}"));
    let error = client(&registry)
        .pull(&pinned, &store, &NoProgress)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::WrongDigest { .. }), "{error}");
}

#[tokio::test]
async fn a_deep_manifest_is_invalid() {
    let registry = TestRegistry::start(Behaviour::default()).await;
    registry.push("team/wiki", "1", b"component one");
    for known in ["layers", "other"] {
        let nested = "[".repeat(100_000) + &"]".repeat(100_000);
        let text: &str = format!(r#"{{"schemaVersion":2,"{known}":{nested}}}"#).leak();
        let digest = Digest::of(text.as_bytes());
        registry.replace_manifest("team/wiki", &digest, text);
        let (_folder, store) = store();
        let pinned = reference(&registry, &format!("team/wiki@sha256:{digest}"));
        let error = client(&registry)
            .pull(&pinned, &store, &NoProgress)
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }
}

#[tokio::test]
async fn limits_the_size_of_a_component() {
    let registry = TestRegistry::start(Behaviour::default()).await;
    registry.push("team/wiki", "1", &vec![7; (1 << 20) + 1]);
    let error = error(&client(&registry), &registry).await;
    assert!(
        matches!(
            error,
            Error::TooLarge {
                limit: 1_048_576,
                ..
            }
        ),
        "{error}"
    );
    assert!(
        registry
            .requests()
            .iter()
            .all(|path| !path.contains("/blobs/")),
        "nothing was transferred"
    );
}

#[tokio::test]
async fn only_permitted_registries_are_accessed() {
    let registry = TestRegistry::start(Behaviour::default()).await;
    registry.push("team/wiki", "1", b"component one");
    let other = Client::new(access(&[("other.example", plain())])).unwrap();
    let denied = error(&other, &registry).await;
    assert!(matches!(denied, Error::NotPermitted(_)), "{denied}");
    assert!(registry.requests().is_empty());
    // Plain HTTP must be configured explicitly.
    let tls = Client::new(access(&[(registry.address(), Registry::default())])).unwrap();
    let failed = error(&tls, &registry).await;
    assert!(matches!(failed, Error::Unavailable { .. }), "{failed}");
    assert!(registry.requests().is_empty());
}

#[tokio::test]
async fn mirrors_are_asked_first_and_may_fail() {
    let mirror = TestRegistry::start(Behaviour::default()).await;
    let registry = TestRegistry::start(Behaviour::default()).await;
    registry.push("team/wiki", "1", b"component one");
    let settings = |mirrors: Vec<String>| {
        Client::new(access(&[
            (registry.address(), Registry { mirrors, ..plain() }),
            (mirror.address(), plain()),
        ]))
        .unwrap()
    };
    let client = settings(vec![format!("{}/cache", mirror.address())]);
    let (_folder, with_registry) = store();
    client
        .pull(
            &reference(&registry, "team/wiki:1"),
            &with_registry,
            &NoProgress,
        )
        .await
        .unwrap();
    assert!(
        mirror
            .requests()
            .iter()
            .any(|path| path.starts_with("/v2/cache/team/wiki/manifests/1"))
    );
    let before = registry.requests().len();
    mirror.push("cache/team/wiki", "1", b"component one");
    let (_folder, with_mirror) = store();
    client
        .pull(
            &reference(&registry, "team/wiki:1"),
            &with_mirror,
            &NoProgress,
        )
        .await
        .unwrap();
    let new = registry.requests().split_off(before);
    assert!(new.iter().all(|path| !path.contains("/blobs/")), "{new:?}");
}

#[tokio::test]
async fn packages_have_versions() {
    let entry = TestRegistry::start(Behaviour::default()).await;
    let registry = TestRegistry::start(Behaviour::default()).await;
    for version in [
        "1.1.9",
        "1.2.0",
        "1.10.3",
        "2.0.0",
        "latest",
        "sha256-00.sig",
    ] {
        registry.push("components/team/wiki", version, version.as_bytes());
    }
    entry.set_metadata(&format!(
        r#"{{"preferredProtocol": "oci", "oci": {{"registry": "{}", "namespacePrefix": "components/"}}}}"#,
        registry.address()
    ));
    let mut access = access(&[(registry.address(), plain()), (entry.address(), plain())]);
    let resolve = |access: &Access, text: &str| {
        let client = Client::new(access.clone()).unwrap();
        let reference = text.parse().unwrap();
        async move { client.pull(&reference, &store().1, &NoProgress).await }
    };
    let unknown = resolve(&access, "team:wiki@^1.2").await.unwrap_err();
    assert!(matches!(unknown, Error::UnknownNamespace(_)), "{unknown}");
    access.namespaces = BTreeMap::from([("team".to_owned(), entry.address().to_owned())]);
    for (text, expected) in [
        ("team:wiki@^1.2", "1.10.3"),
        ("team:wiki@~1.1", "1.1.9"),
        ("team:wiki", "2.0.0"),
    ] {
        let pulled = resolve(&access, text).await.unwrap();
        assert_eq!(
            pulled.component.component,
            Digest::of(expected.as_bytes()),
            "{text}"
        );
    }
    let none = resolve(&access, "team:wiki@^3")
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        none,
        "no version of team:wiki matches ^3: there is 2.0.0, 1.10.3, 1.2.0, 1.1.9"
    );
    access.registries.remove(registry.address());
    let elsewhere = resolve(&access, "team:wiki").await.unwrap_err();
    assert!(matches!(elsewhere, Error::NotPermitted(_)), "{elsewhere}");
    let package: Package = match "team:wiki".parse().unwrap() {
        Reference::Package(package) => package,
        Reference::Image(_) => panic!(),
    };
    assert_eq!(package.to_string(), "team:wiki@*");
}

#[tokio::test]
async fn attachments_are_found_in_each_place() {
    let absent =
        [400, 401, 403, 404, 405, 406, 410, 415, 418, 422, 501].map(|status| (true, Some(status)));
    for (has_referrers, referrers_status) in [(true, None), (false, None)].into_iter().chain(absent)
    {
        let behaviour = Behaviour {
            has_referrers,
            referrers_status,
            ..Behaviour::default()
        };
        let registry = TestRegistry::start(behaviour).await;
        let (manifest, _) = registry.push("team/wiki", "1", b"component one");
        let listed = registry.attach("team/wiki", &manifest, "application/x-listed", b"listed");
        let cosign = registry.push_as(
            "team/wiki",
            &format!("sha256-{manifest}.sig"),
            "application/x-cosign",
            b"sig",
        );
        let (_folder, store) = store();
        client(&registry)
            .pull(&reference(&registry, "team/wiki:1"), &store, &NoProgress)
            .await
            .unwrap();
        let attachments = store.attachments(&manifest).unwrap();
        let found: Vec<_> = attachments.iter().map(|one| one.digest).collect();
        assert_eq!(
            found,
            [listed, cosign],
            "{has_referrers} {referrers_status:?}"
        );
        for (attachment, content) in attachments.iter().zip([b"listed".as_slice(), b"sig"]) {
            let layer = Digest::parse(&attachment.manifest.layers[0].digest).unwrap();
            assert_eq!(store.read(&layer, 100).unwrap(), content);
        }
    }
}

#[tokio::test]
async fn the_number_of_pulls_is_limited() {
    let registry = TestRegistry::start(Behaviour {
        count_open: true,
        ..Behaviour::default()
    })
    .await;
    let mut access = access(&[(registry.address(), plain())]);
    access.limits.concurrent_pulls = 2;
    for at in 0..8 {
        registry.push(&format!("team/wiki{at}"), "1", &[at; 9]);
    }
    let (client, (_folder, store)) = (Client::new(access).unwrap(), store());
    let pulls = (0..8).map(|at| {
        let client = &client;
        let store = &store;
        let reference = reference(&registry, &format!("team/wiki{at}:1"));
        async move { client.pull(&reference, store, &NoProgress).await.unwrap() }
    });
    futures_util::future::join_all(pulls).await;
    assert!(
        registry.most_open() <= 2,
        "{} at the same time",
        registry.most_open()
    );
}
