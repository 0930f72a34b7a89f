//! The metrics in both text formats, with real guests.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

use larder_model::policy::Quota;
use larder_runtime::metrics::{Outcome, TextFormat};
use regex_lite::Regex;

use crate::support::harness::{
    SLOW_WAIT, TestServer, anonymous_call, component_path, eventually_within, parse_uri,
};
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON};

/// Parses the text format of Prometheus strictly, or OpenMetrics if the text has its end marker. Returns each
/// sample, by its name with labels.
pub(crate) fn parse_samples(text: &str) -> Vec<(String, f64)> {
    let (families, is_open_metrics) = match text.strip_suffix("# EOF\n") {
        Some(families) => (families, true),
        None => (text, false),
    };
    assert!(
        families.starts_with("# HELP ") && families.ends_with('\n'),
        "{families}"
    );
    let (mut names, mut keys, mut samples) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for family in families.split("# HELP ").skip(1) {
        let (name, kind, lines) = parse_family(family);
        let suffixes = match kind {
            "counter" if is_open_metrics => &["_total"][..],
            "counter" | "gauge" => &[""],
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => panic!("unknown type: {family}"),
        };
        let has_total = name.ends_with("_total");
        assert_eq!(
            has_total,
            kind == "counter" && !is_open_metrics,
            "the name of the family: {family}"
        );
        let own: BTreeSet<_> = suffixes
            .iter()
            .chain(&[""])
            .map(|suffix| format!("{name}{suffix}"))
            .collect();
        assert!(
            own.into_iter().all(|own| names.insert(own)),
            "a name is in two families: {family}"
        );
        for line in lines {
            let (key, sample_name, value) = parse_sample(line);
            let suffix = sample_name
                .strip_prefix(name)
                .unwrap_or_else(|| panic!("{line} in {name}"));
            assert!(suffixes.contains(&suffix), "{line} in a {kind}");
            assert!(keys.insert(key.clone()), "duplicate: {line}");
            samples.push((key, value));
        }
    }
    samples
}

/// Splits a family, without its first `# HELP `, into its name, type and samples.
fn parse_family(family: &str) -> (&str, &str, impl Iterator<Item = &str>) {
    let mut lines = family.split_terminator('\n');
    let (name, help) = lines
        .next()
        .and_then(|line| line.split_once(' '))
        .expect("a name and a text");
    assert!(help.ends_with('.') && !help.ends_with(".."), "{help}");
    assert!(
        Regex::new(r"^[a-z_:][a-z0-9_:]*$").unwrap().is_match(name),
        "{name}"
    );
    let kind = lines.next().and_then(|line| {
        line.strip_prefix("# TYPE ")?
            .strip_prefix(name)?
            .strip_prefix(' ')
    });
    (
        name,
        kind.unwrap_or_else(|| panic!("no type after the help text: {family}")),
        lines,
    )
}

/// Splits a sample into its key (the name with labels), its name, and its value.
fn parse_sample(line: &str) -> (String, &str, f64) {
    static SAMPLE: LazyLock<Regex> = LazyLock::new(|| {
        let label = r#"[a-z_]+="(?:[^"\\\n]|\\[\\"n])*""#;
        Regex::new(&format!(
            r"^(([a-z_:][a-z0-9_:]*)(?:\{{{label}(?:,{label})*\}})?) (\S+)$"
        ))
        .unwrap()
    });
    let found = SAMPLE
        .captures(line)
        .unwrap_or_else(|| panic!("not a sample: {line:?}"));
    (
        found[1].to_owned(),
        found.get(2).unwrap().as_str(),
        found[3].parse().unwrap(),
    )
}

pub(crate) fn sample_value(samples: &[(String, f64)], key: &str) -> f64 {
    let found = samples.iter().find(|(other, _)| other == key);
    found
        .unwrap_or_else(|| panic!("no {key} among {samples:#?}"))
        .1
}

fn samples(server: &TestServer) -> Vec<(String, f64)> {
    let encoded = |format| server.metrics.encode(format, None).unwrap();
    parse_samples(&encoded(TextFormat::OpenMetrics));
    parse_samples(&encoded(TextFormat::Prometheus))
}

fn call_count(server: &TestServer, provider: &str, outcome: &str) -> f64 {
    let key = format!(
        r#"larder_calls_total{{team="default",provider="{provider}",outcome="{outcome}"}}"#
    );
    count_of(&samples(server), &key)
}

