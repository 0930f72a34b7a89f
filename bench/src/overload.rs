//! What was accepted, while more is refused than answered: the same questions at an even pace, alone and beside a flood.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::task::{JoinSet, LocalSet};

use crate::content::DOCUMENTS;
use crate::load::{self, Connection, Question, Times, Window};
use crate::process::Server;
use crate::scene::{CONNECTIONS, Places, Role};
use crate::wire;

/// Who are accepted. They leave the server most of its time: where it has none left, what is measured is a queue.
const ASKING: usize = 32;
const PAUSE: Duration = Duration::from_millis(8);
/// Who are not, each as fast as it can.
const FLOODING: usize = 32;
/// By then those who are accepted have come.
const LATER: Duration = Duration::from_millis(150);
/// How often these look whether it is over.
const LOOK: Duration = Duration::from_millis(20);
/// Nobody gets an answer of it.
const SLOW: &str =
    "[provider.slow.limits]\nconcurrency = 4\nqueue_length = 4\nqueue_timeout = \"1h\"\ntimeout = \"1h\"\n";

/// What the flood is made of, and how it is refused.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Flood {
    /// More than may be open: 503.
    Connections,
    /// More than may wait for a provider that does not answer: an error.
    Requests,
}

/// With one kind of flood.
#[derive(Debug)]
pub(crate) struct Flooded {
    pub(crate) flood: Flood,
    /// Round by round: alone, and beside the flood.
    pub(crate) windows: Vec<(Window, Window)>,
    /// Refusals in a second of the clock, round by round.
    pub(crate) refused: Vec<f64>,
}

impl Flood {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Connections => "connections beyond the limit",
            Self::Requests => "requests for a slow provider",
        }
    }

    fn serve(self, places: &Places) -> Result<Server> {
        let slow = Role { name: "slow".into(), component: places.guest("sleep")?, settings: SLOW.into() };
        let roles = [places.sized("fresh", "")?, slow];
        let (name, connections) = match self {
            Self::Connections => ("full", ASKING),
            Self::Requests => ("slow", CONNECTIONS),
        };
        places.serve(&places.scene_for(name, &roles, connections)?)
    }

    /// What is asked, and what a refusal has in it.
    fn question(self, to: SocketAddr, number: usize) -> (Vec<u8>, &'static [u8]) {
        let read = |uri: &str| wire::modern(to, "resources/read", Some(uri));
        match self {
            Self::Connections => (read(&DOCUMENTS[0].uri("fresh")), b"no more connections"),
            // An hour for those who get a turn, and each asks for something else: none shares the answer of another.
            Self::Requests => (read(&format!("sleep://ms/{}", 3_600_000 + number)), b"\"kind\":\"busy\""),
        }
    }
}

pub(crate) fn measure(places: &Places, quick: bool) -> Result<Vec<Flooded>> {
    eprintln!("answers while there is too much");
    let ms = Duration::from_millis;
    let (rounds, counted) = if quick { (3, ms(700)) } else { (7, ms(1500)) };
    let times = Times { warm: 2 * LATER, counted };
    [Flood::Connections, Flood::Requests]
        .into_iter()
        .map(|flood| {
            let server = flood.serve(places)?;
            let uri = DOCUMENTS[0].uri("fresh");
            let bytes = wire::modern(server.address, "resources/read", Some(&uri));
            let holds = DOCUMENTS[0].on_the_wire().into_bytes();
            let question = Question { to: server.address, bytes, holds };
            let window = || load::paced(&question, ASKING, times, PAUSE, || server.cpu());
            let mut flooded = Flooded { flood, windows: vec![], refused: vec![] };
            for _ in 0..rounds {
                let alone = window()?;
                let (beside, refused) = beside(flood, server.address, window)?;
                flooded.windows.push((alone, beside));
                flooded.refused.push(refused);
            }
            Ok(flooded)
        })
        .collect()
}

/// Does something while there is a flood. Says how many were refused in a second.
fn beside<T>(flood: Flood, to: SocketAddr, work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let (ended, refused) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let both = (ended.clone(), refused.clone());
    let flooding = std::thread::spawn(move || run(flood, to, both.0, both.1));
    let began = Instant::now() + LATER;
    let done = work();
    let per_second = refused.load(Relaxed) as f64 / began.elapsed().as_secs_f64();
    ended.store(true, Relaxed);
    flooding.join().expect("it ends with an error, not a panic")?;
    let done = done?;
    ensure!(per_second > 0.0, "nobody was refused: {}", flood.word());
    Ok((done, per_second))
}

/// On a thread of its own, behind those who measure: what they wait for shall be the server.
fn run(flood: Flood, to: SocketAddr, ended: Arc<AtomicBool>, refused: Arc<AtomicU64>) -> Result<()> {
    rustix::process::nice(19)?;
    std::thread::sleep(LATER);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let mut all = JoinSet::new();
        for number in 0..FLOODING {
            let (question, refused) = (flood.question(to, number), refused.clone());
            all.spawn_local(async move { ask(to, question, &refused).await });
        }
        while !ended.load(Relaxed) {
            tokio::select! {
                // It ends in no other way.
                Some(failed) = all.join_next() => failed??,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        Ok(())
    })
}

/// Again and again, without an end. Who is let in into a full house was quicker than those who measure, and goes.
async fn ask(to: SocketAddr, (bytes, words): (Vec<u8>, &[u8]), refused: &AtomicU64) -> Result<()> {
    let mut kept = None;
    loop {
        let mut connection = match kept.take() {
            Some(connection) => connection,
            None => Connection::open(to).await?,
        };
        // So many at once are told that there is no place; who comes beyond that is only shown the door.
        let Ok((status, body)) = connection.ask(&bytes).await else {
            refused.fetch_add(1, Relaxed);
            continue;
        };
        let is_refused = memchr::memmem::find(body, words).is_some();
        ensure!(is_refused || status == 200, "{status}: {}", String::from_utf8_lossy(body));
        refused.fetch_add(u64::from(is_refused), Relaxed);
        kept = (is_refused && status == 200).then_some(connection);
    }
}
