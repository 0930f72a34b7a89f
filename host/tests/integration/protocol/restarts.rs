//! Sessions of legacy clients continue after a restart of the server. The tests use the real binary, stopped with both
//! signals, and plain HTTP requests.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use larder_model::name::Digest;
use serde_json::{Value, json};

use crate::support::harness::eventually;
use crate::support::http_server::{ACCEPT, JSON, ServerEvent};
use crate::support::process::{RunningProcess, WorkDir, http_client};

const FOLDER: &str = "[[provider.files.dirs]]\nhost = 'docs'\nguest = '/docs'\naccess = 'read'\n";

/// A server that can be restarted, with a folder of documents.
struct Restartable {
    work_dir: WorkDir,
    listen: String,
    process: Option<RunningProcess>,
    client: reqwest::Client,
}

/// The response to a request.
struct Answer {
    status: u16,
    session: Option<String>,
    body: String,
}

/// A notification stream.
struct Notifications {
    response: reqwest::Response,
    text: String,
    last: String,
}

impl Restartable {
    fn start(settings: &str) -> Self {
        let work_dir = WorkDir::with_guests("files").file("larder.toml", settings);
        fs::create_dir(work_dir.path("docs")).unwrap();
        let mut server = Self {
            work_dir,
            listen: free_address(),
            process: None,
            client: http_client(),
        };
        server.write("a", "first");
        server.write("b", "first");
        server.run();
        server
    }

    fn run(&mut self) -> &mut RunningProcess {
        let args = format!(
            "serve --admin off --config larder.toml --listen {}",
            self.listen
        );
        // The new client has no connections to the server that ended.
        self.client = http_client();
        let process = self.process.insert(self.work_dir.start(&args));
        process.wait_for_stderr("serves http://");
        process
    }

    fn stop(&mut self, signal: &str) {
        let process = self.process.take().unwrap();
        process.signal(signal);
        process.wait();
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.work_dir.path(&format!("docs/{name}.txt")), text).unwrap();
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.listen)
    }

    async fn post(
        &self,
        session: Option<&str>,
        token: Option<&str>,
        method: &str,
        params: Value,
    ) -> Answer {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = self
            .client
            .post(self.url())
            .header(JSON.0, JSON.1)
            .header(ACCEPT.0, ACCEPT.1);
        Answer::of(with_head(request, session, token).body(body.to_string())).await
    }

    /// Opens a session, with a version that has ids of events from the beginning.
    async fn session(&self, token: Option<&str>) -> String {
        let client = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": { "sampling": {} }, "clientInfo": client });
        self.post(None, token, "initialize", params)
            .await
            .session
            .unwrap()
    }

    async fn read(&self, session: &str, token: Option<&str>, name: &str) -> u16 {
        let params = json!({ "uri": uri(name) });
        self.post(Some(session), token, "resources/read", params)
            .await
            .status
    }

    async fn subscribe(&self, session: &str, name: &str) {
        let answer = self
            .post(
                Some(session),
                None,
                "resources/subscribe",
                json!({ "uri": uri(name) }),
            )
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    async fn listen(&self, session: &str, last: Option<&str>) -> Notifications {
        let request = self
            .client
            .get(self.url())
            .header("accept", "text/event-stream");
        let request = last.into_iter().fold(request, |request, last| {
            request.header("last-event-id", last)
        });
        let response = with_head(request, Some(session), None)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status().as_u16(), 200);
        Notifications {
            response,
            text: String::new(),
            last: String::new(),
        }
    }

    /// The files of stored sessions.
    fn stored(&self) -> Vec<PathBuf> {
        let Ok(folders) = fs::read_dir(self.work_dir.path("state/larder/sessions")) else {
            return vec![];
        };
        let files = folders.flat_map(|folder| fs::read_dir(folder.unwrap().path()).unwrap());
        let files = files.map(|file| file.unwrap().path());
        files
            .filter(|file| file.file_name().unwrap().len() == 64)
            .collect()
    }
}

