//! Results of the microbenchmarks (`host/benches/micro.rs`), as Criterion stored them.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The median of each microbenchmark in nanoseconds; empty if the microbenchmarks were not run.
#[derive(Debug, Default)]
pub(crate) struct MicroResults(Vec<(String, f64)>);

impl MicroResults {
    pub(crate) fn load(criterion: &Path) -> Self {
        let mut found = Vec::new();
        let entries = |path: &Path| {
            std::fs::read_dir(path)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path())
        };
        // A single benchmark has a folder of its own. Benchmarks of a group are in the folder of the group.
        let with_children =
            |path: PathBuf| entries(&path).chain([path.clone()]).collect::<Vec<_>>();
        for path in entries(criterion).flat_map(with_children) {
            let read = |file: &str| -> Option<Value> {
                serde_json::from_slice(&std::fs::read(path.join("new").join(file)).ok()?).ok()
            };
            let (Some(estimates), Some(benchmark)) =
                (read("estimates.json"), read("benchmark.json"))
            else {
                continue;
            };
            let median = estimates["median"]["point_estimate"].as_f64();
            if let (Some(name), Some(median)) = (benchmark["full_id"].as_str(), median) {
                found.push((name.to_owned(), median));
            }
        }
        found.sort_by(|one, other| one.0.cmp(&other.0));
        Self(found)
    }

    pub(crate) fn median(&self, name: &str) -> Option<f64> {
        self.0
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, median)| *median)
    }

    /// The CPU time of requests of guests in microseconds, with each credential and in relation to none.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (&str, f64, f64)> {
        let reference = self.median("request/no credential");
        self.iter().filter_map(move |(name, median)| {
            let credential = name.strip_prefix("request/")?;
            Some((credential, median / 1e3, median / reference?))
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, median)| (name.as_str(), *median))
    }
}
