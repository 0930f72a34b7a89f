//! Reads and calls of tools: all server variants return the same document, one after another, in several rounds.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::content::{DOCUMENTS, Document};
use crate::load::{self, RequestSpec, Times, Window};
use crate::process::{Cores, Server};
use crate::setup::{ProviderSetup, Setup, start_own};
use crate::wire::{self, Era};

/// A server and its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Variant {
    /// A prepared response.
    Baseline,
    /// The official Rust SDK.
    Sdk,
    /// Larder with a cached response.
    Cached,
    /// Larder with reused guests.
    Reused,
    /// Larder with a fresh guest for each call.
    Fresh,
    /// hyper with a cached response, without the rest of Larder.
    BareCached,
    /// hyper with reused guests, without the rest of Larder.
    BareReused,
    /// hyper with a fresh guest for each call, without the rest of Larder.
    BareFresh,
    /// A tool of the official Rust SDK that returns the document.
    SdkTool,
    /// Like `SdkTool`, with the document also in the structured result.
    SdkReadTool,
    /// A tool of a component, with a fresh guest for each call.
    Tool,
    /// A function of a component that does not export the contract, with a fresh guest for each call.
    FunctionTool,
    /// Larder's `read_resource` with a cached response.
    ReadToolCached,
    /// Larder's `read_resource` with a fresh guest for each call.
    ReadToolFresh,
    /// The program of `--against`, with a cached response.
    OtherCached,
    /// The same, with reused guests.
    OtherReused,
    /// Like `OtherReused`, with a fresh guest for each call.
    OtherFresh,
}

pub(crate) const ALL: [Variant; 17] = [
    Variant::Baseline,
    Variant::Sdk,
    Variant::Cached,
    Variant::Reused,
    Variant::Fresh,
    Variant::BareCached,
    Variant::BareReused,
    Variant::BareFresh,
    Variant::SdkTool,
    Variant::SdkReadTool,
    Variant::Tool,
    Variant::FunctionTool,
    Variant::ReadToolCached,
    Variant::ReadToolFresh,
    Variant::OtherCached,
    Variant::OtherReused,
    Variant::OtherFresh,
];

impl Variant {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Sdk => "sdk",
            Self::Cached => "larder cached",
            Self::Reused => "larder reused",
            Self::Fresh => "larder fresh",
            Self::BareCached => "bare cached",
            Self::BareReused => "bare reused",
            Self::BareFresh => "bare fresh",
            Self::SdkTool => "sdk tool",
            Self::SdkReadTool => "sdk read tool",
            Self::Tool => "larder tool",
            Self::FunctionTool => "function tool",
            Self::ReadToolCached => "read_resource cached",
            Self::ReadToolFresh => "read_resource fresh",
            Self::OtherCached => "other cached",
            Self::OtherReused => "other reused",
            Self::OtherFresh => "other fresh",
        }
    }

    /// Whether the variant is measured in this case. With bare servers, the smallest document shows how close to the
    /// baseline a server can get. It also shows best how much longer a call of a tool takes than a read.
    fn takes_part_in(self, case: Case) -> bool {
        let is_smallest = case.has_target() && case.document == DOCUMENTS[0];
        is_smallest || !(self.bare_mode().is_some() || self.tool().is_some())
    }

    /// The tool that is called. `None` for reads.
    fn tool(self) -> Option<&'static str> {
        match self {
            Self::SdkTool | Self::Tool => Some(DOCUMENT_TOOL),
            Self::FunctionTool => Some(FUNCTION_TOOL),
            Self::SdkReadTool | Self::ReadToolCached | Self::ReadToolFresh => Some(READ_TOOL),
            _ => None,
        }
    }

    /// The mode argument of the bare server.
    fn bare_mode(self) -> Option<&'static str> {
        match self {
            Self::BareCached => Some("cached"),
            Self::BareReused => Some("reused"),
            Self::BareFresh => Some("fresh"),
            _ => None,
        }
    }
}

/// One combination of document, connections and protocol era.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) document: Document,
    pub(crate) connections: usize,
    pub(crate) era: Era,
}

impl Case {
    /// Whether there is a performance target for this case.
    pub(crate) fn has_target(self) -> bool {
        self.connections == 32 && self.era == Era::Modern && DOCUMENTS[..2].contains(&self.document)
    }
}

/// The measurement windows of each variant in one case, in the order of the rounds.
#[derive(Debug)]
pub(crate) struct CaseResult {
    pub(crate) case: Case,
    pub(crate) windows: BTreeMap<Variant, Vec<Window>>,
}

