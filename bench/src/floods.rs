//! Floods: the latency of a quiet team at a constant rate, while another team or unknown clients use the server as much
//! as its limits allow. In each round, the quiet team is measured alone and then during the flood.

mod outcome;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::task::{JoinSet, LocalSet};

pub(crate) use self::outcome::{FloodOutcome, table};
use crate::content::DOCUMENTS;
use crate::heavy::{self, Many};
use crate::load::{self, Connection, RequestSpec, Times};
use crate::process::Server;
use crate::setup::Setup;
use crate::wire;

/// Connections of the quiet team. With the pause, the server is mostly idle, and there are fewer requests than the
/// default quota of a team allows.
const QUIET: usize = 4;
const PAUSE: Duration = Duration::from_millis(10);
/// The flood begins this long before the measurement.
const WARMUP: Duration = Duration::from_millis(500);
/// How often the flood checks whether it has to stop.
const STOP_CHECK: Duration = Duration::from_millis(20);
/// How long an unknown client keeps its connection without a request.
const SILENT: Duration = Duration::from_millis(200);
/// The first bytes of a response, which distinguish a result from an error.
const BEGINNING: usize = 100;
/// The files of the guest `indexed`, which have the same words in different orders.
const FILES: usize = 900;
const WORDS: usize = 2_000;
/// Words that all of these files contain.
const SEARCHED: &str = "word1 word2 word3 word5 word8 word13 word21 word34";
/// How long the server may take until these files are in its index.
const INDEXED_WITHIN: Duration = Duration::from_secs(120);

/// The kinds of floods.
#[derive(Debug, Clone, Copy)]
enum Flood {
    /// Unknown clients open connections, send a part of a request and close them.
    Connections,
    /// Reads that are answered at once.
    Requests,
    /// Guests that compute without an end.
    Spinning,
    /// Guests that write to 100 MB of memory.
    Memory,
    /// Responses of 16 MiB.
    LargeAnswers,
    /// Guests with many memories, which sleep.
    Memories,
    /// Guests with many tables, which sleep.
    Tables,
    /// Calls of a tool whose arguments take long to validate.
    Schemas,
    /// Searches in the full-text index.
    Searches,
}

const FLOODS: [Flood; 9] = [
    Flood::Connections,
    Flood::Requests,
    Flood::Spinning,
    Flood::Memory,
    Flood::LargeAnswers,
    Flood::Memories,
    Flood::Tables,
    Flood::Schemas,
    Flood::Searches,
];

impl Flood {
    fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections of unknown clients",
            Self::Requests => "requests",
            Self::Spinning => "guests that spin",
            Self::Memory => "guests that write to 100 MB",
            Self::LargeAnswers => "answers of 16 MiB",
            Self::Memories => "guests with 8 memories that sleep",
            Self::Tables => "guests with 32 tables that sleep",
            Self::Schemas => "arguments that are slow to validate",
            Self::Searches => "searches in the full-text index",
        }
    }

    /// The number of connections. Each connection has one request at a time.
    fn connections(self) -> usize {
        match self {
            Self::Connections => 128,
            Self::Requests => 32,
            Self::Spinning | Self::Schemas | Self::Searches => 8,
            Self::Memory | Self::LargeAnswers => 4,
            // The number of calls that the default quota of a team allows.
            Self::Memories | Self::Tables => 64,
        }
    }

    /// The request of one of the flood's connections.
    fn request(self, address: SocketAddr, token: &str, number: usize) -> Vec<u8> {
        let read = |uri| wire::read_with_token(address, token, uri, Some(number));
        match self {
            Self::Connections | Self::Requests => read("sized://busy/text/1024"),
            Self::Spinning => read("spin://forever"),
            Self::Memory => read("touch-memory://pages/100"),
            // The size is a little below the limit, which includes the overhead of the content.
            Self::LargeAnswers => read("sized://busy/text/16700000"),
            Self::Memories | Self::Tables => read("sleep://hour"),
            Self::Schemas => {
                wire::tool_call_with_token(address, token, "unevaluated", &expensive_arguments())
            }
            Self::Searches => {
                wire::tool_call_with_token(address, token, "search", &json!({"query": SEARCHED}))
            }
        }
    }

    /// A component that only this flood uses.
    fn component(self) -> Option<&'static str> {
        match self {
            Self::Schemas => Some("hostile_tools"),
            Self::Searches => Some("indexed"),
            Self::Connections
            | Self::Requests
            | Self::Spinning
            | Self::Memory
            | Self::LargeAnswers
            | Self::Memories
            | Self::Tables => None,
        }
    }
}

/// Arguments for the tool `unevaluated` of the guest `hostile_tools`. Their validation is ended by its limit of effort,
/// or by the deadline of the call.
fn expensive_arguments() -> Value {
    let members: Vec<String> = (0..50).map(|number| format!("a{number}")).collect();
    let wide = || {
        members
            .iter()
            .map(|name| (name.clone(), json!(1)))
            .collect::<serde_json::Map<_, _>>()
    };
    let nested = (0..30).fold(wide(), |inner, _| {
        let mut outer = wide();
        outer.insert("a".to_owned(), Value::Object(inner));
        outer
    });
    Value::Object(nested)
}

