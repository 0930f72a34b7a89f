//! What is counted, as the text format shows it, with real guests.

use std::time::Duration;

use larder_model::policy::Quota;
use larder_runtime::metrics::{Outcome, PrometheusText};

use crate::house::{House, Plan, component, someone};
use crate::revision::until;
use crate::wire::{ACCEPT, JSON, Wire};

/// Reads the text format strictly, and gives each sample with its labels.
pub(crate) fn parse(text: &str) -> Vec<(String, f64)> {
    let (mut family, mut samples) = (String::new(), Vec::<(String, f64)>::new());
    let name = regex_lite::Regex::new(r"^[a-z_:][a-z0-9_:]*$").unwrap();
    let sample = regex_lite::Regex::new(
        r#"^([a-z_:][a-z0-9_:]*)(?:\{([a-z_]+="(?:[^"\\\n]|\\[\\"n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\[\\"n])*")*)\})? (\S+)$"#,
    )
    .unwrap();
    let mut families = std::collections::HashSet::new();
    for line in text.split_terminator('\n') {
        if let Some(help) = line.strip_prefix("# HELP ") {
            family = help.split_once(' ').expect("a help has a text").0.to_owned();
            assert!(name.is_match(&family) && families.insert(family.clone()), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (of, kind) = kind.split_once(' ').unwrap();
            assert!(of == family && ["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", family.ends_with("_total"), "{line}");
        } else {
            let found = sample.captures(line).unwrap_or_else(|| panic!("not a sample: {line:?}"));
            let own = found[1].strip_prefix(family.as_str()).unwrap_or_else(|| panic!("{line} in {family}"));
            assert!(["", "_bucket", "_sum", "_count"].contains(&own), "{line}");
            let key = line.rsplit_once(' ').unwrap().0.to_owned();
            assert!(samples.iter().all(|(other, _)| *other != key), "twice: {line}");
            samples.push((key, found[3].parse().unwrap()));
        }
    }
    samples
}

pub(crate) fn number(samples: &[(String, f64)], key: &str) -> f64 {
    let found = samples.iter().find(|(other, _)| other == key);
    found.unwrap_or_else(|| panic!("no {key} among {samples:#?}")).1
}

fn shown(house: &House) -> Vec<(String, f64)> {
    let mut text = PrometheusText::default();
    house.metrics.render(&mut text);
    parse(&text.into_string())
}

fn calls(house: &House, provider: &str, outcome: &str) -> f64 {
    let key = format!(r#"larder_calls_total{{team="default",provider="{provider}",outcome="{outcome}"}}"#);
    number(&shown(house), &key)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_end_of_a_call_has_its_number() {
    let tight = |grant: &mut larder_model::policy::Grant| {
        grant.limits.cpu_time = Duration::from_millis(100);
        grant.limits.timeout = Duration::from_millis(500);
        grant.limits.memory = 16 << 20;
        grant.limits.result = 1 << 20;
    };
    let mut plan = Plan::of("echo spin sleep eat recurse trap_nth huge exit");
    for guest in ["spin", "sleep", "eat", "recurse", "huge"] {
        plan = plan.terms(guest, |grant, _| tight(grant));
    }
    let house = plan.open().await;
    let mut seen = vec![];
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
            "recurse" => house.uris().await.into_iter().find(|uri| uri.starts_with("recurse:")).unwrap(),
            _ => uri.to_owned(),
        };
        let before = calls(&house, provider, outcome);
        // Only who holds a version can be told that it is the current one.
        let held = (outcome == "not-modified").then_some("7");
        let _ = house.gateway.read(&someone(), &uri, held).await;
        assert_eq!(calls(&house, provider, outcome), before + 1.0, "{uri} should be {outcome}");
        seen.push(outcome);
    }
    // A client that goes away.
    let left = tokio::time::timeout(Duration::from_millis(50), house.read("sleep://ms/400")).await;
    assert!(left.is_err());
    assert_eq!(calls(&house, "sleep", "cancelled"), 1.0);
    seen.push("cancelled");
    // Those that are left need a crowd (see below), many faults, or a guest of other types.
    let others: Vec<_> = Outcome::ALL.iter().map(|o| o.word()).filter(|word| !seen.contains(word)).collect();
    assert_eq!(others, ["busy", "circuit-open", "contract"]);
    let samples = shown(&house);
    let of = |family: &str, provider: &str| {
        number(&samples, &format!(r#"{family}{{team="default",provider="{provider}"}}"#))
    };
    let cpu = |provider: &str| of("larder_guest_cpu_seconds_total", provider);
    assert!(cpu("spin") > cpu("sleep"), "{} {}", cpu("spin"), cpu("sleep"));
    assert!(of("larder_guest_memory_largest_bytes", "eat") > f64::from(8 << 20));
    assert!(of("larder_guest_memory_largest_bytes", "eat") <= f64::from(16 << 20));
    let key = |name: &str| format!(r#"{name}{{team="default",provider="echo"}}"#);
    assert!(number(&samples, &key("larder_call_seconds_count")) >= 7.0);
    assert_eq!(
        number(&samples, &key("larder_call_seconds_count")),
        number(&samples, &key("larder_queue_seconds_count"))
    );
    for gauge in ["larder_guests", "larder_guest_memory_bytes"] {
        assert_eq!(of(gauge, "echo"), 0.0, "{gauge}: no guest outlives its call");
    }
    let last = house.reader.snapshot().offers()[0].provider.metrics().last_error().unwrap();
    assert_eq!((last.outcome, last.operation), (Outcome::Memory, "read"), "that of `eat`, the first by name");
}

#[tokio::test]
async fn a_call_that_gets_no_turn_in_time_is_busy() {
    let house = Plan::of("sleep").terms("sleep", |grant, _| {
        (grant.limits.concurrency, grant.limits.queue_timeout) = (1, Duration::from_millis(10));
    });
    let house = house.open().await;
    let (one, other) = tokio::join!(house.text("sleep://ms/1000"), house.text("sleep://ms/1001"));
    let mut told = [one, other];
    told.sort();
    assert!(told[0].contains("busy") && told[1] == "slept", "{told:?}");
    assert_eq!(calls(&house, "sleep", "busy"), 1.0);
    let last = house.reader.snapshot().offers()[0].provider.metrics().last_error();
    assert_eq!(last, None, "that many ask at once is no error of its own");
}

#[tokio::test]
async fn whatever_a_call_waits_for_is_one_wait() {
    let house = Plan::of("sleep").quota(Quota { calls: 1, ..Quota::default() });
    let house =
        house.terms("sleep", |grant, _| grant.limits.queue_timeout = Duration::from_secs(60)).open().await;
    let waited = || number(&shown(&house), r#"larder_queue_seconds_sum{team="default",provider="sleep"}"#);
    let before = waited();
    tokio::join!(house.text("sleep://ms/1000"), house.text("sleep://ms/1001"));
    // The provider had a turn for each; its team had not.
    assert!(waited() - before > 0.5, "{} {before}", waited());
}

#[tokio::test]
async fn a_method_that_nobody_knows_is_counted_as_other() {
    let wire = Wire::of("echo").await;
    wire.modern("tools/call", serde_json::json!({})).await;
    let session = wire.session("2025-03-26").await;
    wire.legacy(&session, "tools/call", serde_json::json!({})).await;
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"no/such"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    wire.post(&[JSON, ACCEPT, ("mcp-session-id", &session)], batch).await;
    let samples = shown(&wire.house);
    let others =
        |era: &str| number(&samples, &format!(r#"larder_requests_total{{method="other",era="{era}"}}"#));
    assert_eq!((others("modern"), others("legacy")), (1.0, 2.0));
}

#[tokio::test]
async fn an_answer_that_was_known_is_told_from_one_that_was_asked_for() {
    let house = Plan::of("fresh").open().await;
    for _ in 0..3 {
        house.text("fresh://everyone/3600000/0/a").await;
    }
    let reads = |result: &str| {
        let key = format!(r#"larder_cache_reads_total{{team="default",provider="fresh",result="{result}"}}"#);
        number(&shown(&house), &key)
    };
    assert_eq!((reads("hit"), reads("miss")), (2.0, 1.0));
}

#[tokio::test]
async fn a_hundred_providers_that_came_and_went_leave_no_number_behind() {
    let mut house = Plan::of("echo").open().await;
    let before: Vec<_> = shown(&house).into_iter().map(|(key, _)| key).collect();
    for round in 0..5 {
        let path = |n: usize| house.plugins.join(format!("p{round}-{n}.wasm"));
        let files: Vec<_> = (0..20).map(path).collect();
        files.iter().for_each(|file| _ = std::fs::copy(component("nothing"), file).unwrap());
        assert_eq!(house.reconcile().run_pass().await.loaded.len(), 20);
        assert!(shown(&house).len() > before.len() + 20 * 30);
        files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
        until("they are gone", async || {
            house.reconcile().run_pass().await;
            house.reader.snapshot().offers().len() == 1
        })
        .await;
    }
    let after: Vec<_> = shown(&house).into_iter().map(|(key, _)| key).collect();
    assert_eq!(after, before);
}
