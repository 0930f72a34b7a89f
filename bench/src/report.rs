//! What came out, as a table for people and as JSON: ratios first, since times are of one machine on one day.

use serde_json::{Value, json};

use crate::content::DOCUMENTS;
use crate::life::Life;
use crate::overload::Flooded;
use crate::reads::{Contestant, Measured};
use crate::rooms::Rooms;

/// A number that has to be reached.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    what: String,
    found: f64,
    least: bool,
    bound: f64,
    unit: &'static str,
}

impl Target {
    fn is_met(&self) -> bool {
        if self.least { self.found >= self.bound } else { self.found <= self.bound }
    }
}

/// The middle of some numbers.
pub(crate) fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    quantile(numbers, 0.5)
}

fn quantile(numbers: impl IntoIterator<Item = f64>, part: f64) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    let last = numbers.len().saturating_sub(1);
    numbers.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
}

/// The middle of the ratios, round by round, of what was measured at about the same time.
fn ratio(
    measured: &Measured,
    one: Contestant,
    other: Contestant,
    of: impl Fn(&crate::load::Window) -> f64,
) -> Option<f64> {
    let (one, other) = (measured.windows.get(&one)?, measured.windows.get(&other)?);
    Some(median(one.iter().zip(other).map(|(one, other)| of(one) / of(other))))
}

/// What a ratio could be at most.
struct Limit {
    what: &'static str,
    /// Were there nothing of Larder.
    alone: f64,
    /// Were a call free, beyond the guest itself.
    with_protocol: f64,
}

/// Everything that was measured.
pub(crate) struct Results {
    pub(crate) about: Vec<(&'static str, String)>,
    pub(crate) reads: Vec<Measured>,
    pub(crate) life: Option<Life>,
    pub(crate) overload: Vec<Flooded>,
    pub(crate) rooms: Rooms,
}

impl Results {
    fn case(&self, bytes: usize) -> Option<&Measured> {
        self.reads
            .iter()
            .find(|measured| measured.case.is_promised() && measured.case.document.bytes == bytes)
    }

    /// What the project promises.
    pub(crate) fn targets(&self) -> Vec<Target> {
        use Contestant::{Cached, Floor, Fresh, Reused, Sdk};
        let mut targets = Vec::new();
        let mut add = |what: &str, found: Option<f64>, least: bool, bound: f64, unit: &'static str| {
            let Some(found) = found else { return };
            targets.push(Target { what: what.to_owned(), found, least, bound, unit });
        };
        let per_cpu =
            |bytes, one, other| ratio(self.case(bytes)?, one, other, |window| window.per_cpu_second());
        let kib = DOCUMENTS[0].bytes;
        add("cached / floor, 1 KiB", per_cpu(kib, Cached, Floor), true, 0.85, "");
        add("reused / floor, 1 KiB", per_cpu(kib, Reused, Floor), true, 0.75, "");
        add("fresh / floor, 1 KiB", per_cpu(kib, Fresh, Floor), true, 0.45, "");
        add("fresh / sdk, 1 KiB", per_cpu(kib, Fresh, Sdk), true, 1.2, "");
        add("cached / sdk, 1 KiB", per_cpu(kib, Cached, Sdk), true, 2.2, "");
        add("fresh / sdk, 64 KiB", per_cpu(DOCUMENTS[1].bytes, Fresh, Sdk), true, 1.5, "");
        let slowest = self.case(kib).and_then(|case| ratio(case, Fresh, Floor, |window| window.at(0.99)));
        add("fresh p99 / floor p99, 1 KiB", slowest, false, 4.0, "");
        let times = |one: &str, other: &str| Some(self.rooms.of(one)? / self.rooms.of(other)?);
        let page = times("page of 100/1000 providers", "page of 100/1 provider");
        add("page of 100 from 1,000 providers / from 1", page, false, 1.3, "");
        add("match among 10,000 templates / 10", times("match/10000", "match/10"), false, 3.0, "");
        add("find among 1,000,000 URIs / 1,000", times("find/1000000", "find/1000"), false, 3.0, "");
        if let Some(life) = &self.life {
            let (ten, empty) = (median(life.ten.iter().copied()), median(life.empty.iter().copied()));
            add("memory of an idle Rust provider", Some(life.idle / 1024.0), false, 256.0, " KiB");
            add("start to first answer, 10 providers", Some(ten), false, 300.0, " ms");
            add("the same / without providers", Some(ten / empty), false, 2.0, "");
            let change = quantile(life.change.iter().copied(), 0.95);
            add("a changed component to its first answer, p95", Some(change), false, 500.0, " ms");
        }
        targets
    }