/// How much of a flood the server handled.
#[derive(Default)]
struct FloodCounters {
    answered: AtomicU64,
    refused: AtomicU64,
}

/// The server and the tokens of its teams.
struct Teams {
    server: Server,
    quiet: String,
    busy: String,
}

pub(crate) fn measure(setup: &Setup, quick: bool) -> Result<Vec<FloodOutcome>> {
    let ms = Duration::from_millis;
    let (rounds, measured) = if quick {
        (3, ms(1_000))
    } else {
        (5, ms(3_000))
    };
    let times = Times {
        warmup: WARMUP,
        measured,
    };
    FLOODS
        .into_iter()
        .map(|flood| measure_flood(setup, flood, rounds, times))
        .collect()
}

fn measure_flood(setup: &Setup, flood: Flood, rounds: usize, times: Times) -> Result<FloodOutcome> {
    eprintln!("measuring a quiet team beside a flood of {}", flood.name());
    // Each flood has a server of its own, so that the effects of one flood do not influence the next measurement.
    let teams = Teams::start(setup, flood)?;
    let address = teams.server.address;
    let document = DOCUMENTS[0];
    let bytes = wire::read_with_token(address, &teams.quiet, &document.uri("fresh"), None);
    let request = RequestSpec {
        address,
        bytes,
        expected: document.json_escaped().into_bytes(),
    };
    let window = || load::paced(&request, QUIET, times, PAUSE, || teams.server.cpu_time());
    let mut outcome = FloodOutcome {
        flood,
        windows: vec![],
        per_second: vec![],
    };
    for _ in 0..rounds {
        let without = window()?;
        let (with, per_second) = with_flood(flood, address, &teams.busy, window)?;
        outcome.windows.push((without, with));
        outcome.per_second.push(per_second);
    }
    Ok(outcome)
}

impl Teams {
    /// Starts a server with the teams `quiet` and `busy`, each with a token. Its limits are the defaults, except that
    /// calls may last as long as the measurement, and that one provider may use all calls of its team.
    fn start(setup: &Setup, flood: Flood) -> Result<Self> {
        let dir = setup.scratch.join("floods");
        if dir.exists() {
            fs::remove_dir_all(&dir)?;
        }
        let (quiet, quiet_config) = token(&setup.larder, "quiet")?;
        let (busy, busy_config) = token(&setup.larder, "busy")?;
        let components = [
            ("quiet", "sized"),
            ("busy", "sized"),
            ("busy", "spin"),
            ("busy", "touch_memory"),
        ];
        let of_flood = flood.component().map(|component| ("busy", component));
        for (team, component) in components.into_iter().chain(of_flood) {
            fs::create_dir_all(plugins(&dir, team))?;
            fs::write(
                plugins(&dir, team).join(format!("{component}.wasm")),
                setup.guest(component)?,
            )?;
        }
        let mut sleep = setup.guest("sleep")?;
        match flood {
            Flood::Memories => heavy::add(&mut sleep, Many::Memories),
            Flood::Tables => heavy::add(&mut sleep, Many::Tables),
            Flood::Connections
            | Flood::Requests
            | Flood::Spinning
            | Flood::Memory
            | Flood::LargeAnswers
            | Flood::Schemas
            | Flood::Searches => {}
        }
        write_files(&dir)?;
        fs::write(plugins(&dir, "busy").join("sleep.wasm"), sleep)?;
        let long = "cpu_time = \"1h\"\ntimeout = \"1h\"\n";
        let config = format!(
            "state_dir = \"state\"\n[server]\nresource_tools = true\n[server.log]\nfilter = \"warn\"\n[admin]\nlisten = \"off\"\n[compiler]\n\
             cache_dir = {:?}\n{quiet_config}{busy_config}\
             [team.busy.ceiling]\ntools = true\n\
             dirs = [\"docs\", {{ host = \"log\", access = \"write\" }}]\n\
             [team.quiet.provider.sized.settings]\nauthority = \"fresh\"\n\
             [team.busy.provider.sized.settings]\nauthority = \"busy\"\n\
             [team.busy.provider.spin.limits]\n{long}\
             [team.busy.provider.sleep.limits]\n{long}concurrency = 64\n\
             [team.busy.provider.hostile_tools]\ntools = true\n\
             [team.busy.provider.indexed]\nindex = true\n\
             dirs = [{{ host = \"docs\" }}, {{ host = \"log\", access = \"write\" }}]\n",
            setup.scratch.join("cache").display().to_string()
        );
        fs::write(dir.join("larder.toml"), config)?;
        let teams = Self {
            server: setup.start(&dir)?,
            quiet,
            busy,
        };
        if let Flood::Searches = flood {
            teams.wait_for_index()?;
        }
        Ok(teams)
    }

