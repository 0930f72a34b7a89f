//! The audit log, as the real server writes it.

use std::fs;
use std::time::Duration;

use larder_core::audit::{self, AuditLog, OnFull, Target};
use larder_core::gateway::Error;
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;
use larder_runtime::metrics::{Metrics, TextFormat};
use serde_json::Value;

use crate::admin::AdminClient;
use crate::harness::{SLOW_WAIT, TestServer, anonymous_call, eventually, eventually_within, parse_uri};
use crate::process::WorkDir;

fn lines(text: &str) -> Vec<Value> {
    assert!(text.is_empty() || text.ends_with('\n'), "the last line is incomplete");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
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
    let work_dir =
        WorkDir::with_guests("echo fresh trap_nth").file("larder.toml", "[audit]\nfile = \"audit.log\"\n");
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
    let all = lines(&fs::read_to_string(work_dir.path("audit.log")).unwrap());
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
    assert!(first["digest"].as_str().unwrap().len() == 64 && first["ms"].as_f64().unwrap() > 0.0, "{first}");
    assert!(first["request"].is_number() && first["subject"].is_null(), "{first}");
    assert!(first["time"].as_str().unwrap().ends_with('Z'));
}

/// A full pipe without a reader blocks the writer, as a file system that does not respond would.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_blocked_write_is_reported_and_does_not_prevent_shutdown() {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let config = "[admin]\nlisten = \"127.0.0.1:0\"\n[audit]\nfile = \"pipe\"\n";
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", config);
    let created = std::process::Command::new("mkfifo").arg(work_dir.path("pipe")).status().unwrap();
    assert!(created.success());
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let mut full = options.open(work_dir.path("pipe")).unwrap();
    while full.write(&[0; 4096]).is_ok() {}
    let (admin, url) = AdminClient::open(&work_dir);
    work_dir.larder(&format!("read echo://hello --url {url}")).expect_success();
    eventually_within(SLOW_WAIT, "the blocked write is reported", async || {
        admin.get("/readyz").await.1.contains("a write takes longer than")
    })
    .await;
    admin.process.signal("TERM");
    let stderr = admin.process.wait().expect_exit(0);
    assert!(stderr.contains("blocking tasks did not end"), "{stderr}");
}

/// Starts a server that writes its audit log to this target. The second value ends the log's writer.
async fn audited(guests: &str, to: Target, on_full: OnFull) -> (crate::harness::TestServer, Drain) {
    let mut server = TestServer::builder(guests).start().await;
    let last = Drain::new();
    let config = audit::Config { to: Some(to), on_full };
    let context = (server.metrics.clone(), Health::default());
    let audit = AuditLog::open(&config, [], context, &last).unwrap();
    server.gateway = server.gateway.with_audit(audit);
    (server, last)
}

fn line_count(metrics: &Metrics, outcome: &str) -> u64 {
    let text = metrics.encode(TextFormat::Prometheus, None).unwrap();
    let key = format!("larder_audit_lines_total{{outcome=\"{outcome}\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&key)).unwrap().parse().unwrap()
}

#[tokio::test]
async fn escapes_text_from_clients() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("audit.log");
    let (server, last) = audited("echo sleep", Target::File(path.clone()), OnFull::Wait).await;
    let hostile =
        ["echo://a\n{\"forged\":true}", "x:\"\\\u{2028}\u{0}", &format!("x:{}", "é".repeat(100_000))];
    for text in hostile {
        server.gateway.record_bad_uri(&anonymous_call(), text).await.unwrap();
    }
    drop(tokio::time::timeout(Duration::from_millis(50), server.read("sleep://hour")).await);
    assert!(last.finish(Duration::from_secs(60)).await);
    let all = lines(&fs::read_to_string(&path).unwrap());
    let outcomes: Vec<_> = all.iter().map(|line| line["outcome"].as_str().unwrap()).collect();
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
    eventually("the line is written", async || line_count(&server.metrics, "written") == 1).await;
    fs::rename(&path, &old).unwrap();
    server.text("echo://many").await;
    assert!(last.finish(Duration::from_secs(60)).await);
    let uris = |path| lines(&fs::read_to_string(path).unwrap())[0]["uri"].clone();
    assert_eq!((uris(&old), uris(&path)), ("echo://hello".into(), "echo://many".into()));
}