/// Number and length of the measurements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// Rounds of a case that has a target. More rounds are needed, because single rounds differ by more than the
    /// differences that must be detected.
    pub(crate) target_rounds: usize,
    pub(crate) times: Times,
    pub(crate) quick: bool,
}

impl Plan {
    pub(crate) fn new(quick: bool) -> Self {
        let ms = Duration::from_millis;
        match quick {
            true => Self {
                rounds: 5,
                target_rounds: 15,
                times: Times {
                    warmup: ms(60),
                    measured: ms(300),
                },
                quick,
            },
            false => Self {
                rounds: 7,
                target_rounds: 25,
                times: Times {
                    warmup: ms(100),
                    measured: ms(500),
                },
                quick,
            },
        }
    }

    /// The smallest document comes first: a large response touches memory that has to be cleared for each later guest.
    fn cases(self) -> Vec<Case> {
        let case = |document, connections, era| Case {
            document,
            connections,
            era,
        };
        let mut cases = Vec::new();
        for document in DOCUMENTS {
            let connections: &[usize] = match (self.quick, document.bytes > 1024) {
                (true, true) => &[32],
                (true, false) => &[32, 1],
                (false, true) => &[32, 8],
                (false, false) => &[32, 1, 8, 256],
            };
            cases.extend(
                connections
                    .iter()
                    .map(|connections| case(document, *connections, Era::Modern)),
            );
            if document == DOCUMENTS[0] {
                cases.push(case(document, 32, Era::Legacy));
            }
        }
        cases
    }
}

/// All servers. They run during the whole measurement. Servers without load are idle.
struct Servers {
    larder: Server,
    /// Larder with tools.
    tools: Server,
    sdk: Server,
    /// The program of `--against`, with the same providers.
    other: Option<Server>,
    /// Empty without `--bare`.
    bare: BTreeMap<Variant, Server>,
}

pub(crate) fn measure(setup: &Setup, plan: Plan, only: &[Variant]) -> Result<Vec<CaseResult>> {
    let providers = documents(setup)?;
    let with_tools = [
        setup.sized_provider("cached", "")?,
        setup.sized_provider("fresh", "")?,
        setup.tool_provider("tool", "sized_tool")?,
        setup.tool_provider("function", "function_sized")?,
    ];
    eprintln!("starting the servers");
    let servers = Servers {
        larder: setup.start(&setup.server_dir("rust", &providers)?)?,
        tools: setup.start(&setup.tool_server_dir("tools", &with_tools)?)?,
        sdk: start_own(&["sdk".as_ref()])?,
        other: start_other(setup)?,
        bare: start_bare(setup)?,
    };
    plan.cases()
        .into_iter()
        .map(|case| servers.measure_case(setup, plan, case, only))
        .collect()
}

impl Servers {
    fn measure_case(
        &self,
        setup: &Setup,
        plan: Plan,
        case: Case,
        only: &[Variant],
    ) -> Result<CaseResult> {
        eprintln!(
            "{}, {} connections, {}",
            case.document,
            case.connections,
            case.era.name()
        );
        let baseline = self.start_baseline(setup, case)?;
        let mut runs = Vec::new();
        for variant in ALL
            .into_iter()
            .filter(|variant| only.is_empty() || only.contains(variant))
        {
            let server = if variant == Variant::Baseline {
                Some(&baseline)
            } else {
                self.get(variant)
            };
            let Some(server) = server.filter(|_| variant.takes_part_in(case)) else {
                continue;
            };
            let request = request(variant, server.address, case)?;
            runs.push((variant, server, request));
        }
        let mut windows: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let rounds = if case.has_target() {
            plan.target_rounds
        } else {
            plan.rounds
        };
        for round in 0..rounds {
            // The order rotates, so that no variant is always the first.
            let count = runs.len();
            for (variant, server, request) in runs.iter().cycle().skip(round % count).take(count) {
                let window =
                    load::window(request, case.connections, plan.times, || server.cpu_time())
                        .with_context(|| variant.name())?;
                windows.entry(*variant).or_default().push(window);
            }
        }
        Ok(CaseResult { case, windows })
    }

