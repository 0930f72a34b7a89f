//! Who read what, as the real server writes it down.

use std::fs;
use std::time::Duration;

use larder_core::audit::{self, AuditLog, OnFull, Target};
use larder_core::gateway::Error;
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;
use larder_runtime::metrics::{Metrics, PrometheusText};
use serde_json::Value;

use crate::admin::Seen;
use crate::house::{Plan, someone};
use crate::process::Place;
use crate::revision::until;

fn lines(text: &str) -> Vec<Value> {
    assert!(text.is_empty() || text.ends_with('\n'), "the last line is whole");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn short(line: &Value) -> String {
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
fn each_read_is_a_line() {
    let place = Place::of("echo fresh trap_nth").file("larder.toml", "[audit]\nfile = \"audit.log\"\n");
    let (running, url) = place.serve("--config larder.toml");
    for uri in [
        "echo://setting/x",
        "echo://error/denied",
        "echo://nobody",
        "trap://7",
        "fresh://everyone/3600000/0/a",
        "fresh://everyone/3600000/0/a",
        "no-uri",
    ] {
        place.larder(&format!("read {uri} --url {url}"));
    }
    running.signal("TERM");
    assert_eq!(running.end().code, Some(0));
    let all = lines(&fs::read_to_string(place.path("audit.log")).unwrap());
    let shown: Vec<_> = all.iter().map(short).collect();
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

/// A pipe that is full and that nobody reads is to who writes what a dead mount is.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_write_that_never_ends_is_told_and_does_not_keep_the_process_from_ending() {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let config = "[admin]\nlisten = \"127.0.0.1:0\"\n[audit]\nfile = \"pipe\"\n";
    let place = Place::of("echo").file("larder.toml", config);
    let made = std::process::Command::new("mkfifo").arg(place.path("pipe")).status().unwrap();
    assert!(made.success());
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    let mut full = options.open(place.path("pipe")).unwrap();
    while full.write(&[0; 4096]).is_ok() {}
    let (seen, url) = Seen::open(&place);
    place.larder(&format!("read echo://hello --url {url}")).yes();
    until("it is told", async || seen.get("/readyz").await.1.contains("a write takes longer than")).await;
    seen.running.signal("TERM");
    let said = seen.running.end().no(0);
    assert!(said.contains("blocking tasks did not end"), "{said}");
}

/// A house that writes to this file.
async fn audited(guests: &str, to: Target, on_full: OnFull) -> (crate::house::House, Drain) {
    let mut house = Plan::of(guests).open().await;
    let last = Drain::new();
    let config = audit::Config { to: Some(to), on_full };
    let seen = (house.metrics.clone(), Health::default());
    let audit = AuditLog::open(&config, [], seen, &last).unwrap();
    house.gateway = house.gateway.with_audit(audit);
    (house, last)
}

fn counted(metrics: &Metrics, outcome: &str) -> u64 {
    let mut text = PrometheusText::default();
    metrics.render(&mut text);
    let text = text.into_string();
    let key = format!("larder_audit_lines_total{{outcome=\"{outcome}\"}} ");
    text.lines().find_map(|line| line.strip_prefix(&key)).unwrap().parse().unwrap()
}

#[tokio::test]
async fn what_a_client_writes_stays_in_its_line() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("audit.log");
    let (house, last) = audited("echo sleep", Target::File(path.clone()), OnFull::Wait).await;
    let hostile =
        ["echo://a\n{\"forged\":true}", "x:\"\\\u{2028}\u{0}", &format!("x:{}", "é".repeat(100_000))];
    for uri in hostile {
        house.text(uri).await;
    }
    drop(tokio::time::timeout(Duration::from_millis(50), house.read("sleep://hour")).await);
    assert!(last.finish(Duration::from_secs(60)).await);
    let all = lines(&fs::read_to_string(&path).unwrap());
    let outcomes: Vec<_> = all.iter().map(|line| line["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["bad-uri", "bad-uri", "bad-uri", "cancelled"]);
    assert_eq!(all[0]["uri"], hostile[0]);
    assert!(all[2]["uri_cut"] == true && all[2]["uri"].as_str().unwrap().len() <= 4096);
    assert_eq!(counted(&house.metrics, "written"), 4);
}

#[tokio::test]
async fn a_file_that_was_moved_away_is_made_anew() {
    let folder = tempfile::TempDir::new().unwrap();
    let (path, old) = (folder.path().join("audit.log"), folder.path().join("old"));
    let (house, last) = audited("echo", Target::File(path.clone()), OnFull::Wait).await;
    house.text("echo://hello").await;
    until("it is written", async || counted(&house.metrics, "written") == 1).await;
    fs::rename(&path, &old).unwrap();
    house.text("echo://many").await;
    assert!(last.finish(Duration::from_secs(60)).await);
    let uris = |path| lines(&fs::read_to_string(path).unwrap())[0]["uri"].clone();
    assert_eq!((uris(&old), uris(&path)), ("echo://hello".into(), "echo://many".into()));
}

/// On Linux there is a file that is always full.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_stops_reads_or_loses_lines_as_its_operator_wants() {
    let full = || Target::File("/dev/full".into());
    let (house, last) = audited("echo", full(), OnFull::Drop).await;
    for _ in 0..3 {
        assert!(house.text("echo://hello").await.starts_with("uri:"));
    }
    assert!(last.finish(Duration::from_secs(60)).await);
    assert_eq!((counted(&house.metrics, "failed"), counted(&house.metrics, "written")), (3, 0));

    let (house, last) = audited("echo", full(), OnFull::Wait).await;
    let reads = async {
        loop {
            house.gateway.read(&someone(), "echo://hello", None).await.unwrap();
        }
    };
    // What waits in the queue and in the writer's hand is bounded: after that no read begins.
    let blocked = tokio::time::timeout(Duration::from_secs(5), async {
        let mut before = u64::MAX;
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let calls = house.reader.snapshot().offers()[0]
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
        () = reads => unreachable!("it never ends"),
        calls = blocked => calls.expect("reads go on though nothing can be written"),
    };
    assert!(calls > 100, "the queue has room for some: {calls}");
    assert!(last.finish(Duration::from_secs(60)).await);
    assert_eq!(counted(&house.metrics, "written"), 0);
    assert!(counted(&house.metrics, "failed") > 100);
}

#[tokio::test]
async fn a_hang_up_makes_the_file_anew() {
    let place = Place::of("echo").file("larder.toml", "[audit]\nfile = \"audit.log\"\n");
    let (running, url) = place.serve("--config larder.toml");
    place.larder(&format!("read echo://hello --url {url}")).yes();
    let size = |name| fs::metadata(place.path(name)).map(|found| found.len()).ok();
    until("the line is written", async || size("audit.log") > Some(0)).await;
    fs::rename(place.path("audit.log"), place.path("old")).unwrap();
    running.signal("HUP");
    until("the file is made at once, and not only with the next line", async || size("audit.log").is_some())
        .await;
    place.larder(&format!("read echo://many --url {url}"));
    running.signal("TERM");
    assert_eq!(running.end().code, Some(0));
    let uris = |name: &str| {
        let all = lines(&fs::read_to_string(place.path(name)).unwrap());
        all.iter().map(|line| line["uri"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((uris("old"), uris("audit.log")), (vec!["echo://hello".into()], vec!["echo://many".into()]));
}

/// A pipe that nobody reads from takes 64 KiB, and then holds whoever writes to it.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn lines_for_which_there_is_no_room_are_left_out_and_counted() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("audit.pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    // Open at both ends, as otherwise nobody can open it to write.
    let mut pipe = fs::File::options().read(true).write(true).open(&path).unwrap();
    let (house, last) = audited("echo", Target::File(path), OnFull::Drop).await;
    let (long, mut reads) = (format!("echo://{}", "x".repeat(2_000)), 0);
    while counted(&house.metrics, "dropped") < 10 {
        house.text(&long).await;
        reads += 1;
        assert!(reads < 10_000, "room for everything");
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
    let (written, dropped) = (counted(&house.metrics, "written"), counted(&house.metrics, "dropped"));
    assert_eq!((written + dropped, counted(&house.metrics, "failed")), (reads, 0));
    assert_eq!(reading.join().unwrap() as u64, written);
}

#[test]
fn each_line_names_the_team_that_answered() {
    let config = "[audit]\nfile = \"audit.log\"\n[server]\nteams = [\"alpha\", \"beta\"]\n\
                  [team.alpha]\nplugins = \"alpha\"\n[team.beta]\nplugins = \"beta\"\n";
    let place = Place::of("").file("larder.toml", config);
    for (team, guest) in [("alpha", "echo"), ("beta", "fresh")] {
        fs::create_dir(place.path(team)).unwrap();
        fs::copy(crate::house::component(guest), place.path(team).join(format!("{guest}.wasm"))).unwrap();
    }
    let (running, url) = place.serve("--config larder.toml");
    for uri in ["echo://hello", "fresh://everyone/3600000/0/a", "gone://x"] {
        place.larder(&format!("read {uri} --url {url}"));
    }
    running.signal("TERM");
    assert_eq!(running.end().code, Some(0));
    let all = lines(&fs::read_to_string(place.path("audit.log")).unwrap());
    let teams: Vec<_> =
        all.iter().map(|line| (line["team"].as_str().unwrap(), line["outcome"].as_str().unwrap())).collect();
    assert_eq!(teams, [("alpha", "ok"), ("beta", "ok"), ("alpha,beta", "not-found")]);
}

/// A folder where the file should be stands for what cannot be written, and can be again.
#[tokio::test]
async fn that_reads_wait_for_the_log_is_told_by_readiness() {
    for (on_full, status, words) in [
        ("wait", 503, "cannot write the audit log; reads wait: "),
        ("drop", 200, "cannot write the audit log; its lines are lost: "),
    ] {
        let config = format!(
            "[admin]\nlisten = \"127.0.0.1:0\"\n[audit]\nfile = \"audit.log\"\non_full = \"{on_full}\"\n"
        );
        let place = Place::of("echo").file("larder.toml", &config);
        let (seen, url) = Seen::open(&place);
        assert_eq!(seen.get("/readyz").await.0, 200);
        fs::remove_file(place.path("audit.log")).unwrap();
        fs::create_dir(place.path("audit.log")).unwrap();
        place.larder(&format!("read echo://hello --url {url}")).yes();
        until("it is told", async || seen.get("/status").await.1.contains(words)).await;
        assert_eq!(seen.get("/readyz").await.0, status, "{on_full}");
        fs::remove_dir(place.path("audit.log")).unwrap();
        place.larder(&format!("read echo://many --url {url}")).yes();
        until("it is over", async || !seen.get("/status").await.1.contains(words)).await;
        assert_eq!(seen.get("/readyz").await.0, 200, "{on_full}");
    }
}

#[tokio::test]
async fn what_can_not_be_written_down_any_more_is_not_read_where_reads_wait() {
    let folder = tempfile::TempDir::new().unwrap();
    for on_full in [OnFull::Wait, OnFull::Drop] {
        let (house, last) = audited("echo", Target::File(folder.path().join("audit.log")), on_full).await;
        assert!(last.finish(Duration::from_secs(60)).await);
        let calls = || {
            let catalog = house.reader.snapshot();
            catalog.offers()[0].provider.metrics().calls(larder_runtime::metrics::Outcome::Ok)
        };
        let before = calls();
        let answer = house.gateway.read(&someone(), "echo://hello", None).await;
        match on_full {
            OnFull::Wait => assert!(matches!(answer, Err(Error::AuditClosed(_))), "{answer:?}"),
            OnFull::Drop => assert!(answer.is_ok() && counted(&house.metrics, "dropped") == 1),
        }
        assert_eq!(calls() - before, u64::from(on_full == OnFull::Drop));
    }
}

#[test]
fn who_is_read_when_all_ends_at_once_has_a_line() {
    let place = Place::of("sleep").file("larder.toml", "[audit]\nfile = \"audit.log\"\n");
    let (mut running, url) = place.serve("--config larder.toml");
    let reading = place.start(&format!("read sleep://hour --url {url}"));
    running.told("sleeping");
    running.signal("TERM");
    running.told("a second signal stops immediately");
    running.signal("TERM");
    let said = running.end().no(0);
    assert!(!said.contains("could not be written in time"), "{said}");
    drop(reading);
    let all = lines(&fs::read_to_string(place.path("audit.log")).unwrap());
    assert_eq!(
        all.iter().map(short).collect::<Vec<_>>(),
        ["default sleep sleep://hour cancelled cached=false bytes=0"]
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_that_nobody_reads_is_refused_at_once() {
    let place = Place::of("echo").file("larder.toml", "[audit]\nfile = \"pipe\"\n");
    assert!(std::process::Command::new("mkfifo").arg(place.path("pipe")).status().unwrap().success());
    let said = place.larder("serve --listen 127.0.0.1:0 --config larder.toml").no(1);
    assert!(said.contains("is a pipe without a reader: start the reader first"), "{said}");
}
