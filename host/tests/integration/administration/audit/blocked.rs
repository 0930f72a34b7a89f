//! The audit log when it cannot be written, or is written too slowly.

use std::fs;
use std::time::Duration;

use larder_core::audit::{AuditWriteError, OnFull, Target};
use larder_core::gateway::Error;
use larder_runtime::metrics::Outcome;

use super::{audited, line_count, reads};
use crate::administration::admin::AdminClient;
use crate::administration::metrics::{parse_samples, sample_value};
use crate::support::harness::{
    SLOW_WAIT, TestServer, anonymous_call, eventually, eventually_within, parse_uri,
};
use crate::support::process::WorkDir;

/// How often the provider returned a response.
fn calls(server: &TestServer) -> u64 {
    server.reader.snapshot().offers()[0]
        .provider
        .metrics()
        .calls(Outcome::Ok)
}

/// A full pipe without a reader blocks the writer, like a file system that does not respond.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_blocked_write_is_reported_and_does_not_prevent_shutdown() {
    let config = "[admin]\nlisten = \"127.0.0.1:0\"\n[audit]\nfile = \"pipe\"\n\
                  [server]\nshutdown_grace = \"1s\"\n";
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", config);
    let _full = full_pipe(&work_dir.path("pipe"));
    let (admin, url) = AdminClient::open(&work_dir);
    let reading = work_dir.start(&format!("read echo://hello --url {url}"));
    eventually_within(SLOW_WAIT, "the blocked write is reported", async || {
        admin
            .get("/readyz")
            .await
            .1
            .contains("a write takes longer than")
    })
    .await;
    admin.process.signal("TERM");
    let stderr = admin.process.wait().expect_exit(0);
    assert!(stderr.contains("blocking tasks did not end"), "{stderr}");
    let read = reading.wait();
    assert!(
        read.code != Some(0) && read.stdout.is_empty(),
        "the read was answered: {}",
        read.stdout
    );
}

