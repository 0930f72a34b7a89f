//! All contestants answer the same read, one after the other, again and again.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::content::{DOCUMENTS, Document};
use crate::load::{self, Question, Times, Window};
use crate::process::Server;
use crate::scene::{Places, own};
use crate::wire::{self, Era};

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Contestant {
    /// A canned answer.
    Floor,
    /// The official SDK.
    Sdk,
    /// Larder with an answer that it kept.
    Cached,
    /// Larder with guests that are used again.
    Reused,
    /// Larder with a new guest for each call.
    Fresh,
    /// The same, in Python.
    Python,
    /// The same, in JavaScript.
    JavaScript,
    /// hyper with an answer that it kept, and nothing of Larder around it.
    BareKept,
    /// hyper with guests that are used again, in the same way.
    BareReused,
    /// hyper with a new guest for each call.
    BareFresh,
    /// The program of `--against`, with a cached response.
    OtherCached,
    /// The same, with reused guests.
    OtherReused,
    /// The same, with a fresh guest for each call.
    OtherFresh,
}

pub(crate) const ALL: [Contestant; 13] = [
    Contestant::Floor,
    Contestant::Sdk,
    Contestant::Cached,
    Contestant::Reused,
    Contestant::Fresh,
    Contestant::Python,
    Contestant::JavaScript,
    Contestant::BareKept,
    Contestant::BareReused,
    Contestant::BareFresh,
    Contestant::OtherCached,
    Contestant::OtherReused,
    Contestant::OtherFresh,
];

impl Contestant {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Sdk => "sdk",
            Self::Cached => "larder cached",
            Self::Reused => "larder reused",
            Self::Fresh => "larder fresh",
            Self::Python => "larder fresh, Python",
            Self::JavaScript => "larder fresh, JavaScript",
            Self::BareKept => "bare kept",
            Self::BareReused => "bare reused",
            Self::BareFresh => "bare fresh",
            Self::OtherCached => "other cached",
            Self::OtherReused => "other reused",
            Self::OtherFresh => "other fresh",
        }
    }

    /// Whether it takes part: an interpreter serves its example, and is slow enough for one case; of what is bare, the
    /// smallest answer tells how near to the floor one can come.
    fn is_in(self, case: Case) -> bool {
        let is_smallest = case.is_promised() && case.document == DOCUMENTS[0];
        is_smallest || !(self.interpreted() || self.bare().is_some())
    }

    /// What a bare server is told to do with its guests.
    fn bare(self) -> Option<&'static str> {
        match self {
            Self::BareKept => Some("cached"),
            Self::BareReused => Some("reused"),
            Self::BareFresh => Some("fresh"),
            _ => None,
        }
    }

    /// Interpreters serve their example, whatever its size.
    fn interpreted(self) -> bool {
        matches!(self, Self::Python | Self::JavaScript)
    }
}

/// One line of what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) document: Document,
    pub(crate) connections: usize,
    pub(crate) era: Era,
}

impl Case {
    /// Whether a target is about it.
    pub(crate) fn is_promised(self) -> bool {
        self.connections == 32 && self.era == Era::Modern && DOCUMENTS[..2].contains(&self.document)
    }
}

/// The windows of one case, of each contestant, in the order in which they were.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) case: Case,
    pub(crate) windows: BTreeMap<Contestant, Vec<Window>>,
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Rounds of a case that has a target: two of them differ by more than what is looked for.
    pub(crate) promised: usize,
    pub(crate) times: Times,
    pub(crate) quick: bool,
}

impl Plan {
    pub(crate) fn new(quick: bool) -> Self {
        let ms = Duration::from_millis;
        match quick {
            true => Self { rounds: 5, promised: 15, times: Times { warm: ms(60), counted: ms(300) }, quick },
            false => {
                Self { rounds: 7, promised: 25, times: Times { warm: ms(100), counted: ms(500) }, quick }
            }
        }
    }

    /// The smallest first: of what a large answer was written to, something is wiped for each later guest.
    fn cases(self) -> Vec<Case> {
        let case = |document, connections, era| Case { document, connections, era };
        let mut cases = Vec::new();
        for document in DOCUMENTS {
            let connections: &[usize] = match (self.quick, document.bytes > 1024) {
                (true, true) => &[32],
                (true, false) => &[32, 1],
                (false, true) => &[32, 8],
                (false, false) => &[32, 1, 8, 256],
            };
            cases.extend(connections.iter().map(|connections| case(document, *connections, Era::Modern)));
            if document == DOCUMENTS[0] {
                cases.push(case(document, 32, Era::Legacy));
            }
        }
        cases
    }
}

/// The servers, all of which run all the time: who is not asked does nothing.
struct Field {
    larder: Server,
    sdk: Server,
    python: Server,
    javascript: Server,
    /// The program of `--against`, with the same providers.
    other: Option<Server>,
    /// Where there is a program for them.
    bare: BTreeMap<Contestant, Server>,
}