    /// Waits until a search finds words of the files.
    fn wait_for_index(&self) -> Result<()> {
        let address = self.server.address;
        let search = Flood::Searches.request(address, &self.busy, 0);
        let start = Instant::now();
        loop {
            let (status, _, body) = load::once(address, &search)?;
            let body = String::from_utf8_lossy(&body);
            if status == 200 && body.contains("indexed://") {
                return Ok(());
            }
            ensure!(
                start.elapsed() < INDEXED_WITHIN,
                "no file is found: {status} {body}"
            );
            std::thread::sleep(STOP_CHECK);
        }
    }
}

/// Writes the files of the guest `indexed`.
fn write_files(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir.join("docs"))?;
    fs::create_dir_all(dir.join("log"))?;
    for file in 0..FILES {
        let words = (0..WORDS).map(|word| format!("word{}", (word * (file + 1)) % WORDS));
        fs::write(
            dir.join("docs").join(format!("{file}")),
            words.collect::<Vec<_>>().join(" "),
        )?;
    }
    Ok(())
}

fn plugins(dir: &Path, team: &str) -> PathBuf {
    dir.join("plugins").join(team)
}

/// Creates a token for a team. Returns the token and its part of the configuration.
fn token(larder: &Path, team: &str) -> Result<(String, String)> {
    let output = Command::new(larder)
        .args(["token", "new", "--json", "--name", team, "--team", team])
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let created: Value = serde_json::from_slice(&output.stdout)?;
    let text = |key: &str| {
        created[key]
            .as_str()
            .map(ToOwned::to_owned)
            .with_context(|| format!("no {key}"))
    };
    let digest = text("digest")?;
    Ok((
        text("token")?,
        format!(
            "[[auth.tokens]]\nname = \"{team}\"\ndigest = \"{digest}\"\nteams = [\"{team}\"]\n"
        ),
    ))
}

/// Runs `work` during a flood. Returns its result, and how many requests of the flood were answered and
/// refused per second.
fn with_flood<T>(
    flood: Flood,
    address: SocketAddr,
    token: &str,
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, [f64; 2])> {
    let (stop, handled) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(FloodCounters::default()),
    );
    let (shared, token) = ((stop.clone(), handled.clone()), token.to_owned());
    let flooding = std::thread::spawn(move || run(flood, address, &token, &shared.0, shared.1));
    let start = Instant::now();
    let result = work();
    let seconds = start.elapsed().as_secs_f64();
    let per_second =
        [&handled.answered, &handled.refused].map(|count| count.load(Relaxed) as f64 / seconds);
    stop.store(true, Relaxed);
    flooding
        .join()
        .expect("the flood returns errors and does not panic")?;
    Ok((result?, per_second))
}

/// Runs the flood on the current thread, with a lower priority than the measuring thread, so that the measured latency
/// is the latency of the server, without the load generator.
fn run(
    flood: Flood,
    address: SocketAddr,
    token: &str,
    stop: &AtomicBool,
    handled: Arc<FloodCounters>,
) -> Result<()> {
    rustix::process::nice(19)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let mut tasks = JoinSet::new();
        for number in 0..flood.connections() {
            let handled = handled.clone();
            let request = flood.request(address, token, number);
            tasks.spawn_local(async move {
                loop {
                    // During a flood, a refusal or a closed connection is expected.
                    match flood {
                        Flood::Connections => silent_connection(address, &handled).await,
                        _ => requests(address, &request, &handled).await,
                    }
                    .unwrap_or_default();
                }
            });
        }
        while !stop.load(Relaxed) {
            tokio::time::sleep(STOP_CHECK).await;
        }
        // Dropping the tasks closes the connections, which ends the guests.
        drop(tasks);
        Ok(())
    })
}

/// Opens a connection, sends the beginning of a request, and closes the connection after a while.
async fn silent_connection(address: SocketAddr, handled: &FloodCounters) -> Result<()> {
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    stream.write_all(b"POST /mcp HTTP/1.1\r\nhost: ").await?;
    handled.answered.fetch_add(1, Relaxed);
    tokio::time::sleep(SILENT).await;
    Ok(())
}

/// Sends requests over one connection until it fails.
async fn requests(address: SocketAddr, request: &[u8], handled: &FloodCounters) -> Result<()> {
    let mut connection = Connection::open(address).await?;
    loop {
        let (status, body) = connection.send(request).await?;
        // The error of a provider has status 200 as well.
        let beginning = &body[..body.len().min(BEGINNING)];
        if status == 200 && memchr::memmem::find(beginning, b"\"error\"").is_none() {
            handled.answered.fetch_add(1, Relaxed);
        } else {
            handled.refused.fetch_add(1, Relaxed);
            // The quota is used up for now. Well-behaved clients wait for longer.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