    /// Starts the baseline with Larder's own response.
    fn start_baseline(&self, setup: &Setup, case: Case) -> Result<Server> {
        let request = request(Variant::Fresh, self.larder.address, case)?;
        let (_, _, body) = load::once(self.larder.address, &request.bytes)?;
        let file = setup.scratch.join("mcp");
        std::fs::write(&file, body)?;
        start_own(&["baseline".as_ref(), file.as_os_str()])
    }

    fn get(&self, variant: Variant) -> Option<&Server> {
        match variant {
            Variant::Baseline => None,
            Variant::Sdk | Variant::SdkTool | Variant::SdkReadTool => Some(&self.sdk),
            Variant::Tool
            | Variant::FunctionTool
            | Variant::ReadToolCached
            | Variant::ReadToolFresh => Some(&self.tools),
            Variant::Cached | Variant::Reused | Variant::Fresh => Some(&self.larder),
            Variant::BareCached | Variant::BareReused | Variant::BareFresh => {
                self.bare.get(&variant)
            }
            Variant::OtherCached | Variant::OtherReused | Variant::OtherFresh => {
                self.other.as_ref()
            }
        }
    }
}

/// The providers of the documents.
fn documents(setup: &Setup) -> Result<[ProviderSetup; 3]> {
    Ok([
        setup.sized_provider("cached", "")?,
        setup.sized_provider("fresh", "")?,
        setup.sized_provider("reused", REUSE)?,
    ])
}

fn start_other(setup: &Setup) -> Result<Option<Server>> {
    let (Some(program), Some(guests)) = (&setup.against, &setup.against_guests) else {
        return Ok(None);
    };
    let with_guests = Setup {
        guests: guests.clone(),
        ..setup.clone()
    };
    with_guests
        .start_other(program, "against", &documents(&with_guests)?)
        .map(Some)
}

fn start_bare(setup: &Setup) -> Result<BTreeMap<Variant, Server>> {
    let Some(program) = &setup.bare else {
        return Ok(BTreeMap::new());
    };
    let guest = setup.guests.join("sized.wasm");
    let modes = ALL
        .into_iter()
        .filter_map(|variant| Some((variant, variant.bare_mode()?)));
    modes
        .map(|(variant, mode)| {
            let server = Server::start(
                Command::new(program).args(["bare", mode]).arg(&guest),
                Cores::First,
            )?;
            Ok((variant, server))
        })
        .collect()
}

/// The tools of the guests `sized_tool` and `function_sized`, and Larder's own tool.
const DOCUMENT_TOOL: &str = "document";
const FUNCTION_TOOL: &str = "sized-document";
const READ_TOOL: &str = "read_resource";

const REUSE: &str = "guests = \"reuse\"";

/// Builds the request, sends it once and verifies the whole content of the response.
fn request(variant: Variant, address: SocketAddr, case: Case) -> Result<RequestSpec> {
    let uri = match variant {
        Variant::Baseline | Variant::Fresh | Variant::OtherFresh | Variant::ReadToolFresh => {
            case.document.uri("fresh")
        }
        Variant::Sdk | Variant::SdkTool | Variant::SdkReadTool => case.document.uri("sdk"),
        Variant::Cached | Variant::OtherCached | Variant::ReadToolCached => {
            case.document.uri("cached")
        }
        Variant::Tool | Variant::FunctionTool => case.document.uri("tool"),
        Variant::Reused | Variant::OtherReused => case.document.uri("reused"),
        // The bare server has no configuration, so its guest uses the default authority.
        Variant::BareCached | Variant::BareReused | Variant::BareFresh => {
            case.document.uri("sized")
        }
    };
    let bytes = match (case.era, variant.tool()) {
        (_, Some(READ_TOOL)) => wire::tool_call(address, READ_TOOL, &json!({"uri": uri})),
        (_, Some(tool)) => wire::tool_call(address, tool, &json!({"bytes": case.document.bytes})),
        (Era::Legacy, None) if variant != Variant::Baseline => wire::legacy(address, &uri)?,
        (Era::Modern | Era::Legacy, None) => wire::modern(address, "resources/read", Some(&uri)),
    };
    let (status, _, body) = load::once(address, &bytes).with_context(|| variant.name())?;
    ensure!(
        status == 200,
        "{}: {status} {}",
        variant.name(),
        String::from_utf8_lossy(&body)
    );
    let found = wire::first_content(&body).with_context(|| variant.name())?;
    let expected = case.document.json_escaped();
    ensure!(found == expected, "{}: unexpected content", variant.name());
    Ok(RequestSpec {
        address,
        bytes,
        expected: expected.into_bytes(),
    })
}
