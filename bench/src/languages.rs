//! The changelog example in each language: reads with fresh and with reused guests, and the phases of a fresh call. All
//! examples return the same response.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::admin;
use crate::load::{self, RequestSpec, Window};
use crate::process::{self, Cores, Server};
use crate::reads::Plan;
use crate::report::{median, quantile};
use crate::setup::{ProviderSetup, Setup, start_own};
use crate::wire;

/// The languages, by the name of the component and the name for people.
const LANGUAGES: [(&str, &str); 7] = [
    ("rust", "Rust"),
    ("go", "Go"),
    ("python", "Python"),
    ("javascript", "JavaScript"),
    ("typescript", "TypeScript"),
    ("c", "C"),
    ("cpp", "C++"),
];
/// The resource that each example returns.
const URI: &str = "changelog://releases/0.1.0/json";
const CONNECTIONS: usize = 32;
/// Longer than compiling a component takes.
const TIMEOUT: Duration = Duration::from_secs(180);
const RETRY: Duration = Duration::from_millis(100);

/// The measurement windows of one language, in the order of the rounds.
#[derive(Debug)]
struct Language {
    name: &'static str,
    component_bytes: usize,
    fresh: Vec<Window>,
    reused: Vec<Window>,
    /// The phases of a fresh call; empty without the program that measures phases.
    phases: Vec<Phase>,
}

/// One phase of a fresh call, in microseconds of CPU time.
#[derive(Debug)]
struct Phase {
    name: String,
    min_us: f64,
    median_us: f64,
    page_faults: u64,
}

/// The results of all languages.
#[derive(Debug, Default)]
pub(crate) struct Languages {
    baseline: Vec<Window>,
    languages: Vec<Language>,
    /// Languages whose example was not built.
    missing: Vec<&'static str>,
}

/// The servers of one language, with one provider each, because two providers cannot have the same URIs.
struct Servers {
    language: usize,
    fresh: (Server, RequestSpec),
    reused: (Server, RequestSpec),
}

pub(crate) fn measure(setup: &Setup, plan: Plan) -> Result<Languages> {
    eprintln!("starting a server for each language");
    let (mut results, mut servers) = (Languages::default(), Vec::new());
    for (name, title) in LANGUAGES {
        let Some(file) = setup.example_file(name) else {
            results.missing.push(title);
            continue;
        };
        let component = std::fs::read(&file).with_context(|| file.display().to_string())?;
        let start = |lifetime: &str, config: &str| -> Result<_> {
            let provider = ProviderSetup {
                name: "changelog".into(),
                component: component.clone(),
                config: format!("[provider.changelog]\n{config}\n"),
            };
            let dir = setup.server_dir(&format!("{name}-{lifetime}"), &[provider])?;
            let admin = admin::configure(&dir)?;
            let server = setup.start(&dir)?;
            let request = request(&server).with_context(|| title)?;
            admin::wait_for(admin, admin::UNOPTIMISED, 0)?;
            Ok((server, request))
        };
        let (fresh, reused) = (start("fresh", "")?, start("reused", "guests = \"reuse\"")?);
        servers.push(Servers {
            language: results.languages.len(),
            fresh,
            reused,
        });
        let (component_bytes, phases) = (component.len(), phases(setup, &file)?);
        let (fresh, reused) = (vec![], vec![]);
        results.languages.push(Language {
            name: title,
            component_bytes,
            fresh,
            reused,
            phases,
        });
    }
    let Some(first) = servers.first() else {
        return Ok(results);
    };
    let baseline = start_baseline(setup, &first.fresh.0)?;
    results.measure_rounds(plan, &servers, &baseline)?;
    Ok(results)
}

/// Reads the resource once, and returns the request. Waits until the component is compiled.
fn request(server: &Server) -> Result<RequestSpec> {
    let bytes = wire::modern(server.address, "resources/read", Some(URI));
    let start = Instant::now();
    loop {
        let (status, _, body) = load::once(server.address, &bytes)?;
        ensure!(status == 200, "{status} {}", String::from_utf8_lossy(&body));
        match wire::first_content(&body) {
            Ok(content) => {
                return Ok(RequestSpec {
                    address: server.address,
                    bytes,
                    expected: content.into_bytes(),
                });
            }
            Err(_) if start.elapsed() < TIMEOUT => std::thread::sleep(RETRY),
            Err(error) => return Err(error),
        }
    }
}

/// Starts the baseline with the response of this server.
fn start_baseline(setup: &Setup, server: &Server) -> Result<(Server, RequestSpec)> {
    let request = request(server)?;
    let (_, _, body) = load::once(server.address, &request.bytes)?;
    let folder = setup.scratch.join("example");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("mcp"), body)?;
    let baseline = start_own(&["baseline".as_ref(), folder.join("mcp").as_os_str()])?;
    let bytes = wire::modern(baseline.address, "resources/read", Some(URI));
    let request = RequestSpec {
        address: baseline.address,
        bytes,
        ..request
    };
    Ok((baseline, request))
}