    /// How far each ratio could rise, by what hyper and the engine alone do in the same rounds.
    fn limits(&self) -> Vec<Limit> {
        use Contestant::{BareFresh, BareKept, BareReused, Cached, Floor, Sdk};
        let cpu = |who: Contestant| {
            let windows = self.case(DOCUMENTS[0].bytes)?.windows.get(&who)?;
            Some(1e6 / median(windows.iter().map(|window| window.per_cpu_second())))
        };
        let limit = |what, bare: Contestant, beside: Contestant| {
            let (bare, protocol) = (cpu(bare)?, cpu(Cached)? - cpu(BareKept)?);
            let beside = cpu(beside)?;
            Some(Limit { what, alone: beside / bare, with_protocol: beside / (bare + protocol) })
        };
        let all = [
            limit("cached / floor", BareKept, Floor),
            limit("reused / floor", BareReused, Floor),
            limit("fresh / floor", BareFresh, Floor),
            limit("cached / sdk", BareKept, Sdk),
            limit("fresh / sdk", BareFresh, Sdk),
        ];
        all.into_iter().flatten().collect()
    }

    /// Each case beside the same case of the other build: p10, median and p90 of the ratios, round by round.
    fn against(&self) -> Vec<(crate::reads::Case, &'static str, [f64; 3])> {
        use Contestant::{Cached, Fresh, OtherCached, OtherFresh, OtherReused, Reused};
        let pairs = [(Cached, OtherCached), (Reused, OtherReused), (Fresh, OtherFresh)];
        let rows = self.reads.iter().flat_map(|measured| {
            pairs.into_iter().filter_map(move |(one, other)| {
                let (mine, others) = (measured.windows.get(&one)?, measured.windows.get(&other)?);
                let ratio = mine.iter().zip(others).map(|(a, b)| a.per_cpu_second() / b.per_cpu_second());
                let ratios: Vec<f64> = ratio.collect();
                Some((
                    measured.case,
                    one.word(),
                    [0.1, 0.5, 0.9].map(|part| quantile(ratios.iter().copied(), part)),
                ))
            })
        });
        rows.collect()
    }

    pub(crate) fn print(&self) {
        println!("\n## Where it stands\n");
        for (name, value) in &self.about {
            println!("- {name}: {value}");
        }
        let targets = self.targets();
        if !targets.is_empty() {
            println!("\n| what | found | at least | at most | |\n|---|---:|---:|---:|---|");
        }
        for target in targets {
            let bound = format!("{}{}", target.bound, target.unit);
            let (least, most) = if target.least { (bound, String::new()) } else { (String::new(), bound) };
            let met = if target.is_met() { "" } else { "missed" };
            println!("| {} | {:.2}{} | {least} | {most} | {met} |", target.what, target.found, target.unit);
        }
        println!(
            "\n## Reads\n\nRequests per second of the server's own processor time, beside the floor's; p10 to p90 of"
        );
        println!("the rounds; and what the clock says.\n");
        println!(
            "| document | connections | era | contestant | / floor | p10-p90 | us of CPU | req/s | p50 us | p99 us |"
        );
        println!("|---|---:|---|---|---:|---|---:|---:|---:|---:|");
        for row in self.reads.iter().flat_map(rows) {
            println!(
                "| {} | {} | {} | {} | {:.2} | {:.2}-{:.2} | {:.1} | {:.0} | {:.0} | {:.0} |",
                row.document,
                row.connections,
                row.era,
                row.who,
                row.ratio,
                row.low,
                row.high,
                row.cpu,
                row.clock,
                row.p50,
                row.p99
            );
        }
        let limits = self.limits();
        if !limits.is_empty() {
            println!(
                "\n## What is left to win\n\nOf 1 KiB, by hyper and the engine alone, which check nothing, read no JSON and"
            );
            println!("have no limits; and with what a kept answer of Larder takes beyond a bare one.\n");
            println!("| what | alone | with the protocol |\n|---|---:|---:|");
        }
        for limit in limits {
            println!("| {} | {:.2} | {:.2} |", limit.what, limit.alone, limit.with_protocol);
        }
        let against = self.against();
        if !against.is_empty() {
            println!(
                "\n## Against the other build\n\nRequests per second of processor time, this build / the other.\n"
            );
            println!(
                "| document | connections | era | what | ratio | p10-p90 |\n|---|---:|---|---|---:|---|"
            );
        }
        for (case, what, [low, middle, high]) in against {
            let (document, connections, era) = (case.document, case.connections, case.era.word());
            println!("| {document} | {connections} | {era} | {what} | {middle:.3} | {low:.2}-{high:.2} |");
        }
        if !self.overload.is_empty() {
            println!(
                "\n## Too much\n\nLatency of what is accepted, at an even pace, alone and beside what is refused.\n"
            );
            println!(
                "| refused | in a second | p50 us alone | beside | p99 us alone | beside | beside / alone |"
            );
            println!("|---|---:|---:|---:|---:|---:|---:|");
        }
        for row in self.overload.iter().map(Beside::of) {
            println!(
                "| {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.2} |",
                row.flood, row.refused, row.p50[0], row.p50[1], row.p99[0], row.p99[1], row.ratio
            );
        }
        if self.rooms.iter().next().is_some() {
            println!("\n## Inner rooms\n\n| what | ns |\n|---|---:|");
            self.rooms.iter().for_each(|(name, median)| println!("| {name} | {median:.0} |"));
        }
    }