impl Answer {
    async fn of(request: reqwest::RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let session = response
            .headers()
            .get("mcp-session-id")
            .map(|id| id.to_str().unwrap().to_owned());
        Self {
            status: response.status().as_u16(),
            session,
            body: response.text().await.unwrap(),
        }
    }
}

impl Notifications {
    /// The file of the next update, or `list` for any other notification.
    async fn next(&mut self) -> String {
        let next = tokio::time::timeout(Duration::from_secs(60), async {
            loop {
                if let Some(ServerEvent { id, data }) = ServerEvent::take(&mut self.text) {
                    id.into_iter().for_each(|id| self.last = id);
                    if !data.is_empty() {
                        return data;
                    }
                    continue;
                }
                let chunk = self
                    .response
                    .chunk()
                    .await
                    .unwrap()
                    .expect("the stream ended");
                self.text += std::str::from_utf8(&chunk).unwrap();
            }
        });
        let message: Value = serde_json::from_str(&next.await.expect("no notification")).unwrap();
        let uri = message["params"]["uri"]
            .as_str()
            .map(|uri| uri.rsplit_once('/').unwrap().1);
        uri.map_or("list".into(), |uri| uri.trim_end_matches(".txt").to_owned())
    }

    /// Reads until an update of this file arrives. Returns the earlier notifications.
    async fn until(&mut self, name: &str) -> Vec<String> {
        let mut before = vec![];
        loop {
            match self.next().await {
                found if found == name => return before,
                other => before.push(other),
            }
        }
    }
}

fn with_head(
    request: reqwest::RequestBuilder,
    session: Option<&str>,
    token: Option<&str>,
) -> reqwest::RequestBuilder {
    let request = session
        .into_iter()
        .fold(request, |request, id| request.header("mcp-session-id", id));
    token
        .into_iter()
        .fold(request, |request, token| request.bearer_auth(token))
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .to_string()
}

fn uri(name: &str) -> String {
    format!("file:///docs/{name}.txt")
}

fn token(name: &str, extra: &str) -> String {
    format!(
        "[[auth.tokens]]\nname = '{name}'\ndigest = 'sha256:{}'\n{extra}\n",
        Digest::of(name.as_bytes())
    )
}

fn set_age(file: &Path, age: Duration) {
    fs::File::open(file)
        .unwrap()
        .set_modified(SystemTime::now() - age)
        .unwrap();
}

#[tokio::test]
async fn a_session_continues_after_a_restart() {
    for signal in ["TERM", "KILL"] {
        let mut server = Restartable::start(FOLDER);
        let session = server.session(None).await;
        server.subscribe(&session, "b").await;
        server.subscribe(&session, "a").await;
        let mut stream = server.listen(&session, None).await;
        server.write("a", "second");
        // Further notifications were sent, because the size of the file is in the list.
        stream.until("a").await;
        let last = stream.last.clone();
        server.stop(signal);
        server.write("a", "third, while the server is down");
        server.run();

        assert_eq!(
            server.read(&session, None, "a").await,
            200,
            "after SIG{signal}"
        );
        let mut stream = server.listen(&session, Some(&last)).await;
        let before = stream.until("a").await;
        assert_eq!(
            before.first().map(String::as_str),
            Some("list"),
            "lists may have changed: {before:?}"
        );
        server.write("a", "fourth, with the server");
        let after = stream.until("a").await;
        // After SIGTERM, the state of the client is stored. Otherwise the client may be notified of one change too
        // many.
        let is_exact = !before.iter().chain(&after).any(|name| name == "b");
        assert!(
            is_exact || signal == "KILL",
            "b has not changed: {before:?} {after:?}"
        );
        server.write("b", "second");
        stream.until("b").await;
    }
}

