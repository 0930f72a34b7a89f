//! Calls of one team do not delay reads of another one. The durations of reads are compared with the durations on
//! another server in the same run, and with the durations of the calls.

use std::time::{Duration, Instant};

use larder_client::Client;
use larder_model::name::Digest;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

use crate::administration::admin::AdminClient;
use crate::administration::metrics::{parse_samples, sample_value};
use crate::support::harness::component_path;
use crate::support::process::WorkDir;

/// Calls that use much memory at the same time.
const CALLERS: usize = 4;
/// The number of calls of each of these callers in one round.
const CALLS: usize = 8;
/// Calls with expensive arguments at the same time.
const VALIDATING_CALLERS: usize = 4;
/// Number of reads of the other team in one round.
const READS: usize = 400;
/// The maximum number of rounds.
const ROUNDS: usize = 10;
/// The pause between reads. Without it, the reads would occupy a processor.
const PAUSE: Duration = Duration::from_millis(5);

/// A server with the teams `quiet` and `heavy`, whose only tokens are their names.
struct TwoTeams {
    admin: AdminClient,
    url: String,
    _work_dir: WorkDir,
}

impl TwoTeams {
    /// Starts a server whose team `heavy` has this guest.
    fn start(heavy: &str) -> Self {
        let mut config = "[admin]\nlisten = \"127.0.0.1:0\"\n".to_owned();
        for team in ["quiet", "heavy"] {
            let digest = Digest::of(team.as_bytes());
            config += &format!(
                "[[auth.tokens]]\nname = \"{team}\"\ndigest = \"sha256:{digest}\"\nteams = [\"{team}\"]\n\
                 [team.{team}]\nplugins = \"{team}\"\nquota = {{ requests = 100000 }}\n"
            );
        }
        config += "[team.heavy.ceiling]\ntools = true\n";
        config +=
            "[team.heavy.provider.hostile_tools]\ntools = true\nsettings = { list = \"bombs\" }\n";
        let work_dir = WorkDir::with_guests("").file("larder.toml", &config);
        for (team, guest) in [("quiet", "echo"), ("heavy", heavy)] {
            std::fs::create_dir(work_dir.path(team)).unwrap();
            let component = work_dir.path(team).join(guest).with_extension("wasm");
            std::fs::copy(component_path(guest), component).unwrap();
        }
        let (admin, url) = AdminClient::open(&work_dir);
        Self {
            admin,
            url,
            _work_dir: work_dir,
        }
    }

    async fn connect(&self, token: &str) -> Client {
        Client::builder()
            .token(token)
            .http(&self.url)
            .await
            .unwrap()
    }

    /// The value of a metric of a provider.
    async fn metric(&self, name: &str, (team, provider): (&str, &str)) -> f64 {
        let samples = parse_samples(&self.admin.get("/metrics").await.1);
        sample_value(
            &samples,
            &format!("{name}{{team=\"{team}\",provider=\"{provider}\"}}"),
        )
    }
}

/// Two servers. One server has no calls of the team `heavy`: it shows how long other processes on the machine delay a
/// read.
struct Servers {
    busy: TwoTeams,
    idle: TwoTeams,
    clients: [Client; 2],
    /// The number of reads from each so far.
    reads: usize,
}

/// The durations of reads at the same time as other calls.
#[derive(Debug)]
struct Round {
    /// The time in which 99 of a hundred reads of the team `quiet` ended.
    read: Duration,
    /// The same for the server without calls of the team `heavy`.
    idle_read: Duration,
    calls: Vec<Duration>,
}

impl Servers {
    async fn start(heavy: &str) -> Self {
        let (busy, idle) = (TwoTeams::start(heavy), TwoTeams::start(heavy));
        let clients = [busy.connect("quiet").await, idle.connect("quiet").await];
        Self {
            busy,
            idle,
            clients,
            reads: 0,
        }
    }

    /// Reads from both servers in turn until the calls have ended, and at least this number of times.
    async fn read_beside(&mut self, mut running: JoinSet<Duration>, count: usize) -> Round {
        let (mut reads, mut idle_reads, mut calls) = (Vec::new(), Vec::new(), Vec::new());
        while reads.len() < count || !running.is_empty() {
            let [busy, idle] = &mut self.clients;
            reads.push(timed_read(busy, "echo://hello").await);
            idle_reads.push(timed_read(idle, "echo://hello").await);
            tokio::time::sleep(PAUSE).await;
            calls.extend(running.try_join_next().map(Result::unwrap));
        }
        self.reads += reads.len();
        Round {
            read: percentile(&mut reads, 99),
            idle_read: percentile(&mut idle_reads, 99),
            calls,
        }
    }