/// A pipe that is full: a write to it blocks until something is read from it.
#[cfg(target_os = "linux")]
fn full_pipe(path: &std::path::Path) -> fs::File {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let mut pipe = options.open(path).unwrap();
    while pipe.write(&[0; 4096]).is_ok() {}
    pipe
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_read_is_answered_before_its_line_is_written() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("audit.pipe");
    let mut pipe = full_pipe(&path);
    let (server, last) = audited("echo", Target::File(path), OnFull::Wait).await;
    let calls = || {
        let catalog = server.reader.snapshot();
        catalog.offers()[0].provider.metrics().calls(larder_runtime::metrics::Outcome::Ok)
    };
    let (before, mut reads) = (calls(), tokio::task::JoinSet::new());
    for n in 1..=50 {
        let (gateway, uri) = (server.gateway.clone(), parse_uri(&format!("echo://say/{n}")));
        reads.spawn(async move { gateway.read(&anonymous_call(), &uri, None).await });
    }
    eventually("the provider has answered all reads", async || calls() - before == 50).await;
    // The answers wait for their lines, however often they are polled.
    for _ in 0..100 {
        tokio::task::yield_now().await;
        assert!(reads.try_join_next().is_none(), "a read was answered, and its line is not written");
    }
    let draining = std::thread::spawn(move || {
        let (mut buffer, mut text) = ([0; 4096], vec![]);
        while text.iter().filter(|byte| **byte == b'\n').count() < 50 {
            match std::io::Read::read(&mut pipe, &mut buffer) {
                Ok(count) => text.extend(buffer[..count].iter().filter(|byte| **byte != 0)),
                Err(_) => std::thread::yield_now(),
            }
        }
        text
    });
    while let Some(read) = reads.join_next().await {
        assert!(read.unwrap().is_ok());
    }
    assert_eq!(line_count(&server.metrics, "written"), 50);
    assert_eq!(lines(&String::from_utf8(draining.join().unwrap()).unwrap()).len(), 50);
    assert!(last.finish(Duration::from_secs(60)).await);
}

/// Uses `/dev/full`, for which every write fails.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn on_a_full_disk_reads_wait_or_lines_are_lost_as_configured() {
    let full = || Target::File("/dev/full".into());
    let (server, last) = audited("echo", full(), OnFull::Drop).await;
    for _ in 0..3 {
        assert!(server.text("echo://hello").await.starts_with("uri:"));
    }
    assert!(last.finish(Duration::from_secs(60)).await);
    assert_eq!((line_count(&server.metrics, "failed"), line_count(&server.metrics, "written")), (3, 0));

    let (server, last) = audited("echo", full(), OnFull::Wait).await;
    let reads = async {
        loop {
            server.gateway.read(&anonymous_call(), &parse_uri("echo://hello"), None).await.unwrap();
        }
    };
    // The number of queued lines is bounded: once the queue is full, no read starts.
    let blocked = tokio::time::timeout(Duration::from_secs(5), async {
        let mut before = u64::MAX;
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let calls = server.reader.snapshot().offers()[0]
                .provider
                .metrics()
                .calls(larder_runtime::metrics::Outcome::Ok);
            if calls == before {
                return calls;
            }
            before = calls;
        }
    });
    let calls = tokio::select! {
        () = reads => unreachable!("the loop does not end"),
        calls = blocked => calls.expect("reads continue though nothing can be written"),
    };
    assert!(calls > 100, "only {calls} lines fit into the queue");
    assert!(last.finish(Duration::from_secs(60)).await);
    assert_eq!(line_count(&server.metrics, "written"), 0);
    assert!(line_count(&server.metrics, "failed") > 100);
}

