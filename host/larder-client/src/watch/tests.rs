use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::{Value, json};

use super::*;

/// The reply of the server to a request.
enum Reply {
    /// The server supports the modern era.
    Discovered,
    /// The server accepts the subscription to these URIs.
    Listening(&'static [&'static str]),
    /// The resource has this content.
    Content(&'static str),
    /// The resource has this content, and then the server ends the stream of the subscription.
    LastContent(&'static str),
    /// The server closes all connections.
    Gone,
}

use Reply::{Content, Discovered, Gone, LastContent, Listening};

/// Replies to one request after another, each on a separate connection.
fn serve(listener: &TcpListener, replies: &[Reply]) {
    let mut listening = None;
    for reply in replies {
        let mut connection = listener.accept().unwrap().0;
        let id = receive(&mut connection);
        match reply {
            Discovered => send(
                connection,
                &id,
                &json!({ "supportedVersions": ["2026-07-28"] }),
            ),
            Listening(uris) => {
                let params = json!({ "notifications": { "resourceSubscriptions": uris } });
                let method = "notifications/subscriptions/acknowledged";
                let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
                let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
                write!(connection, "{head}data: {message}\n\n").unwrap();
                listening = Some((connection, id));
            }
            Content(text) => send(connection, &id, &json!({ "contents": [{ "text": text }] })),
            LastContent(text) => {
                send(connection, &id, &json!({ "contents": [{ "text": text }] }));
                let (mut stream, id) = listening.take().unwrap();
                let message = json!({ "jsonrpc": "2.0", "id": id, "result": {} });
                write!(stream, "retry: 1\ndata: {message}\n\n").unwrap();
            }
            Gone => listening = None,
        }
    }
}

/// Receives a request. Returns its id.
fn receive(connection: &mut TcpStream) -> Value {
    let mut received = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let count = connection.read(&mut buffer).unwrap();
        assert!(count > 0, "the request ended early");
        received.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&received);
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(message) = serde_json::from_str::<Value>(body)
        {
            return message["id"].clone();
        }
    }
}

fn send(mut connection: TcpStream, id: &Value, result: &Value) {
    let body = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json";
    write!(
        connection,
        "{head}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
}

/// Watches `x:1` and `x:2` at a server that ends the subscription when both have the content `one`, and then sends
/// these replies. Returns the events until the first change.
async fn watch_until_change(later: Vec<Reply>) -> Vec<String> {
    let mut replies = vec![Discovered, BOTH, Content("one"), LastContent("one")];
    replies.extend(later);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    thread::spawn(move || serve(&listener, &replies));
    let targets = ListenTargets {
        uris: vec!["x:1".into(), "x:2".into()],
        list: false,
    };
    let mut events = Vec::new();
    let on_event = |event: Event| match event {
        Event::Began { honoured, .. } => {
            events.push(format!("watching {}", honoured.uris.join(" ")));
            ControlFlow::Continue(())
        }
        Event::Lost { .. } => {
            events.push("lost".to_owned());
            ControlFlow::Continue(())
        }
        Event::Changed(change) => {
            events.push(format!("{change:?}"));
            ControlFlow::Break(())
        }
    };
    let watched = watch(|| Client::builder().http(&url), &targets, on_event);
    tokio::time::timeout(Duration::from_secs(60), watched)
        .await
        .expect("no change")
        .unwrap();
    events
}

const BOTH: Reply = Listening(&["x:1", "x:2"]);

#[tokio::test]
async fn a_server_that_is_gone_again_changes_nothing() {
    let events = watch_until_change(vec![
        // A stopping server may still accept connections for a short time.
        Discovered,
        BOTH,
        Content("two"),
        Gone,
        Discovered,
        BOTH,
        Content("one"),
        Content("two"),
    ]);
    let events = events.await;
    assert_eq!(
        events,
        [
            "watching x:1 x:2",
            "lost",
            "lost",
            "watching x:1 x:2",
            r#"Updated("x:2")"#
        ]
    );
}

#[tokio::test]
async fn waits_for_what_the_server_does_not_offer_yet() {
    let events = watch_until_change(vec![
        Discovered,
        Listening(&["x:2"]),
        Discovered,
        BOTH,
        Content("two"),
        Content("one"),
    ]);
    let events = events.await;
    assert_eq!(
        events,
        [
            "watching x:1 x:2",
            "lost",
            "lost",
            "watching x:1 x:2",
            r#"Updated("x:1")"#
        ]
    );
}
