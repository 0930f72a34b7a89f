//! Requests whose stream, answers and cancellation arrive at another replica than the replica that runs them.

use serde_json::{Value, json};

use super::replicas::{Answer, EventStream, Replicas};
use super::server::{NatsServer, WAIT};
use crate::support::harness::eventually_within;

/// Calls the tool that requests input.
async fn ask(replicas: &Replicas, replica: usize, session: &str, id: u32) -> (EventStream, Value) {
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "ask", "arguments": {} } });
    let mut stream = EventStream::of(replicas.message(replica, Some(session), &body)).await;
    let question = stream.message().await.unwrap();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    (stream, question)
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("{response}"))
}

#[tokio::test]
async fn an_answer_reaches_the_replica_that_asked() {
    let Some(replicas) = Replicas::start(3, "").await else {
        return;
    };
    let session = replicas.session(0).await;
    // Two replicas request input at the same time.
    let (mut first, one) = ask(&replicas, 0, &session, 1).await;
    let (mut second, other) = ask(&replicas, 1, &session, 2).await;
    // The text is longer than one message between replicas.
    let name = "Ädä ".repeat(100_000);
    for (question, name) in [(&other, "Ben"), (&one, name.as_str())] {
        let result = json!({ "action": "accept", "content": { "name": name } });
        let body = json!({ "jsonrpc": "2.0", "id": question["id"], "result": result });
        let answer = Answer::of(replicas.message(2, Some(&session), &body)).await;
        assert_eq!(answer.status, 202, "{}", answer.body);
    }
    assert!(text(&second.message().await.unwrap()).contains("Ben"));
    assert!(text(&first.message().await.unwrap()).contains(&name));
    // An answer that is not awaited any more is accepted, as on a single server.
    let body = json!({ "jsonrpc": "2.0", "id": one["id"], "result": {} });
    assert_eq!(
        Answer::of(replicas.message(1, Some(&session), &body))
            .await
            .status,
        202
    );
}

#[tokio::test]
async fn the_stream_of_a_request_continues_at_another_replica() {
    let Some(mut replicas) = Replicas::start(3, "").await else {
        return;
    };
    let session = replicas.session(0).await;
    let (stream, question) = ask(&replicas, 0, &session, 1).await;
    let last = stream.last.clone();
    drop(stream);
    // The call still runs, and waits for the answer.
    let mut resumed = replicas.listen(1, &session, Some(&last)).await;
    let name = "x".repeat(300_000);
    let body = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept", "content": { "name": name } } });
    assert_eq!(
        Answer::of(replicas.message(2, Some(&session), &body))
            .await
            .status,
        202
    );
    let response = resumed.message().await.unwrap();
    assert!(
        response["id"] == 1 && text(&response).contains(&name),
        "{response}"
    );
    let end = resumed.last.clone();
    assert!(
        resumed.message().await.is_none(),
        "the stream ends after the response"
    );
    // Every replica reports the end: 204 tells the client to stop.
    for replica in [0, 2] {
        let answer = Answer::of(replicas.get(replica, &session, Some(&end))).await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (204, ""),
            "replica {replica}"
        );
    }
    let other = replicas.session(1).await;
    assert_eq!(
        Answer::of(replicas.get(1, &other, Some(&last)))
            .await
            .status,
        400,
        "another session"
    );
    // Without the replica that ran the request, the request has to be sent again.
    replicas.stop(0, "KILL");
    let answer = Answer::of(replicas.get(1, &session, Some(&last))).await;
    assert_eq!(answer.status, 400);
    assert!(
        answer.body.contains("send the request again"),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn a_request_is_cancelled_through_another_replica() {
    let Some(replicas) = Replicas::start(2, "").await else {
        return;
    };
    let session = replicas.session(0).await;
    let (mut stream, _) = ask(&replicas, 0, &session, 7).await;
    let params = json!({ "requestId": 7 });
    let body = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
    assert_eq!(
        Answer::of(replicas.message(1, Some(&session), &body))
            .await
            .status,
        202
    );
    assert!(
        stream.message().await.is_none(),
        "a cancelled request has no response"
    );
    // The id of the request can be used again.
    let is_free = async || {
        let body = json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" });
        Answer::of(replicas.message(0, Some(&session), &body))
            .await
            .json()["result"]
            .is_object()
    };
    eventually_within(WAIT, "the request has ended", is_free).await;
}

#[tokio::test]
async fn the_level_of_log_messages_counts_everywhere() {
    let Some(replicas) = Replicas::start(2, "").await else {
        return;
    };
    let session = replicas.session(0).await;
    assert_eq!(replicas.read(1, &session, "a").await, 200);
    assert_eq!(
        replicas
            .post(
                0,
                Some(&session),
                "logging/setLevel",
                json!({ "level": "error" })
            )
            .await
            .status,
        200
    );
    let is_set = async || {
        let answer = replicas
            .post(
                1,
                Some(&session),
                "tools/call",
                json!({ "name": "tell", "arguments": {} }),
            )
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let levels = ["error", "warning"]
            .map(|level| answer.body.contains(&format!("\"level\":\"{level}\"")));
        assert!(levels[0], "{}", answer.body);
        !levels[1]
    };
    eventually_within(WAIT, "the other replica knows the level", is_set).await;
}

/// Calls the tool that requests input, as a modern client.
async fn ask_modern(replicas: &Replicas, replica: usize, more: Value) -> Value {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    let mut params = json!({ "name": "ask", "arguments": {}, "_meta": meta });
    params
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let request = replicas
        .message(replica, None, &body)
        .header("mcp-protocol-version", "2026-07-28");
    Answer::of(
        request
            .header("mcp-method", "tools/call")
            .header("mcp-name", "ask"),
    )
    .await
    .json()
}

#[tokio::test]
async fn a_modern_client_answers_at_another_replica_while_the_key_is_replaced() {
    let Some(nats) = NatsServer::start() else {
        return;
    };
    let mut replicas = Replicas::prepare(nats, 3);
    for (replica, keys) in [(0, "['key']"), (1, "['other', 'key']"), (2, "['other']")] {
        replicas.configure(replica, keys, "");
        replicas.run(replica);
        replicas.wait_for_connection(replica);
    }
    for (asked, answered, is_open) in [
        (0, 1, true),
        (1, 2, true),
        (1, 1, true),
        (1, 0, false),
        (0, 2, false),
        (2, 0, false),
    ] {
        let question = ask_modern(&replicas, asked, json!({})).await;
        let state = &question["result"]["requestState"];
        assert!(state.is_string(), "{question}");
        let answer =
            json!({ "inputResponses": { "name": { "action": "decline" } }, "requestState": state });
        let answer = ask_modern(&replicas, answered, answer).await;
        assert_eq!(
            answer["result"]["resultType"] == "complete",
            is_open,
            "{asked} {answered}: {answer}"
        );
    }
    // This also applies to sessions: data that the old key sealed can be read until the old key is removed everywhere.
    let (old, new) = (replicas.session(0).await, replicas.session(1).await);
    assert_eq!(
        (
            replicas.read(1, &old, "a").await,
            replicas.read(2, &new, "a").await
        ),
        (200, 200)
    );
    assert_eq!(replicas.read(2, &old, "a").await, 404);
}
