use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

/// Listens to a peer that sends these answers. Returns the honoured targets, the changes, and what the peer
/// received.
async fn listen(answers: &[&str]) -> (ListenTargets, Vec<ResourceChange>, String) {
    let (near, mut far) = tokio::io::duplex(64 << 10);
    for answer in answers {
        far.write_all(format!("{answer}\n").as_bytes())
            .await
            .unwrap();
    }
    far.shutdown().await.unwrap();
    let (input, output) = tokio::io::split(near);
    let client = Client::lines(input, output).await.unwrap();
    let targets = ListenTargets {
        uris: vec!["x:1".into(), "x:2".into()],
        list: true,
    };
    let mut listening = client.listen(&targets).await.unwrap();
    let mut changes = Vec::new();
    while let Some(change) = listening.next_change().await.unwrap() {
        changes.push(change);
    }
    let honoured = listening.honoured().clone();
    listening.close().await;
    let mut received = String::new();
    far.read_to_string(&mut received).await.unwrap();
    (honoured, changes, received)
}

#[tokio::test]
async fn modern_server_acknowledges_targets_and_ends_the_stream() {
    let (honoured, changes, received) = listen(&[
        r#"{"id":1,"result":{"supportedVersions":["2026-07-28"]}}"#,
        r#"{"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["x:1"]}}}"#,
        r#"{"method":"notifications/resources/updated","params":{"uri":"x:1"}}"#,
        r#"{"id":2,"result":{"resultType":"complete"}}"#,
        r#"{"method":"notifications/resources/updated","params":{"uri":"x:late"}}"#,
    ])
    .await;
    assert_eq!(
        honoured,
        ListenTargets {
            uris: vec!["x:1".into()],
            list: false
        }
    );
    assert_eq!(changes, [ResourceChange::Updated("x:1".into())]);
    assert!(received.contains("subscriptions/listen"), "{received}");
    assert!(!received.contains("resources/subscribe"), "{received}");
}

#[tokio::test]
async fn skips_messages_of_an_abandoned_read() {
    let (near, mut far) = tokio::io::duplex(64 << 10);
    let mut say = async |answer: &str| {
        far.write_all(format!("{answer}\n").as_bytes())
            .await
            .unwrap()
    };
    say(r#"{"id":1,"result":{"supportedVersions":["2026-07-28"]}}"#).await;
    let (input, output) = tokio::io::split(near);
    let mut client = Client::lines(input, output).await.unwrap();
    let left = tokio::time::timeout(std::time::Duration::from_millis(10), client.read("x:1")).await;
    assert!(left.is_err());
    say(r#"{"method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#).await;
    say(r#"{"id":2,"result":{"contents":[]}}"#).await;
    say(r#"{"method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}"#)
        .await;
    let listening = client.listen(&ListenTargets::default()).await.unwrap();
    listening.close().await;
    let mut received = String::new();
    far.read_to_string(&mut received).await.unwrap();
    let methods =
        ["notifications/cancelled", "subscriptions/listen"].map(|method| received.find(method));
    assert!(
        methods[0].is_some() && methods[0] < methods[1],
        "{received}"
    );
}

#[tokio::test]
async fn gives_up_after_too_many_notifications_before_the_answer() {
    let (near, mut far) = tokio::io::duplex(1 << 20);
    let mut lines = String::from(
        "{\"id\":1,\"error\":{\"code\":-32601,\"message\":\"unknown\"}}\n\
         {\"id\":2,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n",
    );
    for n in 0..=MAX_EARLY_NOTIFICATIONS {
        let params = format!("{{\"uri\":\"x:{n}\"}}");
        lines +=
            &format!("{{\"method\":\"notifications/resources/updated\",\"params\":{params}}}\n")
                .repeat(2);
    }
    far.write_all(lines.as_bytes()).await.unwrap();
    let (input, output) = tokio::io::split(near);
    let client = Client::lines(input, output).await.unwrap();
    let targets = ListenTargets {
        uris: vec!["x:1".into()],
        list: false,
    };
    let error = client.listen(&targets).await.unwrap_err().to_string();
    assert!(error.contains("too many notifications"), "{error}");
}

#[tokio::test]
async fn legacy_subscriptions_lose_no_early_notification() {
    let (honoured, changes, received) = listen(&[
        r#"{"id":1,"error":{"code":-32601,"message":"unknown"}}"#,
        r#"{"id":2,"result":{"protocolVersion":"2025-11-25"}}"#,
        r#"{"id":8,"method":"ping"}"#,
        r#"{"id":3,"result":{}}"#,
        r#"{"method":"notifications/resources/updated","params":{"uri":"x:1"}}"#,
        r#"{"id":4,"error":{"code":-32002,"message":"not found"}}"#,
        r#"{"id":9,"method":"ping"}"#,
        r#"{"method":"notifications/resources/list_changed"}"#,
    ])
    .await;
    assert_eq!(
        honoured,
        ListenTargets {
            uris: vec!["x:1".into()],
            list: true
        }
    );
    assert_eq!(
        changes,
        [
            ResourceChange::Updated("x:1".into()),
            ResourceChange::ListChanged
        ]
    );
    for id in [8, 9] {
        assert!(
            received.contains(&format!(r#""id":{id},"jsonrpc":"2.0","result":{{}}"#)),
            "{received}"
        );
    }
}

#[tokio::test]
async fn supports_unknown_methods_and_notifications() {
    let (near, mut far) = tokio::io::duplex(64 << 10);
    let answers = [
        r#"{"id":1,"error":{"code":-32601,"message":"unknown"}}"#,
        r#"{"id":2,"result":{"protocolVersion":"2025-11-25"}}"#,
        r#"{"method":"notifications/odd","params":{"early":true}}"#,
        r#"{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
        r#"{"id":3,"result":{"asked":"oddly"}}"#,
        r#"{"method":"notifications/odd"}"#,
        r#"{"id":4,"error":{"code":-1,"message":"no","data":{"why":"odd"}}}"#,
    ];
    far.write_all((answers.join("\n") + "\n").as_bytes())
        .await
        .unwrap();
    far.shutdown().await.unwrap();
    let (input, output) = tokio::io::split(near);
    let client = Client::lines(input, output).await.unwrap();
    let mut listening = client.listen(&ListenTargets::default()).await.unwrap();
    let answer: Value = listening
        .request("x/odd", Map::from_iter([("x".into(), json!(1))]))
        .await
        .unwrap();
    assert_eq!(answer, json!({ "asked": "oddly" }));
    let odd = |params: Value| {
        Some(Notification {
            method: "notifications/odd".into(),
            params,
        })
    };
    assert_eq!(
        listening.next_notification().await.unwrap(),
        odd(json!({ "early": true }))
    );
    assert_eq!(
        listening.next_notification().await.unwrap(),
        odd(Value::Null)
    );
    let refused = listening
        .request::<Value>("x/odd", Map::new())
        .await
        .unwrap_err();
    assert!(
        matches!(refused, ClientError::Rpc(error) if error.data == Some(json!({ "why": "odd" })))
    );
    assert_eq!(listening.next_notification().await.unwrap(), None);
    listening.close().await;
    let mut received = String::new();
    far.read_to_string(&mut received).await.unwrap();
    assert!(
        received.contains(r#""id":3,"jsonrpc":"2.0","method":"x/odd","params":{"x":1}"#),
        "{received}"
    );
}