/// The value of a counter, which has no sample before its first event.
fn count_of(samples: &[(String, f64)], key: &str) -> f64 {
    let found = samples.iter().find(|(other, _)| other == key);
    found.map_or(0.0, |(_, value)| *value)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_every_outcome_of_a_call() {
    let tighten = |grant: &mut larder_model::policy::Grant| {
        grant.limits.cpu_time = Duration::from_millis(100);
        // On a busy machine, a guest waits for its CPU time.
        grant.limits.timeout = Duration::from_secs(20);
        grant.limits.memory = 16 << 20;
        grant.limits.result = 1 << 20;
    };
    let mut builder = TestServer::builder("echo spin sleep eat recurse trap_nth huge exit");
    for guest in ["spin", "sleep", "eat", "recurse", "huge"] {
        builder = builder.provider(guest, |grant, _| tighten(grant));
    }
    builder = builder.provider("sleep", |grant, _| {
        grant.limits.timeout = Duration::from_secs(2)
    });
    let server = builder.start().await;
    let mut covered = vec![];
    for (provider, uri, outcome) in [
        ("echo", "echo://hello", "ok"),
        ("echo", "echo://error/not-found", "not-found"),
        ("echo", "echo://error/not-modified", "not-modified"),
        ("echo", "echo://error/invalid", "invalid"),
        ("echo", "echo://error/denied", "denied"),
        ("echo", "echo://error/unavailable", "unavailable"),
        ("echo", "echo://error/failed", "failed"),
        ("spin", "spin://forever", "cpu"),
        ("sleep", "sleep://hour", "deadline"),
        ("eat", "eat://everything", "memory"),
        ("recurse", "recurse://deep", "stack"),
        ("trap_nth", "trap://7", "trap"),
        ("huge", "huge://8388608", "result-size"),
        ("exit", "exit://7", "exit"),
    ] {
        let uri = match provider {
            "recurse" => server
                .uris()
                .await
                .into_iter()
                .find(|uri| uri.starts_with("recurse:"))
                .unwrap(),
            _ => uri.to_owned(),
        };
        let before = call_count(&server, provider, outcome);
        // Only a client that sends its version can get `not-modified`.
        let version = (outcome == "not-modified").then_some("7");
        let _ = server
            .gateway
            .read(&anonymous_call(), &parse_uri(&uri), version)
            .await;
        assert_eq!(
            call_count(&server, provider, outcome),
            before + 1.0,
            "{uri} should be {outcome}"
        );
        covered.push(outcome);
    }
    // A client that disconnects.
    let abandoned =
        tokio::time::timeout(Duration::from_millis(50), server.read("sleep://hour")).await;
    assert!(abandoned.is_err());
    assert_eq!(call_count(&server, "sleep", "cancelled"), 1.0);
    covered.push("cancelled");
    // The other outcomes need concurrent calls (see below), repeated faults, or a guest that cannot be loaded.
    let others: Vec<_> = Outcome::ALL
        .iter()
        .map(|o| o.label())
        .filter(|word| !covered.contains(word))
        .collect();
    assert_eq!(others, ["busy", "circuit-open", "table", "contract"]);
    let samples = samples(&server);
    let of_provider = |family: &str, provider: &str| {
        sample_value(
            &samples,
            &format!(r#"{family}{{team="default",provider="{provider}"}}"#),
        )
    };
    let cpu = |provider: &str| of_provider("larder_guest_cpu_seconds_total", provider);
    assert!(
        cpu("spin") > cpu("sleep"),
        "{} {}",
        cpu("spin"),
        cpu("sleep")
    );
    assert!(of_provider("larder_guest_memory_largest_bytes", "eat") > f64::from(8 << 20));
    assert!(of_provider("larder_guest_memory_largest_bytes", "eat") <= f64::from(16 << 20));
    let key = |name: &str| format!(r#"{name}{{team="default",provider="echo"}}"#);
    assert!(sample_value(&samples, &key("larder_call_seconds_count")) >= 7.0);
    assert_eq!(
        sample_value(&samples, &key("larder_call_seconds_count")),
        sample_value(&samples, &key("larder_queue_seconds_count"))
    );
    for gauge in ["larder_guests", "larder_guest_memory_bytes"] {
        assert_eq!(
            of_provider(gauge, "echo"),
            0.0,
            "{gauge}: no guest outlives its call"
        );
    }
    let last = server.reader.snapshot().offers()[0]
        .provider
        .metrics()
        .last_error()
        .unwrap();
    assert_eq!(
        (last.outcome, last.operation),
        (Outcome::Memory, "read"),
        "the last error of `eat`, the first provider by name"
    );
}

#[tokio::test]
async fn a_call_without_a_permit_in_time_is_busy() {
    let server = TestServer::builder("sleep").provider("sleep", |grant, _| {
        (grant.limits.concurrency, grant.limits.queue_timeout) = (1, Duration::from_millis(10));
    });
    let server = server.start().await;
    let (one, other) = tokio::join!(
        server.text("sleep://ms/1000"),
        server.text("sleep://ms/1001")
    );
    let mut responses = [one, other];
    responses.sort();
    assert!(
        responses[0].contains("busy") && responses[1] == "slept",
        "{responses:?}"
    );
    assert_eq!(call_count(&server, "sleep", "busy"), 1.0);
    let last = server.reader.snapshot().offers()[0]
        .provider
        .metrics()
        .last_error();
    assert_eq!(last, None, "a busy provider has not failed");
}

#[tokio::test]
async fn all_waiting_of_a_call_is_measured_together() {
    let server = TestServer::builder("sleep").quota(Quota {
        calls: 1,
        ..Quota::default()
    });
    let server = server
        .provider("sleep", |grant, _| {
            grant.limits.queue_timeout = Duration::from_secs(60)
        })
        .start()
        .await;
    let waited = || {
        count_of(
            &samples(&server),
            r#"larder_queue_seconds_sum{team="default",provider="sleep"}"#,
        )
    };
    let before = waited();
    tokio::join!(
        server.text("sleep://ms/1000"),
        server.text("sleep://ms/1001")
    );
    // The provider allows both calls at once, but its team allows only one.
    assert!(waited() - before > 0.5, "{} {before}", waited());
}

#[tokio::test]
async fn counts_unknown_methods_as_other() {
    let http = HttpTestServer::start("echo").await;
    http.modern("no/such", serde_json::json!({})).await;
    let session = http.session("2025-03-26").await;
    http.legacy(&session, "no/such", serde_json::json!({}))
        .await;
    let batch =
        r#"[{"jsonrpc":"2.0","id":1,"method":"no/such"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    http.post(&[JSON, ACCEPT, ("mcp-session-id", &session)], batch)
        .await;
    let samples = samples(&http.server);
    let others = |era: &str| {
        sample_value(
            &samples,
            &format!(r#"larder_requests_total{{method="other",era="{era}"}}"#),
        )
    };
    assert_eq!((others("modern"), others("legacy")), (1.0, 2.0));
}

#[tokio::test]
async fn counts_cache_hits_and_misses() {
    let server = TestServer::builder("fresh").start().await;
    for _ in 0..3 {
        server.text("fresh://everyone/3600000/0/a").await;
    }
    let reads = |result: &str| {
        let key = format!(
            r#"larder_cache_reads_total{{team="default",provider="fresh",result="{result}"}}"#
        );
        sample_value(&samples(&server), &key)
    };
    assert_eq!((reads("hit"), reads("miss")), (2.0, 1.0));
}

#[tokio::test]
async fn what_never_happened_has_no_samples() {
    let server = TestServer::builder("echo nothing").start().await;
    server.text("echo://hello").await;
    let samples = samples(&server);
    let of = |provider: &str| {
        let label = format!("provider=\"{provider}\"");
        let found = samples.iter().filter(|(key, _)| key.contains(&label));
        found.map(|(key, _)| key.as_str()).collect::<Vec<_>>()
    };
    let unused = ["busy", "key_value", "tcp", "\"hit\""];
    for key in of("echo").into_iter().chain(of("nothing")) {
        assert!(!unused.iter().any(|part| key.contains(part)), "{key}");
    }
    let has = |part: &str| of("echo").iter().any(|key| key.contains(part));
    assert!(has("larder_call_seconds_bucket") && has("outcome=\"ok\"") && has("larder_guests"));
}

#[tokio::test]
async fn removed_providers_leave_no_metrics() {
    let mut server = TestServer::builder("echo").start().await;
    let before: Vec<_> = samples(&server).into_iter().map(|(key, _)| key).collect();
    for batch in 0..5 {
        let path = |n: usize| server.plugins.join(format!("p{batch}-{n}.wasm"));
        let files: Vec<_> = (0..20).map(path).collect();
        files
            .iter()
            .for_each(|file| _ = std::fs::copy(component_path("nothing"), file).unwrap());
        assert_eq!(server.reconciler().run_pass().await.loaded.len(), 20);
        assert!(samples(&server).len() > before.len() + 20 * 3);
        files
            .iter()
            .for_each(|file| std::fs::remove_file(file).unwrap());
        eventually_within(SLOW_WAIT, "the providers are removed", async || {
            server.reconciler().run_pass().await;
            server.reader.snapshot().offers().len() == 1
        })
        .await;
    }
    let after: Vec<_> = samples(&server).into_iter().map(|(key, _)| key).collect();
    assert_eq!(after, before);
}