#[tokio::test]
async fn a_client_without_a_position_is_told_of_everything() {
    let mut server = Restartable::start(FOLDER);
    let session = server.session(None).await;
    server.subscribe(&session, "a").await;
    let mut stream = server.listen(&session, None).await;
    server.write("a", "second");
    stream.until("a").await;
    server.stop("TERM");
    server.run();
    // Notifications were sent, and it is unknown whether the client received them.
    let mut stream = server.listen(&session, None).await;
    assert_eq!(stream.until("a").await, ["list", "list", "list"]);
    // The stream of a request is not stored.
    let request_event = stream.last.replace("-0-", "-7-");
    let request = server
        .client
        .get(server.url())
        .header("accept", "text/event-stream");
    let request = with_head(request, Some(&session), None).header("last-event-id", request_event);
    assert_eq!(request.send().await.unwrap().status().as_u16(), 400);
}

#[tokio::test]
async fn an_ended_or_expired_session_does_not_come_back() {
    let mut server = Restartable::start(FOLDER);
    let (ended, expired, kept) = (
        server.session(None).await,
        server.session(None).await,
        server.session(None).await,
    );
    let request = server.client.delete(server.url());
    assert_eq!(
        Answer::of(with_head(request, Some(&ended), None))
            .await
            .status,
        204
    );
    assert_eq!(server.stored().len(), 2);
    let files = server.stored();
    server.stop("KILL");
    files
        .iter()
        .for_each(|file| set_age(file, Duration::from_secs(29 * 60)));
    server.run();
    assert_eq!(server.read(&kept, None, "a").await, 200);
    assert_eq!(server.read(&ended, None, "a").await, 404);
    server.stop("TERM");
    // The use was stored when the server stopped, so only the other session is still old.
    let age = |file: &PathBuf| {
        fs::metadata(file)
            .unwrap()
            .modified()
            .unwrap()
            .elapsed()
            .unwrap()
    };
    let (old, recent): (Vec<_>, Vec<_>) = files
        .iter()
        .partition(|file| age(file) > Duration::from_secs(60));
    assert_eq!((old.len(), recent.len()), (1, 1));
    set_age(old[0], Duration::from_secs(31 * 60));
    server.run();
    assert_eq!(server.read(&kept, None, "a").await, 200);
    assert_eq!(server.read(&expired, None, "a").await, 404);
    eventually("the expired session is removed", async || {
        server.stored().len() == 1
    })
    .await;
}

#[tokio::test]
async fn a_session_is_only_for_its_caller_after_a_restart() {
    let all = format!(
        "{FOLDER}{}{}{}",
        token("ann", ""),
        token("bob", ""),
        token("cid", "")
    );
    let mut server = Restartable::start(&all);
    let (ann, bob) = (
        server.session(Some("ann")).await,
        server.session(Some("bob")).await,
    );
    let cid = server.session(Some("cid")).await;
    for file in server.stored() {
        let stored = fs::read(file).unwrap();
        let contains = |text: &str| {
            stored
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        };
        assert!(
            !contains("ann") && !contains("2025-11-25"),
            "sessions are encrypted"
        );
    }
    server.stop("KILL");
    let fewer = format!("{FOLDER}{}{}", token("ann", ""), token("cid", ""));
    fs::write(server.work_dir.path("larder.toml"), fewer).unwrap();
    server.run();
    assert_eq!(
        server.read(&ann, Some("cid"), "a").await,
        404,
        "the session of another caller"
    );
    assert_eq!(
        server.read(&bob, Some("bob"), "a").await,
        401,
        "the token was removed"
    );
    assert_eq!(server.read(&bob, Some("ann"), "a").await, 404);
    assert_eq!(server.read(&ann, Some("ann"), "a").await, 200);
    eventually("the session of the removed token is removed", async || {
        server.stored().len() == 2
    })
    .await;
    // The session does not exist any more when the token is added again.
    server.stop("TERM");
    fs::write(server.work_dir.path("larder.toml"), &all).unwrap();
    server.run();
    assert_eq!(server.read(&bob, Some("bob"), "a").await, 404);
    assert_eq!(server.read(&cid, Some("cid"), "a").await, 200);
}

