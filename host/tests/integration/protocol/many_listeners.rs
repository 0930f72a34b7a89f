//! Many listeners at once, each on its own connection, with the real server. `LARDER_LISTENERS=10000` runs the long
//! form, which needs as many file descriptors in each of two processes. The test prints the memory of one listener.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::support::http_server::meta;
use crate::support::process::WorkDir;

/// The number of listeners if the variable is not set.
const LISTENERS: u64 = 500;
/// File descriptors for other uses.
const OTHERS: u64 = 200;
/// How many connect at the same time.
const MAX_CONNECTING: usize = 64;
const URI: &str = "file:///docs/a.txt";
const TIMEOUT: Duration = Duration::from_secs(120);

/// The number of connections of a test: the value of this variable, or `default`, but at most `share` of the file
/// descriptors of a process. Also raises the soft limit of this process and of the processes that it starts later.
#[expect(
    clippy::disallowed_methods,
    reason = "the ban is about the product's configuration"
)]
pub(crate) fn connection_count(variable: &str, default: u64, share: f64) -> u64 {
    let requested = std::env::var(variable).map_or(default, |count| count.parse().unwrap());
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    )
    .unwrap();
    let possible = maximum.map_or(u64::MAX, |most| {
        (most.saturating_sub(OTHERS) as f64 * share) as u64
    });
    if requested > possible {
        println!(
            "{variable}={requested} needs more descriptors than this system allows (`ulimit -Hn`): {possible} instead"
        );
    }
    requested.min(possible)
}

/// A client with an open stream, and the text that it has received.
pub(crate) struct Listener {
    stream: TcpStream,
    text: String,
}

impl Listener {
    pub(crate) async fn connect(address: &str, uri: &str) -> Self {
        let notifications = json!({ "resourceSubscriptions": [uri] });
        let params = json!({ "_meta": meta(), "notifications": notifications });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params });
        let body = body.to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
             mcp-method: subscriptions/listen\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut listener = Self {
            stream,
            text: String::new(),
        };
        listener
            .wait_for("notifications/subscriptions/acknowledged")
            .await;
        assert!(listener.text.contains(uri), "{}", listener.text);
        listener
    }

    async fn wait_for(&mut self, expected: &str) {
        let mut part = [0; 1_024];
        while !self.text.contains(expected) {
            let read = tokio::time::timeout(TIMEOUT, self.stream.read(&mut part))
                .await
                .expect("no data in time")
                .unwrap();
            assert!(read > 0, "the stream ended: {}", self.text);
            self.text += std::str::from_utf8(&part[..read]).unwrap();
        }
    }
}

async fn join_all<T: 'static>(tasks: JoinSet<T>) -> Vec<T> {
    tokio::time::timeout(TIMEOUT, tasks.join_all())
        .await
        .expect("not all listeners in time")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_change_reaches_every_listener() {
    let count = connection_count("LARDER_LISTENERS", LISTENERS, 1.0);
    let config = format!(
        "[server]\nstreams = {count}\nconnections = {}\n[provider.files]\ndirs = [{{ host = \"docs\", guest = \"/docs\" }}]\n",
        count + OTHERS / 2
    );
    let work_dir = WorkDir::with_guests("files").file("larder.toml", &config);
    std::fs::create_dir(work_dir.path("docs")).unwrap();
    std::fs::write(work_dir.path("docs/a.txt"), "one").unwrap();
    let (server, url) = work_dir.serve("");
    let address: Arc<str> = url
        .strip_prefix("http://")
        .unwrap()
        .split('/')
        .next()
        .unwrap()
        .into();
    // The first listener creates what all listeners share: the provider's answer and the watch of its folder.
    let first = Listener::connect(&address, URI).await;
    let before = server.memory();

    let permits = Arc::new(Semaphore::new(MAX_CONNECTING));
    let mut connecting = JoinSet::new();
    for _ in 1..count {
        let (address, permits) = (address.clone(), permits.clone());
        connecting.spawn(async move {
            let _permit = permits.acquire_owned().await.unwrap();
            Listener::connect(&address, URI).await
        });
    }
    let mut listeners = join_all(connecting).await;
    listeners.push(first);
    let after = server.memory();
    if let (Some(before), Some(after)) = (before, after) {
        let each = after.saturating_sub(before) / count;
        println!("{count} listeners, {before} -> {after} bytes in memory, {each} for each");
        assert!(
            count < LISTENERS || each < 64 << 10,
            "a listener costs {each} bytes"
        );
    }

    std::fs::write(work_dir.path("docs/a.txt"), "another text").unwrap();
    let mut waiting = JoinSet::new();
    for mut listener in listeners {
        waiting.spawn(async move { listener.wait_for("notifications/resources/updated").await });
    }
    assert_eq!(join_all(waiting).await.len() as u64, count);
}
