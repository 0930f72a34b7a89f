//! The report: tables for people, or JSON. Ratios come first, because absolute times depend on the machine and the day.

mod rows;

use serde_json::{Value, json};

use self::rows::{OverloadRow, rows};
use crate::compilation::Compilation;
use crate::content::DOCUMENTS;
use crate::floods::FloodOutcome;
use crate::languages::Languages;
use crate::lifecycle::Lifecycle;
use crate::micro::MicroResults;
use crate::names::Names;
use crate::overload::FloodResult;
use crate::reads::{CaseResult, Variant};

/// A performance target and the measured value.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    name: String,
    measured: f64,
    /// Whether the bound is a minimum; otherwise it is a maximum.
    is_minimum: bool,
    bound: f64,
    unit: &'static str,
}

impl Target {
    fn is_met(&self) -> bool {
        if self.is_minimum {
            self.measured >= self.bound
        } else {
            self.measured <= self.bound
        }
    }
}

pub(crate) fn median(numbers: impl IntoIterator<Item = f64>) -> f64 {
    quantile(numbers, 0.5)
}

pub(crate) fn quantile(numbers: impl IntoIterator<Item = f64>, part: f64) -> f64 {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    let last = numbers.len().saturating_sub(1);
    numbers
        .get((last as f64 * part).round() as usize)
        .copied()
        .unwrap_or(f64::NAN)
}

/// The median of the ratios of a metric in each round. Both windows of a round were measured at about the
/// same time.
fn ratio(
    result: &CaseResult,
    one: Variant,
    other: Variant,
    metric: impl Fn(&crate::load::Window) -> f64,
) -> Option<f64> {
    let (one, other) = (result.windows.get(&one)?, result.windows.get(&other)?);
    Some(median(
        one.iter()
            .zip(other)
            .map(|(one, other)| metric(one) / metric(other)),
    ))
}

/// The upper bound of a ratio.
struct UpperBound {
    name: &'static str,
    /// The ratio if Larder took no time.
    bare: f64,
    /// The ratio if Larder's calls took no time in addition to the guest itself.
    with_protocol: f64,
}

/// All results of a run.
pub(crate) struct Results {
    pub(crate) environment: Vec<(&'static str, String)>,
    pub(crate) reads: Vec<CaseResult>,
    pub(crate) languages: Languages,
    pub(crate) names: Option<Names>,
    pub(crate) compilation: Option<Compilation>,
    pub(crate) lifecycle: Option<Lifecycle>,
    pub(crate) overload: Vec<FloodResult>,
    pub(crate) floods: Vec<FloodOutcome>,
    pub(crate) micro: MicroResults,
}

impl Results {
    fn case(&self, bytes: usize) -> Option<&CaseResult> {
        self.reads
            .iter()
            .find(|result| result.case.has_target() && result.case.document.bytes == bytes)
    }

