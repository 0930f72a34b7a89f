//! Components with the proposals of WASI that other hosts offer: `wasi:config`, `wasi:keyvalue` and `wasi:logging`. Other
//! versions of them load, and their functions fail.

use std::sync::Arc;
use std::time::Duration;

use expect_test::{Expect, expect};
use futures_util::future::join_all;
use larder_model::name::{TeamName, Teams};
use larder_model::policy::{Grant, KeyValueGrant};
use larder_model::resource::{Body, Call, Caller};

use crate::support::harness::{TestServer, TestServerBuilder, parse_uri};
use crate::support::process::WorkDir;

const BOTH: KeyValueGrant = KeyValueGrant {
    shared: true,
    caller: true,
};

fn server_with(grant: KeyValueGrant, change: impl FnOnce(&mut Grant)) -> TestServerBuilder {
    TestServer::builder("wasi_proposals").provider("wasi_proposals", |provider, _| {
        provider.key_value = grant;
        change(provider);
    })
}

fn call_by(subject: &str, team: Option<&str>) -> Arc<Call> {
    let teams = match team {
        Some(team) => Teams::of([TeamName::parse(team).unwrap()]).unwrap(),
        None => Teams::default_team(),
    };
    Arc::new(Call::from_caller(Caller {
        subject: Some(subject.into()),
        issuer: None,
        teams,
        scopes: vec![],
    }))
}

async fn read_by(server: &TestServer, call: &Arc<Call>, what: &str) -> String {
    let uri = format!("proposals://{what}");
    match server.gateway.read(call, &parse_uri(&uri), None).await {
        Ok(reading) => match &reading.contents[0].body {
            Body::Text(text) => text.clone(),
            Body::Blob(_) => unreachable!("the guest returns text only"),
        },
        Err(error) => error.to_string(),
    }
}

async fn read(server: &TestServer, what: &str) -> String {
    read_by(server, &call_by("ann", None), what).await
}

