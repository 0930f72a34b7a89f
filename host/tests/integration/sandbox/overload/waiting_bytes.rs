//! Responses that wait for slow clients: their total size is limited, and each team has its share.

use std::time::Duration;

use larder_mcp::Config;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::{check_retry_after, raw_read, read_until_status, send, status};
use crate::support::harness::{TestServer, component_path};
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON, config, meta};
use crate::support::process::{WorkDir, http_client};

/// More than the socket buffers of the system hold.
const LARGE: &str = "sized://sized/text/14000000";

async fn open(guests: &str, waiting_bytes: usize) -> HttpTestServer {
    HttpTestServer::with_config(
        TestServer::builder(guests),
        Config {
            waiting_bytes,
            ..config()
        },
    )
    .await
}

/// Sends a request, and reads no more than the status of the response.
async fn slow_reader(http: &HttpTestServer, uri: &str) -> TcpStream {
    let mut stream = send(http, &raw_read(uri, "")).await;
    assert_eq!(status(&mut stream).await, "200");
    stream
}

#[tokio::test]
async fn the_memory_of_unread_responses_is_limited() {
    let http = open("sized", 20 << 20).await;
    let slow = slow_reader(&http, LARGE).await;
    let refused = http.read(LARGE).await;
    assert_eq!(refused.status, 503);
    check_retry_after(&refused);
    assert_eq!(refused.json()["error"]["data"]["kind"], "overloaded");
    // A small response is not delayed. Closing the slow connection releases its memory.
    assert_eq!(http.read("sized://sized/text/1024").await.status, 200);
    drop(slow);
    read_until_status(&http, LARGE, 200).await;
}

#[tokio::test]
async fn a_response_larger_than_the_limit_is_refused() {
    let http = open("sized", 1 << 20).await;
    let refused = http.read(LARGE).await;
    let message = refused.json()["error"]["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(message.contains("`server.waiting_bytes`"), "{message}");
    assert!(
        !refused.headers.contains_key("retry-after"),
        "it would be refused again"
    );
    assert_eq!(
        http.read("sized://sized/text/900000").await.verdict(),
        "200 ok"
    );
}

#[tokio::test]
async fn a_streamed_response_counts() {
    let http = open("huge", 20 << 20).await;
    let progress = json!({ "uri": "huge://progress/14000000", "_meta": { "progressToken": 1 } });
    let mut request = meta();
    request["progressToken"] = 1.into();
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read",
        "params": { "uri": "huge://progress/14000000", "_meta": request } });
    let head = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: */*\r\n\
        mcp-protocol-version: 2026-07-28\r\nmcp-method: resources/read\r\nmcp-name: huge://progress/14000000\r\n";
    let request = format!(
        "{head}content-length: {}\r\n\r\n{body}",
        body.to_string().len()
    );
    let mut slow = send(&http, &request).await;
    // The slow client reads until the large response has begun.
    let mut received = Vec::new();
    while !String::from_utf8_lossy(&received).contains("xxxx") {
        assert!(slow.read_buf(&mut received).await.unwrap() > 0);
    }
    assert_eq!(http.read("huge://14000000").await.status, 503);
    let streamed = http.modern("resources/read", progress.clone()).await;
    assert_eq!(streamed.headers["content-type"], "text/event-stream");
    assert!(
        streamed.body.contains("overloaded") && streamed.body.len() < 2_000,
        "{}",
        streamed.body.len()
    );
    drop(slow);
    read_until_status(&http, "huge://14000000", 200).await;
    let streamed = http.modern("resources/read", progress).await;
    assert!(
        streamed.body.len() > 14_000_000 && streamed.body.ends_with("}\n\n"),
        "{}",
        streamed.body.len()
    );
}

#[tokio::test]
async fn the_responses_of_a_batch_count_together() {
    let http = open("sized", 4 << 20).await;
    let session = http.session("2025-03-26").await;
    let read = |id: usize| {
        let params = json!({ "uri": "sized://sized/text/1000000" });
        json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": params })
    };
    let send = async |count: usize| {
        let batch = Value::Array((0..count).map(read).collect()).to_string();
        http.post(&[JSON, ACCEPT, ("mcp-session-id", &session)], batch)
            .await
    };
    let answer = send(2).await;
    let all = answer.json();
    let texts = all
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["result"]["contents"][0]["text"].as_str());
    assert!(
        texts.clone().count() == 2 && texts.flatten().all(|text| text.len() == 1_000_000),
        "{all}"
    );
    let answer = send(64).await;
    // The errors are small, so they do not count.
    assert!(
        answer.body.len() < (4 << 20) + (64 << 10),
        "{} bytes",
        answer.body.len()
    );
    let all = answer.json();
    let errors = all
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["error"]["data"]["kind"] == "overloaded");
    let errors: Vec<_> = errors.map(|one| one["id"].as_u64().unwrap()).collect();
    assert!(
        errors.len() >= 60 && errors.ends_with(&[62, 63]),
        "{errors:?}"
    );
    assert_eq!(all.as_array().unwrap().len(), 64);
}

#[tokio::test]
async fn slow_readers_of_one_team_do_not_starve_another() {
    let work_dir = WorkDir::with_guests("");
    // A team can use half of the budget, and the only caller of the team can use half of this share.
    let mut file = "[server]\nwaiting_bytes = \"128MiB\"\n\n".to_owned();
    let mut tokens = Vec::new();
    for team in ["alpha", "beta"] {
        std::fs::create_dir(work_dir.path(team)).unwrap();
        std::fs::copy(
            component_path("sized"),
            work_dir.path(team).join("sized.wasm"),
        )
        .unwrap();
        let text = work_dir
            .larder(&format!("token new --name {team} --team {team}"))
            .expect_success();
        let (token, lines) = text.split_once("\n\n").unwrap();
        tokens.push(token.to_owned());
        file += &format!("[team.{team}]\nplugins = \"{team}\"\n\n{lines}\n");
    }
    let work_dir = work_dir.file("larder.toml", &file);
    let (_server, url) = work_dir.serve("");
    let address = url
        .trim_start_matches("http://")
        .trim_end_matches("/mcp")
        .to_owned();
    let mut slow = Vec::new();
    let mut statuses = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let request = raw_read(LARGE, &format!("authorization: Bearer {}\r\n", tokens[0]));
        tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes())
            .await
            .unwrap();
        statuses.push(status(&mut stream).await);
        slow.push(stream);
    }
    assert_eq!(
        statuses.iter().filter(|status| *status == "200").count(),
        2,
        "{statuses:?}"
    );
    let request = http_client()
        .post(&url)
        .bearer_auth(&tokens[1])
        .timeout(Duration::from_secs(60));
    let raw = raw_read(LARGE, "");
    let (head, body) = raw.split_once("\r\n\r\n").unwrap();
    let headers = head
        .lines()
        .skip(2)
        .filter_map(|line| line.split_once(": "));
    let request = headers.fold(request, |request, (name, value)| {
        request.header(name, value)
    });
    let answer = request.body(body.to_owned()).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(answer.bytes().await.unwrap().len() > 14_000_000);
}