/// Measures the phases of a fresh call with the program of the microbenchmarks.
fn phases(setup: &Setup, file: &PathBuf) -> Result<Vec<Phase>> {
    let Some(program) = &setup.bare else {
        return Ok(vec![]);
    };
    let output = process::output(
        Command::new(program).arg("breakdown").arg(file),
        Cores::First,
    )?;
    let line: Value = serde_json::from_str(output.lines().next().context("no breakdown")?)?;
    let phases = line["phases"]
        .as_array()
        .context("the breakdown has no phases")?;
    let phase = |phase: &Value| {
        Some(Phase {
            name: phase["name"].as_str()?.to_owned(),
            min_us: phase["min_us"].as_f64()?,
            median_us: phase["median_us"].as_f64()?,
            page_faults: phase["page_faults"].as_u64()?,
        })
    };
    phases
        .iter()
        .map(|value| phase(value).with_context(|| format!("not a phase: {value}")))
        .collect()
}

impl Languages {
    fn measure_rounds(
        &mut self,
        plan: Plan,
        servers: &[Servers],
        baseline: &(Server, RequestSpec),
    ) -> Result<()> {
        let window = |(server, request): &(Server, RequestSpec)| {
            load::window(request, CONNECTIONS, plan.times, || server.cpu_time())
        };
        for round in 0..plan.rounds {
            eprintln!("languages, round {} of {}", round + 1, plan.rounds);
            self.baseline.push(window(baseline)?);
            // The order rotates, so that no language is always the first.
            for servers in servers
                .iter()
                .cycle()
                .skip(round % servers.len())
                .take(servers.len())
            {
                let language = &mut self.languages[servers.language];
                language
                    .fresh
                    .push(window(&servers.fresh).with_context(|| language.name)?);
                language
                    .reused
                    .push(window(&servers.reused).with_context(|| language.name)?);
            }
        }
        Ok(())
    }

    /// Requests per second of CPU time relative to the baseline: p10, median and p90 of the rounds.
    fn ratio(&self, windows: &[Window]) -> [f64; 3] {
        let ratios = windows.iter().zip(&self.baseline);
        let ratios = ratios.map(|(one, baseline)| one.per_cpu_second() / baseline.per_cpu_second());
        let ratios: Vec<f64> = ratios.collect();
        [0.1, 0.5, 0.9].map(|part| quantile(ratios.iter().copied(), part))
    }

    /// The tables; nothing if no language was measured.
    pub(crate) fn print(&self) {
        if self.languages.is_empty() {
            return;
        }
        println!(
            "\n## Languages\n\nThe example in each language returns the same JSON of a release, with {CONNECTIONS} connections."
        );
        println!(
            "Requests per second of the server's CPU time, relative to the baseline, and CPU time per request.\n"
        );
        println!(
            "| language | component | fresh / baseline | p10-p90 | CPU us | reused / baseline | p10-p90 | CPU us |"
        );
        println!("|---|---:|---:|---|---:|---:|---|---:|");
        for language in &self.languages {
            let cells = [&language.fresh, &language.reused].map(|windows| {
                let [low, middle, high] = self.ratio(windows);
                format!("{middle:.3} | {low:.3}-{high:.3} | {:.1}", cpu_us(windows))
            });
            let kib = language.component_bytes.div_ceil(1024);
            println!(
                "| {} | {kib} KiB | {} | {} |",
                language.name, cells[0], cells[1]
            );
        }
        for missing in &self.missing {
            println!("| {missing} | not built | | | | | | |");
        }
        self.print_phases();
    }

    fn print_phases(&self) {
        println!(
            "\n### Phases of a fresh call\n\nMicroseconds of CPU time of the thread (median, and minimum in"
        );
        println!("parentheses), and the page faults.\n");
        let measured = || {
            self.languages
                .iter()
                .filter(|language| !language.phases.is_empty())
        };
        let Some(first) = measured().next() else {
            return;
        };
        let names: Vec<&str> = first
            .phases
            .iter()
            .map(|phase| phase.name.as_str())
            .collect();
        println!(
            "| language | {} |\n|---{}|",
            names.join(" | "),
            "|---:".repeat(names.len())
        );
        for language in measured() {
            let cells: Vec<String> = language.phases.iter().map(Phase::cell).collect();
            println!("| {} | {} |", language.name, cells.join(" | "));
        }
    }

    pub(crate) fn json(&self) -> Value {
        let languages = self.languages.iter().map(|language| {
            let windows = |windows: &[Window]| {
                let [low, middle, high] = self.ratio(windows);
                json!({"per_cpu_second_to_baseline": middle, "p10": low, "p90": high, "cpu_us": cpu_us(windows)})
            };
            let phases = language.phases.iter().map(|phase| {
                json!({"name": phase.name, "min_us": phase.min_us, "median_us": phase.median_us,
                    "page_faults": phase.page_faults})
            });
            json!({"language": language.name, "component_bytes": language.component_bytes,
                "fresh": windows(&language.fresh), "reused": windows(&language.reused),
                "phases": phases.collect::<Vec<_>>()})
        });
        json!({"languages": languages.collect::<Vec<_>>(), "missing": self.missing})
    }
}

impl Phase {
    fn cell(&self) -> String {
        format!(
            "{:.1} ({:.1}), {}",
            self.median_us, self.min_us, self.page_faults
        )
    }
}

fn cpu_us(windows: &[Window]) -> f64 {
    1e6 / median(windows.iter().map(Window::per_cpu_second))
}
