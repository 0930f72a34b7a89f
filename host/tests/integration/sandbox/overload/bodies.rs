//! Bodies in the memory budget: bodies of arriving requests, of the HTTP requests of guests, and of the results of
//! tools.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use larder_mcp::Config;
use larder_model::policy::{HostRule, ToolGrant};
use larder_runtime::drain::Drain;
use larder_runtime::memory_budget::MemoryUse;
use serde_json::json;
use tokio::net::TcpStream;

use super::memory_budget::nothing_is_charged;
use super::{send, status};
use crate::support::harness::{SLOW_WAIT, TestServer, eventually, eventually_within};
use crate::support::http_server::{HttpTestServer, config};

const MIB: usize = 1 << 20;

/// Opens a connection, and sends the beginning of a request whose body has 8 MiB.
async fn begin_body(http: &HttpTestServer, bytes: usize) -> TcpStream {
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\n\
        mcp-protocol-version: 2026-07-28\r\nmcp-method: ping\r\n";
    send(
        http,
        &format!(
            "{head}content-length: {}\r\n\r\n{}",
            8 * MIB,
            " ".repeat(bytes)
        ),
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_request_is_charged_as_it_arrives() {
    let builder = TestServer::builder("sized").memory(20 << 20);
    let http = HttpTestServer::with_config(
        builder,
        Config {
            body_limit: 8 * MIB,
            ..config()
        },
    )
    .await;
    let budget = http.server.gateway.memory();
    let mut slow = Vec::new();
    for _ in 0..20 {
        slow.push(begin_body(&http, 1).await);
    }
    for count in 1..=2 {
        slow.push(begin_body(&http, 5 * MIB).await);
        let charged = (count * 5 * MIB) as u64..=(count * 8 * MIB) as u64;
        eventually("the bodies are charged", async || {
            charged.contains(&budget.used_for(MemoryUse::Requests))
        })
        .await;
    }
    let mut refused = begin_body(&http, 5 * MIB).await;
    assert_eq!(status(&mut refused).await, "503");
    // Small requests are not affected.
    assert_eq!(http.read("sized://sized/text/10").await.status, 200);
    drop((slow, refused));
    nothing_is_charged(&http).await;
    let params = json!({ "uri": "sized://sized/text/10", "padding": " ".repeat(7 * MIB) });
    let answer = http.modern("resources/read", params).await;
    assert_eq!(answer.verdict(), "200 ok", "{}", answer.body);
    nothing_is_charged(&http).await;
}

/// Most clients send the whole request before they read the response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_sends_a_refused_body_to_its_end_receives_the_response() {
    let builder = TestServer::builder("sized");
    let http = HttpTestServer::with_config(
        builder,
        Config {
            body_limit: 4 * MIB,
            ..config()
        },
    )
    .await;
    for _ in 0..20 {
        let mut stream = begin_body(&http, 8 * MIB).await;
        assert_eq!(status(&mut stream).await, "413");
    }
    assert_eq!(http.read("sized://sized/text/10").await.status, 200);
}

/// Starts an HTTP server that announces `length` bytes and sends fewer. It returns its port.
fn upstream(length: usize, sent: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                _ = stream.read(&mut [0; 4096]);
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
                _ = stream.write_all(head.as_bytes());
                _ = stream.write_all(&vec![b'x'; sent]);
                // Ends when the client closes the connection.
                _ = stream.read_to_end(&mut Vec::new());
            });
        }
    });
    port
}

/// A server with a guest that may send requests to this port.
async fn with_upstream(port: u16, memory: usize) -> Arc<HttpTestServer> {
    let builder =
        TestServer::builder("net")
            .memory(memory as u64)
            .provider("net", move |grant, _| {
                grant.hosts = vec![HostRule {
                    scheme: Some("http".into()),
                    host: "127.0.0.1".into(),
                    port: Some(port),
                    methods: None,
                    private: false,
                    auth: None,
                }];
                grant.limits.timeout = Duration::from_secs(60);
                grant.limits.http_body = 64 << 20;
            });
    Arc::new(HttpTestServer::with_config(builder, config()).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_response_to_a_guest_is_charged_while_the_host_holds_it() {
    let port = upstream(9 * MIB, 8 * MIB);
    let http = with_upstream(port, 64 * MIB).await;
    let budget = http.server.gateway.memory();
    let (reading, uri) = (
        http.clone(),
        format!("net://http-client/http://127.0.0.1:{port}/"),
    );
    let read = Drain::new().spawn(async move { reading.read(&uri).await });
    let is_charged = async || {
        ((7 * MIB) as u64..=(16 * MIB) as u64).contains(&budget.used_for(MemoryUse::OutgoingHttp))
    };
    eventually("the body is charged", is_charged).await;
    read.abort();
    nothing_is_charged(&http).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_to_a_guest_without_memory_is_refused() {
    let port = upstream(12 * MIB, 12 * MIB);
    let http = with_upstream(port, 10 * MIB).await;
    let uri = format!("net://http-client/http://127.0.0.1:{port}/");
    let answer = http.read(&uri).await;
    assert!(
        answer
            .body
            .contains("the server has no memory for the body"),
        "{}",
        answer.body
    );
    assert!(http.server.gateway.memory().report().uses[MemoryUse::OutgoingHttp as usize].2 >= 1);
    nothing_is_charged(&http).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_result_of_a_tool_is_charged_until_its_response_is_written() {
    let builder = TestServer::builder("sized_tool")
        .memory(256 << 20)
        .provider("sized_tool", |grant, _| {
            grant.tools = ToolGrant::All;
        });
    let config = Config {
        waiting_bytes: 128 << 20,
        ..config()
    };
    let http = Arc::new(HttpTestServer::with_config(builder, config).await);
    let budget = http.server.gateway.memory().clone();
    let bytes = 12 * MIB;
    // The charge exists for some milliseconds of each call.
    eventually_within(SLOW_WAIT, "the result is charged", async || {
        let calling = http.clone();
        let call = async move {
            let params = json!({ "name": "document", "arguments": { "bytes": bytes } });
            calling.modern("tools/call", params).await
        };
        let call = Drain::new().spawn(call);
        let mut is_charged = false;
        while !call.is_finished() {
            is_charged |= budget.used_for(MemoryUse::Answers) >= bytes as u64;
            tokio::task::yield_now().await;
        }
        let answer = call.await.unwrap().unwrap();
        assert!(
            answer.status == 200 && answer.body.len() > bytes,
            "{}",
            answer.status
        );
        is_charged
    })
    .await;
    nothing_is_charged(&http).await;
}
