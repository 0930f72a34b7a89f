//! Benchmark: compares Larder with other servers that return the same responses. `cargo xtask bench` builds and runs
//! the benchmark.

mod admin;
mod baseline;
mod compilation;
mod content;
mod floods;
mod heavy;
mod languages;
mod lifecycle;
mod load;
mod micro;
mod names;
mod overload;
mod process;
mod reads;
mod report;
mod sdk;
mod setup;
mod wire;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use axum::Router;
use axum::serve::ListenerExt as _;

use crate::compilation::Compilation;
use crate::languages::Languages;
use crate::micro::MicroResults;
use crate::reads::{ALL, Plan, Variant};
use crate::report::Results;
use crate::setup::Setup;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HELP: &str = "\
usage: larder-bench run --larder FILE --guests FOLDER --fixtures FOLDER --examples FOLDER --scratch FOLDER [OPTION...]

  --quick            fewer rounds and cases: under ten minutes
  --json             print JSON
  --only NAME        only this server variant (and the baseline); may be repeated
  --reads            only the reads
  --languages        only the examples in each language
  --names            only the memory of a component under many names
  --compilation      only the time from a new file to its first answer
  --revisions FOLDER the revisions for it, LANGUAGE/NUMBER.wasm
  --examples FOLDER  the examples, LANGUAGE.wasm
  --against FILE     another build of larder, measured in the same rounds
  --against-guests FOLDER  the guests for it, if its contract is another one
  --overload         only the latency of accepted requests under overload
  --floods           only the latency of a quiet team beside the floods of another one
  --large FILE       the component for the reload measurement; it must contain `revision-00000000`
  --micro FOLDER     where Criterion stored the results of the microbenchmarks
  --bare FILE        the program of the microbenchmarks, which can also serve a guest without the rest of Larder

usage: larder-bench baseline FILE...
       larder-bench sdk";

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["baseline", files @ ..] => serve(baseline::router(
            &files.iter().map(PathBuf::from).collect::<Vec<_>>(),
        )?),
        ["sdk"] => serve(sdk::router()),
        ["run", options @ ..] => run(options),
        _ => bail!("{HELP}"),
    }
}

/// Serves on a free port until the process is killed, and prints its URL on stderr.
fn serve(router: Router) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        eprintln!("http://{}/", listener.local_addr()?);
        // With Nagle's algorithm, each response would wait for the acknowledgement of the previous one.
        let listener = listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        Ok(axum::serve(listener, router).await?)
    })
}

#[derive(Default)]
struct Options {
    quick: bool,
    json: bool,
    reads: bool,
    languages: bool,
    names: bool,
    compilation: bool,
    overload: bool,
    floods: bool,
    only: Vec<Variant>,
    large: Option<PathBuf>,
    micro: Option<PathBuf>,
    bare: Option<PathBuf>,
    larder: Option<PathBuf>,
    against: Option<PathBuf>,
    against_guests: Option<PathBuf>,
    guests: Option<PathBuf>,
    fixtures: Option<PathBuf>,
    examples: Option<PathBuf>,
    revisions: Option<PathBuf>,
    scratch: Option<PathBuf>,
}

/// Which parts of the benchmark run.
struct Parts {
    reads: bool,
    languages: bool,
    names: bool,
    compilation: bool,
    lifecycle: bool,
    overload: bool,
    floods: bool,
}

