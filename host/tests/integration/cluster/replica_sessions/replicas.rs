//! Replicas with a common folder of documents, and their legacy clients.

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use super::server::{NatsServer, WAIT};
use crate::support::http_server::{ACCEPT, JSON, ServerEvent};
use crate::support::process::{RunningProcess, WorkDir, http_client};

/// The key of all replicas.
const KEY: &str = "a-key-that-only-these-tests-use-0123456789";

/// Replicas, and the NATS server that connects them.
pub(super) struct Replicas {
    pub(super) nats: NatsServer,
    /// The folder of documents is in the first work directory.
    work_dirs: Vec<WorkDir>,
    addresses: Vec<String>,
    processes: Vec<Option<RunningProcess>>,
    client: reqwest::Client,
}

/// The response to a request.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) session: Option<String>,
    pub(super) retry_after: Option<String>,
    pub(super) body: String,
}

/// An event stream.
pub(super) struct EventStream {
    response: reqwest::Response,
    text: String,
    /// The beginning of a character.
    rest: Vec<u8>,
    /// The id of the last event.
    pub(super) last: String,
}

impl Replicas {
    /// Starts NATS and replicas with these settings. `None` if NATS is not installed.
    pub(super) async fn start(count: usize, settings: &str) -> Option<Self> {
        let mut replicas = Self::prepare(NatsServer::start()?, count);
        for replica in 0..count {
            replicas.configure(replica, "['key']", settings);
            replicas.run(replica);
            replicas.wait_for_connection(replica);
        }
        Some(replicas)
    }

    /// Prepares replicas without starting them.
    pub(super) fn prepare(nats: NatsServer, count: usize) -> Self {
        let work_dirs: Vec<_> = (0..count)
            .map(|_| WorkDir::with_guests("files interactive echo"))
            .collect();
        fs::create_dir(work_dirs[0].path("docs")).unwrap();
        let free = || TcpListener::bind("127.0.0.1:0").unwrap();
        // All ports are chosen at the same time, so that they differ.
        let listeners: Vec<_> = (0..count).map(|_| free()).collect();
        let addresses = listeners
            .iter()
            .map(|listener| listener.local_addr().unwrap().to_string())
            .collect();
        let processes = (0..count).map(|_| None).collect();
        let replicas = Self {
            nats,
            work_dirs,
            addresses,
            processes,
            client: http_client(),
        };
        ["a", "b", "c"]
            .iter()
            .for_each(|name| replicas.write(name, "first"));
        replicas
    }

    /// Writes the configuration of a replica. `keys` are names of the secrets `key` and `other`.
    pub(super) fn configure(&self, replica: usize, keys: &str, settings: &str) {
        let (docs, nats) = (self.work_dirs[0].path("docs"), self.nats.url());
        let config = format!(
            "{settings}\n[cluster]\nnats = '{nats}'\nkey = {keys}\nlease = '2s'\n\
             [secret.key]\nfile = 'key'\n[secret.other]\nfile = 'other'\n\
             [provider.interactive]\ntools = true\nsettings.name = 'x'\n\
             [[provider.files.dirs]]\nhost = '{}'\nguest = '/docs'\naccess = 'read'\n",
            docs.display()
        );
        let folder = &self.work_dirs[replica];
        for (name, text) in [
            ("larder.toml", config.as_str()),
            ("key", KEY),
            ("other", &KEY.to_uppercase()),
        ] {
            fs::write(folder.path(name), text).unwrap();
            private(&folder.path(name));
        }
    }

    /// Starts a replica.
    pub(super) fn run(&mut self, replica: usize) {
        let args = format!(
            "serve --admin off --config larder.toml --listen {}",
            self.addresses[replica]
        );
        // The new client has no connections to the replica that ended.
        self.client = http_client();
        let process = self.processes[replica].insert(self.work_dirs[replica].start(&args));
        process.wait_for_stderr("serves http://");
    }

    /// Waits until a replica is connected with NATS.
    pub(super) fn wait_for_connection(&mut self, replica: usize) {
        self.processes[replica]
            .as_mut()
            .unwrap()
            .find_stderr(" connected to NATS servers=");
    }

    /// Waits until a replica finds out that NATS is gone.
    pub(super) fn wait_for_disconnection(&mut self, replica: usize) {
        self.processes[replica]
            .as_mut()
            .unwrap()
            .find_stderr("the connection to NATS was lost");
    }

    /// Waits for the next connection of a replica with NATS.
    pub(super) fn wait_for_reconnection(&mut self, replica: usize) {
        self.processes[replica]
            .as_mut()
            .unwrap()
            .wait_for_stderr(" connected to NATS servers=");
    }