    /// The project's performance targets.
    pub(crate) fn targets(&self) -> Vec<Target> {
        use Variant::{
            BareCached, BareFresh, BareReused, Baseline, Cached, Fresh, ReadToolCached,
            ReadToolFresh, Reused, Sdk, SdkReadTool, SdkTool, Tool,
        };
        let mut targets = Vec::new();
        let mut add = |name: &str,
                       measured: Option<f64>,
                       is_minimum: bool,
                       bound: f64,
                       unit: &'static str| {
            let Some(measured) = measured else { return };
            targets.push(Target {
                name: name.to_owned(),
                measured,
                is_minimum,
                bound,
                unit,
            });
        };
        let per_cpu = |bytes, one, other| {
            ratio(self.case(bytes)?, one, other, |window| {
                window.per_cpu_second()
            })
        };
        let kib = DOCUMENTS[0].bytes;
        // The ratio 1 is the maximum for a server with this HTTP library and this engine.
        add(
            "cached / hyper alone, 1 KiB",
            per_cpu(kib, Cached, BareCached),
            true,
            0.85,
            "",
        );
        add(
            "reused / hyper and engine alone, 1 KiB",
            per_cpu(kib, Reused, BareReused),
            true,
            0.8,
            "",
        );
        add(
            "fresh / hyper and engine alone, 1 KiB",
            per_cpu(kib, Fresh, BareFresh),
            true,
            0.85,
            "",
        );
        add(
            "fresh / sdk, 1 KiB",
            per_cpu(kib, Fresh, Sdk),
            true,
            1.15,
            "",
        );
        add(
            "cached / sdk, 1 KiB",
            per_cpu(kib, Cached, Sdk),
            true,
            2.2,
            "",
        );
        add(
            "fresh / sdk, 64 KiB",
            per_cpu(DOCUMENTS[1].bytes, Fresh, Sdk),
            true,
            1.5,
            "",
        );
        // Both ratios are relative to the SDK, so that they show how much longer a call takes than a read.
        let to_read =
            |tool, sdk_tool, read| Some(per_cpu(kib, tool, sdk_tool)? / per_cpu(kib, read, Sdk)?);
        let calls = [
            (
                "tool / sdk tool, to fresh / sdk, 1 KiB",
                to_read(Tool, SdkTool, Fresh),
            ),
            (
                "read_resource, to cached / sdk, 1 KiB",
                to_read(ReadToolCached, SdkReadTool, Cached),
            ),
            (
                "read_resource, to fresh / sdk, 1 KiB",
                to_read(ReadToolFresh, SdkReadTool, Fresh),
            ),
        ];
        calls
            .into_iter()
            .for_each(|(name, measured)| add(name, measured, true, 0.9, ""));
        let p99 = self
            .case(kib)
            .and_then(|case| ratio(case, Fresh, Baseline, |window| window.latency(0.99)));
        add("fresh p99 / baseline p99, 1 KiB", p99, false, 3.0, "");
        let micro =
            |one: &str, other: &str| Some(self.micro.median(one)? / self.micro.median(other)?);
        let page = micro("page of 100/1000 providers", "page of 100/1 provider");
        add(
            "page of 100 from 1,000 providers / from 1",
            page,
            false,
            1.3,
            "",
        );
        add(
            "match among 10,000 templates / 10",
            micro("match/10000", "match/10"),
            false,
            3.0,
            "",
        );
        add(
            "find among 1,000,000 URIs / 1,000",
            micro("find/1000000", "find/1000"),
            false,
            3.0,
            "",
        );
        if let Some(lifecycle) = &self.lifecycle {
            let ten = median(lifecycle.start_ten_ms.iter().copied());
            let empty = median(lifecycle.start_empty_ms.iter().copied());
            add(
                "memory of an idle Rust provider",
                Some(lifecycle.idle_bytes / 1024.0),
                false,
                256.0,
                " KiB",
            );
            add(
                "start to first response, 10 providers",
                Some(ten),
                false,
                300.0,
                " ms",
            );
            add(
                "the same / without providers",
                Some(ten / empty),
                false,
                2.0,
                "",
            );
            let reload = quantile(lifecycle.reload_ms.iter().copied(), 0.95);
            add(
                "component change to first new response, p95",
                Some(reload),
                false,
                500.0,
                " ms",
            );
        }
        let memory = self
            .names
            .as_ref()
            .map(|names| names.all as f64 / f64::from(1 << 20));
        add(
            "memory of a Python component under 1,000 names",
            memory,
            false,
            1024.0,
            " MiB",
        );
        for ratio in self.compilation.iter().flat_map(Compilation::ratios) {
            add(&ratio.name, Some(ratio.measured), false, ratio.target, "");
        }
        targets
    }

    /// Upper bounds of the ratios, derived from servers with only hyper and the engine, measured in the same
    /// rounds.
    fn upper_bounds(&self) -> Vec<UpperBound> {
        use Variant::{BareCached, BareFresh, BareReused, Baseline, Cached, Sdk};
        let cpu = |variant: Variant| {
            let windows = self.case(DOCUMENTS[0].bytes)?.windows.get(&variant)?;
            Some(1e6 / median(windows.iter().map(|window| window.per_cpu_second())))
        };
        let bound = |name, bare: Variant, reference: Variant| {
            let (bare, protocol) = (cpu(bare)?, cpu(Cached)? - cpu(BareCached)?);
            let reference = cpu(reference)?;
            Some(UpperBound {
                name,
                bare: reference / bare,
                with_protocol: reference / (bare + protocol),
            })
        };
        let all = [
            bound("cached / baseline", BareCached, Baseline),
            bound("reused / baseline", BareReused, Baseline),
            bound("fresh / baseline", BareFresh, Baseline),
            bound("cached / sdk", BareCached, Sdk),
            bound("fresh / sdk", BareFresh, Sdk),
        ];
        all.into_iter().flatten().collect()
    }

