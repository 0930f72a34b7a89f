//! `micro breakdown FILE...`: the phases of a read of the changelog example with a fresh guest, as JSON lines. It runs
//! on one thread, and measures the CPU time of that thread: other work on the machine changes it little.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::Grant;
use larder_model::resource::Match;
use larder_model::uri::Uri;
use larder_provider::signal_channel;
use larder_runtime::drain::Drain;
use larder_sandbox::Sandbox;
use larder_sandbox::provider::{Breakdown, Phase, Provider};
use larder_uri_template::Variable;
use serde_json::json;

/// What every example in every language serves.
const TEMPLATE: &str = "changelog://releases/{version}/json";
const VERSION: &str = "0.1.0";
/// Reads before the measurement: they fill the slots of the engine, and the caches of the processor.
const WARMUP: usize = 50;
/// Minimum and maximum number of reads, and the time after which no more reads than the minimum are made.
const READS: std::ops::Range<usize> = 100..2_000;
const TIME: Duration = Duration::from_secs(1);

/// A phase, by its name.
type PhaseOf = fn(&Breakdown) -> Phase;
const PHASES: [(&str, PhaseOf); 5] = [
    ("open", |read| read.open),
    ("instantiate", |read| read.instantiate),
    ("call", |read| read.call),
    ("convert", |read| read.convert),
    ("close", |read| read.close),
];

/// Measures these components, and prints one line for each.
pub(crate) fn run(files: &[String]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let drain = Drain::new();
    let sandbox = Arc::new(Sandbox::new(&super::config().sandbox, &drain).expect("a sandbox"));
    for file in files.iter().map(Path::new) {
        let reads = runtime.block_on(measure(&sandbox, &drain, file));
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        println!("{}", line(&name, &reads));
    }
}

async fn measure(sandbox: &Arc<Sandbox>, drain: &Drain, file: &Path) -> Vec<Breakdown> {
    let component = std::fs::read(file).expect("a component");
    let team = TeamName::default_team();
    let compiled = sandbox
        .compile(&team, component.into())
        .await
        .expect("a provider");
    let name = ProviderName::parse("example").expect("a name");
    let parts = super::provider_parts(name, Grant::default(), signal_channel().0, drain);
    let provider = Provider::new(parts, compiled, sandbox.clone());
    let uri = Uri::parse(&TEMPLATE.replace("{version}", VERSION)).expect("a URI");
    let version = Variable::new("version", VERSION);
    let matched = Match {
        template: TEMPLATE.into(),
        variables: vec![version],
    };
    let read = async || {
        provider
            .measure_read(&uri, Some(matched.clone()))
            .await
            .expect("a release")
    };
    for _ in 0..WARMUP {
        read().await;
    }
    let (start, mut reads) = (Instant::now(), Vec::new());
    while reads.len() < READS.start || (reads.len() < READS.end && start.elapsed() < TIME) {
        reads.push(read().await);
    }
    reads
}

/// The minimum and the median of each phase and of their sum.
fn line(name: &str, reads: &[Breakdown]) -> serde_json::Value {
    let phases = PHASES.map(|(phase, of)| summary(phase, reads.iter().map(of).collect()));
    let sum = |read: &Breakdown| {
        PHASES
            .iter()
            .map(|(_, of)| of(read))
            .fold(Phase::default(), |sum, phase| Phase {
                cpu_time: sum.cpu_time + phase.cpu_time,
                page_faults: sum.page_faults + phase.page_faults,
            })
    };
    let total = summary("total", reads.iter().map(sum).collect());
    let phases: Vec<_> = phases.into_iter().chain([total]).collect();
    json!({"component": name, "reads": reads.len(), "phases": phases})
}

fn summary(name: &str, phases: Vec<Phase>) -> serde_json::Value {
    let middle = phases.len() / 2;
    let mut times: Vec<f64> = phases
        .iter()
        .map(|phase| phase.cpu_time.as_secs_f64() * 1e6)
        .collect();
    times.sort_by(f64::total_cmp);
    let mut faults: Vec<u64> = phases.iter().map(|phase| phase.page_faults).collect();
    faults.sort_unstable();
    json!({"name": name, "min_us": times[0], "median_us": times[middle], "page_faults": faults[middle]})
}
