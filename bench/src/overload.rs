//! Overload: latency of accepted requests at a constant rate, with and without a flood of requests that are
//! refused.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::task::{JoinSet, LocalSet};

use crate::content::DOCUMENTS;
use crate::load::{self, Connection, RequestSpec, Times, Window};
use crate::process::Server;
use crate::setup::{MAX_CONNECTIONS, ProviderSetup, Setup};
use crate::wire;

/// Connections whose requests are accepted. With the pause, the server is mostly idle. On a saturated server, the
/// measurement would only show the length of the queue.
const ACCEPTED: usize = 32;
const PAUSE: Duration = Duration::from_millis(8);
/// Connections of the flood. Each connection sends as fast as it can.
const FLOODING: usize = 32;
/// The flood starts after this time, when the accepted connections are open.
const FLOOD_DELAY: Duration = Duration::from_millis(150);
/// How often the flood checks whether it has to stop.
const STOP_CHECK: Duration = Duration::from_millis(20);
/// Limits of a provider that never responds during the measurement.
const SLOW: &str = "[provider.slow.limits]\nconcurrency = 4\nqueue_length = 4\nqueue_timeout = \"1h\"\ntimeout = \"1h\"\n";

/// The kinds of floods.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Flood {
    /// Connections beyond the limit. They are refused with status 503.
    Connections,
    /// Requests beyond the queue limit of a provider that does not respond. They are refused with an error.
    Requests,
}

/// Results for one kind of flood.
#[derive(Debug)]
pub(crate) struct FloodResult {
    pub(crate) flood: Flood,
    /// For each round: the window without the flood and the window with the flood.
    pub(crate) windows: Vec<(Window, Window)>,
    /// For each round: refused requests per second of wall time.
    pub(crate) refused_per_second: Vec<f64>,
}

impl Flood {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections beyond the limit",
            Self::Requests => "requests for a slow provider",
        }
    }

    fn start_server(self, setup: &Setup) -> Result<Server> {
        let slow = ProviderSetup {
            name: "slow".into(),
            component: setup.guest("sleep")?,
            config: SLOW.into(),
        };
        let providers = [setup.sized_provider("fresh", "")?, slow];
        let (name, connections) = match self {
            Self::Connections => ("full", ACCEPTED),
            Self::Requests => ("slow", MAX_CONNECTIONS),
        };
        setup.start(&setup.limited_server_dir(name, &providers, connections)?)
    }

    /// A request of the flood, and a part of the response that refuses it.
    fn request(self, address: SocketAddr, number: usize) -> (Vec<u8>, &'static [u8]) {
        let read = |uri: &str| wire::modern(address, "resources/read", Some(uri));
        match self {
            Self::Connections => (read(&DOCUMENTS[0].uri("fresh")), b"no more connections"),
            // An accepted request takes an hour. The URIs differ, so that requests do not share a response.
            Self::Requests => (
                read(&format!("sleep://ms/{}", 3_600_000 + number)),
                b"\"kind\":\"busy\"",
            ),
        }
    }
}

pub(crate) fn measure(setup: &Setup, quick: bool) -> Result<Vec<FloodResult>> {
    eprintln!("measuring latency under overload");
    let ms = Duration::from_millis;
    let (rounds, measured) = if quick { (3, ms(700)) } else { (7, ms(1500)) };
    let times = Times {
        warmup: 2 * FLOOD_DELAY,
        measured,
    };
    [Flood::Connections, Flood::Requests]
        .into_iter()
        .map(|flood| {
            let server = flood.start_server(setup)?;
            let uri = DOCUMENTS[0].uri("fresh");
            let bytes = wire::modern(server.address, "resources/read", Some(&uri));
            let expected = DOCUMENTS[0].json_escaped().into_bytes();
            let request = RequestSpec {
                address: server.address,
                bytes,
                expected,
            };
            let window = || load::paced(&request, ACCEPTED, times, PAUSE, || server.cpu_time());
            let mut result = FloodResult {
                flood,
                windows: vec![],
                refused_per_second: vec![],
            };
            for _ in 0..rounds {
                let without = window()?;
                let (with, refused) = with_flood(flood, server.address, window)?;
                result.windows.push((without, with));
                result.refused_per_second.push(refused);
            }
            Ok(result)
        })
        .collect()
}

/// Runs `work` during a flood. Also returns the number of refused requests per second.
fn with_flood<T>(
    flood: Flood,
    address: SocketAddr,
    work: impl FnOnce() -> Result<T>,
) -> Result<(T, f64)> {
    let (stop, refused) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let shared = (stop.clone(), refused.clone());
    let flooding = std::thread::spawn(move || run(flood, address, shared.0, shared.1));
    let start = Instant::now() + FLOOD_DELAY;
    let result = work();
    let per_second = refused.load(Relaxed) as f64 / start.elapsed().as_secs_f64();
    stop.store(true, Relaxed);
    flooding
        .join()
        .expect("the flood returns errors and does not panic")?;
    let result = result?;
    ensure!(per_second > 0.0, "nothing was refused: {}", flood.name());
    Ok((result, per_second))
}

/// Runs the flood on the current thread, with a lower priority than the measuring thread, so that the measured latency
/// is the latency of the server, without the load generator.
fn run(
    flood: Flood,
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    refused: Arc<AtomicU64>,
) -> Result<()> {
    rustix::process::nice(19)?;
    std::thread::sleep(FLOOD_DELAY);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let mut tasks = JoinSet::new();
        for number in 0..FLOODING {
            let (request, refused) = (flood.request(address, number), refused.clone());
            tasks.spawn_local(async move { flood_connection(address, request, &refused).await });
        }
        while !stop.load(Relaxed) {
            tokio::select! {
                // A task of the flood ends only with an error.
                Some(failed) = tasks.join_next() => failed??,
                () = tokio::time::sleep(STOP_CHECK) => {}
            }
        }
        Ok(())
    })
}

/// Sends requests in an endless loop. If a connection of the flood is accepted, it took the slot of a measuring
/// connection, so it is closed.
async fn flood_connection(
    address: SocketAddr,
    (bytes, refusal): (Vec<u8>, &[u8]),
    refused: &AtomicU64,
) -> Result<()> {
    let mut open = None;
    loop {
        let mut connection = match open.take() {
            Some(connection) => connection,
            None => Connection::open(address).await?,
        };
        // The server responds with 503 to a limited number of excess connections and closes all other connections at
        // once.
        let Ok((status, body)) = connection.send(&bytes).await else {
            refused.fetch_add(1, Relaxed);
            continue;
        };
        let is_refused = memchr::memmem::find(body, refusal).is_some();
        ensure!(
            is_refused || status == 200,
            "{status}: {}",
            String::from_utf8_lossy(body)
        );
        refused.fetch_add(u64::from(is_refused), Relaxed);
        open = (is_refused && status == 200).then_some(connection);
    }
}
