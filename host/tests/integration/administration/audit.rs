//! The audit log of the real server.

mod blocked;
mod callers;

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use larder_core::audit::{self, AuditLog, OnFull, Target};
use larder_runtime::drain::Drain;
use larder_runtime::metrics::{Metrics, TextFormat};
use serde_json::Value;

use crate::support::harness::{TestServer, anonymous_call, eventually};
use crate::support::process::WorkDir;

fn lines(text: &str) -> Vec<Value> {
    assert!(
        text.is_empty() || text.ends_with('\n'),
        "the last line is incomplete"
    );
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The lines about reads.
fn reads(text: &str) -> Vec<Value> {
    lines(text)
        .into_iter()
        .filter(|line| line["operation"] == "read")
        .collect()
}

fn summary(line: &Value) -> String {
    let text = |key: &str| line[key].as_str().unwrap_or("-").to_owned();
    format!(
        "{} {} {} {} cached={} bytes={}",
        text("team"),
        text("provider"),
        text("uri"),
        text("outcome"),
        line["cached"],
        line["bytes"]
    )
}

#[test]
fn writes_a_line_for_each_read() {
    let work_dir = WorkDir::with_guests("echo fresh trap_nth")
        .file("larder.toml", "[audit]\nfile = \"audit.log\"\n");
    let (running, url) = work_dir.serve("--config larder.toml");
    for uri in [
        "echo://setting/x",
        "echo://error/denied",
        "echo://nobody",
        "trap://7",
        "fresh://everyone/3600000/0/a",
        "fresh://everyone/3600000/0/a",
        "no-uri",
    ] {
        work_dir.larder(&format!("read {uri} --url {url}"));
    }
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
    let all = reads(&fs::read_to_string(work_dir.path("audit.log")).unwrap());
    let shown: Vec<_> = all.iter().map(summary).collect();
    expect_test::expect![[r#"
        default echo echo://setting/x ok cached=false bytes=5
        default echo echo://error/denied denied cached=false bytes=0
        default - echo://nobody not-found cached=false bytes=0
        default trap_nth trap://7 trap cached=false bytes=0
        default fresh fresh://everyone/3600000/0/a ok cached=false bytes=25
        default fresh fresh://everyone/3600000/0/a ok cached=true bytes=25
        default - no-uri bad-uri cached=false bytes=0"#]]
    .assert_eq(&shown.join("\n"));
    let first = &all[0];
    assert!(
        first["digest"].as_str().unwrap().len() == 64 && first["ms"].as_f64().unwrap() > 0.0,
        "{first}"
    );
    assert!(
        first["request"].is_number() && first["subject"].is_null(),
        "{first}"
    );
    assert!(first["time"].as_str().unwrap().ends_with('Z'));
}

/// Starts a server that writes its audit log to this target. The second value ends the log's writer.
async fn audited(
    guests: &str,
    to: Target,
    on_full: OnFull,
) -> (crate::support::harness::TestServer, Drain) {
    let mut server = TestServer::builder(guests).start().await;
    let last = Drain::new();
    let config = audit::Config {
        to: Some(to),
        on_full,
        sync: false,
    };
    let audit = AuditLog::open(
        &config,
        BTreeMap::new(),
        server.metrics.clone(),
        server.health.clone(),
        &last,
    )
    .unwrap();
    server.gateway = server.gateway.with_audit(audit);
    (server, last)
}

fn line_count(metrics: &Metrics, outcome: &str) -> u64 {
    let text = metrics.encode(TextFormat::Prometheus, None).unwrap();
    let key = format!("larder_audit_lines_total{{outcome=\"{outcome}\"}} ");
    text.lines()
        .find_map(|line| line.strip_prefix(&key))
        .unwrap()
        .parse()
        .unwrap()
}

#[tokio::test]
async fn escapes_text_from_clients() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("audit.log");
    let (server, last) = audited("echo sleep", Target::File(path.clone()), OnFull::Wait).await;
    let hostile = [
        "echo://a\n{\"forged\":true}",
        "x:\"\\\u{2028}\u{0}",
        &format!("x:{}", "é".repeat(100_000)),
    ];
    for text in hostile {
        server
            .gateway
            .record_bad_uri(&anonymous_call(), text)
            .await
            .unwrap();
    }
    drop(tokio::time::timeout(Duration::from_millis(50), server.read("sleep://hour")).await);
    assert!(last.finish(Duration::from_secs(60)).await);
    let all = reads(&fs::read_to_string(&path).unwrap());
    let outcomes: Vec<_> = all
        .iter()
        .map(|line| line["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["bad-uri", "bad-uri", "bad-uri", "cancelled"]);
    assert_eq!(all[0]["uri"], hostile[0]);
    assert!(all[2]["uri_cut"] == true && all[2]["uri"].as_str().unwrap().len() <= 4096);
    assert_eq!(line_count(&server.metrics, "written"), 4);
}

#[tokio::test]
async fn creates_the_file_again_after_it_was_moved() {
    let folder = tempfile::TempDir::new().unwrap();
    let (path, old) = (folder.path().join("audit.log"), folder.path().join("old"));
    let (server, last) = audited("echo", Target::File(path.clone()), OnFull::Wait).await;
    server.text("echo://hello").await;
    eventually("the line is written", async || {
        line_count(&server.metrics, "written") == 1
    })
    .await;
    fs::rename(&path, &old).unwrap();
    server.text("echo://many").await;
    assert!(last.finish(Duration::from_secs(60)).await);
    let uris = |path| reads(&fs::read_to_string(path).unwrap())[0]["uri"].clone();
    assert_eq!(
        (uris(&old), uris(&path)),
        ("echo://hello".into(), "echo://many".into())
    );
}

#[tokio::test]
async fn sighup_reopens_the_file() {
    let work_dir =
        WorkDir::with_guests("echo").file("larder.toml", "[audit]\nfile = \"audit.log\"\n");
    let (running, url) = work_dir.serve("--config larder.toml");
    work_dir
        .larder(&format!("read echo://hello --url {url}"))
        .expect_success();
    let size = |name| {
        fs::metadata(work_dir.path(name))
            .map(|found| found.len())
            .ok()
    };
    eventually("the line is written", async || size("audit.log") > Some(0)).await;
    fs::rename(work_dir.path("audit.log"), work_dir.path("old")).unwrap();
    running.signal("HUP");
    eventually(
        "the file is created before the next line is written",
        async || size("audit.log").is_some(),
    )
    .await;
    work_dir.larder(&format!("read echo://many --url {url}"));
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
    let uris = |name: &str| {
        let all = reads(&fs::read_to_string(work_dir.path(name)).unwrap());
        all.iter()
            .map(|line| line["uri"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (uris("old"), uris("audit.log")),
        (vec!["echo://hello".into()], vec!["echo://many".into()])
    );
}

#[test]
fn each_line_names_the_team_that_answered() {
    let config = "[audit]\nfile = \"audit.log\"\n[server]\nteams = [\"alpha\", \"beta\"]\n\
                  [team.alpha]\nplugins = \"alpha\"\n[team.beta]\nplugins = \"beta\"\n";
    let work_dir = WorkDir::with_guests("").file("larder.toml", config);
    for (team, guest) in [("alpha", "echo"), ("beta", "fresh")] {
        fs::create_dir(work_dir.path(team)).unwrap();
        fs::copy(
            crate::support::harness::component_path(guest),
            work_dir.path(team).join(format!("{guest}.wasm")),
        )
        .unwrap();
    }
    let (running, url) = work_dir.serve("--config larder.toml");
    for uri in ["echo://hello", "fresh://everyone/3600000/0/a", "gone://x"] {
        work_dir.larder(&format!("read {uri} --url {url}"));
    }
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
    let all = reads(&fs::read_to_string(work_dir.path("audit.log")).unwrap());
    let teams: Vec<_> = all
        .iter()
        .map(|line| {
            (
                line["team"].as_str().unwrap(),
                line["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        teams,
        [("alpha", "ok"), ("beta", "ok"), ("alpha,beta", "not-found")]
    );
}

#[test]
fn a_read_that_is_stopped_immediately_has_a_line() {
    let work_dir =
        WorkDir::with_guests("sleep").file("larder.toml", "[audit]\nfile = \"audit.log\"\n");
    let (mut running, url) = work_dir.serve("--config larder.toml");
    let reading = work_dir.start(&format!("read sleep://hour --url {url}"));
    running.wait_for_stderr("sleeping");
    running.signal("TERM");
    running.wait_for_stderr("a second signal stops immediately");
    running.signal("TERM");
    let stderr = running.wait().expect_exit(0);
    assert!(!stderr.contains("could not be written in time"), "{stderr}");
    drop(reading);
    let all = reads(&fs::read_to_string(work_dir.path("audit.log")).unwrap());
    assert_eq!(
        all.iter().map(summary).collect::<Vec<_>>(),
        ["default sleep sleep://hour cancelled cached=false bytes=0"]
    );
}
