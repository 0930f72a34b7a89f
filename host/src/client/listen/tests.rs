use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

/// Listens to a peer that has these answers; gives what is honoured, what is heard, and what the peer was told.
async fn hear(answers: &[&str]) -> (Wanted, Vec<News>, String) {
    let (near, mut far) = tokio::io::duplex(64 << 10);
    for answer in answers {
        far.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }
    far.shutdown().await.unwrap();
    let (input, output) = tokio::io::split(near);
    let client = Client::lines(input, output).await.unwrap();
    let wanted = Wanted { uris: vec!["x:1".into(), "x:2".into()], list: true };
    let mut listening = client.listen(&wanted).await.unwrap();
    let mut heard = Vec::new();
    while let Some(news) = listening.next().await.unwrap() {
        heard.push(news);
    }
    let honoured = listening.honoured().clone();
    listening.close().await;
    let mut told = String::new();
    far.read_to_string(&mut told).await.unwrap();
    (honoured, heard, told)
}

#[tokio::test]
async fn a_modern_server_says_what_it_honours_and_when_it_ends() {
    let (honoured, heard, told) = hear(&[
        r#"{"id":1,"result":{"supportedVersions":["2026-07-28"]}}"#,
        r#"{"method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["x:1"]}}}"#,
        r#"{"method":"notifications/resources/updated","params":{"uri":"x:1"}}"#,
        r#"{"id":2,"result":{"resultType":"complete"}}"#,
        r#"{"method":"notifications/resources/updated","params":{"uri":"x:late"}}"#,
    ])
    .await;
    assert_eq!(honoured, Wanted { uris: vec!["x:1".into()], list: false });
    assert_eq!(heard, [News::Updated("x:1".into())]);
    assert!(told.contains("subscriptions/listen") && !told.contains("resources/subscribe"), "{told}");
}

#[tokio::test]
async fn what_belongs_to_a_read_that_was_given_up_is_passed_over() {
    let (near, mut far) = tokio::io::duplex(64 << 10);
    let mut say = async |answer: &str| far.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    say(r#"{"id":1,"result":{"supportedVersions":["2026-07-28"]}}"#).await;
    let (input, output) = tokio::io::split(near);
    let mut client = Client::lines(input, output).await.unwrap();
    let left = tokio::time::timeout(std::time::Duration::from_millis(10), client.read("x:1")).await;
    assert!(left.is_err());
    say(r#"{"method":"notifications/progress","params":{"progressToken":2,"progress":1}}"#).await;
    say(r#"{"id":2,"result":{"contents":[]}}"#).await;
    say(r#"{"method":"notifications/subscriptions/acknowledged","params":{"notifications":{}}}"#).await;
    let listening = client.listen(&Wanted::default()).await.unwrap();
    listening.close().await;
    let mut told = String::new();
    far.read_to_string(&mut told).await.unwrap();
    let methods = ["notifications/cancelled", "subscriptions/listen"].map(|method| told.find(method));
    assert!(methods[0].is_some() && methods[0] < methods[1], "{told}");
}

#[tokio::test]
async fn who_talks_instead_of_answering_is_not_listened_to_for_ever() {
    let (near, mut far) = tokio::io::duplex(1 << 20);
    let mut lines = String::from(
        "{\"id\":1,\"error\":{\"code\":-32601,\"message\":\"unknown\"}}\n\
         {\"id\":2,\"result\":{\"protocolVersion\":\"2025-11-25\"}}\n",
    );
    for n in 0..=EARLY {
        let params = format!("{{\"uri\":\"x:{n}\"}}");
        lines +=
            &format!("{{\"method\":\"notifications/resources/updated\",\"params\":{params}}}\n").repeat(2);
    }
    far.write_all(lines.as_bytes()).await.unwrap();
    let (input, output) = tokio::io::split(near);
    let client = Client::lines(input, output).await.unwrap();
    let wanted = Wanted { uris: vec!["x:1".into()], list: false };
    let error = client.listen(&wanted).await.unwrap_err().to_string();
    assert!(error.contains("more and more"), "{error}");
}

#[tokio::test]
async fn an_older_server_is_subscribed_to_and_nothing_said_meanwhile_is_lost() {
    let (honoured, heard, told) = hear(&[
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
    assert_eq!(honoured, Wanted { uris: vec!["x:1".into()], list: true });
    assert_eq!(heard, [News::Updated("x:1".into()), News::ListChanged]);
    for id in [8, 9] {
        assert!(told.contains(&format!(r#""id":{id},"jsonrpc":"2.0","result":{{}}"#)), "{told}");
    }
}

#[tokio::test]
async fn what_no_protocol_knows_is_asked_and_heard_too() {
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
    far.write_all((answers.join("\n") + "\n").as_bytes()).await.unwrap();
    far.shutdown().await.unwrap();
    let (input, output) = tokio::io::split(near);
    let client = Client::lines(input, output).await.unwrap();
    let mut listening = client.listen(&Wanted::default()).await.unwrap();
    let answer: Value = listening.request("x/odd", Map::from_iter([("x".into(), json!(1))])).await.unwrap();
    assert_eq!(answer, json!({ "asked": "oddly" }));
    let heard = |params: Value| Some(Notification { method: "notifications/odd".into(), params });
    assert_eq!(listening.said().await.unwrap(), heard(json!({ "early": true })));
    assert_eq!(listening.said().await.unwrap(), heard(Value::Null));
    let refused = listening.request::<Value>("x/odd", Map::new()).await.unwrap_err();
    assert!(
        matches!(refused, ClientError::Refused(refusal) if refusal.data == Some(json!({ "why": "odd" })))
    );
    assert_eq!(listening.said().await.unwrap(), None);
    listening.close().await;
    let mut told = String::new();
    far.read_to_string(&mut told).await.unwrap();
    assert!(told.contains(r#""id":3,"jsonrpc":"2.0","method":"x/odd","params":{"x":1}"#), "{told}");
}