/// A pipe that is full: a write to it blocks until something is read from it.
#[cfg(target_os = "linux")]
fn full_pipe(path: &std::path::Path) -> fs::File {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    assert!(
        std::process::Command::new("mkfifo")
            .arg(path)
            .status()
            .unwrap()
            .success()
    );
    let mut options = fs::OpenOptions::new();
    options
        .read(true)
        .write(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
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
    let (before, mut answers) = (calls(&server), tokio::task::JoinSet::new());
    for n in 1..=50 {
        let (gateway, uri) = (
            server.gateway.clone(),
            parse_uri(&format!("echo://say/{n}")),
        );
        answers.spawn(async move { gateway.read(&anonymous_call(), &uri, None).await });
    }
    eventually("the provider has answered all reads", async || {
        calls(&server) - before == 50
    })
    .await;
    // The answers wait for their lines, also if they are polled many times.
    for _ in 0..100 {
        tokio::task::yield_now().await;
        assert!(
            answers.try_join_next().is_none(),
            "a read was answered, and its line is not written"
        );
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
    while let Some(read) = answers.join_next().await {
        assert!(read.unwrap().is_ok());
    }
    assert_eq!(line_count(&server.metrics, "written"), 50);
    assert_eq!(
        reads(&String::from_utf8(draining.join().unwrap()).unwrap()).len(),
        50
    );
    assert!(last.finish(Duration::from_secs(60)).await);
}

/// A client that waits forever would not learn the reason.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_read_waits_for_the_log_for_a_limited_time() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("audit.pipe");
    let _full = full_pipe(&path);
    let (server, last) = audited("echo", Target::File(path), OnFull::Wait).await;
    let (before, call, uri) = (calls(&server), anonymous_call(), parse_uri("echo://hello"));
    let read = server.gateway.read(&call, &uri, None);
    let minute = async {
        eventually("the provider has answered", async || {
            calls(&server) > before
        })
        .await;
        tokio::time::pause();
        for _ in 0..60 {
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        tokio::time::resume();
    };
    let (read, ()) = tokio::join!(read, minute);
    assert!(
        matches!(read, Err(Error::AuditClosed(AuditWriteError::Blocked))),
        "{read:?}"
    );
    drop(_full);
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
    assert_eq!(
        (
            line_count(&server.metrics, "failed"),
            line_count(&server.metrics, "written")
        ),
        (3, 0)
    );

    let (server, last) = audited("echo", full(), OnFull::Wait).await;
    let gateway = server.gateway.clone();
    let read = server.drain.spawn(async move {
        gateway
            .read(&anonymous_call(), &parse_uri("echo://hello"), None)
            .await
    });
    let is_reported = async || !server.health.problems().is_empty();
    eventually("the failure is reported", is_reported).await;
    assert!(
        !read.is_finished(),
        "a read was answered, and its line cannot be written"
    );
    assert!(last.finish(Duration::from_secs(60)).await);
    assert!(matches!(
        read.await.unwrap(),
        Some(Err(Error::AuditClosed(_)))
    ));
    assert_eq!(
        (
            line_count(&server.metrics, "written"),
            line_count(&server.metrics, "failed")
        ),
        (0, 1)
    );
}

/// A pipe that is not read takes 64 KiB. After that, writes to the pipe block.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn drops_and_counts_lines_that_do_not_fit_into_the_queue() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("audit.pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    // The pipe is also opened for reading, because otherwise opening it for writing would block.
    let mut pipe = fs::File::options()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
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
            lines += buffer[..count]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count();
            if buffer[..count].ends_with(b"end\n") {
                return lines - 1;
            }
        }
    });
    assert!(last.finish(Duration::from_secs(60)).await);
    fs::write(folder.path().join("audit.pipe"), "end\n").unwrap();
    let (written, dropped) = (
        line_count(&server.metrics, "written"),
        line_count(&server.metrics, "dropped"),
    );
    assert_eq!(
        (written + dropped, line_count(&server.metrics, "failed")),
        (reads, 0)
    );
    assert_eq!(reading.join().unwrap() as u64, written);
}

/// Whether the log can be written, and whether the server is ready, as metrics say.
async fn gauges(admin: &AdminClient) -> (f64, f64) {
    let samples = parse_samples(&admin.get("/metrics").await.1);
    (
        sample_value(&samples, "larder_audit_writable"),
        sample_value(&samples, "larder_ready"),
    )
}

/// A folder in the place of the file makes writes fail until it is removed.
#[tokio::test]
async fn is_not_ready_while_reads_wait_for_the_log() {
    for (on_full, status, message) in [
        ("wait", 503, "cannot write the audit log; reads wait: "),
        (
            "drop",
            200,
            "cannot write the audit log; its lines are lost: ",
        ),
    ] {
        let config = format!(
            "[admin]\nlisten = \"127.0.0.1:0\"\n[audit]\nfile = \"audit.log\"\non_full = \"{on_full}\"\n"
        );
        let work_dir = WorkDir::with_guests("echo").file("larder.toml", &config);
        let (admin, url) = AdminClient::open(&work_dir);
        assert_eq!(admin.get("/readyz").await.0, 200);
        fs::remove_file(work_dir.path("audit.log")).unwrap();
        fs::create_dir(work_dir.path("audit.log")).unwrap();
        let reading = work_dir.start(&format!("read echo://hello --url {url}"));
        eventually_within(SLOW_WAIT, "the failure is reported", async || {
            admin.get("/status").await.1.contains(message)
        })
        .await;
        assert_eq!(admin.get("/readyz").await.0, status, "{on_full}");
        let is_ready = f64::from(u8::from(status == 200));
        assert_eq!(gauges(&admin).await, (0.0, is_ready), "{on_full}");
        fs::remove_dir(work_dir.path("audit.log")).unwrap();
        reading.wait().expect_success();
        work_dir
            .larder(&format!("read echo://many --url {url}"))
            .expect_success();
        eventually_within(SLOW_WAIT, "the failure is resolved", async || {
            !admin.get("/status").await.1.contains(message)
        })
        .await;
        assert_eq!(admin.get("/readyz").await.0, 200, "{on_full}");
        assert_eq!(gauges(&admin).await, (1.0, 1.0), "{on_full}");
        let all = reads(&fs::read_to_string(work_dir.path("audit.log")).unwrap());
        // A dropped line may have been in the buffer that is written when the folder is removed.
        assert!(
            all.len() == 2 || on_full == "drop" && all.len() == 1,
            "{on_full}: {}",
            all.len()
        );
    }
}

