//! The key-value store of providers: buckets, grants and limits, with a guest that uses it as the URI says.

mod files;
mod forget;
mod hostile;

use std::sync::Arc;
use std::time::Duration;

use expect_test::{Expect, expect};
use futures_util::future::join_all;
use larder_model::name::{TeamName, Teams};
use larder_model::policy::{ApprovalMode, Bounds, Grant, GuestLifetime, KeyValueGrant};
use larder_model::resource::{Body, Call, Caller};

use crate::support::harness::{TestServer, TestServerBuilder, anonymous_call, parse_uri};

const BOTH: KeyValueGrant = KeyValueGrant {
    shared: true,
    caller: true,
};

/// A server with the guest, which has this grant and changes.
fn server_with(grant: KeyValueGrant, change: impl FnOnce(&mut Grant)) -> TestServerBuilder {
    TestServer::builder("key_value").provider("key_value", |provider, _| {
        provider.key_value = grant;
        change(provider);
    })
}

fn caller(issuer: Option<&str>, subject: Option<&str>) -> Caller {
    Caller {
        subject: subject.map(Into::into),
        issuer: issuer.map(Into::into),
        teams: Teams::default_team(),
        scopes: vec![],
    }
}

fn call_by(subject: &str) -> Arc<Call> {
    Arc::new(Call::from_caller(caller(None, Some(subject))))
}

async fn read(server: &TestServer, call: &Arc<Call>, what: &str) -> String {
    read_uri(server, call, &format!("key-value://{what}")).await
}

async fn read_uri(server: &TestServer, call: &Arc<Call>, uri: &str) -> String {
    match server.gateway.read(call, &parse_uri(uri), None).await {
        Ok(reading) => match &reading.contents[0].body {
            Body::Text(text) => text.clone(),
            Body::Blob(_) => unreachable!("the guest returns text only"),
        },
        Err(error) => error.to_string(),
    }
}

/// Reads the URIs in order, each with the caller before it, and compares the answers.
async fn check(server: &TestServer, uris: &[(&str, &str)], expected: Expect) {
    let mut lines = Vec::new();
    for (subject, what) in uris {
        let call = if subject.is_empty() {
            anonymous_call()
        } else {
            call_by(subject)
        };
        lines.push(format!(
            "{subject} {what}: {}",
            read(server, &call, what).await
        ));
    }
    expected.assert_eq(&lines.join("\n"));
}

