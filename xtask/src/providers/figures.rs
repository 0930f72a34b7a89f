//! `cargo xtask figures`: the cost of reads of each shipped provider, in a table for docs/performance.md. Each read
//! calls the provider: the metadata of the request is new each time, so no cached response is used.

use std::fmt::Write as _;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::{
    Prepare, feeds, files, git, http, notes, openapi, postgres, remote, s3, sqlite, with_server,
};
use crate::mcp_client::Client;
use crate::packaging::get;
use crate::run::{Output, larder, target};
use crate::server::RunningServer;

/// The number of measured reads, and of the reads before them.
const READS: usize = 500;
const WARM_UP: usize = 50;
/// How often the first answer of a provider is requested: the provider in Python is compiled for a while.
const ATTEMPTS: usize = 600;
const INTERVAL: Duration = Duration::from_millis(500);

struct Subject {
    name: &'static str,
    prepare: Prepare,
    /// What is read: a name and a URI.
    reads: &'static [(&'static str, &'static str)],
}

const SUBJECTS: &[Subject] = &[
    Subject {
        name: "files",
        prepare: files::prepare,
        reads: &[
            ("a file", "file:///docs/notes.md"),
            ("1,000 of 2,500 names", "file:///docs/many/"),
        ],
    },
    Subject {
        name: "notes",
        prepare: notes::prepare,
        reads: &[
            ("a note", "notes:///garden/plan"),
            ("tags of 250 notes", "notes://tags"),
        ],
    },
    Subject {
        name: "git",
        prepare: git::prepare,
        reads: &[
            ("a file", "git://project/v1.0/README.md"),
            ("a commit", "git://project/second"),
            ("a diff", "git://project/second?since=v1.0&path=README.md"),
        ],
    },
    Subject {
        name: "http",
        prepare: http::prepare,
        reads: &[("a part of a response", "records://status")],
    },
    Subject {
        name: "openapi",
        prepare: openapi::prepare,
        reads: &[("an operation", "openapi://shop/operations/listPets")],
    },
    Subject {
        name: "feeds",
        prepare: feeds::prepare,
        reads: &[("a feed (Python)", "feeds://news")],
    },
    Subject {
        name: "sqlite",
        prepare: sqlite::prepare,
        reads: &[
            ("a row", "sqlite://garden/tables/plants/rows/7"),
            ("100 rows", "sqlite://garden/tables/plants"),
        ],
    },
    Subject {
        name: "postgres",
        prepare: postgres::prepare,
        reads: &[
            (
                "a row, with TLS",
                "postgres://garden/schemas/public/tables/plants/rows/7",
            ),
            ("100 rows", "postgres://garden/schemas/public/tables/plants"),
        ],
    },
    Subject {
        name: "s3",
        prepare: s3::prepare,
        reads: &[("an object", "s3://team/docs/plan.md")],
    },
    Subject {
        name: "remote",
        prepare: remote::prepare,
        reads: &[(
            "a resource, with a kept session",
            "demo://resource/static/document/features.md",
        )],
    },
];

/// Prints the table for the named providers, or for all.
pub(crate) fn print(names: &[&str]) -> Result<()> {
    if let Some(name) = names
        .iter()
        .find(|name| SUBJECTS.iter().all(|subject| subject.name != **name))
    {
        bail!("there is no provider {name}");
    }
    eprintln!(
        "measuring {}; LARDER_BIN selects another program",
        larder().display()
    );
    let mut table = "| read | p50 | p99 | largest guest memory | server (PSS) | component |\n\
                     |---|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for subject in SUBJECTS
        .iter()
        .filter(|subject| names.is_empty() || names.contains(&subject.name))
    {
        eprintln!("{} …", subject.name);
        table += &subject.measure()?;
    }
    println!("{table}");
    Ok(())
}