    /// Compares each case with the other build: p10, median and p90 of the ratios per round.
    fn against(&self) -> Vec<(crate::reads::Case, &'static str, [f64; 3])> {
        use Variant::{Cached, Fresh, OtherCached, OtherFresh, OtherReused, Reused};
        let pairs = [
            (Cached, OtherCached),
            (Reused, OtherReused),
            (Fresh, OtherFresh),
        ];
        let rows = self.reads.iter().flat_map(|result| {
            pairs.into_iter().filter_map(move |(one, other)| {
                let (this, other) = (result.windows.get(&one)?, result.windows.get(&other)?);
                let ratio = this
                    .iter()
                    .zip(other)
                    .map(|(a, b)| a.per_cpu_second() / b.per_cpu_second());
                let ratios: Vec<f64> = ratio.collect();
                Some((
                    result.case,
                    one.name(),
                    [0.1, 0.5, 0.9].map(|part| quantile(ratios.iter().copied(), part)),
                ))
            })
        });
        rows.collect()
    }

    pub(crate) fn print(&self) {
        println!("\n## Environment and targets\n");
        for (name, value) in &self.environment {
            println!("- {name}: {value}");
        }
        let targets = self.targets();
        if !targets.is_empty() {
            println!("\n| target | measured | at least | at most | |\n|---|---:|---:|---:|---|");
        }
        for target in targets {
            let bound = format!("{}{}", target.bound, target.unit);
            let (min, max) = if target.is_minimum {
                (bound, String::new())
            } else {
                (String::new(), bound)
            };
            let met = if target.is_met() { "" } else { "missed" };
            println!(
                "| {} | {:.2}{} | {min} | {max} | {met} |",
                target.name, target.measured, target.unit
            );
        }
        println!(
            "\n## Reads\n\nRequests per second of the server's CPU time, relative to the baseline, with p10 to p90 of the"
        );
        println!("rounds; CPU time per request; and throughput and latency in wall time.\n");
        println!(
            "| document | connections | era | variant | / baseline | p10-p90 | CPU us | req/s | p50 us | p99 us |"
        );
        println!("|---|---:|---|---|---:|---|---:|---:|---:|---:|");
        for row in self.reads.iter().flat_map(rows) {
            println!(
                "| {} | {} | {} | {} | {:.2} | {:.2}-{:.2} | {:.1} | {:.0} | {:.0} | {:.0} |",
                row.document,
                row.connections,
                row.era,
                row.variant,
                row.ratio,
                row.low,
                row.high,
                row.cpu,
                row.throughput,
                row.p50,
                row.p99
            );
        }
        self.languages.print();
        self.names.iter().for_each(Names::print);
        self.compilation.iter().for_each(Compilation::print);
        let upper_bounds = self.upper_bounds();
        if !upper_bounds.is_empty() {
            println!(
                "\n## Upper bounds\n\nFor 1 KiB, with hyper and the engine only, which check nothing, parse no JSON and have no"
            );
            println!(
                "limits; and with the CPU time that a cached response of Larder takes beyond a bare one.\n"
            );
            println!("| ratio | bare | with the protocol |\n|---|---:|---:|");
        }
        for bound in upper_bounds {
            println!(
                "| {} | {:.2} | {:.2} |",
                bound.name, bound.bare, bound.with_protocol
            );
        }
        let against = self.against();
        if !against.is_empty() {
            println!(
                "\n## Against the other build\n\nRequests per second of CPU time, this build / the other.\n"
            );
            println!(
                "| document | connections | era | variant | ratio | p10-p90 |\n|---|---:|---|---|---:|---|"
            );
        }
        for (case, variant, [low, median, high]) in against {
            let (document, connections, era) = (case.document, case.connections, case.era.name());
            println!(
                "| {document} | {connections} | {era} | {variant} | {median:.3} | {low:.2}-{high:.2} |"
            );
        }
        if !self.overload.is_empty() {
            println!(
                "\n## Overload\n\nLatency of accepted requests at a constant rate, without and with a flood that is refused.\n"
            );
            println!(
                "| refused | per second | p50 us without | with | p99 us without | with | p99 with / without |"
            );
            println!("|---|---:|---:|---:|---:|---:|---:|");
        }
        for row in self.overload.iter().map(OverloadRow::new) {
            println!(
                "| {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.2} |",
                row.flood,
                row.refused_per_second,
                row.p50[0],
                row.p50[1],
                row.p99[0],
                row.p99[1],
                row.ratio
            );
        }
        print!("{}", crate::floods::table(&self.floods));
        if self.micro.requests().next().is_some() {
            println!("\n## Requests of guests\n\n| credential | CPU µs | ratio |\n|---|---:|---:|");
            for (credential, time, ratio) in self.micro.requests() {
                println!("| {credential} | {time:.0} | {ratio:.2} |");
            }
        }
        if self.micro.iter().next().is_some() {
            println!("\n## Microbenchmarks\n\n| benchmark | ns |\n|---|---:|");
            self.micro
                .iter()
                .for_each(|(name, median)| println!("| {name} | {median:.0} |"));
        }
    }