/// Reads the URIs in order, and compares the answers.
async fn check(server: &TestServer, uris: &[&str], expected: Expect) {
    let mut lines = Vec::new();
    for what in uris {
        lines.push(format!("{what}: {}", read(server, what).await));
    }
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn settings_and_secrets_are_configuration() {
    let config = "[secret.token]\nfile = \"token\"\n[provider.wasi_proposals]\nsecrets = [\"token\"]\n\
                  settings = { greeting = \"Hi\", deep = { port = 1 } }\n";
    let work_dir = WorkDir::with_guests("wasi_proposals")
        .file("larder.toml", config)
        .file("token", "s3cret-value");
    let read = |path: &str| {
        let output = work_dir.larder(&format!(
            "read proposals://{path} --config larder.toml --plugins plugins"
        ));
        output.stdout + &output.stderr
    };
    for version in ["rc.1", "draft", "draft-2024-09-27"] {
        assert_eq!(
            read(&format!("config/{version}/greeting")),
            "Ok(Some(\"Hi\"))"
        );
        assert_eq!(
            read(&format!("config/{version}/token")),
            "Ok(Some(\"s3cret-value\"))"
        );
        assert_eq!(read(&format!("config/{version}/other")), "Ok(None)");
        let all = read(&format!("all-config/{version}"));
        let expected = expect![[
            r#"Ok([("deep", "{\"port\":1}"), ("greeting", "Hi"), ("token", "s3cret-value")])"#
        ]];
        expected.assert_eq(&all);
    }
}

#[test]
fn lines_are_in_the_log_of_the_provider() {
    let work_dir = WorkDir::with_guests("wasi_proposals");
    let log = |level: &str, context: &str| {
        let args = format!("read proposals://log/{level}/{context}/a-message --plugins plugins");
        let env = [("LARDER_LOG", "larder::provider=debug")];
        let output = WorkDir::spawn(work_dir.command(&env, &args)).wait();
        let line = output
            .stderr
            .lines()
            .find(|line| line.contains("a-message"));
        line.map(ToOwned::to_owned).unwrap_or(output.stderr)
    };
    for (level, logged) in [
        ("trace", "DEBUG"),
        ("debug", "DEBUG"),
        ("info", "INFO"),
        ("warn", "WARN"),
        ("error", "ERROR"),
        ("critical", "ERROR"),
    ] {
        let line = log(level, "http");
        for part in [logged, "wasi_proposals", "\"http: a-message\""] {
            assert!(line.contains(part), "{part} is missing in {line}");
        }
    }
}

#[tokio::test]
async fn values_are_those_of_the_contract() {
    let server = server_with(BOTH, |_| {}).start().await;
    check(
        &server,
        &[
            "draft/set/default?key=a&value=1",
            "contract/get/shared/a",
            "draft2/get/-?key=a",
            "contract/set/caller/a?value=2",
            "draft2/get/caller?key=a",
            "draft/get/caller?key=a",
            "draft/exists/default?key=a",
            "draft2/exists/default?key=b",
            "draft2/delete/default?key=a",
            "draft2/delete/default?key=a",
            "contract/get/shared/a",
            "draft2/keys/caller",
        ],
        expect![[r#"
            draft/set/default?key=a&value=1: ok: ()
            contract/get/shared/a: Ok(Some("1"))
            draft2/get/-?key=a: ok: Some("1")
            contract/set/caller/a?value=2: Ok(())
            draft2/get/caller?key=a: ok: Some("2")
            draft/get/caller?key=a: ok: Some("2")
            draft/exists/default?key=a: ok: true
            draft2/exists/default?key=b: ok: false
            draft2/delete/default?key=a: ok: ()
            draft2/delete/default?key=a: ok: ()
            contract/get/shared/a: Ok(None)
            draft2/keys/caller: ok: ("a", None)"#]],
    )
    .await;
    let bob = call_by("bob", None);
    assert_eq!(
        read_by(&server, &bob, "draft2/get/caller?key=a").await,
        "ok: None"
    );
}

#[tokio::test]
async fn a_bucket_needs_its_grant() {
    let shared = KeyValueGrant {
        shared: true,
        caller: false,
    };
    let uris = [
        "draft/get/default?key=a",
        "draft2/get/-?key=a",
        "draft2/get/caller?key=a",
        "draft/get/shared?key=a",
        "draft2/get/other?key=a",
    ];
    let server = server_with(shared, |_| {}).start().await;
    check(
        &server,
        &uris,
        expect![[r#"
        draft/get/default?key=a: ok: None
        draft2/get/-?key=a: ok: None
        draft2/get/caller?key=a: not opened: Error::AccessDenied
        draft/get/shared?key=a: not opened: Error::NoSuchStore
        draft2/get/other?key=a: not opened: Error::NoSuchStore"#]],
    )
    .await;
    let server = TestServer::builder("wasi_proposals").start().await;
    check(
        &server,
        &uris,
        expect![[r#"
        draft/get/default?key=a: not opened: Error::AccessDenied
        draft2/get/-?key=a: not opened: Error::AccessDenied
        draft2/get/caller?key=a: not opened: Error::AccessDenied
        draft/get/shared?key=a: not opened: Error::NoSuchStore
        draft2/get/other?key=a: not opened: Error::NoSuchStore"#]],
    )
    .await;
    // A caller without a subject has no bucket.
    let server = server_with(BOTH, |_| {}).start().await;
    let text = server.text("proposals://draft2/get/caller?key=a").await;
    assert_eq!(text, "not opened: Error::AccessDenied");
}

#[tokio::test]
async fn batches_are_several_operations() {
    let server = server_with(BOTH, |grant| grant.limits.key_value.bucket_keys = 2_000);
    let server = server.start().await;
    check(
        &server,
        &[
            "draft/set-many/default?key=a.b&value=1",
            "draft/get-many/default?key=a.x.b",
            "draft2/get-many/default?key=a.x.b",
            "draft2/delete-many/default?key=a.x",
            "draft2/keys/default",
            "draft2/fill/default?value=1001",
        ],
        expect![[r#"
            draft/set-many/default?key=a.b&value=1: ok: ()
            draft/get-many/default?key=a.x.b: ok: [Some(("a", [49])), None, Some(("b", [49]))]
            draft2/get-many/default?key=a.x.b: ok: [("a", Some([49])), ("x", None), ("b", Some([49]))]
            draft2/delete-many/default?key=a.x: ok: ()
            draft2/keys/default: ok: ("b", None)
            draft2/fill/default?value=1001: refused: Error::Other("a batch has at most 1000 keys")"#]],
    )
    .await;
}

#[tokio::test]
async fn keys_are_listed_in_pages() {
    let server = server_with(BOTH, |grant| {
        grant.limits.key_value.bucket_keys = 3_000;
        // The work of the store counts for the call, and is slow in a debug build.
        grant.limits.cpu_time = Duration::from_secs(30);
        grant.limits.timeout = Duration::from_secs(60);
    });
    let server = server.start().await;
    check(
        &server,
        &["draft/keys/default", "draft2/keys/default"],
        expect![[r#"
            draft/keys/default: ok: ("", None)
            draft2/keys/default: ok: ("", None)"#]],
    )
    .await;
    for what in [
        "draft/fill/default?value=1000",
        "draft/set/default?key=last&value=1",
    ] {
        assert_eq!(read(&server, what).await, "ok: ()");
    }
    check(
        &server,
        &[
            "draft/keys/default",
            "draft/keys/default?cursor=1000",
            "draft/keys/default?cursor=500",
            "draft/keys/default?cursor=5000",
            "draft2/keys/default",
            "draft2/keys/default?cursor=key%2000999",
            "draft2/keys/default?cursor=z",
        ],
        expect![[r#"
            draft/keys/default: ok: ("key 00000..key 00999 (1000)", Some(1000))
            draft/keys/default?cursor=1000: ok: ("last", None)
            draft/keys/default?cursor=500: ok: ("key 00500..key 00999 (500)", Some(1000))
            draft/keys/default?cursor=5000: ok: ("", None)
            draft2/keys/default: ok: ("key 00000..key 00999 (1000)", Some("key 00999"))
            draft2/keys/default?cursor=key%2000999: ok: ("last", None)
            draft2/keys/default?cursor=z: ok: ("", None)"#]],
    )
    .await;
}

#[tokio::test]
async fn counters_and_swaps() {
    let server = server_with(BOTH, |_| {}).start().await;
    check(
        &server,
        &[
            "draft/increment/default?key=n&value=2",
            "draft2/increment/default?key=n&value=-5",
            "draft/increment/default?key=n&value=1",
            "contract/get/shared/n",
            "contract/set/shared/t?value=text",
            "draft2/increment/default?key=t",
            "draft2/swap/default?key=s&value=1",
            "draft2/late-swap/default?key=s&value=2",
            "draft2/get/default?key=s",
            "draft2/swap/caller?key=s&value=1",
        ],
        expect![[r#"
            draft/increment/default?key=n&value=2: ok: 2
            draft2/increment/default?key=n&value=-5: ok: -3
            draft/increment/default?key=n&value=1: refused: Error::Other("the value is not a number, or the sum is too large")
            contract/get/shared/n: Ok(Some("-3"))
            contract/set/shared/t?value=text: Ok(())
            draft2/increment/default?key=t: refused: Error::Other("the value is not a number, or the sum is too large")
            draft2/swap/default?key=s&value=1: swapped
            draft2/late-swap/default?key=s&value=2: not swapped, now Ok(Some("in between"))
            draft2/get/default?key=s: ok: Some("in between")
            draft2/swap/caller?key=s&value=1: swapped"#]],
    )
    .await;
}

#[tokio::test]
async fn concurrent_changes_lose_nothing() {
    let server = server_with(BOTH, |grant| grant.limits.timeout = Duration::from_secs(60));
    let server = server.start().await;
    for what in [
        "draft/increment/default?key=draft",
        "draft2/increment/default?key=draft2",
        "draft2/add-one/default?key=swap",
    ] {
        let calls = (0..8).map(|n| {
            let (server, call) = (&server, call_by(&format!("user {n}"), None));
            async move { read_by(server, &call, what).await }
        });
        let mut answers = join_all(calls).await;
        answers.sort();
        let key = what.split_once("key=").unwrap().1;
        let value = read(&server, &format!("draft2/get/default?key={key}")).await;
        assert_eq!(value, "ok: Some(\"8\")", "{answers:?}");
        answers.dedup();
        assert_eq!(answers.len(), 8, "{answers:?}");
    }
}

#[tokio::test]
async fn teams_and_providers_have_separate_values() {
    let grant = |grant: &mut Grant, _: &mut i32| grant.key_value = BOTH;
    let server = TestServer::builder("wasi_proposals")
        .team("wiki")
        .provider("wasi_proposals", grant)
        .start()
        .await;
    let other = TestServer::builder("wasi_proposals")
        .team("shop")
        .provider("wasi_proposals", grant)
        .start()
        .await;
    let of_wiki = call_by("ann", Some("wiki"));
    let of_shop = call_by("ann", Some("shop"));
    for bucket in ["default", "caller"] {
        let set = format!("draft2/set/{bucket}?key=a&value=1");
        assert_eq!(read_by(&server, &of_wiki, &set).await, "ok: ()");
        for version in ["draft", "draft2"] {
            let what = format!("{version}/get/{bucket}?key=a");
            assert_eq!(read_by(&server, &of_wiki, &what).await, "ok: Some(\"1\")");
            assert_eq!(read_by(&other, &of_shop, &what).await, "ok: None");
        }
    }
}

#[tokio::test]
async fn limits_are_those_of_the_store() {
    let server = server_with(BOTH, |grant| {
        grant.limits.key_value.bucket_keys = 3;
        grant.limits.key_value.bucket_bytes = 4 << 20;
    });
    let server = server.start().await;
    let long = format!("draft/get/default?key={}", "k".repeat(513));
    assert_eq!(
        read(&server, &long).await,
        "refused: Error::Other(\"the key or the value is too long\")"
    );
    let many = format!("draft2/get-many-size/default?key=big{}", ".big".repeat(8));
    check(
        &server,
        &[
            "draft/set-bytes/default?key=big&value=1048577",
            "draft/set-bytes/default?key=big&value=1000000",
            &many,
            "draft2/hold/default?key=big&value=100",
            "draft2/fill/default?value=5",
            "draft2/keys/default",
        ],
        expect![[r#"
            draft/set-bytes/default?key=big&value=1048577: refused: Error::Other("the key or the value is too long")
            draft/set-bytes/default?key=big&value=1000000: ok: ()
            draft2/get-many-size/default?key=big.big.big.big.big.big.big.big.big: refused: Error::Other("the values have more than 8388608 bytes: get fewer at once")
            draft2/hold/default?key=big&value=100: ok: 100
            draft2/fill/default?value=5: refused: Error::Other("the bucket has as many keys as it may have (`limits.key_value_bucket_keys`)")
            draft2/keys/default: ok: ("big key 00000 key 00001", None)"#]],
    )
    .await;
}

#[tokio::test]
async fn values_in_handles_are_charged() {
    let server = server_with(BOTH, |grant| {
        grant.limits.key_value.bucket_bytes = 2 << 20;
    });
    let server = server.memory(64 << 20).start().await;
    check(
        &server,
        &[
            "draft/set-bytes/default?key=big&value=1000000",
            "draft2/hold/default?key=big&value=20",
            "draft2/hold/default?key=big&value=200",
            "draft2/hold/default?key=small&value=900",
            "draft2/hold/default?key=big&value=20",
        ],
        expect![[r#"
            draft/set-bytes/default?key=big&value=1000000: ok: ()
            draft2/hold/default?key=big&value=20: ok: 20
            draft2/hold/default?key=big&value=200: refused: Error::Other("the server has no memory for the value")
            draft2/hold/default?key=small&value=900: refused: Error::Other("the guest holds too many handles")
            draft2/hold/default?key=big&value=20: ok: 20"#]],
    )
    .await;
}

#[tokio::test]
async fn other_versions_load_and_their_functions_fail() {
    let server = TestServer::builder("refused_imports echo").start().await;
    let mut lines = Vec::new();
    for what in ["loaded", "logging", "config", "keyvalue", "otel", "logging"] {
        let answer = match server.read(&format!("refused://{what}")).await {
            Ok(_) => server.text(&format!("refused://{what}")).await,
            Err(error) => error.to_string(),
        };
        lines.push(format!("{what}: {answer}"));
    }
    expect![[r#"
        loaded: loaded
        logging: logged
        config: Err(Problem { code: 0, name: "missing", message: "" })
        keyvalue: Error::Other("`wasi:keyvalue/store@0.9.0#open` is not offered by this host")
        otel: the provider `refused_imports` failed: it trapped: `wasi:otel/tracing@0.9.0#parent` is not offered by this host
        logging: logged"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn the_log_names_a_function_that_is_not_offered() {
    let work_dir = WorkDir::with_guests("refused_imports");
    for (what, function) in [
        ("logging", "wasi:logging/logging@0.9.0-draft#log"),
        ("config", "wasi:config/store@0.9.0#get"),
        ("otel", "wasi:otel/tracing@0.9.0#parent"),
    ] {
        let args = format!("read refused://{what} --plugins plugins");
        let env = [("LARDER_LOG", "warn")];
        let output = WorkDir::spawn(work_dir.command(&env, &args)).wait();
        let line = output.stderr.lines().find(|line| line.contains(function));
        let line = line.unwrap_or_else(|| panic!("{function} is missing: {}", output.stderr));
        assert!(line.contains("refused_imports"), "{line}");
    }
}
