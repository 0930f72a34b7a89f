//! Large contents: a response holds its contents, and encodes them while they are sent. So a read needs less than three
//! times the memory of its content, with any number of escapes.

use larder_mcp::Config;
use larder_runtime::memory_budget::MemoryUse;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use super::memory_budget::nothing_is_charged;
use super::{raw_read, send, status};
use crate::protocol::extension::extension_config;
use crate::protocol::stdio::{StdioTestServer, legacy, modern};
use crate::support::harness::{SLOW_WAIT, TestServer, eventually};
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON, config, meta};
use crate::support::process::{RunningProcess, WorkDir, http_client};

/// A little less than the default of `limits.result`.
const BYTES: usize = 16_700_000;
/// The size of contents for slower transports. The memory for the request itself is still much smaller.
const FEWER_BYTES: usize = 6_000_000;
const LINE: &str = "A line of a document, \"quoted\", that is sixty-four bytes long. \n";

/// A content that is encoded while it is sent.
const TEXT: &str = "sized://sized/text/5000000";
const BLOB: &str = "sized://sized/blob/5000000";

fn text() -> String {
    let mut text = LINE.repeat(5_000_000 / LINE.len() + 1);
    text.truncate(5_000_000);
    text
}

fn handshake(version: &str) -> Value {
    let info = json!({ "name": "t", "version": "1" });
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": info });
    legacy(0.into(), "initialize", params)
}

/// Checks that a result of `resources/read` has this content.
fn check_content(response: &Value, key: &str, expected: &str) {
    let content = &response["result"]["contents"][0];
    assert!(
        content[key].as_str().unwrap_or_default() == expected,
        "{}",
        &content.to_string()[..300]
    );
}

fn blob() -> String {
    let blob: Vec<u8> = (0..5_000_000).map(|n| (n % 251) as u8).collect();
    base64(&blob)
}