    pub(crate) fn json(&self) -> Value {
        let targets = self.targets().into_iter().map(|target| {
            let bound = if target.is_minimum {
                "at_least"
            } else {
                "at_most"
            };
            json!({"name": target.name, "measured": target.measured, bound: target.bound,
                "unit": target.unit.trim(), "met": target.is_met()})
        });
        let reads = self.reads.iter().flat_map(rows).map(|row| {
            json!({"document": row.document, "connections": row.connections, "era": row.era, "variant": row.variant,
                "per_cpu_second_to_baseline": row.ratio, "p10": row.low, "p90": row.high, "cpu_us": row.cpu,
                "requests_per_second": row.throughput, "p50_us": row.p50, "p99_us": row.p99})
        });
        let lifecycle = self.lifecycle.as_ref().map(|lifecycle| {
            json!({"idle_bytes": lifecycle.idle_bytes, "start_empty_ms": lifecycle.start_empty_ms,
                "start_ten_ms": lifecycle.start_ten_ms, "reload_ms": lifecycle.reload_ms,
                "component_bytes": lifecycle.component_bytes})
        });
        let overload = self.overload.iter().map(OverloadRow::new).map(|row| {
            json!({"refused": row.flood, "refused_per_second": row.refused_per_second, "p50_us": row.p50,
                "p99_us": row.p99, "p99_with_to_without": row.ratio})
        });
        let environment: serde_json::Map<_, _> = self
            .environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone().into()))
            .collect();
        let micro: serde_json::Map<_, _> = self
            .micro
            .iter()
            .map(|(name, median)| (name.to_owned(), median.into()))
            .collect();
        let against = self.against().into_iter().map(|(case, variant, [low, median, high])| {
            json!({"document": case.document.to_string(), "connections": case.connections, "era": case.era.name(),
                "variant": variant, "ratio": median, "p10": low, "p90": high})
        });
        let against: Vec<Value> = against.collect();
        let upper_bounds = self.upper_bounds().into_iter().map(
            |bound| json!({"name": bound.name, "bare": bound.bare, "with_protocol": bound.with_protocol}),
        );
        let names = self.names.as_ref().map(Names::json);
        let compilation = self.compilation.as_ref().map(Compilation::json);
        json!({"environment": environment, "languages": self.languages.json(), "names": names,
            "compilation": compilation, "targets": targets.collect::<Vec<_>>(),
            "reads": reads.collect::<Vec<_>>(), "lifecycle": lifecycle, "overload": overload.collect::<Vec<_>>(),
            "floods": self.floods.iter().map(FloodOutcome::json).collect::<Vec<_>>(),
            "micro_ns": micro, "against": against, "upper_bounds": upper_bounds.collect::<Vec<_>>()})
    }
}