    pub(crate) fn json(&self) -> Value {
        let targets = self.targets().into_iter().map(|target| {
            let bound = if target.least { "at_least" } else { "at_most" };
            json!({"what": target.what, "found": target.found, bound: target.bound, "unit": target.unit.trim(), "met": target.is_met()})
        });
        let reads = self.reads.iter().flat_map(rows).map(|row| {
            json!({"document": row.document, "connections": row.connections, "era": row.era, "contestant": row.who,
                "per_cpu_second_to_floor": row.ratio, "p10": row.low, "p90": row.high, "cpu_us": row.cpu,
                "requests_per_second": row.clock, "p50_us": row.p50, "p99_us": row.p99})
        });
        let life = self.life.as_ref().map(|life| {
            json!({"idle_bytes": life.idle, "start_empty_ms": life.empty, "start_ten_ms": life.ten,
                "change_ms": life.change, "changed_bytes": life.changed})
        });
        let overload = self.overload.iter().map(Beside::of).map(|row| {
            json!({"refused": row.flood, "refused_per_second": row.refused, "p50_us": row.p50, "p99_us": row.p99,
                "p99_beside_to_alone": row.ratio})
        });
        let about: serde_json::Map<_, _> =
            self.about.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into())).collect();
        let rooms: serde_json::Map<_, _> =
            self.rooms.iter().map(|(name, median)| (name.to_owned(), median.into())).collect();
        let against = self.against().into_iter().map(|(case, what, [low, middle, high])| {
            json!({"document": case.document.to_string(), "connections": case.connections, "era": case.era.word(),
                "what": what, "ratio": middle, "p10": low, "p90": high})
        });
        let against: Vec<Value> = against.collect();
        let limits = self.limits().into_iter().map(
            |limit| json!({"what": limit.what, "alone": limit.alone, "with_protocol": limit.with_protocol}),
        );
        json!({"about": about, "targets": targets.collect::<Vec<_>>(), "reads": reads.collect::<Vec<_>>(),
            "life": life, "overload": overload.collect::<Vec<_>>(), "rooms_ns": rooms,
            "against": against, "at_most": limits.collect::<Vec<_>>()})
    }
}

/// What is accepted, alone and beside what is refused.
struct Beside {
    flood: &'static str,
    refused: f64,
    p50: [f64; 2],
    p99: [f64; 2],
    ratio: f64,
}

impl Beside {
    fn of(flooded: &Flooded) -> Self {
        let windows = &flooded.windows;
        let both = |part: f64| {
            [
                median(windows.iter().map(|both| both.0.at(part))),
                median(windows.iter().map(|both| both.1.at(part))),
            ]
        };
        Self {
            flood: flooded.flood.word(),
            refused: median(flooded.refused.iter().copied()),
            p50: both(0.5),
            p99: both(0.99),
            ratio: median(windows.iter().map(|(alone, beside)| beside.at(0.99) / alone.at(0.99))),
        }
    }
}

struct Row {
    document: String,
    connections: usize,
    era: &'static str,
    who: &'static str,
    ratio: f64,
    low: f64,
    high: f64,
    cpu: f64,
    clock: f64,
    p50: f64,
    p99: f64,
}

fn rows(measured: &Measured) -> impl Iterator<Item = Row> {
    let case = measured.case;
    let floor = measured.windows.get(&Contestant::Floor);
    measured.windows.iter().map(move |(who, windows)| {
        let of = |part: &dyn Fn(&crate::load::Window) -> f64| median(windows.iter().map(part));
        let ratios: Vec<f64> = floor
            .into_iter()
            .flat_map(|floor| windows.iter().zip(floor))
            .map(|(one, floor)| one.per_cpu_second() / floor.per_cpu_second())
            .collect();
        Row {
            document: if matches!(who, Contestant::Python | Contestant::JavaScript) {
                "example".into()
            } else {
                case.document.to_string()
            },
            connections: case.connections,
            era: case.era.word(),
            who: who.word(),
            ratio: median(ratios.iter().copied()),
            low: quantile(ratios.iter().copied(), 0.1),
            high: quantile(ratios, 0.9),
            cpu: 1e6 / of(&|window| window.per_cpu_second()),
            clock: of(&|window| window.per_second()),
            p50: of(&|window| window.at(0.5)),
            p99: of(&|window| window.at(0.99)),
        }
    })
}