impl Subject {
    /// The lines of the table.
    fn measure(&self) -> Result<String> {
        let output = Output::log(&format!("figures-{}", self.name))?;
        let measured = with_server(&output, self.name, self.prepare, |server, _, _| {
            let mut client = Client::connect(&server.url)?;
            self.await_answer(&mut client)?;
            let admin = server
                .admin
                .as_deref()
                .context("the server has no admin address")?;
            await_optimised_code(admin)?;
            let times = self.reads.iter().map(|(_, uri)| times(&mut client, uri));
            let times = times.collect::<Result<Vec<_>>>()?;
            Ok((
                times,
                guest_memory(&get(&format!("{admin}/metrics"))?, self.name),
                pss(server)?,
            ))
        })?;
        let Ok((times, guest, pss)) = measured else {
            return Ok(format!("| {}: not measured |\n", self.name));
        };
        let component = fs::metadata(target(&format!("plugins/{}.wasm", self.name)))?.len();
        let mut lines = String::new();
        for (number, ((what, _), times)) in self.reads.iter().zip(times).enumerate() {
            write!(
                lines,
                "| {}: {what} | {} | {} |",
                self.name,
                show(times.p50),
                show(times.p99)
            )?;
            match number {
                0 => writeln!(
                    lines,
                    " {} | {} | {} |",
                    mib(guest),
                    mib(pss),
                    kib(component)
                )?,
                _ => writeln!(lines, " | | |")?,
            }
        }
        Ok(lines)
    }

    /// Waits until the provider answers.
    fn await_answer(&self, client: &mut Client) -> Result<()> {
        let (_, uri) = self.reads.first().context("a provider has reads")?;
        let mut last = None;
        for _ in 0..ATTEMPTS {
            match client.request("resources/read", json!({ "uri": uri })) {
                Ok(_) => return Ok(()),
                Err(error) => last = Some(error),
            }
            thread::sleep(INTERVAL);
        }
        Err(last.context("no attempt")?.context(uri.to_string()))
    }
}

/// Waits until large components have optimised code.
fn await_optimised_code(admin: &str) -> Result<()> {
    for _ in 0..ATTEMPTS {
        if get(&format!("{admin}/metrics"))?
            .lines()
            .any(|line| line == "larder_unoptimised_components 0")
        {
            return Ok(());
        }
        thread::sleep(INTERVAL);
    }
    bail!("a component has no optimised code yet")
}

struct Times {
    p50: Duration,
    p99: Duration,
}

/// Reads one after another on one connection.
fn times(client: &mut Client, uri: &str) -> Result<Times> {
    let mut times = Vec::with_capacity(READS);
    for number in 0..WARM_UP + READS {
        let params = json!({ "uri": uri, "_meta": { "dev.larder.test/number": number } });
        let start = Instant::now();
        client.request("resources/read", params)?;
        if number >= WARM_UP {
            times.push(start.elapsed());
        }
    }
    times.sort_unstable();
    Ok(Times {
        p50: times[READS / 2],
        p99: times[READS * 99 / 100],
    })
}

/// The largest memory of one guest of a provider, in bytes.
fn guest_memory(metrics: &str, name: &str) -> f64 {
    let label = format!("provider=\"{name}\"");
    let samples = metrics
        .lines()
        .filter(|line| line.starts_with("larder_guest_memory_largest_bytes{"));
    let values = samples
        .filter(|line| line.contains(&label))
        .filter_map(|line| line.rsplit(' ').next());
    values
        .filter_map(|value| value.parse().ok())
        .fold(0.0, f64::max)
}

/// The memory of the server in bytes. A shared page counts in proportion.
fn pss(server: &RunningServer) -> Result<f64> {
    let path = format!("/proc/{}/smaps_rollup", server.id());
    let text = fs::read_to_string(&path).context(path)?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Pss:"))
        .context("no PSS")?;
    let kib: f64 = line
        .split_whitespace()
        .next()
        .context("no number")?
        .parse()?;
    Ok(kib * 1024.0)
}

fn show(time: Duration) -> String {
    let milliseconds = time.as_secs_f64() * 1000.0;
    if milliseconds < 10.0 {
        format!("{milliseconds:.2} ms")
    } else {
        format!("{milliseconds:.0} ms")
    }
}

fn kib(bytes: u64) -> String {
    format!("{} KiB", bytes >> 10)
}

fn mib(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_memory_of_a_provider() {
        let metrics = "larder_guest_memory_largest_bytes{team=\"a\",provider=\"files\"} 589824\n\
                       larder_guest_memory_largest_bytes{team=\"a\",provider=\"git\"} 7\n";
        assert_eq!(
            (
                guest_memory(metrics, "files"),
                guest_memory(metrics, "none")
            ),
            (589_824.0, 0.0)
        );
        assert_eq!(
            (show(Duration::from_micros(1500)), mib(589_824.0)),
            ("1.50 ms".into(), "0.6 MiB".into())
        );
    }
}
