//! For each kind of cost: the quota that is charged, and for how long.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use larder_core::gateway::Error;
use larder_model::name::{TeamName, Teams};
use larder_model::policy::Quota;
use larder_model::resource::{Call, Caller};
use serde_json::json;

use crate::support::harness::{
    TestServer, TestServerBuilder, eventually, parse_uri, shared_gateway,
};
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON};

/// A server with the smallest limit for concurrent requests, which is four.
fn four_requests() -> TestServerBuilder {
    let quota = Quota {
        calls: 1,
        ..Quota::default()
    };
    TestServer::builder("echo sleep")
        .quota(quota)
        .provider("sleep", |grant, _| {
            grant.limits.queue_timeout = Duration::from_secs(60);
            grant.limits.timeout = Duration::from_secs(60);
        })
}

#[tokio::test]
async fn a_call_that_outlives_its_connection_still_counts() {
    let builder = four_requests().provider("echo", |grant, _| {
        grant.limits.queue_timeout = Duration::from_millis(100);
    });
    let http = HttpTestServer::from_builder(builder).await;
    let session = http.session("2025-06-18").await;
    let connections = RefCell::new(Vec::new());
    let start_call = || {
        let id = connections.borrow().len();
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": { "uri": "sleep://hour" } });
        let mut stream = TcpStream::connect(http.address).unwrap();
        let (address, body) = (http.address, body.to_string());
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-session-id: {session}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        connections.borrow_mut().push(stream);
    };
    for _ in 0..4 {
        start_call();
    }
    let full = async || {
        // If an earlier read came before one of the calls, it took the permit of that call.
        start_call();
        // The server accepts the connection only after it has handled the data of existing connections.
        tokio::time::sleep(Duration::from_millis(20)).await;
        let answer = http.read("echo://error/denied").await;
        answer.status == 429 && answer.body.contains("concurrent requests")
    };
    eventually("all permits are taken", full).await;
    drop(connections);
    eventually("the connections are closed", async || {
        http.server.metrics.server().connections.get() <= 1
    })
    .await;
    let refused = http.read("echo://error/denied").await;
    assert_eq!(refused.verdict(), "429 -32603", "{}", refused.body);
    assert_eq!(refused.headers["retry-after"], "2");
    // Ending the session ends its calls.
    let ended = http
        .client
        .delete(&http.url)
        .header("mcp-session-id", &session);
    assert_eq!(http.send(ended).await.status, 204);
    eventually("a request is accepted", async || {
        http.read("echo://error/denied").await.status == 200
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn incomplete_requests_do_not_count() {
    let http = HttpTestServer::from_builder(four_requests()).await;
    let mut incomplete = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(http.address).unwrap();
        let address = http.address;
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             expect: 100-continue\r\ncontent-length: 100\r\n\r\n"
        )
        .unwrap();
        // The server answers 100 when it starts to read the body.
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 100"), "{line}");
        incomplete.push(stream);
    }
    assert_eq!(http.read("echo://hello").await.status, 200);
}

#[tokio::test]
async fn each_request_of_a_batch_counts() {
    let quota = Quota {
        requests: 5,
        ..Quota::default()
    };
    let http = HttpTestServer::from_builder(TestServer::builder("echo").quota(quota)).await;
    let session = http.session("2025-03-26").await;
    let ping = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let batch: Vec<_> = (0..60).map(ping).collect();
    let answer = http
        .post(
            &[JSON, ACCEPT, ("mcp-session-id", &session)],
            json!(batch).to_string(),
        )
        .await
        .json();
    let answers = answer.as_array().unwrap();
    let refused = answers
        .iter()
        .filter(|answer| answer["error"]["data"]["kind"] == "quota")
        .count();
    assert!(
        answers.len() == 60 && refused >= 40,
        "{refused} of {} were refused",
        answers.len()
    );
}

#[tokio::test]
async fn delete_and_get_count_as_requests() {
    let quota = Quota {
        requests: 3,
        ..Quota::default()
    };
    let http = HttpTestServer::from_builder(TestServer::builder("echo").quota(quota)).await;
    for method in [reqwest::Method::DELETE, reqwest::Method::GET] {
        let send = async || {
            let request = http
                .client
                .request(method.clone(), &http.url)
                .header("mcp-session-id", "no");
            http.send(request).await.status
        };
        let mut all = Vec::new();
        while !all.contains(&429) {
            all.push(send().await);
            assert!(all.len() < 100, "{method}: {all:?}");
        }
    }
}

#[tokio::test]
async fn streamed_responses_are_charged() {
    let quota = Quota {
        bytes: 100,
        ..Quota::default()
    };
    let http = HttpTestServer::from_builder(TestServer::builder("echo").quota(quota)).await;
    let params = json!({ "uri": "echo://progress", "_meta": { "progressToken": "t" } });
    let first = http.modern("resources/read", params).await;
    assert!(
        first.status == 200 && first.body.contains("step 1"),
        "{}",
        first.body
    );
    assert_eq!(http.read("echo://hello").await.status, 429);
}

#[tokio::test]
async fn lists_are_charged() {
    let quota = Quota {
        bytes: 100,
        ..Quota::default()
    };
    let http = HttpTestServer::from_builder(TestServer::builder("many").quota(quota)).await;
    let list = async || http.modern("resources/list", json!({})).await.status;
    assert_eq!([list().await, list().await], [200, 429]);
}

async fn server_of(team: &str, guest: &str, quota: Quota) -> TestServer {
    TestServer::builder(guest)
        .team(team)
        .quota(quota)
        .start()
        .await
}

fn member(teams: &[&str]) -> Caller {
    let teams = Teams::of(teams.iter().map(|team| TeamName::parse(team).unwrap())).unwrap();
    Caller {
        subject: Some("ann".into()),
        issuer: None,
        teams,
        scopes: vec![],
    }
}

#[tokio::test]
async fn bytes_are_charged_to_the_team_of_the_provider() {
    let small = Quota {
        bytes: 100,
        ..Quota::default()
    };
    let (alpha, beta) = (
        server_of("alpha", "full", small).await,
        server_of("beta", "echo", Quota::default()).await,
    );
    let gateway = shared_gateway(&[&alpha, &beta], 100);
    let both = member(&["alpha", "beta"]);
    let read = async |uri: &str| {
        let call = std::sync::Arc::new(Call::from_caller(both.clone()));
        gateway.read(&call, &parse_uri(uri), None).await
    };
    // Reads of beta are unlimited, and alpha is not charged for these reads.
    for _ in 0..5 {
        gateway.admit(&both).unwrap();
        assert!(read("echo://hello").await.is_ok());
    }
    alpha
        .quota_usage
        .as_ref()
        .unwrap()
        .check_byte_quota()
        .unwrap();
    // Reads of alpha are limited by alpha's quota of bytes.
    assert!(read("full://one").await.is_ok());
    let refused = read("full://one").await.unwrap_err();
    assert!(
        matches!(&refused, Error::QuotaExceeded(used_up) if used_up.what == "response bytes"),
        "{refused}"
    );
    assert!(read("echo://hello").await.is_ok());
    // Each request was admitted. Only one response was refused.
    let refusals = |server: &TestServer| server.quota_usage.as_ref().unwrap().refusals();
    assert_eq!((refusals(&alpha), refusals(&beta)), (1, 0));
    assert!(gateway.admit(&member(&["alpha"])).is_err());
    assert_eq!(refusals(&alpha), 2);
}

#[tokio::test]
async fn the_first_team_of_a_caller_pays_for_its_requests() {
    let two_requests = Quota {
        requests: 1,
        watchers: 1,
        ..Quota::default()
    };
    let alpha = server_of("alpha", "echo", two_requests).await;
    let beta = server_of("beta", "echo", two_requests).await;
    let gateway = shared_gateway(&[&alpha, &beta], 100);
    let [both, reverse] = [["beta", "alpha"], ["alpha", "beta"]].map(|teams| member(&teams));
    let admitted = |caller: &Caller| {
        (0..100)
            .take_while(|_| gateway.admit(caller).is_ok())
            .count()
    };
    assert!((1..100).contains(&admitted(&both)), "beta pays");
    let streams: Vec<_> = (0..100)
        .map_while(|_| gateway.stream_permit(&both).ok())
        .collect();
    assert!((1..100).contains(&streams.len()));
    assert!(gateway.admit(&both).is_err() && gateway.admit(&member(&["beta"])).is_err());
    // Members of alpha are not refused, and callers that pay with alpha are not refused either.
    assert!(gateway.admit(&member(&["alpha"])).is_ok() && gateway.stream_permit(&reverse).is_ok());
    let refusals = |server: &TestServer| server.quota_usage.as_ref().unwrap().refusals();
    assert!(refusals(&beta) > 0 && refusals(&alpha) == 0);
}

#[tokio::test]
async fn callers_without_a_served_team_are_limited_too() {
    let alpha = server_of("alpha", "echo", Quota::default()).await;
    let gateway = shared_gateway(&[&alpha], 100);
    let stranger = member(&["nowhere"]);
    let taken = (0..10_000)
        .take_while(|_| gateway.admit(&stranger).is_ok())
        .count();
    assert!(taken < 10_000);
    let permits: Vec<_> = (0..10_000)
        .map_while(|_| gateway.stream_permit(&stranger).ok())
        .collect();
    assert!(permits.len() < 10_000);
    assert!(
        gateway.admit(&member(&["alpha"])).is_ok(),
        "another caller is affected"
    );
}