#[tokio::test]
async fn a_session_ends_with_its_team() {
    let folders = "[team.x]\nplugins = 'plugins'\n[team.y]\nplugins = 'docs'\n";
    let teams = |teams: &str| format!("{folders}{}", token("ann", &format!("teams = {teams}")));
    let mut server = Restartable::start(&teams("['x', 'y']"));
    let session = server.session(Some("ann")).await;
    server.stop("TERM");
    server.run();
    assert_eq!(
        server
            .post(Some(&session), Some("ann"), "ping", json!({}))
            .await
            .status,
        200
    );
    server.stop("TERM");
    fs::write(server.work_dir.path("larder.toml"), teams("['x']")).unwrap();
    server.run();
    assert_eq!(
        server
            .post(Some(&session), Some("ann"), "ping", json!({}))
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn damaged_files_end_only_their_sessions() {
    let mut server = Restartable::start(FOLDER);
    let (one, other) = (server.session(None).await, server.session(None).await);
    server.stop("KILL");
    let files = server.stored();
    let mut content = fs::read(&files[0]).unwrap();
    content.truncate(40);
    fs::write(&files[0], content).unwrap();
    server
        .run()
        .find_stderr("removed stored sessions that cannot be read");
    let mut found = [
        server.read(&one, None, "a").await,
        server.read(&other, None, "a").await,
    ];
    found.sort_unstable();
    assert_eq!(found, [200, 404]);
    // A copy under another name is not accepted.
    server.stop("KILL");
    let [kept] = server.stored().try_into().unwrap();
    fs::rename(&kept, kept.with_file_name("0".repeat(64))).unwrap();
    server
        .run()
        .find_stderr("removed stored sessions that cannot be read");
    assert_eq!(
        (
            server.read(&one, None, "a").await,
            server.read(&other, None, "a").await
        ),
        (404, 404)
    );
}

#[tokio::test]
async fn the_limit_includes_sessions_of_earlier_runs() {
    let limit = "[server]\nsessions = 2\n";
    let mut server = Restartable::start(&format!("{limit}{FOLDER}"));
    let (first, second) = (server.session(None).await, server.session(None).await);
    let files = server.stored();
    server.stop("KILL");
    files
        .iter()
        .for_each(|file| set_age(file, Duration::from_secs(60)));
    server.run();
    // Used concurrently, a session is restored once.
    let reads = (0..20).map(|_| server.read(&second, None, "a"));
    assert_eq!(futures_util::future::join_all(reads).await, [200; 20]);
    let third = server.session(None).await;
    assert_eq!(
        server.read(&first, None, "a").await,
        404,
        "the session that was idle longest ended"
    );
    assert_eq!(
        (
            server.read(&second, None, "a").await,
            server.read(&third, None, "a").await
        ),
        (200, 200)
    );
    eventually("the evicted session is removed", async || {
        server.stored().len() == 2
    })
    .await;
    // A lower limit applies to stored sessions as well.
    server.stop("TERM");
    fs::write(
        server.work_dir.path("larder.toml"),
        format!("[server]\nsessions = 1\n{FOLDER}"),
    )
    .unwrap();
    server.run();
    eventually("one session stays", async || server.stored().len() == 1).await;
}

#[tokio::test]
async fn without_a_state_folder_sessions_are_kept_in_memory() {
    let mut server = Restartable::start(FOLDER);
    server.stop("TERM");
    fs::remove_dir_all(server.work_dir.path("state")).ok();
    fs::write(server.work_dir.path("state"), "a file").unwrap();
    server.run().find_stderr("sessions cannot be stored");
    let session = server.session(None).await;
    assert_eq!(server.read(&session, None, "a").await, 200);
    server.stop("TERM");
    server.run();
    assert_eq!(server.read(&session, None, "a").await, 404);
}
