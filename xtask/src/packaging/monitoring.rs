//! The alert rules and the dashboard: promtool accepts them, each alert fires in its unit test and has an entry in the
//! runbook, and a running server has every metric in them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use super::{configure, deploy, get, serve, work_folder};
use crate::run::{Output, command, root};
use crate::step::Outcome;
use crate::tools;

/// The page with an entry for each alert.
const RUNBOOK: &str = "docs/src/runbook.md";

/// No server listens on the address of NATS, because a replica has its metrics also without a connection.
const SERVER: &str = "[admin]\nlisten = \"127.0.0.1:0\"\n[cluster]\nnats = \"nats://127.0.0.1:1\"\nkey = [\"key\"]\n\
                      [secret.key]\nfile = \"key\"\n[audit]\nfile = \"audit.log\"\n";

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    if let Outcome::Skipped(reason) = tools::debian_package(output, "promtool", "prometheus")? {
        return tools::missing(&reason);
    }
    let work = work_folder("monitoring")?;
    let (rules, queries) = (deploy("prometheus/alerts.yaml"), queries(&dashboard()?));
    output.run(command("promtool").args(["check", "rules"]).arg(&rules))?;
    output.run(
        command("promtool")
            .args(["test", "rules"])
            .arg(deploy("prometheus/alerts_test.yaml")),
    )?;
    check_queries(output, &work, &queries)?;
    let rules = fs::read_to_string(rules)?;
    let alerts = check_alerts(&rules)?;
    let known = metrics(output, &work)?;
    let used: BTreeSet<String> = queries
        .iter()
        .flat_map(|query| names(query))
        .chain(names(&rules))
        .collect();
    let unknown: Vec<_> = used.difference(&known).collect();
    ensure!(
        unknown.is_empty(),
        "no server has these metrics: {unknown:?}"
    );
    Ok(Outcome::PassedWithNote(format!(
        "{alerts} alerts, {} metrics of {}",
        used.len(),
        known.len()
    )))
}

fn dashboard() -> Result<Value> {
    let text = fs::read_to_string(deploy("grafana/larder.json"))?;
    serde_json::from_str(&text).context("deploy/grafana/larder.json")
}

/// The queries of all panels and variables.
fn queries(dashboard: &Value) -> Vec<String> {
    let lists =
        ["panels", "annotations"].map(|key| dashboard[key].as_array().cloned().unwrap_or_default());
    let targets = lists
        .iter()
        .flatten()
        .flat_map(|panel| panel["targets"].as_array().cloned());
    targets
        .flatten()
        .filter_map(|target| target["expr"].as_str().map(str::to_owned))
        .collect()
}

/// Has promtool parse the queries of the dashboard, as recording rules.
fn check_queries(output: &Output, work: &Path, queries: &[String]) -> Result<()> {
    ensure!(!queries.is_empty(), "the dashboard has no queries");
    for query in queries {
        ensure!(
            !query.contains("by (provider"),
            "several teams may have a provider of this name: {query}"
        );
    }
    let rules = queries.iter().enumerate().map(|(number, query)| {
        // The values that Grafana inserts.
        let query = query
            .replace("$__rate_interval", "5m")
            .replace("$instance", ".*");
        let query = query.replace("$team", ".*").replace("$provider", ".*");
        json!({ "record": format!("panel:{number}"), "expr": query })
    });
    let groups = json!({ "groups": [{ "name": "dashboard", "rules": rules.collect::<Vec<_>>() }] });
    // JSON is YAML.
    let file = work.join("dashboard.yaml");
    fs::write(&file, groups.to_string())?;
    output.run(command("promtool").args(["check", "rules"]).arg(file))
}

/// Compares the alerts with their tests and with the headings of the runbook. Returns their number.
fn check_alerts(rules: &str) -> Result<usize> {
    let after = |text: &str, prefix: &str| -> BTreeSet<String> {
        text.lines()
            .filter_map(|line| line.trim().strip_prefix(prefix))
            .map(str::to_owned)
            .collect()
    };
    let alerts = after(rules, "- alert: ");
    let headings = after(&fs::read_to_string(root().join(RUNBOOK))?, "## ");
    let different: Vec<_> = alerts.symmetric_difference(&headings).collect();
    ensure!(
        different.is_empty(),
        "only in one of the alert rules and {RUNBOOK}: {different:?}"
    );
    let tests = after(
        &fs::read_to_string(deploy("prometheus/alerts_test.yaml"))?,
        "- name: ",
    );
    for alert in &alerts {
        for case in ["fires", "does not fire"] {
            ensure!(
                tests.contains(&format!("{alert} {case}")),
                "there is no test that {alert} {case}"
            );
        }
    }
    Ok(alerts.len())
}

/// The names of all metrics of a running server.
fn metrics(output: &Output, work: &Path) -> Result<BTreeSet<String>> {
    fs::write(work.join("key"), "5".repeat(64))?;
    let config = configure(work, SERVER)?;
    let log = work.join("server.log");
    fs::write(&log, "")?;
    let server = serve(&config, &Output::Log(log.clone()))?;
    let text = admin_url(&fs::read_to_string(&log)?).and_then(|url| get(&format!("{url}/metrics")));
    server.stop()?;
    let text = text?;
    output.write_line(&text)?;
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let mut known = BTreeSet::new();
    for (name, kind) in types.filter_map(|line| line.split_once(' ')) {
        match kind {
            "histogram" => {
                known.extend(["_bucket", "_sum", "_count"].map(|suffix| format!("{name}{suffix}")))
            }
            _ => known.extend([name.to_owned()]),
        }
    }
    Ok(known)
}

/// The admin address in the log of a server.
pub(crate) fn admin_url(log: &str) -> Result<String> {
    match log
        .split("url=")
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
    {
        Some(url) => Ok(url.to_owned()),
        None => bail!("the server has no admin address"),
    }
}

/// The names of metrics in a query.
fn names(query: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let words = query.split(|c| !is_part(c));
    let is_metric = |word: &&str| word.starts_with("larder_") || word.starts_with("process_");
    words.filter(is_metric).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_metrics_of_a_query() {
        let query = "sum(rate(larder_calls_total{provider=~\"x\"}[5m])) / on (a) process_open_fds";
        assert_eq!(names(query), ["larder_calls_total", "process_open_fds"]);
        let log =
            "INFO larder: serving url=http://127.0.0.1:1 x\nlarder serves http://127.0.0.1:2/mcp";
        assert_eq!(admin_url(log).unwrap(), "http://127.0.0.1:1");
    }
}