    pub(super) fn stop(&mut self, replica: usize, signal: &str) {
        let process = self.processes[replica].take().unwrap();
        process.signal(signal);
        process.wait();
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        // The files change in one step, so that there is one change.
        let new = self.work_dirs[0].path("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.work_dirs[0].path(&format!("docs/{name}.txt"))).unwrap();
    }

    fn url(&self, replica: usize) -> String {
        format!("http://{}/mcp", self.addresses[replica])
    }

    /// Sends a request. With `body`, sends any message.
    pub(super) fn message(
        &self,
        replica: usize,
        session: Option<&str>,
        body: &Value,
    ) -> reqwest::RequestBuilder {
        let request = self
            .client
            .post(self.url(replica))
            .header(JSON.0, JSON.1)
            .header(ACCEPT.0, ACCEPT.1);
        with_session(request, session).body(body.to_string())
    }

    pub(super) async fn post(
        &self,
        replica: usize,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Answer {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        Answer::of(self.message(replica, session, &body)).await
    }

    /// Opens a session, with a version that has ids of events from the beginning.
    pub(super) async fn session(&self, replica: usize) -> String {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = self.post(replica, None, "initialize", params).await;
        answer
            .session
            .unwrap_or_else(|| panic!("{} {}", answer.status, answer.body))
    }

    pub(super) async fn read(&self, replica: usize, session: &str, name: &str) -> u16 {
        self.post(
            replica,
            Some(session),
            "resources/read",
            json!({ "uri": uri(name) }),
        )
        .await
        .status
    }

    pub(super) async fn subscribe(&self, replica: usize, session: &str, name: &str) {
        let answer = self
            .post(
                replica,
                Some(session),
                "resources/subscribe",
                json!({ "uri": uri(name) }),
            )
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    pub(super) async fn delete(&self, replica: usize, session: &str) -> u16 {
        Answer::of(with_session(
            self.client.delete(self.url(replica)),
            Some(session),
        ))
        .await
        .status
    }

    /// A request for a stream.
    pub(super) fn get(
        &self,
        replica: usize,
        session: &str,
        last: Option<&str>,
    ) -> reqwest::RequestBuilder {
        let request = self
            .client
            .get(self.url(replica))
            .header("accept", "text/event-stream");
        let request = last.into_iter().fold(request, |request, last| {
            request.header("last-event-id", last)
        });
        with_session(request, Some(session))
    }

    pub(super) async fn listen(
        &self,
        replica: usize,
        session: &str,
        last: Option<&str>,
    ) -> EventStream {
        EventStream::of(self.get(replica, session, last)).await
    }
}

impl Answer {
    pub(super) async fn of(request: reqwest::RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let header = |name: &str| {
            response
                .headers()
                .get(name)
                .map(|id| id.to_str().unwrap().to_owned())
        };
        let (session, retry_after) = (header("mcp-session-id"), header("retry-after"));
        let status = response.status().as_u16();
        Self {
            status,
            session,
            retry_after,
            body: response.text().await.unwrap(),
        }
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl EventStream {
    pub(super) async fn of(request: reqwest::RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        if status != 200 {
            panic!("{status}: {}", response.text().await.unwrap());
        }
        Self {
            response,
            text: String::new(),
            rest: Vec::new(),
            last: String::new(),
        }
    }

    fn received(&mut self, chunk: &[u8]) {
        self.rest.extend_from_slice(chunk);
        let complete = match std::str::from_utf8(&self.rest) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let rest = self.rest.split_off(complete);
        self.text += std::str::from_utf8(&std::mem::replace(&mut self.rest, rest)).unwrap();
    }

    /// The next message; none at the end of the stream.
    pub(super) async fn message(&mut self) -> Option<Value> {
        let next = tokio::time::timeout(WAIT, async {
            loop {
                if let Some(ServerEvent { id, data }) = ServerEvent::take(&mut self.text) {
                    id.into_iter().for_each(|id| self.last = id);
                    if !data.is_empty() {
                        return Some(serde_json::from_str(&data).unwrap());
                    }
                    continue;
                }
                // The connection breaks when the replica is killed.
                let chunk = self.response.chunk().await.ok()??;
                self.received(&chunk);
            }
        });
        next.await.expect("no message in time")
    }

    /// The file of the next update, or `list` for any other notification.
    pub(super) async fn next(&mut self) -> String {
        let message = self.message().await.expect("the stream ended");
        let uri = message["params"]["uri"]
            .as_str()
            .map(|uri| uri.rsplit_once('/').unwrap().1);
        uri.map_or("list".into(), |uri| uri.trim_end_matches(".txt").to_owned())
    }

    /// Reads until an update of this file arrives. Returns the earlier notifications, without changes of lists.
    pub(super) async fn until(&mut self, name: &str) -> Vec<String> {
        let mut before = vec![];
        loop {
            match self.next().await {
                found if found == name => return before,
                other if other == "list" => {}
                other => before.push(other),
            }
        }
    }

    /// Reads to the end.
    pub(super) async fn ends(&mut self) {
        while self.message().await.is_some() {}
    }

    /// Waits for the first event, which has an id.
    pub(super) async fn priming_event(&mut self) {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        while self.last.is_empty() {
            let chunk = tokio::time::timeout_at(deadline, self.response.chunk())
                .await
                .unwrap()
                .unwrap()
                .unwrap();
            self.received(&chunk);
            let id = self
                .text
                .split_once("\n\n")
                .and_then(|(event, _)| event.strip_prefix("id: "));
            id.into_iter()
                .for_each(|id| self.last = id.lines().next().unwrap().to_owned());
        }
    }
}

fn with_session(
    request: reqwest::RequestBuilder,
    session: Option<&str>,
) -> reqwest::RequestBuilder {
    session
        .into_iter()
        .fold(request, |request, id| request.header("mcp-session-id", id))
}

fn private(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

pub(super) fn uri(name: &str) -> String {
    format!("file:///docs/{name}.txt")
}