#[tokio::test]
async fn sighup_reopens_the_file() {
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", "[audit]\nfile = \"audit.log\"\n");
    let (running, url) = work_dir.serve("--config larder.toml");
    work_dir.larder(&format!("read echo://hello --url {url}")).expect_success();
    let size = |name| fs::metadata(work_dir.path(name)).map(|found| found.len()).ok();
    eventually("the line is written", async || size("audit.log") > Some(0)).await;
    fs::rename(work_dir.path("audit.log"), work_dir.path("old")).unwrap();
    running.signal("HUP");
    eventually("the file is created before the next line is written", async || size("audit.log").is_some())
        .await;
    work_dir.larder(&format!("read echo://many --url {url}"));
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
    let uris = |name: &str| {
        let all = lines(&fs::read_to_string(work_dir.path(name)).unwrap());
        all.iter().map(|line| line["uri"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((uris("old"), uris("audit.log")), (vec!["echo://hello".into()], vec!["echo://many".into()]));
}

/// A pipe that nobody reads from takes 64 KiB; after that, writes to it block.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn drops_and_counts_lines_that_do_not_fit_into_the_queue() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("audit.pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    // Opened for reading too, because otherwise opening it for writing would block.
    let mut pipe = fs::File::options().read(true).write(true).open(&path).unwrap();
    let (server, last) = audited("echo", Target::File(path), OnFull::Drop).await;
    let (long, mut reads) = (format!("echo://{}", "x".repeat(2_000)), 0);
    while line_count(&server.metrics, "dropped") < 10 {
        server.text(&long).await;
        reads += 1;
        assert!(reads < 10_000, "no line was dropped");
    }
    let reading = std::thread::spawn(move || {
        let (mut buffer, mut lines) = ([0; 4096], 0);
        loop {
            let count = std::io::Read::read(&mut pipe, &mut buffer).unwrap();
            lines += buffer[..count].iter().filter(|byte| **byte == b'\n').count();
            if buffer[..count].ends_with(b"end\n") {
                return lines - 1;
            }
        }
    });
    assert!(last.finish(Duration::from_secs(60)).await);
    fs::write(folder.path().join("audit.pipe"), "end\n").unwrap();
    let (written, dropped) = (line_count(&server.metrics, "written"), line_count(&server.metrics, "dropped"));
    assert_eq!((written + dropped, line_count(&server.metrics, "failed")), (reads, 0));
    assert_eq!(reading.join().unwrap() as u64, written);
}

#[test]
fn each_line_names_the_team_that_answered() {
    let config = "[audit]\nfile = \"audit.log\"\n[server]\nteams = [\"alpha\", \"beta\"]\n\
                  [team.alpha]\nplugins = \"alpha\"\n[team.beta]\nplugins = \"beta\"\n";
    let work_dir = WorkDir::with_guests("").file("larder.toml", config);
    for (team, guest) in [("alpha", "echo"), ("beta", "fresh")] {
        fs::create_dir(work_dir.path(team)).unwrap();
        fs::copy(crate::harness::component_path(guest), work_dir.path(team).join(format!("{guest}.wasm")))
            .unwrap();
    }
    let (running, url) = work_dir.serve("--config larder.toml");
    for uri in ["echo://hello", "fresh://everyone/3600000/0/a", "gone://x"] {
        work_dir.larder(&format!("read {uri} --url {url}"));
    }
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
    let all = lines(&fs::read_to_string(work_dir.path("audit.log")).unwrap());
    let teams: Vec<_> =
        all.iter().map(|line| (line["team"].as_str().unwrap(), line["outcome"].as_str().unwrap())).collect();
    assert_eq!(teams, [("alpha", "ok"), ("beta", "ok"), ("alpha,beta", "not-found")]);
}

/// A folder in the place of the file makes writes fail until it is removed.
#[tokio::test]
async fn is_not_ready_while_reads_wait_for_the_log() {
    for (on_full, status, message) in [
        ("wait", 503, "cannot write the audit log; reads wait: "),
        ("drop", 200, "cannot write the audit log; its lines are lost: "),
    ] {
        let config = format!(
            "[admin]\nlisten = \"127.0.0.1:0\"\n[audit]\nfile = \"audit.log\"\non_full = \"{on_full}\"\n"
        );
        let work_dir = WorkDir::with_guests("echo").file("larder.toml", &config);
        let (admin, url) = AdminClient::open(&work_dir);
        assert_eq!(admin.get("/readyz").await.0, 200);
        fs::remove_file(work_dir.path("audit.log")).unwrap();
        fs::create_dir(work_dir.path("audit.log")).unwrap();
        work_dir.larder(&format!("read echo://hello --url {url}")).expect_success();
        eventually_within(SLOW_WAIT, "the failure is reported", async || {
            admin.get("/status").await.1.contains(message)
        })
        .await;
        assert_eq!(admin.get("/readyz").await.0, status, "{on_full}");
        fs::remove_dir(work_dir.path("audit.log")).unwrap();
        work_dir.larder(&format!("read echo://many --url {url}")).expect_success();
        eventually_within(SLOW_WAIT, "the failure is resolved", async || {
            !admin.get("/status").await.1.contains(message)
        })
        .await;
        assert_eq!(admin.get("/readyz").await.0, 200, "{on_full}");
    }
}

#[tokio::test]
async fn with_on_full_wait_reads_fail_once_the_log_is_closed() {
    let folder = tempfile::TempDir::new().unwrap();
    for on_full in [OnFull::Wait, OnFull::Drop] {
        let (server, last) = audited("echo", Target::File(folder.path().join("audit.log")), on_full).await;
        assert!(last.finish(Duration::from_secs(60)).await);
        let calls = || {
            let catalog = server.reader.snapshot();
            catalog.offers()[0].provider.metrics().calls(larder_runtime::metrics::Outcome::Ok)
        };
        let before = calls();
        let answer = server.gateway.read(&anonymous_call(), &parse_uri("echo://hello"), None).await;
        match on_full {
            OnFull::Wait => assert!(matches!(answer, Err(Error::AuditClosed(_))), "{answer:?}"),
            OnFull::Drop => assert!(answer.is_ok() && line_count(&server.metrics, "dropped") == 1),
        }
        assert_eq!(calls() - before, u64::from(on_full == OnFull::Drop));
    }
}

#[test]
fn a_read_that_is_stopped_immediately_has_a_line() {
    let work_dir = WorkDir::with_guests("sleep").file("larder.toml", "[audit]\nfile = \"audit.log\"\n");
    let (mut running, url) = work_dir.serve("--config larder.toml");
    let reading = work_dir.start(&format!("read sleep://hour --url {url}"));
    running.wait_for_stderr("sleeping");
    running.signal("TERM");
    running.wait_for_stderr("a second signal stops immediately");
    running.signal("TERM");
    let stderr = running.wait().expect_exit(0);
    assert!(!stderr.contains("could not be written in time"), "{stderr}");
    drop(reading);
    let all = lines(&fs::read_to_string(work_dir.path("audit.log")).unwrap());
    assert_eq!(
        all.iter().map(summary).collect::<Vec<_>>(),
        ["default sleep sleep://hour cancelled cached=false bytes=0"]
    );
}

#[cfg(target_os = "linux")]
#[test]
fn refuses_a_pipe_without_a_reader() {
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", "[audit]\nfile = \"pipe\"\n");
    assert!(std::process::Command::new("mkfifo").arg(work_dir.path("pipe")).status().unwrap().success());
    let stderr = work_dir.larder("serve --listen 127.0.0.1:0 --config larder.toml").expect_exit(1);
    assert!(stderr.contains("is a pipe without a reader: start the reader first"), "{stderr}");
}
