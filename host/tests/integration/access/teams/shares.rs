//! One team cannot take all places for guests, all memories or all tables of the server.

use std::time::Duration;

use larder_model::name::Digest;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use wasm_encoder::{
    ComponentSection as _, InstanceSection, MemorySection, MemoryType, Module, ModuleArg,
    ModuleSection, RefType, TableSection, TableType,
};

use crate::administration::admin::AdminClient;
use crate::support::harness::{SLOW_WAIT, component_path, eventually_within};
use crate::support::http_server::{ACCEPT, JSON, MODERN, meta};
use crate::support::process::{WorkDir, http_client};

/// The places for guests of the server.
const GUESTS: usize = 32;
/// The notification streams of the server.
const STREAMS: usize = 8;

/// A module with an empty memory.
fn memory() -> Module {
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 0,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut module = Module::new();
    module.section(&memories);
    module
}

/// A module with an empty table.
fn table() -> Module {
    let mut tables = TableSection::new();
    let element_type = RefType::FUNCREF;
    tables.table(TableType {
        element_type,
        table64: false,
        minimum: 0,
        maximum: None,
        shared: false,
    });
    let mut module = Module::new();
    module.section(&tables);
    module
}

/// The number of core modules of a component.
fn core_modules(component: &[u8]) -> u32 {
    let (mut at, mut count) = (8, 0);
    while let Some(&kind) = component.get(at) {
        count += u32::from(kind == 1);
        let (mut length, mut shift) = (0, 0);
        loop {
            at += 1;
            length |= usize::from(component[at] & 0x7f) << shift;
            shift += 7;
            if component[at] < 0x80 {
                break;
            }
        }
        at += 1 + length;
    }
    count
}

/// The guest `sleep` with this many additional instances of this module.
fn sleep_with(module: &Module, count: u32) -> Vec<u8> {
    let mut component = std::fs::read(component_path("sleep")).unwrap();
    let number = core_modules(&component);
    ModuleSection(module).append_to_component(&mut component);
    let mut instances = InstanceSection::new();
    for _ in 0..count {
        instances.instantiate(number, Vec::<(&str, ModuleArg)>::new());
    }
    instances.append_to_component(&mut component);
    component
}

/// A server whose teams have a token each, which is their name. `TEAM-and-quiet` is a token for both teams. `quiet` has
/// the guest `echo`.
struct Server {
    admin: AdminClient,
    url: String,
    _work_dir: WorkDir,
}

impl Server {
    /// Starts a server. The other teams have this guest.
    fn start(others: &[&str], guest: &[u8]) -> Self {
        let mut file =
            format!("[server]\nguests = {GUESTS}\nstreams = {STREAMS}\nconnections = 200\n");
        file += "[admin]\nlisten = \"127.0.0.1:0\"\n[limits]\ntimeout = \"120s\"\nqueue_timeout = \"3s\"\n";
        let work_dir = WorkDir::with_guests("");
        for team in others.iter().chain(&["quiet"]) {
            let digest = Digest::of(team.as_bytes());
            file += &format!("[[auth.tokens]]\nname = \"{team}\"\ndigest = \"sha256:{digest}\"\n");
            file += &format!("teams = [\"{team}\"]\n[team.{team}]\nplugins = \"{team}\"\n");
            let digest = Digest::of(format!("{team}-and-quiet").as_bytes());
            let teams = if *team == "quiet" {
                "\"quiet\"".into()
            } else {
                format!("\"{team}\", \"quiet\"")
            };
            file += &format!("[[auth.tokens]]\nname = \"{team}-and-quiet\"\n");
            file += &format!("digest = \"sha256:{digest}\"\nteams = [{teams}]\n");
            std::fs::create_dir(work_dir.path(team)).unwrap();
            std::fs::write(work_dir.path(team).join("sleep.wasm"), guest).unwrap();
        }
        std::fs::remove_file(work_dir.path("quiet/sleep.wasm")).unwrap();
        std::fs::copy(component_path("echo"), work_dir.path("quiet/echo.wasm")).unwrap();
        let work_dir = work_dir.file("larder.toml", &file);
        let (admin, url) = AdminClient::open(&work_dir);
        Self {
            admin,
            url,
            _work_dir: work_dir,
        }
    }