    /// Calls that took longer than a tick were moved. Another process can interrupt a read for as long.
    async fn check_few_reads_were_moved(&self) {
        let moved = async |server: &TwoTeams| {
            server
                .metric("larder_calls_moved_total", ("quiet", "echo"))
                .await
        };
        let (busy, idle) = (moved(&self.busy).await, moved(&self.idle).await);
        assert!(
            busy < 2.0 * idle + self.reads as f64 / 10.0,
            "{busy} and {idle} of {}",
            self.reads
        );
    }
}

/// Checks that reads are fast in one of a few rounds. Other processes on the machine can delay more reads of one server
/// than of the other, but not in each round.
async fn check_rounds(
    servers: &mut Servers,
    start_calls: impl AsyncFn(&TwoTeams) -> JoinSet<Duration>,
    count: usize,
    most: impl Fn(&Round) -> Duration,
) -> Vec<Round> {
    let mut rounds = Vec::new();
    loop {
        let calls = start_calls(&servers.busy).await;
        let round = servers.read_beside(calls, count).await;
        println!("{round:?}");
        let is_fast = round.read < most(&round) + 2 * round.idle_read;
        rounds.push(round);
        if is_fast {
            return rounds;
        }
        assert!(
            rounds.len() < ROUNDS,
            "reads waited for other calls in each round: {rounds:?}"
        );
    }
}

async fn timed_read(client: &mut Client, uri: &str) -> Duration {
    let start = Instant::now();
    client.read(uri).await.unwrap();
    start.elapsed()
}

/// The duration that this part of the reads does not exceed.
fn percentile(durations: &mut [Duration], percent: usize) -> Duration {
    durations.sort_unstable();
    durations[(durations.len() - 1) * percent / 100]
}

/// Starts calls that use much memory, one after another for each caller. The results are the medians.
async fn start_large_calls(server: &TwoTeams) -> JoinSet<Duration> {
    let mut calls = JoinSet::new();
    for _ in 0..CALLERS {
        let mut client = server.connect("heavy").await;
        calls.spawn(async move {
            let mut durations = Vec::new();
            while durations.len() < CALLS {
                durations.push(timed_read(&mut client, "touch-memory://fill/100").await);
            }
            percentile(&mut durations, 50)
        });
    }
    calls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_of_another_team_do_not_wait_for_calls_that_use_much_memory() {
    let mut servers = Servers::start("touch_memory").await;
    // On threads that reads share with such calls, one read in a hundred waits for a third of a call.
    let most = |round: &Round| percentile(&mut round.calls.clone(), 50) / 10;
    let rounds = check_rounds(&mut servers, start_large_calls, READS, most).await;
    let moved = servers
        .busy
        .metric("larder_calls_moved_total", ("heavy", "touch_memory"))
        .await;
    assert!(moved >= (rounds.len() * CALLERS * CALLS) as f64);
    servers.check_few_reads_were_moved().await;
}

/// A value whose validation with the schema of the tool `unevaluated` takes the whole allowed effort.
fn expensive_arguments() -> Map<String, Value> {
    let wide: Map<_, _> = (0..50).map(|n| (format!("a{n}"), json!(1))).collect();
    (0..30).fold(wide.clone(), |inner, _| {
        let mut members = wide.clone();
        members.insert("a".to_owned(), Value::Object(inner));
        members
    })
}

/// Starts calls that validate expensive arguments.
async fn start_validations(server: &TwoTeams) -> JoinSet<Duration> {
    let mut calls = JoinSet::new();
    for _ in 0..VALIDATING_CALLERS {
        let mut client = server.connect("heavy").await;
        calls.spawn(async move {
            let start = Instant::now();
            // On a slow machine, the validation is ended at the deadline of the call.
            let result = format!(
                "{:?}",
                client.call_tool("unevaluated", expensive_arguments()).await
            );
            assert!(
                !result.contains("was called") && !result.contains("Unknown tool"),
                "{result}"
            );
            start.elapsed()
        });
    }
    calls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_of_another_team_do_not_wait_for_validations() {
    let mut servers = Servers::start("hostile_tools").await;
    let before = servers.busy.admin.process.cpu_time();
    // On the threads that serve requests, a read waits for a whole validation or more.
    let most = |round: &Round| *round.calls.iter().max().unwrap() / (2 * VALIDATING_CALLERS as u32);
    let rounds = check_rounds(&mut servers, start_validations, 0, most).await;
    let of_process = servers.busy.admin.process.cpu_time().saturating_sub(before);
    let of_heavy = ("heavy", "hostile_tools");
    let moved = servers
        .busy
        .metric("larder_calls_moved_total", of_heavy)
        .await;
    assert!(
        moved >= (rounds.len() * VALIDATING_CALLERS) as f64,
        "{moved}"
    );
    // The team is charged for the work of its calls on both threads. On a busy machine, more rounds of reads are part of
    // the work of the process.
    let charged = servers
        .busy
        .metric("larder_guest_cpu_seconds_total", of_heavy)
        .await;
    assert!(
        charged > of_process.as_secs_f64() / 4.0,
        "{charged} s of {of_process:?}"
    );
}