impl Options {
    fn parse(args: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || {
                args.next()
                    .map(PathBuf::from)
                    .with_context(|| format!("{arg} needs a value\n\n{HELP}"))
            };
            match *arg {
                "--quick" => options.quick = true,
                "--json" => options.json = true,
                "--reads" => options.reads = true,
                "--languages" => options.languages = true,
                "--names" => options.names = true,
                "--compilation" => options.compilation = true,
                "--overload" => options.overload = true,
                "--floods" => options.floods = true,
                "--only" => {
                    let name = value()?.display().to_string();
                    let found = ALL.into_iter().find(|variant| variant.name() == name);
                    options
                        .only
                        .push(found.with_context(|| format!("unknown server variant `{name}`"))?);
                }
                "--large" => options.large = Some(value()?),
                "--micro" => options.micro = Some(value()?),
                "--bare" => options.bare = Some(value()?),
                "--larder" => options.larder = Some(value()?),
                "--against" => options.against = Some(value()?),
                "--against-guests" => options.against_guests = Some(value()?),
                "--guests" => options.guests = Some(value()?),
                "--fixtures" => options.fixtures = Some(value()?),
                "--examples" => options.examples = Some(value()?),
                "--revisions" => options.revisions = Some(value()?),
                "--scratch" => options.scratch = Some(value()?),
                _ => bail!("unknown option {arg}\n\n{HELP}"),
            }
        }
        if !options.only.is_empty() {
            options.only.push(Variant::Baseline);
        }
        Ok(options)
    }

    /// The parts to measure: the named parts, or all parts.
    fn parts(&self) -> Parts {
        let Self {
            reads,
            languages,
            names,
            compilation,
            overload,
            floods,
            ..
        } = *self;
        let all = !(reads || languages || names || compilation || overload || floods);
        Parts {
            reads: all || reads,
            languages: all || languages,
            names: all || names,
            compilation: all || compilation,
            lifecycle: all,
            overload: all || overload,
            floods: all || floods,
        }
    }

    fn setup(&self) -> Result<Setup> {
        let required = |path: &Option<PathBuf>, name: &str| {
            path.clone()
                .with_context(|| format!("{name} is required\n\n{HELP}"))
        };
        let setup = Setup {
            larder: required(&self.larder, "--larder")?,
            against: self.against.clone(),
            against_guests: self.against_guests.clone().or(self.guests.clone()),
            guests: required(&self.guests, "--guests")?,
            fixtures: required(&self.fixtures, "--fixtures")?,
            examples: required(&self.examples, "--examples")?,
            bare: self.bare.clone(),
            scratch: required(&self.scratch, "--scratch")?,
        };
        std::fs::create_dir_all(&setup.scratch)?;
        Ok(setup)
    }
}

fn run(args: &[&str]) -> Result<()> {
    let options = Options::parse(args)?;
    let setup = options.setup()?;
    setup.clear_cache()?;
    let environment = environment(&setup, &options);
    process::pin_to_second_core()?;
    let parts = options.parts();
    let reads = match parts.reads {
        true => reads::measure(&setup, Plan::new(options.quick), &options.only)?,
        false => vec![],
    };
    let languages = match parts.languages {
        true => languages::measure(&setup, Plan::new(options.quick))?,
        false => Languages::default(),
    };
    let names = if parts.names {
        names::measure(&setup)?
    } else {
        None
    };
    let compilation = measure_compilation(&setup, &options)?;
    let lifecycle = match parts.lifecycle {
        true => Some(lifecycle::measure(
            &setup,
            options.large.as_deref(),
            options.quick,
        )?),
        false => None,
    };
    let overload = if parts.overload {
        overload::measure(&setup, options.quick)?
    } else {
        vec![]
    };
    let floods = if parts.floods {
        floods::measure(&setup, options.quick)?
    } else {
        vec![]
    };
    let micro = options
        .micro
        .as_deref()
        .map(MicroResults::load)
        .unwrap_or_default();
    let results = Results {
        environment,
        reads,
        languages,
        names,
        compilation,
        lifecycle,
        overload,
        floods,
        micro,
    };
    match options.json {
        true => println!("{:#}", results.json()),
        false => results.print(),
    }
    Ok(())
}

/// None without revisions, or if only other parts run.
fn measure_compilation(setup: &Setup, options: &Options) -> Result<Option<Compilation>> {
    let revisions = options
        .revisions
        .as_deref()
        .filter(|_| options.parts().compilation);
    let rounds = if options.quick { 1 } else { 3 };
    revisions
        .map(|revisions| compilation::measure(setup, revisions, rounds))
        .transpose()
}

fn environment(setup: &Setup, options: &Options) -> Vec<(&'static str, String)> {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map(|(_, name)| name);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let plan = Plan::new(options.quick);
    vec![
        (
            "cores",
            format!(
                "{cores} of {}; servers on the first, load on the second",
                model.unwrap_or("an unknown model")
            ),
        ),
        ("kernel", kernel.trim().to_owned()),
        (
            "load before",
            load.split_whitespace()
                .take(3)
                .collect::<Vec<_>>()
                .join(" "),
        ),
        (
            "larder",
            format!(
                "{}, release build, defaults (all limits on)",
                process::version(&setup.larder)
            ),
        ),
        (
            "compared with",
            "rmcp 3.9, axum 0.8, both with mimalloc".to_owned(),
        ),
        (
            "rounds",
            format!(
                "{} of {:?} after {:?}; {} for cases with a target",
                plan.rounds, plan.times.measured, plan.times.warmup, plan.target_rounds
            ),
        ),
    ]
}