pub(crate) fn measure(places: &Places, plan: Plan, only: &[Contestant]) -> Result<Vec<Measured>> {
    let roles = [places.sized("cached", "")?, places.sized("fresh", "")?, places.sized("reused", REUSE)?];
    let example = |language: &str| -> Result<Server> {
        let component = places.example(language)?;
        let role = crate::scene::Role { name: "changelog".into(), component, settings: String::new() };
        places.serve(&places.scene(language, &[role])?)
    };
    eprintln!("starting the contestants");
    let field = Field {
        larder: places.serve(&places.scene("rust", &roles)?)?,
        sdk: own(&["sdk".as_ref()])?,
        python: example("python")?,
        javascript: example("javascript")?,
        other: places
            .against
            .as_deref()
            .map(|program| places.serve_with(program, "against", &roles))
            .transpose()?,
        bare: bare(places)?,
    };
    plan.cases().into_iter().map(|case| field.race(places, plan, case, only)).collect()
}

impl Field {
    fn race(&self, places: &Places, plan: Plan, case: Case, only: &[Contestant]) -> Result<Measured> {
        eprintln!("{}, {} connections, {}", case.document, case.connections, case.era.word());
        let floor = self.floor(places, case)?;
        let mut lanes = Vec::new();
        for contestant in ALL.into_iter().filter(|contestant| only.is_empty() || only.contains(contestant)) {
            let server = if contestant == Contestant::Floor { Some(&floor) } else { self.server(contestant) };
            let Some(server) = server.filter(|_| contestant.is_in(case)) else { continue };
            let question = question(contestant, server.address, case)?;
            lanes.push((contestant, server, question));
        }
        let mut windows: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let rounds = if case.is_promised() { plan.promised } else { plan.rounds };
        for round in 0..rounds {
            // Whoever comes first in one round comes later in the next.
            let places = lanes.len();
            for (contestant, server, question) in lanes.iter().cycle().skip(round % places).take(places) {
                let window = load::window(question, case.connections, plan.times, || server.cpu())
                    .with_context(|| contestant.word())?;
                windows.entry(*contestant).or_default().push(window);
            }
        }
        Ok(Measured { case, windows })
    }

    /// As long as Larder's own answer.
    fn floor(&self, places: &Places, case: Case) -> Result<Server> {
        let question = question(Contestant::Fresh, self.larder.address, case)?;
        let (_, _, body) = load::once(self.larder.address, &question.bytes)?;
        let file = places.scratch.join("mcp");
        std::fs::write(&file, body)?;
        own(&["floor".as_ref(), file.as_os_str()])
    }

    fn server(&self, contestant: Contestant) -> Option<&Server> {
        match contestant {
            Contestant::Floor => None,
            Contestant::Sdk => Some(&self.sdk),
            Contestant::Cached | Contestant::Reused | Contestant::Fresh => Some(&self.larder),
            Contestant::Python => Some(&self.python),
            Contestant::JavaScript => Some(&self.javascript),
            Contestant::BareKept | Contestant::BareReused | Contestant::BareFresh => {
                self.bare.get(&contestant)
            }
            Contestant::OtherCached | Contestant::OtherReused | Contestant::OtherFresh => self.other.as_ref(),
        }
    }
}

fn bare(places: &Places) -> Result<BTreeMap<Contestant, Server>> {
    let Some(program) = &places.bare else { return Ok(BTreeMap::new()) };
    let guest = places.guests.join("sized.wasm");
    let all = ALL.into_iter().filter_map(|contestant| Some((contestant, contestant.bare()?)));
    all.map(|(contestant, manner)| {
        let server = Server::start(Command::new(program).args(["bare", manner]).arg(&guest))?;
        Ok((contestant, server))
    })
    .collect()
}

const REUSE: &str = "guests = \"reuse\"";

/// Asks once, and looks at the answer closely.
fn question(contestant: Contestant, to: SocketAddr, case: Case) -> Result<Question> {
    let uri = match contestant {
        Contestant::Floor | Contestant::Fresh | Contestant::OtherFresh => case.document.uri("fresh"),
        Contestant::Sdk => case.document.uri("sdk"),
        Contestant::Cached | Contestant::OtherCached => case.document.uri("cached"),
        Contestant::Reused | Contestant::OtherReused => case.document.uri("reused"),
        Contestant::Python | Contestant::JavaScript => "changelog://releases/0.1.0/json".to_owned(),
        // Nobody tells its guest another authority.
        Contestant::BareKept | Contestant::BareReused | Contestant::BareFresh => case.document.uri("sized"),
    };
    let bytes = match case.era {
        Era::Modern => wire::modern(to, "resources/read", Some(&uri)),
        Era::Legacy if contestant == Contestant::Floor => wire::modern(to, "resources/read", Some(&uri)),
        Era::Legacy => wire::legacy(to, &uri)?,
    };
    let (status, _, body) = load::once(to, &bytes).with_context(|| contestant.word())?;
    ensure!(status == 200, "{}: {status} {}", contestant.word(), String::from_utf8_lossy(&body));
    let found = wire::content(&body).with_context(|| contestant.word())?;
    let expected = if contestant.interpreted() { found.clone() } else { case.document.on_the_wire() };
    ensure!(found == expected && !found.is_empty(), "{} answers something else", contestant.word());
    Ok(Question { to, bytes, holds: expected.into_bytes() })
}
