//! Whose quota pays for what, and for how long.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use larder_core::gateway::Error;
use larder_model::name::{TeamName, Teams};
use larder_model::policy::Quota;
use larder_model::resource::{Call, Caller};
use serde_json::json;

use crate::house::{House, Plan, gateway};
use crate::wire::{ACCEPT, JSON, Wire};

/// With as few places as there can be: four.
fn narrow() -> Plan {
    let quota = Quota { calls: 1, ..Quota::default() };
    Plan::of("echo sleep").quota(quota).terms("sleep", |grant, _| {
        grant.limits.queue_timeout = Duration::from_secs(60);
        grant.limits.timeout = Duration::from_secs(60);
    })
}

#[tokio::test]
async fn work_that_outlives_its_connection_keeps_its_place() {
    let wire = Wire::open(narrow()).await;
    let session = wire.session("2025-06-18").await;
    let mut connections = Vec::new();
    for id in 0..4 {
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "resources/read", "params": { "uri": "sleep://hour" } });
        let mut stream = TcpStream::connect(wire.address).unwrap();
        let (address, body) = (wire.address, body.to_string());
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-session-id: {session}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        connections.push(stream);
    }
    let full = async || {
        let answer = wire.read("echo://error/denied").await;
        answer.status == 429 && answer.body.contains("concurrent requests")
    };
    until(full).await;
    drop(connections);
    until(async || wire.house.metrics.server().connections.get() <= 1).await;
    let refused = wire.read("echo://error/denied").await;
    assert_eq!(refused.verdict(), "429 -32603", "{}", refused.body);
    assert_eq!(refused.headers["retry-after"], "2");
    // Who ends it has his places back.
    let ended = wire.client.delete(&wire.url).header("mcp-session-id", &session);
    assert_eq!(wire.send(ended).await.status, 204);
    until(async || wire.read("echo://error/denied").await.status == 200).await;
}

async fn until(is_so: impl AsyncFn() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < Duration::from_secs(30), "it never is so");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_only_begins_to_ask_takes_nobodys_place() {
    let wire = Wire::open(narrow()).await;
    let mut beginning = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(wire.address).unwrap();
        let address = wire.address;
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             expect: 100-continue\r\ncontent-length: 100\r\n\r\n"
        )
        .unwrap();
        // It says so when it begins to read the body.
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 100"), "{line}");
        beginning.push(stream);
    }
    assert_eq!(wire.read("echo://hello").await.status, 200);
}

#[tokio::test]
async fn each_request_of_a_batch_is_one() {
    let quota = Quota { requests: 5, ..Quota::default() };
    let wire = Wire::open(Plan::of("echo").quota(quota)).await;
    let session = wire.session("2025-03-26").await;
    let ping = |id: u32| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    let batch: Vec<_> = (0..60).map(ping).collect();
    let answer =
        wire.post(&[JSON, ACCEPT, ("mcp-session-id", &session)], json!(batch).to_string()).await.json();
    let answers = answer.as_array().unwrap();
    let refused = answers.iter().filter(|answer| answer["error"]["data"]["kind"] == "quota").count();
    assert!(answers.len() == 60 && refused >= 40, "{refused} of {} were refused", answers.len());
}

#[tokio::test]
async fn other_verbs_are_requests_too() {
    let quota = Quota { requests: 3, ..Quota::default() };
    let wire = Wire::open(Plan::of("echo").quota(quota)).await;
    for verb in [reqwest::Method::DELETE, reqwest::Method::GET] {
        let ask = async || {
            let request = wire.client.request(verb.clone(), &wire.url).header("mcp-session-id", "no");
            wire.send(request).await.status
        };
        let mut all = Vec::new();
        while !all.contains(&429) {
            all.push(ask().await);
            assert!(all.len() < 100, "{verb}: {all:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_came_as_a_stream_is_paid_for() {
    let quota = Quota { bytes: 100, ..Quota::default() };
    let wire = Wire::open(Plan::of("echo").quota(quota)).await;
    let params = json!({ "uri": "echo://progress", "_meta": { "progressToken": "t" } });
    let first = wire.modern("resources/read", params).await;
    assert!(first.status == 200 && first.body.contains("step 1"), "{}", first.body);
    assert_eq!(wire.read("echo://hello").await.status, 429);
}

#[tokio::test]
async fn a_list_is_paid_for() {
    let quota = Quota { bytes: 100, ..Quota::default() };
    let wire = Wire::open(Plan::of("many").quota(quota)).await;
    let list = async || wire.modern("resources/list", json!({})).await.status;
    assert_eq!([list().await, list().await], [200, 429]);
}

async fn house(team: &str, guest: &str, quota: Quota) -> House {
    Plan::of(guest).team(team).quota(quota).open().await
}

fn member(teams: &[&str]) -> Caller {
    let teams = Teams::of(teams.iter().map(|team| TeamName::parse(team).unwrap())).unwrap();
    Caller { subject: Some("ann".into()), issuer: None, teams, scopes: vec![] }
}

#[tokio::test]
async fn what_is_given_is_charged_to_who_gave_it() {
    let small = Quota { bytes: 100, requests: 1, ..Quota::default() };
    let (alpha, beta) = (house("alpha", "full", small).await, house("beta", "echo", Quota::default()).await);
    let gateway = gateway(&[&alpha, &beta], 100);
    let both = member(&["alpha", "beta"]);
    let read = async |uri: &str| {
        gateway.read(&std::sync::Arc::new(Call::from_caller(both.clone())), uri, None).await
    };
    // Of beta as much as he likes: alpha pays nothing for it.
    for _ in 0..5 {
        gateway.admit(&both).unwrap();
        assert!(read("echo://hello").await.is_ok());
    }
    alpha.ration.as_ref().unwrap().check_byte_quota().unwrap();
    // Of alpha what alpha has, whoever else would let him in.
    assert!(read("full://one").await.is_ok());
    let refused = read("full://one").await.unwrap_err();
    assert!(
        matches!(&refused, Error::QuotaExceeded(used_up) if used_up.what == "response bytes"),
        "{refused}"
    );
    assert!(read("echo://hello").await.is_ok());
    // He was let in each time: nobody was refused, but that one answer.
    let refusals = |house: &House| house.ration.as_ref().unwrap().refusals();
    assert_eq!((refusals(&alpha), refusals(&beta)), (1, 0));
    assert!(gateway.admit(&member(&["alpha"])).is_err());
    assert_eq!(refusals(&alpha), 2);
}

#[tokio::test]
async fn who_is_of_no_team_that_is_served_has_a_bound_too() {
    let alpha = house("alpha", "echo", Quota::default()).await;
    let gateway = gateway(&[&alpha], 100);
    let stranger = member(&["nowhere"]);
    let taken = (0..10_000).take_while(|_| gateway.admit(&stranger).is_ok()).count();
    assert!(taken < 10_000);
    let seats: Vec<_> = (0..10_000).map_while(|_| gateway.stream_permit(&stranger).ok()).collect();
    assert!(seats.len() < 10_000);
    assert!(gateway.admit(&member(&["alpha"])).is_ok(), "it is nobody else's");
}
