//! Many who listen at once, each on a connection of his own, to the real server. `LARDER_LISTENERS=10000` makes it a
//! crowd; it needs as many descriptors in each of two processes, and tells what one listener costs the server.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::process::Place;
use crate::wire::meta;

/// Where nothing is said.
const LISTENERS: u64 = 500;
/// Descriptors that are not a listener's.
const OTHERS: u64 = 200;
/// Who come at the same time.
const AT_ONCE: usize = 64;
const URI: &str = "file:///docs/a.txt";
const BOUND: Duration = Duration::from_secs(120);

/// How many connections there will be: as many as this variable says, or so many. Of the descriptors that a process may
/// have, `part` is for them; what is started after this may have as many.
#[expect(clippy::disallowed_methods, reason = "the ban is about the product's configuration")]
pub(crate) fn connections(variable: &str, few: u64, part: f64) -> u64 {
    let wanted = std::env::var(variable).map_or(few, |count| count.parse().unwrap());
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).unwrap();
    let possible = maximum.map_or(u64::MAX, |most| (most.saturating_sub(OTHERS) as f64 * part) as u64);
    if wanted > possible {
        println!(
            "{variable}={wanted} needs more descriptors than this system allows (`ulimit -Hn`): {possible} instead"
        );
    }
    wanted.min(possible)
}

/// One who listens, as far as the words that come show it.
pub(crate) struct Listener {
    stream: TcpStream,
    text: String,
}

impl Listener {
    pub(crate) async fn begin(address: &str, uri: &str) -> Self {
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
        let mut listener = Self { stream, text: String::new() };
        listener.hears("notifications/subscriptions/acknowledged").await;
        assert!(listener.text.contains(uri), "{}", listener.text);
        listener
    }

    async fn hears(&mut self, words: &str) {
        let mut part = [0; 1_024];
        while !self.text.contains(words) {
            let read = self.stream.read(&mut part).await.unwrap();
            assert!(read > 0, "the stream ended: {}", self.text);
            self.text += std::str::from_utf8(&part[..read]).unwrap();
        }
    }
}

async fn all<T: 'static>(tasks: JoinSet<T>) -> Vec<T> {
    tokio::time::timeout(BOUND, tasks.join_all()).await.expect("not all of them in time")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_change_reaches_everybody_of_a_crowd() {
    let count = connections("LARDER_LISTENERS", LISTENERS, 1.0);
    let config = format!(
        "[server]\nstreams = {count}\nconnections = {}\n[provider.files]\ndirs = [{{ host = \"docs\", guest = \"/docs\" }}]\n",
        count + OTHERS / 2
    );
    let place = Place::of("files").file("larder.toml", &config);
    std::fs::create_dir(place.path("docs")).unwrap();
    std::fs::write(place.path("docs/a.txt"), "one").unwrap();
    let (server, url) = place.serve("");
    let address: Arc<str> = url.strip_prefix("http://").unwrap().split('/').next().unwrap().into();
    // The first one brings what all need: the provider's answer, the watch over its folder.
    let first = Listener::begin(&address, URI).await;
    let before = server.memory();

    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut coming = JoinSet::new();
    for _ in 1..count {
        let (address, turns) = (address.clone(), turns.clone());
        coming.spawn(async move {
            let _turn = turns.acquire_owned().await.unwrap();
            Listener::begin(&address, URI).await
        });
    }
    let mut everybody = all(coming).await;
    everybody.push(first);
    let after = server.memory();
    if let (Some(before), Some(after)) = (before, after) {
        let each = after.saturating_sub(before) / count;
        println!("{count} listeners, {before} -> {after} bytes in memory, {each} for each");
        assert!(count < LISTENERS || each < 64 << 10, "a listener costs {each} bytes");
    }

    std::fs::write(place.path("docs/a.txt"), "another text").unwrap();
    let mut hearing = JoinSet::new();
    for mut listener in everybody {
        hearing.spawn(async move { listener.hears("notifications/resources/updated").await });
    }
    assert_eq!(all(hearing).await.len() as u64, count);
}
