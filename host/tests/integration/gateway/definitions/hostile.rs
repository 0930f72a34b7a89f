//! Tools that attack the server or its clients: endless lists, expensive schemas, references to other documents,
//! misleading texts, and calls that end before their result.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use expect_test::expect;
use larder_model::policy::{GuestLifetime, HostRule, ToolGrant};
use serde_json::{Value, json};

use super::{call, names};
use crate::support::harness::{TestServer, TestServerBuilder};
use crate::support::http_server::HttpTestServer;
use crate::support::process::WorkDir;

/// A server whose provider `hostile_tools` lists tools of this kind. Another provider works as usual.
fn hostile(list: &str) -> TestServerBuilder {
    let builder = TestServer::builder("hostile_tools echo").setting("hostile_tools", "list", list);
    builder.provider("hostile_tools", |grant, _| grant.tools = ToolGrant::All)
}

/// What was omitted from the lists of the provider.
fn omitted(server: &HttpTestServer) -> String {
    let catalog = server.server.reader.snapshot();
    let offer = catalog
        .offers()
        .iter()
        .find(|offer| offer.name().as_str() == "hostile_tools")
        .unwrap();
    offer
        .omitted
        .iter()
        .map(|line| format!("{line}\n"))
        .collect()
}

#[tokio::test]
async fn a_list_of_a_million_tools_is_rejected() {
    let server = HttpTestServer::from_builder(hostile("million")).await;
    let reason = server.server.rejection_reason("hostile_tools.wasm");
    assert!(reason.contains("its tools"), "{reason}");
    assert_eq!(names(&server, "tools").await, [""; 0]);
    assert_eq!(server.read("echo://hello").await.status, 200);
}

#[tokio::test]
async fn a_list_without_an_end_is_cut() {
    let server = HttpTestServer::from_builder(hostile("endless").page_size(10_000)).await;
    assert_eq!(names(&server, "tools").await.len(), 1_000);
    assert_eq!(
        omitted(&server),
        "tools beyond the first 1000 (`limits.catalog_entries`)\n"
    );
    let result = call(&server, "t999", json!({})).await.json();
    assert_eq!(result["result"]["content"][0]["text"], "t999 was called");
    assert_eq!(
        call(&server, "t1000", json!({})).await.json()["error"]["code"],
        -32602
    );
}