#[tokio::test]
async fn with_on_full_wait_reads_fail_once_the_log_is_closed() {
    let folder = tempfile::TempDir::new().unwrap();
    for on_full in [OnFull::Wait, OnFull::Drop] {
        let (server, last) = audited(
            "echo",
            Target::File(folder.path().join("audit.log")),
            on_full,
        )
        .await;
        assert!(last.finish(Duration::from_secs(60)).await);
        let before = calls(&server);
        let answer = server
            .gateway
            .read(&anonymous_call(), &parse_uri("echo://hello"), None)
            .await;
        match on_full {
            OnFull::Wait => assert!(matches!(answer, Err(Error::AuditClosed(_))), "{answer:?}"),
            OnFull::Drop => assert!(answer.is_ok() && line_count(&server.metrics, "dropped") == 1),
        }
        assert_eq!(calls(&server) - before, u64::from(on_full == OnFull::Drop));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn refuses_a_pipe_without_a_reader() {
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", "[audit]\nfile = \"pipe\"\n");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(work_dir.path("pipe"))
            .status()
            .unwrap()
            .success()
    );
    let stderr = work_dir
        .larder("serve --listen 127.0.0.1:0 --config larder.toml")
        .expect_exit(1);
    assert!(
        stderr.contains("is a pipe without a reader: start the reader first"),
        "{stderr}"
    );
}

/// A limit of the file size has the effect of a full disk: a write stops in the middle of a line.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_leaves_whole_lines_only() {
    use std::process::Command;
    let config = "[admin]\nlisten = \"127.0.0.1:0\"\n[audit]\nfile = \"audit.log\"\nsync = true\n";
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", config);
    let (admin, url) = AdminClient::open_with(&work_dir, |command| {
        // Without this, the signal XFSZ would end the process.
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
            .arg(command.get_program());
        shell.args(command.get_args());
        shell
    });
    work_dir
        .larder(&format!("read echo://hello --url {url}"))
        .expect_success();
    let text = || fs::read_to_string(work_dir.path("audit.log")).unwrap();
    assert_eq!(reads(&text()).len(), 1);
    let process = admin.process.id();
    set_file_size_limit(process, Some(text().len() as u64 + 100));
    let reading = work_dir.start(&format!("read echo://many --url {url}"));
    eventually_within(SLOW_WAIT, "the failure is reported", async || {
        admin
            .get("/status")
            .await
            .1
            .contains("cannot write the audit log")
    })
    .await;
    assert_eq!(reads(&text()).len(), 1, "{}", text());
    set_file_size_limit(process, None);
    reading.wait().expect_success();
    assert_eq!(
        reads(&text())
            .iter()
            .map(|line| line["uri"].clone())
            .collect::<Vec<_>>(),
        ["echo://hello", "echo://many"]
    );
}

#[cfg(target_os = "linux")]
fn set_file_size_limit(process: u32, limit: Option<u64>) {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let process = Pid::from_raw(i32::try_from(process).unwrap());
    prlimit(
        process,
        Resource::Fsize,
        Rlimit {
            current: limit,
            maximum: None,
        },
    )
    .unwrap();
}
