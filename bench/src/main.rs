//! How fast Larder is, beside others that answer the same: `cargo xtask bench` builds and runs this.

mod content;
mod floor;
mod life;
mod load;
mod overload;
mod process;
mod reads;
mod rooms;
mod scene;
mod sdk;
mod table;
mod wire;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use axum::Router;
use axum::serve::ListenerExt as _;

use crate::reads::{ALL, Contestant, Plan};
use crate::rooms::Rooms;
use crate::scene::Places;
use crate::table::Results;

#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HELP: &str = "\
usage: larder-bench run --larder FILE --guests FOLDER --fixtures FOLDER --scratch FOLDER [OPTION...]

  --quick            fewer rounds and cases: under five minutes
  --json             print JSON
  --only NAME        only these contestants (and the floor): may be repeated
  --reads            only the reads
  --against FILE     another build of larder, measured in the same rounds
  --overload         only what is accepted while there is too much
  --large FILE       the component that is changed, with `revision-00000000` in it
  --rooms FOLDER     where Criterion left what it measured
  --bare FILE        the program of the inner rooms, which serves without Larder around the guest

usage: larder-bench floor FILE...
       larder-bench sdk";

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["floor", files @ ..] => serve(floor::router(&files.iter().map(PathBuf::from).collect::<Vec<_>>())?),
        ["sdk"] => serve(sdk::router()),
        ["run", options @ ..] => run(options),
        _ => bail!("{HELP}"),
    }
}

/// On a free port, which it says, until it is killed.
fn serve(router: Router) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        eprintln!("http://{}/", listener.local_addr()?);
        // Without it each answer waits for the acknowledgement of the one before.
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
    overload: bool,
    only: Vec<Contestant>,
    large: Option<PathBuf>,
    rooms: Option<PathBuf>,
    bare: Option<PathBuf>,
    larder: Option<PathBuf>,
    against: Option<PathBuf>,
    guests: Option<PathBuf>,
    fixtures: Option<PathBuf>,
    scratch: Option<PathBuf>,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().map(PathBuf::from).with_context(|| format!("{word} what?\n\n{HELP}"));
            match *word {
                "--quick" => options.quick = true,
                "--json" => options.json = true,
                "--reads" => options.reads = true,
                "--overload" => options.overload = true,
                "--only" => {
                    let name = value()?.display().to_string();
                    let found = ALL.into_iter().find(|contestant| contestant.word() == name);
                    options.only.push(found.with_context(|| format!("no contestant is called `{name}`"))?);
                }
                "--large" => options.large = Some(value()?),
                "--rooms" => options.rooms = Some(value()?),
                "--bare" => options.bare = Some(value()?),
                "--larder" => options.larder = Some(value()?),
                "--against" => options.against = Some(value()?),
                "--guests" => options.guests = Some(value()?),
                "--fixtures" => options.fixtures = Some(value()?),
                "--scratch" => options.scratch = Some(value()?),
                _ => bail!("unknown: {word}\n\n{HELP}"),
            }
        }
        if !options.only.is_empty() {
            options.only.push(Contestant::Floor);
        }
        Ok(options)
    }

    fn places(&self) -> Result<Places> {
        let needed = |path: &Option<PathBuf>, name: &str| {
            path.clone().with_context(|| format!("{name} is needed\n\n{HELP}"))
        };
        let places = Places {
            larder: needed(&self.larder, "--larder")?,
            against: self.against.clone(),
            guests: needed(&self.guests, "--guests")?,
            fixtures: needed(&self.fixtures, "--fixtures")?,
            bare: self.bare.clone(),
            scratch: needed(&self.scratch, "--scratch")?,
        };
        std::fs::create_dir_all(&places.scratch)?;
        Ok(places)
    }
}

fn run(words: &[&str]) -> Result<()> {
    let options = Options::read(words)?;
    let places = options.places()?;
    places.forget()?;
    let about = about(&places, &options);
    process::stay_on(1)?;
    let reads = match options.overload {
        true => vec![],
        false => reads::measure(&places, Plan::new(options.quick), &options.only)?,
    };
    let life = match options.reads || options.overload {
        true => None,
        false => Some(life::measure(&places, options.large.as_deref(), options.quick)?),
    };
    let overload = if options.reads { vec![] } else { overload::measure(&places, options.quick)? };
    let rooms = options.rooms.as_deref().map(Rooms::read).unwrap_or_default();
    let results = Results { about, reads, life, overload, rooms };
    match options.json {
        true => println!("{:#}", results.json()),
        false => results.print(),
    }
    Ok(())
}

fn about(places: &Places, options: &Options) -> Vec<(&'static str, String)> {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ")).map(|(_, name)| name);
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let plan = Plan::new(options.quick);
    vec![
        (
            "cores",
            format!(
                "{cores} of {}; servers on the first, load on the second",
                model.unwrap_or("an unknown kind")
            ),
        ),
        ("kernel", kernel.trim().to_owned()),
        ("load before", load.split_whitespace().take(3).collect::<Vec<_>>().join(" ")),
        (
            "larder",
            format!("{}, release build, its defaults: every limit on", process::version(&places.larder)),
        ),
        ("beside", "rmcp 3.9, axum 0.8, both with mimalloc".to_owned()),
        (
            "rounds",
            format!(
                "{} of {:?} after {:?}, and {} where there is a target",
                plan.rounds, plan.times.counted, plan.times.warm, plan.promised
            ),
        ),
    ]
}