    /// Reads a URI as a member of this team. Returns the text or the message of the error.
    fn read(&self, team: &str, uri: &str) -> impl Future<Output = String> + use<> {
        let params = json!({"uri": uri, "_meta": meta()});
        let request = self
            .request(team, "resources/read", &params)
            .header("mcp-name", uri);
        let sent = request.timeout(Duration::from_secs(100)).send();
        async move {
            let answer: Value = sent.await.unwrap().json().await.unwrap();
            let text = [
                &answer["result"]["contents"][0]["text"],
                &answer["error"]["message"],
            ];
            text.into_iter()
                .find_map(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        }
    }

    fn request(&self, team: &str, method: &str, params: &Value) -> reqwest::RequestBuilder {
        let body = json!({"jsonrpc": "2.0", "id": "l-1", "method": method, "params": params});
        [JSON, ACCEPT, MODERN, ("mcp-method", method)]
            .into_iter()
            .fold(http_client().post(&self.url), |request, (name, value)| {
                request.header(name, value)
            })
            .bearer_auth(team)
            .body(body.to_string())
    }

    /// Opens a notification stream as a member of this team.
    async fn listen(&self, team: &str) -> reqwest::Response {
        let params = json!({"_meta": meta(), "notifications": {"resourcesListChanged": true}});
        self.request(team, "subscriptions/listen", &params)
            .send()
            .await
            .unwrap()
    }

    /// The value of a metric with its labels.
    async fn metric(&self, name: &str) -> u64 {
        let all = self.admin.get("/metrics").await.1;
        let line = all
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|value| value.parse::<f64>().ok())
            .unwrap_or_default() as u64
    }

    /// Reads sleeping resources as each of these teams until the server has no more guests for them, and then some
    /// resources as the quiet team.
    async fn check(&self, others: &[&str], reads: usize) {
        let is_read = async || {
            self.read("quiet", "echo://hello")
                .await
                .starts_with("uri: echo://hello")
        };
        assert!(is_read().await);
        let mut sleeping = JoinSet::new();
        for team in others {
            for number in 0..reads {
                sleeping.spawn(self.read(team, &format!("sleep://ms/{}", 60_000 + number)));
            }
        }
        // Callers without a guest have given up, and the other callers sleep.
        let refused = "larder_shared_refused_total{resource=\"guests\"}";
        let all_wait = async || {
            let guests = self.metric("larder_shared_used{resource=\"guests\"}").await;
            guests > 0 && self.metric(refused).await > 0
        };
        eventually_within(SLOW_WAIT, "a team was refused", all_wait).await;
        for _ in 0..20 {
            assert!(is_read().await);
        }
        let used = self.metric("larder_shared_used{resource=\"guests\"}").await;
        assert!(used < GUESTS as u64, "{used}");
        let events = self.admin.get("/api/events").await.1;
        assert!(events.contains("of 32 guests, and needs more"), "{events}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_with_many_memories_per_guest_leaves_some_to_others() {
    let server = Server::start(&["busy"], &sleep_with(&memory(), 7));
    server.check(&["busy"], 16).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_with_many_tables_per_guest_leaves_some_to_others() {
    let server = Server::start(&["busy"], &sleep_with(&table(), 30));
    server.check(&["busy"], 16).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_teams_leave_guests_to_others() {
    let others = ["busy-1", "busy-2", "busy-3", "busy-4"];
    let server = Server::start(&others, &sleep_with(&memory(), 0));
    server.check(&others, 16).await;
}

#[tokio::test]
async fn a_team_leaves_streams_to_others() {
    let server = Server::start(&["busy"], &sleep_with(&memory(), 0));
    let mut open = Vec::new();
    for _ in 0..STREAMS / 2 {
        open.push(server.listen("busy").await);
    }
    assert!(open.iter().all(|stream| stream.status() == 200));
    assert_eq!(server.listen("busy").await.status(), 503);
    // A member of both teams does not use the streams of the second team.
    assert_eq!(server.listen("busy-and-quiet").await.status(), 503);
    assert_eq!(server.listen("quiet").await.status(), 200);
}