#[tokio::test]
async fn each_caller_has_a_bucket_and_all_share_one() {
    let server = server_with(BOTH, |_| {}).start().await;
    check(
        &server,
        &[
            ("ann", "get/caller/a"),
            ("ann", "set/caller/a/1"),
            ("bob", "set/caller/a/2"),
            ("ann", "get/caller/a"),
            ("bob", "get/caller/a"),
            ("bob", "get/shared/a"),
            ("ann", "set/shared/a/3"),
            ("bob", "get/shared/a"),
            ("", "get/shared/a"),
            ("", "get/caller/a"),
            ("ann", "swap/shared/a?value=4"),
            ("ann", "swap/shared/a?expected=3&value=4"),
            ("ann", "swap/caller/a?expected=1"),
            ("ann", "get/caller/a"),
            ("bob", "delete/shared/a"),
            ("bob", "delete/shared/a"),
            ("ann", "get/shared/a"),
        ],
        expect![[r#"
            ann get/caller/a: ok: None
            ann set/caller/a/1: ok: ()
            bob set/caller/a/2: ok: ()
            ann get/caller/a: ok: Some("1")
            bob get/caller/a: ok: Some("2")
            bob get/shared/a: ok: None
            ann set/shared/a/3: ok: ()
            bob get/shared/a: ok: Some("3")
             get/shared/a: ok: Some("3")
             get/caller/a: refused: Failure::NoCaller
            ann swap/shared/a?value=4: ok: false
            ann swap/shared/a?expected=3&value=4: ok: true
            ann swap/caller/a?expected=1: ok: true
            ann get/caller/a: ok: None
            bob delete/shared/a: ok: ()
            bob delete/shared/a: ok: ()
            ann get/shared/a: ok: None"#]],
    )
    .await;
    // The same subject of another issuer is another caller. The same subject with other scopes is the same caller.
    let of_issuer = Arc::new(Call::from_caller(caller(
        Some("https://id.example"),
        Some("bob"),
    )));
    assert_eq!(read(&server, &of_issuer, "get/caller/a").await, "ok: None");
    let scoped = Caller {
        scopes: vec!["all".into()],
        ..caller(None, Some("bob"))
    };
    let scoped = Arc::new(Call::from_caller(scoped));
    assert_eq!(
        read(&server, &scoped, "get/caller/a").await,
        "ok: Some(\"2\")"
    );
}

#[tokio::test]
async fn only_what_is_granted_can_be_used() {
    let shared = KeyValueGrant {
        shared: true,
        caller: false,
    };
    let uris = [
        ("ann", "set/shared/a/1"),
        ("ann", "set/caller/a/1"),
        ("ann", "keys/caller"),
    ];
    let server = server_with(shared, |_| {}).start().await;
    check(
        &server,
        &uris,
        expect![[r#"
        ann set/shared/a/1: ok: ()
        ann set/caller/a/1: refused: Failure::NotGranted("it needs the grant `key_value = [\"caller\"]`")
        ann keys/caller: refused: Failure::NotGranted("it needs the grant `key_value = [\"caller\"]`")"#]],
    )
    .await;
    let server = TestServer::builder("key_value").start().await;
    check(&server, &uris[..1], expect![[r#"ann set/shared/a/1: refused: Failure::NotGranted("it needs the grant `key_value = [\"shared\"]`")"#]]).await;
    // The ceiling of the team is above the grant.
    let bounds = Bounds {
        key_value: KeyValueGrant {
            shared: false,
            caller: true,
        },
        ..Bounds::default()
    };
    let server = server_with(BOTH, |_| {}).ceiling(bounds).start().await;
    check(
        &server,
        &uris[..2],
        expect![[r#"
        ann set/shared/a/1: refused: Failure::NotGranted("it needs the grant `key_value = [\"shared\"]`")
        ann set/caller/a/1: ok: ()"#]],
    )
    .await;
}

#[tokio::test]
async fn a_component_can_request_buckets() {
    let request =
        TestServer::builder("key_value").file("key_value.toml", b"key_value = ['caller']");
    let server = request.start().await;
    let catalog = server.reader.snapshot();
    let pending: Vec<_> = catalog
        .pending_approvals()
        .iter()
        .flat_map(|pending| pending.lines.clone())
        .collect();
    assert_eq!(pending, ["key-value caller"]);
    let request =
        TestServer::builder("key_value").file("key_value.toml", b"key_value = ['caller']");
    let server = request
        .approve("key_value", ApprovalMode::Always)
        .start()
        .await;
    check(
        &server,
        &[("ann", "set/caller/a/1"), ("ann", "set/shared/a/1")],
        expect![[r#"
            ann set/caller/a/1: ok: ()
            ann set/shared/a/1: refused: Failure::NotGranted("it needs the grant `key_value = [\"shared\"]`")"#]],
    )
    .await;
}

#[tokio::test]
async fn what_is_stored_is_limited() {
    let server = server_with(BOTH, |grant| {
        let limits = &mut grant.limits.key_value;
        (
            limits.bucket_keys,
            limits.bucket_bytes,
            limits.bytes,
            limits.callers,
        ) = (3, 600, 1_000, 2);
    });
    let server = server.start().await;
    check(
        &server,
        &[
            ("ann", "set/shared/a/1"),
            ("ann", "set/shared/b/1"),
            ("ann", "set/shared/c/1"),
            ("ann", "set/shared/d/1"),
            ("ann", "set/shared/c/2"),
            ("ann", "set-bytes/shared/c/500"),
            ("ann", "delete/shared/b"),
            ("ann", "set-bytes/shared/d/100"),
            ("ann", "set-bytes/shared/a/1048577"),
            ("ann", "set-bytes/caller/a/400"),
            ("bob", "set-bytes/caller/a/400"),
            ("bob", "set-bytes/caller/a/10"),
            ("eve", "set-bytes/caller/a/10"),
            ("bob", "delete/caller/a"),
            ("eve", "set-bytes/caller/a/10"),
        ],
        expect![[r#"
            ann set/shared/a/1: ok: ()
            ann set/shared/b/1: ok: ()
            ann set/shared/c/1: ok: ()
            ann set/shared/d/1: refused: Failure::TooManyKeys
            ann set/shared/c/2: ok: ()
            ann set-bytes/shared/c/500: refused: Failure::Full
            ann delete/shared/b: ok: ()
            ann set-bytes/shared/d/100: ok: ()
            ann set-bytes/shared/a/1048577: refused: Failure::TooLarge
            ann set-bytes/caller/a/400: ok: ()
            bob set-bytes/caller/a/400: refused: Failure::Full
            bob set-bytes/caller/a/10: ok: ()
            eve set-bytes/caller/a/10: refused: Failure::Full
            bob delete/caller/a: ok: ()
            eve set-bytes/caller/a/10: ok: ()"#]],
    )
    .await;
    for (length, expected) in [(512, "ok: None"), (513, "refused: Failure::TooLarge")] {
        let long = format!("get/shared/{}", "k".repeat(length));
        assert_eq!(read(&server, &call_by("ann"), &long).await, expected);
    }
}

#[tokio::test]
async fn keys_are_listed_in_pages() {
    let server = server_with(BOTH, |_| {}).start().await;
    for key in ["b-2", "a", "b-1", "c", "b-3"] {
        read(&server, &call_by("ann"), &format!("set/shared/{key}/x")).await;
    }
    check(
        &server,
        &[
            ("ann", "keys/shared"),
            ("ann", "keys/caller"),
            ("ann", "keys/shared?prefix=b-&limit=2"),
            ("ann", "keys/shared?prefix=b-&limit=2&cursor=b-2"),
            ("ann", "keys/shared?cursor=bb"),
            ("ann", "keys/shared?prefix=b&cursor=c"),
        ],
        expect![[r#"
            ann keys/shared: ok: (["a", "b-1", "b-2", "b-3", "c"], None)
            ann keys/caller: ok: ([], None)
            ann keys/shared?prefix=b-&limit=2: ok: (["b-1", "b-2"], Some("b-2"))
            ann keys/shared?prefix=b-&limit=2&cursor=b-2: ok: (["b-3"], None)
            ann keys/shared?cursor=bb: ok: (["c"], None)
            ann keys/shared?prefix=b&cursor=c: ok: ([], None)"#]],
    )
    .await;
}

#[tokio::test]
async fn answers_with_values_of_a_caller_are_not_shared() {
    let server = server_with(BOTH, |_| {}).start().await;
    for (subject, value) in [("ann", "1"), ("bob", "2")] {
        read(&server, &call_by(subject), &format!("set/caller/a/{value}")).await;
    }
    read(&server, &call_by("ann"), "set/shared/a/1").await;
    // The guest declares that every caller may use its answers.
    check(
        &server,
        &[
            ("ann", "fresh/caller/a"),
            ("bob", "fresh/caller/a"),
            ("", "fresh/caller/a"),
            ("ann", "fresh/shared/a"),
            ("ann", "set/shared/a/2"),
            ("bob", "fresh/shared/a"),
            ("ann", "set/caller/a/3"),
            ("ann", "fresh/caller/a"),
        ],
        expect![[r#"
            ann fresh/caller/a: ok: Some("1")
            bob fresh/caller/a: ok: Some("2")
             fresh/caller/a: refused: Failure::NoCaller
            ann fresh/shared/a: ok: Some("1")
            ann set/shared/a/2: ok: ()
            bob fresh/shared/a: ok: Some("1")
            ann set/caller/a/3: ok: ()
            ann fresh/caller/a: ok: Some("1")"#]],
    )
    .await;
    // Concurrent reads of the same URI share a call only if the answer may be shared.
    let server = server_with(BOTH, |_| {}).cache(0, 0).start().await;
    for subject in ["ann", "bob"] {
        read(
            &server,
            &call_by(subject),
            &format!("set/caller/a/{subject}"),
        )
        .await;
    }
    for _ in 0..20 {
        let (ann, bob) = (call_by("ann"), call_by("bob"));
        let answers = tokio::join!(
            read(&server, &ann, "fresh/caller/a"),
            read(&server, &bob, "fresh/caller/a"),
            read(&server, &ann, "fresh/caller/a")
        );
        let [ann, bob] = ["ann", "bob"].map(|subject| format!("ok: Some({subject:?})"));
        assert_eq!(answers, (ann.clone(), bob, ann));
    }
}

#[tokio::test]
async fn what_a_reused_guest_remembers_is_not_shared() {
    let server = server_with(BOTH, |grant| grant.guests = GuestLifetime::Reused)
        .start()
        .await;
    for (subject, value) in [("ann", "1"), ("bob", "2")] {
        read(&server, &call_by(subject), &format!("set/caller/a/{value}")).await;
    }
    // The second call of Ann's guest does not read the bucket again.
    check(
        &server,
        &[
            ("ann", "remembered/caller/a"),
            ("ann", "remembered/caller/b"),
            ("bob", "remembered/caller/b"),
            ("ann", "get/caller/a"),
            ("bob", "get/caller/a"),
        ],
        expect![[r#"
            ann remembered/caller/a: ok: Some("1")
            ann remembered/caller/b: ok: Some("1")
            bob remembered/caller/b: ok: None
            ann get/caller/a: ok: Some("1")
            bob get/caller/a: ok: Some("2")"#]],
    )
    .await;
}

#[tokio::test]
async fn teams_and_providers_have_separate_values() {
    let grant = |grant: &mut Grant, _: &mut i32| grant.key_value = BOTH;
    let builder =
        TestServer::builder("key_value other@key_value").setting("other", "scheme", "other");
    let server = builder
        .provider("key_value", grant)
        .provider("other", grant)
        .start()
        .await;
    let ann = call_by("ann");
    for bucket in ["shared", "caller"] {
        read(&server, &ann, &format!("set/{bucket}/a/1")).await;
        assert_eq!(
            read_uri(&server, &ann, &format!("other://get/{bucket}/a")).await,
            "ok: None"
        );
    }
    let keys: Vec<_> = server
        .key_value
        .usage()
        .into_iter()
        .map(|(name, usage)| (name.to_string(), usage.keys))
        .collect();
    assert_eq!(keys, [("key_value".to_owned(), 2)]);
    // A team has a file of its own, also if the folders are the same.
    let wiki = TeamName::parse("wiki").unwrap();
    let state = server.folder.path().join(".state");
    let of_team = |team| larder_key_value::database_path(&state, &server.plugins, team);
    assert!(of_team(server.reader.team()).is_file() && !of_team(&wiki).exists());
    let other = TestServer::builder("key_value")
        .team("wiki")
        .provider("key_value", grant)
        .start()
        .await;
    let teams = Teams::of([wiki]).unwrap();
    let ann = Arc::new(Call::from_caller(Caller {
        teams,
        ..caller(None, Some("ann"))
    }));
    assert_eq!(read(&other, &ann, "get/shared/a").await, "ok: None");
}

#[tokio::test]
async fn concurrent_calls_do_not_overwrite_each_other() {
    let server = server_with(BOTH, |grant| grant.limits.timeout = Duration::from_secs(60))
        .start()
        .await;
    let calls = (0..16).map(|n| {
        let (server, call) = (&server, call_by(&format!("user {n}")));
        async move { read(server, &call, "increment/shared/n").await }
    });
    let answers = join_all(calls).await;
    assert!(
        answers.iter().all(|answer| answer.starts_with("ok: ")),
        "{answers:?}"
    );
    assert_eq!(
        read(&server, &call_by("ann"), "get/shared/n").await,
        "ok: Some(\"16\")"
    );
}