/// Encodes with code of its own, which is independent of the server.
fn base64(data: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in data.chunks(3) {
        let bits = three
            .iter()
            .fold(0, |bits: u32, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        let digits = (0..4).map(|n| DIGITS[(bits >> (18 - 6 * n)) as usize % 64] as char);
        text.extend(digits.take(three.len() + 1));
        text.extend(std::iter::repeat_n('=', 3 - three.len()));
    }
    text
}

#[tokio::test]
async fn the_content_is_complete_over_http() {
    let builder = TestServer::builder("sized huge").resource_tools();
    let http = HttpTestServer::with_config(builder, extension_config()).await;
    let (text, blob) = (text(), blob());
    let response = http.read(TEXT).await;
    assert_eq!(
        response.headers["content-length"],
        response.body.len().to_string()
    );
    check_content(&response.json(), "text", &text);
    check_content(&http.read(BLOB).await.json(), "blob", &blob);
    let got = http
        .modern("resources/get", json!({ "uri": TEXT }))
        .await
        .json();
    assert!(got["result"]["contents"]["content"].as_str() == Some(&text));
    let session = http.session("2025-03-26").await;
    check_content(
        &http
            .legacy(&session, "resources/read", json!({ "uri": BLOB }))
            .await
            .json(),
        "blob",
        &blob,
    );
    let read = |id: usize, uri| json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": { "uri": uri } });
    let batch = json!([
        read(1, TEXT),
        read(2, "sized://sized/text/10"),
        read(3, BLOB)
    ])
    .to_string();
    let batch = http
        .post(&[JSON, ACCEPT, ("mcp-session-id", &session)], batch)
        .await
        .json();
    check_content(&batch[0], "text", &text);
    check_content(&batch[1], "text", &text[..10]);
    check_content(&batch[2], "blob", &blob);
    nothing_is_charged(&http).await;
}

#[tokio::test]
async fn the_content_is_complete_in_results_of_tools() {
    let http = HttpTestServer::from_builder(TestServer::builder("sized").resource_tools()).await;
    let text = text();
    let call = async |name: &str, arguments: Value| {
        let response = http
            .modern(
                "tools/call",
                json!({ "name": name, "arguments": arguments }),
            )
            .await;
        assert_eq!(
            response.headers["content-length"],
            response.body.len().to_string()
        );
        response.json()["result"].take()
    };
    let read = call("read_resource", json!({ "uri": TEXT })).await;
    assert!(read["content"][0]["text"].as_str() == Some(&text));
    assert!(read["structuredContent"]["contents"][0]["text"].as_str() == Some(&text));
    let read = call("read_resource", json!({ "uri": BLOB })).await;
    assert!(read["content"][0]["resource"]["blob"].as_str() == Some(&blob()));
    let fetched = call("fetch", json!({ "id": TEXT })).await;
    assert!(fetched["structuredContent"]["text"].as_str() == Some(&text));
    let inner: Value =
        serde_json::from_str(fetched["content"][0]["text"].as_str().unwrap()).unwrap();
    assert!(inner == fetched["structuredContent"]);
    nothing_is_charged(&http).await;
}

#[tokio::test]
async fn the_content_is_complete_in_event_streams() {
    let http = HttpTestServer::with_config(TestServer::builder("huge"), config()).await;
    let session = http.session("2025-11-25").await;
    let params = json!({ "uri": "huge://progress/5000000", "_meta": { "progressToken": 1 } });
    let of_modern = http.modern("resources/read", params.clone()).await;
    let of_legacy = http.legacy(&session, "resources/read", params).await;
    for response in [of_modern, of_legacy] {
        assert_eq!(response.headers["content-type"], "text/event-stream");
        let last = response
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .next_back()
            .unwrap();
        check_content(
            &serde_json::from_str(last).unwrap(),
            "text",
            &"x".repeat(5_000_000),
        );
        assert!(response.body.ends_with("}\n\n"));
    }
    let budget = http.server.gateway.memory();
    eventually("the responses are released", async || {
        budget.used_for(MemoryUse::Responses) == 0
    })
    .await;
}

#[tokio::test]
async fn the_content_is_complete_over_stdio() {
    let mut stdio = StdioTestServer::with_config(TestServer::builder("sized"), config()).await;
    let (text, params) = (text(), json!({ "uri": TEXT }));
    check_content(
        &stdio
            .request(modern(1.into(), "resources/read", params.clone()))
            .await,
        "text",
        &text,
    );
    stdio.request(handshake("2025-03-26")).await;
    check_content(
        &stdio
            .request(legacy(2.into(), "resources/read", params.clone()))
            .await,
        "text",
        &text,
    );
    let batch = json!([
        legacy(3.into(), "resources/read", params),
        legacy(4.into(), "ping", json!({}))
    ]);
    let answers = stdio.request(batch).await;
    check_content(&answers[0], "text", &text);
    assert_eq!(answers[1]["id"], 4);
    let budget = stdio.server.gateway.memory();
    let lists = budget.used_for(MemoryUse::Catalogs);
    eventually("the memory is released", async || budget.used() == lists).await;
}

/// The JSON of the content has 90 MB. The client stops reading after the beginning of the JSON.
#[tokio::test]
async fn the_first_byte_is_sent_before_the_last_one_is_encoded() {
    let http = HttpTestServer::with_config(
        TestServer::builder("huge"),
        Config {
            waiting_bytes: 32 << 20,
            ..config()
        },
    )
    .await;
    let budget = http.server.gateway.memory();
    let mut slow = send(&http, &raw_read("huge://control/15000000", "")).await;
    assert_eq!(status(&mut slow).await, "200");
    let mut begin = vec![0; 256 << 10];
    let received = tokio::time::timeout(SLOW_WAIT, slow.read_exact(&mut begin)).await;
    received.expect("the begin of the response").unwrap();
    let begin = String::from_utf8_lossy(&begin).into_owned();
    let length = begin
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .unwrap();
    assert!(
        length.parse::<usize>().unwrap() > 90_000_000 && begin.contains("\\u0001"),
        "{length}"
    );
    let waits = async || (15_000_000..17_000_000).contains(&budget.used_for(MemoryUse::Responses));
    eventually("only the content is held", waits).await;
    assert_eq!(
        budget.used_for(MemoryUse::Guests) + budget.used_for(MemoryUse::Answers),
        0
    );
    drop(slow);
    nothing_is_charged(&http).await;
}

/// Reads a content of this size. Returns the largest growth of the server's memory during the read, in bytes.
async fn growth(server: &RunningProcess, bytes: usize, read: impl Future<Output = usize>) -> u64 {
    let idle = server.memory().unwrap();
    server.reset_peak_memory();
    let received = read.await;
    assert!(received > bytes, "{received} bytes");
    server.peak_memory().unwrap().saturating_sub(idle)
}

fn check_growth(what: &str, growth: u64, bytes: usize) {
    println!("{what}: {} KiB", growth >> 10);
    assert!(growth < 3 * bytes as u64, "{what}: {growth} bytes");
}

/// Sends a request over HTTP, and returns the number of bytes of the response and its session.
async fn post(url: &str, headers: &[(&str, &str)], body: &Value) -> (usize, Option<String>) {
    let request = http_client()
        .post(url)
        .timeout(SLOW_WAIT)
        .body(body.to_string());
    let headers = [JSON, ACCEPT].iter().chain(headers);
    let request = headers.fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    let mut response = request.send().await.unwrap();
    let session = response
        .headers()
        .get("mcp-session-id")
        .map(|id| id.to_str().unwrap().to_owned());
    let mut size = 0;
    while let Some(chunk) = response.chunk().await.unwrap() {
        size += chunk.len();
    }
    (size, session)
}

async fn read_modern(url: &str, uri: &str) -> usize {
    let body = modern(1.into(), "resources/read", json!({ "uri": uri }));
    let version = meta()["io.modelcontextprotocol/protocolVersion"]
        .as_str()
        .unwrap()
        .to_owned();
    let headers = [
        ("mcp-protocol-version", &*version),
        ("mcp-method", "resources/read"),
        ("mcp-name", uri),
    ];
    post(url, &headers, &body).await.0
}

#[tokio::test]
async fn a_read_takes_less_than_three_times_the_content_over_http() {
    let work_dir = WorkDir::with_guests("sized huge");
    for kind in ["sized://sized/text", "sized://sized/blob", "huge://control"] {
        let (server, url) = work_dir.serve("");
        read_modern(&url, &format!("{kind}/1000")).await;
        check_growth(
            kind,
            growth(
                &server,
                BYTES,
                read_modern(&url, &format!("{kind}/{BYTES}")),
            )
            .await,
            BYTES,
        );
    }
}

#[tokio::test]
async fn a_read_takes_less_than_three_times_the_content_in_a_session() {
    let work_dir = WorkDir::with_guests("sized huge");
    for kind in [
        "sized://sized/text",
        "sized://sized/blob",
        "huge://control",
        "huge://progress",
    ] {
        let (server, url) = work_dir.serve("");
        let session = post(&url, &[], &handshake("2025-11-25")).await.1.unwrap();
        let read = async |bytes: usize| {
            let params =
                json!({ "uri": format!("{kind}/{bytes}"), "_meta": { "progressToken": 1 } });
            post(
                &url,
                &[("mcp-session-id", &session)],
                &legacy(1.into(), "resources/read", params),
            )
            .await
            .0
        };
        read(1_000).await;
        check_growth(
            kind,
            growth(&server, FEWER_BYTES, read(FEWER_BYTES)).await,
            FEWER_BYTES,
        );
    }
}

#[tokio::test]
async fn a_read_takes_less_than_three_times_the_content_over_stdio() {
    let work_dir = WorkDir::with_guests("sized huge");
    for kind in ["sized://sized/text", "sized://sized/blob", "huge://control"] {
        for request in [legacy, modern] {
            let mut server = work_dir.start("serve --stdio");
            server.write_line(&handshake("2025-11-25").to_string());
            server.next();
            let read = |server: &mut RunningProcess, bytes: usize| {
                let params = json!({ "uri": format!("{kind}/{bytes}") });
                server.write_line(&request(1.into(), "resources/read", params).to_string());
                server.next().len()
            };
            read(&mut server, 1_000);
            let idle = server.memory().unwrap();
            server.reset_peak_memory();
            assert!(read(&mut server, FEWER_BYTES) > FEWER_BYTES);
            check_growth(
                kind,
                server.peak_memory().unwrap().saturating_sub(idle),
                FEWER_BYTES,
            );
        }
    }
}