/// Each expression is small enough, but all expressions together need too much memory.
#[tokio::test]
async fn the_regular_expressions_of_a_provider_share_one_limit() {
    let few =
        HttpTestServer::from_builder(hostile("patterns").setting("hostile_tools", "count", "10"))
            .await;
    assert_eq!(
        (names(&few, "tools").await.len(), omitted(&few)),
        (2, String::new())
    );
    let many =
        HttpTestServer::from_builder(hostile("patterns").setting("hostile_tools", "count", "1000"))
            .await;
    assert_eq!(names(&many, "tools").await, ["fine"]);
    expect![[r#"
        the tool `patterns`: its input schema: the regular expression "\\p{L}{9}0" is invalid or too large, or has look-around or back references
    "#]].assert_eq(&omitted(&many));
}

#[tokio::test]
async fn expensive_schemas_are_omitted_or_their_effort_is_bounded() {
    // The limits of effort end each validation, but the validator of a debug build takes long to reach them.
    let builder = hostile("bombs").provider("hostile_tools", |grant, _| {
        grant.limits.timeout = Duration::from_secs(55);
    });
    let server = HttpTestServer::from_builder(builder).await;
    expect![[r#"
        the tool `deep`: its input schema: it is nested more than 64 levels deep
        the tool `large_pattern`: its input schema: the regular expression "((a{1000}){1000}){1000}" is invalid or too large, or has look-around or back references
        the tool `look_around`: its input schema: the regular expression "(?=a)a" is invalid or too large, or has look-around or back references
        the tool `back_reference`: its input schema: the regular expression "(a)\\1" is invalid or too large, or has look-around or back references
        the tool `endless`: its input schema: a reference, or a keyword such as `allOf`, leads from a schema to itself for the same value
        the tool `long_chain`: its input schema: more than 128 schemas apply to the same value through references or keywords such as `allOf`
        the tool `long_result_chain`: its output schema: more than 128 schemas apply to the same value through references or keywords such as `allOf`
    "#]].assert_eq(&omitted(&server));
    let nested = (0..110).fold(json!(2), |value, _| json!({ "a": value }));
    let text = json!({ "text": "a".repeat(500_000) });
    let mut outcomes = String::new();
    for name in names(&server, "tools").await {
        let arguments = if name == "recursive" || name.contains("chain") {
            &nested
        } else {
            &text
        };
        let response = call(&server, &name, arguments.clone()).await.json();
        outcomes += &format!("{name}: {}\n", outcome(&response));
    }
    expect![[r#"
        chain: The arguments do not match the input schema of the tool: the schema and the value are nested too deeply
        chain_of_not: The arguments do not match the input schema of the tool: the schema and the value are nested too deeply
        chain_of_references: chain_of_references was called
        doubling: The arguments do not match the input schema of the tool: the schema needs too much time to validate this value
        exponential_pattern: exponential_pattern was called
        fine: fine was called
        large: the provider `hostile_tools` failed: its response is larger than the limit of 16 MiB (`limits.result`)
        many_states: The arguments do not match the input schema of the tool: the schema needs too much time to validate this value
        many_values: The arguments do not match the input schema of the tool: `/text`: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
        recursive: The arguments do not match the input schema of the tool: the schema needs too much time to validate this value
        result: the provider `hostile_tools` failed: its structured result does not match its output schema: the schema needs too much t
        result_chain: the provider `hostile_tools` failed: its structured result does not match its output schema: the schema and the value ar
        unevaluated: unevaluated was called
    "#]].assert_eq(&outcomes);
    assert_eq!(server.read("echo://hello").await.status, 200);
}

/// The beginning of a result or of an error.
fn outcome(response: &Value) -> String {
    let result = &response["result"]["content"][0]["text"];
    let text = result.as_str().or(response["error"]["message"].as_str());
    text.unwrap_or_else(|| panic!("{response}"))
        .chars()
        .take(120)
        .collect()
}

/// An HTTP server that counts requests.
struct Counter {
    count: Arc<AtomicUsize>,
    port: u16,
}

impl Counter {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let counter = Self {
            count: Arc::default(),
            port: listener.local_addr().unwrap().port(),
        };
        let count = counter.count.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                count.fetch_add(1, Ordering::SeqCst);
                _ = stream.read(&mut [0; 4096]);
                _ = stream.write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
                );
            }
        });
        counter
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    fn grant_to(&self, builder: TestServerBuilder) -> TestServerBuilder {
        let rule = HostRule {
            scheme: Some("http".into()),
            host: "127.0.0.1".into(),
            port: Some(self.port),
            methods: Some(vec!["POST".into()]),
            private: true,
            auth: None,
        };
        let builder = builder.setting("hostile_tools", "counter", &self.url());
        builder.provider("hostile_tools", |grant, _| grant.hosts = vec![rule])
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemas_refer_to_no_file_and_no_server() {
    let counter = Counter::start();
    let server = HttpTestServer::from_builder(counter.grant_to(hostile("references"))).await;
    assert_eq!(names(&server, "tools").await, ["fine", "value"]);
    expect![[r#"
        the tool `file`: its input schema: it refers to another document, which is not supported: `file:///etc/passwd`
        the tool `http`: its input schema: it refers to another document, which is not supported: `SERVER`
        the tool `dynamic`: its input schema: it refers to another document, which is not supported: `SERVER`
        the tool `missing`: its input schema: the reference `#/$defs/missing` leads to nothing in the schema
        the tool `relative`: its input schema: it refers to another document, which is not supported: `schema.json`
        the tool `dialect`: its input schema: the `$schema` "SERVER/dialect" is not supported; use draft 2020-12, 2019-09, 7, 6 or 4
    "#]].assert_eq(&omitted(&server).replace(&counter.url(), "SERVER"));
    assert_eq!(counter.count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_ends_halfway_ran_once() {
    tokio::join!(
        check_calls_that_end_halfway(GuestLifetime::Fresh),
        check_calls_that_end_halfway(GuestLifetime::Reused)
    );
}

async fn check_calls_that_end_halfway(lifetime: GuestLifetime) {
    let counter = Counter::start();
    let builder = counter.grant_to(hostile("count"));
    let builder = builder.provider("hostile_tools", |grant, _| {
        grant.guests = lifetime;
        grant.limits.cpu_time = Duration::from_millis(200);
    });
    let server = HttpTestServer::from_builder(builder).await;
    for (at, mode) in [
        "fine",
        "trap",
        "fine",
        "fail",
        "unavailable",
        "hang",
        "fine",
    ]
    .iter()
    .enumerate()
    {
        let response = call(&server, "count", json!({ "then": mode })).await.json();
        assert_eq!(
            response.get("result").is_some(),
            *mode == "fine",
            "{response}"
        );
        assert_eq!(counter.count(), at + 1, "{lifetime:?} {mode}: {response}");
    }
}

#[tokio::test]
async fn deceptive_names_are_omitted() {
    let server = HttpTestServer::from_builder(hostile("texts")).await;
    assert_eq!(
        names(&server, "tools").await,
        ["direction", "escapes", "invisible", "lines"]
    );
    let omitted = omitted(&server);
    expect![[r#"
        the tool "del\u{7f}": a tool name has 1 to 64 letters, digits, `_` or `-`
        the tool "rtl\u{202e}": a tool name has 1 to 64 letters, digits, `_` or `-`
        the tool "tag\u{e0041}": a tool name has 1 to 64 letters, digits, `_` or `-`
        the tool "two words": a tool name has 1 to 64 letters, digits, `_` or `-`
        the tool "wide\u{200b}": a tool name has 1 to 64 letters, digits, `_` or `-`
        the tool "сору": a tool name has 1 to 64 letters, digits, `_` or `-`
    "#]]
    .assert_eq(&omitted);
    // Descriptions are data: JSON escapes all characters that are not valid in JSON, and nothing else is changed.
    let tools = server.modern("tools/list", json!({})).await;
    assert!(
        tools.body.contains(r"red \u001b[31m") && !tools.body.contains('\u{1b}'),
        "{}",
        tools.body
    );
}

#[test]
fn terminals_show_deceptive_texts_escaped() {
    let config = "plugins = \"plugins\"\n[provider.hostile_tools]\ntools = true\nsettings = { list = \"texts\" }\n";
    let work_dir = WorkDir::with_guests("hostile_tools").file("larder.toml", config);
    for command in [
        "tools --in-process",
        "tools --in-process --json",
        "check",
        "inspect plugins/hostile_tools.wasm",
    ] {
        let output = work_dir.larder(command);
        let all = format!("{}{}", output.stdout, output.stderr);
        let unsafe_ones = [
            '\u{1b}',
            '\u{9b}',
            '\u{7f}',
            '\u{202e}',
            '\u{200b}',
            '\u{e0064}',
            '\u{2028}',
        ];
        assert!(
            !all.contains(unsafe_ones),
            "{command}: {}",
            all.escape_debug()
        );
        let is_escaped = all.contains("\\u202e") || all.contains("\\u{202e}");
        assert!(
            is_escaped || command.starts_with("inspect"),
            "{command}: {all}"
        );
    }
}
