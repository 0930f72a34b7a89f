//! The units for systemd: systemd accepts them, and the server uses the inherited sockets and notifies when it is
//! ready.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::{configure, deploy, get, larder_command, work_folder};
use crate::run::{Output, command, larder};
use crate::step::Outcome;
use crate::tools;

/// The maximum exposure that `systemd-analyze security` may find, times ten.
const MAX_EXPOSURE: &str = "--threshold=20";
/// The programs of this test, and their packages on Debian.
const PROGRAMS: [(&str, &str); 3] = [
    ("systemd-analyze", "systemd"),
    ("systemd-socket-activate", "systemd"),
    ("logrotate", "logrotate"),
];
/// Includes the time to compile a component on a loaded machine.
const READY_TIMEOUT: Duration = Duration::from_secs(120);
const ATTEMPTS: usize = 600;
const INTERVAL: Duration = Duration::from_millis(100);

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    for (program, package) in PROGRAMS {
        if let Outcome::Skipped(reason) = tools::debian_package(output, program, package)? {
            return tools::missing(&reason);
        }
    }
    let work = work_folder("systemd")?;
    verify(output, &work)?;
    check_rotation(output, &work)?;
    let config = configure(&work, "")?;
    activate(output, &work, &config)?;
    refuse(&work, &config)?;
    Ok(Outcome::Passed)
}

/// Checks copies of the units with the program of this build.
fn verify(output: &Output, work: &Path) -> Result<()> {
    let mut units = Vec::new();
    for name in ["larder.service", "larder.socket"] {
        let unit = fs::read_to_string(deploy("systemd").join(name))?;
        let copy = work.join(name);
        fs::write(
            &copy,
            unit.replace("/usr/local/bin/larder", &larder().display().to_string()),
        )?;
        units.push(copy);
    }
    output.run(
        command("systemd-analyze")
            .args(["verify", "--man=no"])
            .args(&units),
    )?;
    output.run(
        command("systemd-analyze")
            .args(["security", "--offline=yes", MAX_EXPOSURE])
            .arg(&units[0]),
    )
}

/// Rotates a file as the configuration of logrotate says, without the signal and the user, which only the unit has.
fn check_rotation(output: &Output, work: &Path) -> Result<()> {
    let text = fs::read_to_string(deploy("systemd").join("larder.logrotate"))?;
    let log = work.join("audit.log");
    fs::write(&log, "line\n")?;
    let text = text
        .replace("/var/log/larder/audit.log", &log.display().to_string())
        .replace("    su larder larder\n", "")
        .replace("systemctl kill --kill-who=main", "true");
    let copy = work.join("larder.logrotate");
    fs::write(&copy, text)?;
    let state = work.join("logrotate.state");
    let rotate = |options: &[&str]| {
        output.run(
            command("logrotate")
                .args(options)
                .arg("--state")
                .arg(&state)
                .arg(&copy),
        )
    };
    rotate(&["--force"])?;
    ensure!(!log.exists(), "logrotate did not move {}", log.display());
    let names = fs::read_dir(work)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let rotated = names.filter(|name| name.starts_with("audit.log-")).count();
    ensure!(
        rotated == 1,
        "{rotated} files instead of one after the rotation"
    );
    Ok(())
}

/// A process that is killed when it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // Both calls fail only if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the server with the first connection, on sockets of another process.
fn activate(output: &Output, work: &Path, config: &Path) -> Result<()> {
    let (endpoint, admin) = (free_port()?, free_port()?);
    let socket = work.join("notify");
    let notifications = UnixDatagram::bind(&socket)?;
    notifications.set_read_timeout(Some(READY_TIMEOUT))?;
    let mut command = command("systemd-socket-activate");
    for port in [endpoint, admin] {
        command.arg("--listen").arg(format!("127.0.0.1:{port}"));
    }
    command
        .arg("--setenv")
        .arg(format!("NOTIFY_SOCKET={}", socket.display()));
    command
        .arg("--setenv")
        .arg("WATCHDOG_USEC=200000")
        .arg(larder())
        .arg("serve");
    // The sockets replace the addresses in the file.
    command
        .arg("--config")
        .arg(config)
        .stdout(Stdio::null())
        .stderr(fs::File::create(work.join("log"))?);
    let server = Server(command.spawn().context("systemd-socket-activate")?);
    // The connection waits in the socket until the server is ready.
    let admin_url = format!("http://127.0.0.1:{admin}");
    let result = eventually(|| get(&format!("{admin_url}/livez"))).and_then(|_| {
        await_states(&notifications, &["READY=1", "STATUS=serves", "WATCHDOG=1"])?;
        output.run(&mut larder_command(&["health", "--admin", &admin_url]))?;
        output.run(&mut larder_command(&[
            "health", "--live", "--admin", &admin_url,
        ]))?;
        let url = format!("http://127.0.0.1:{endpoint}/mcp");
        output.run(&mut larder_command(&[
            "read",
            "test://static-text",
            "--url",
            &url,
        ]))?;
        output.run(&mut larder_command(&["reload", "--admin", &admin_url]))?;
        stop(&server)?;
        await_states(&notifications, &["STOPPING=1"])
    });
    let log = fs::read_to_string(work.join("log")).unwrap_or_default();
    output.write_line(&log)?;
    result.with_context(|| format!("the log of the server:\n{log}"))
}

/// The rules for addresses apply to sockets too: without credentials, other machines must not reach the server.
fn refuse(work: &Path, config: &Path) -> Result<()> {
    let port = free_port()?;
    let log = work.join("refused.log");
    let mut command = command("systemd-socket-activate");
    command
        .arg("--listen")
        .arg(format!("0.0.0.0:{port}"))
        .arg(larder())
        .arg("serve");
    command
        .arg("--config")
        .arg(config)
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log)?);
    let mut server = Server(command.spawn().context("systemd-socket-activate")?);
    eventually(|| {
        // The program starts with the first connection.
        drop(TcpStream::connect(("127.0.0.1", port)));
        let status = server.0.try_wait()?.context("the server still runs")?;
        ensure!(!status.success(), "the server ended with {status}");
        Ok(())
    })?;
    let log = fs::read_to_string(log)?;
    ensure!(
        log.contains("is reachable from outside this machine"),
        "{log}"
    );
    Ok(())
}

/// Receives messages until each of these texts was in a message.
fn await_states(notifications: &UnixDatagram, expected: &[&str]) -> Result<()> {
    let (mut missing, mut buffer) = (expected.to_vec(), [0; 4096]);
    while !missing.is_empty() {
        let length = notifications
            .recv(&mut buffer)
            .with_context(|| format!("no message with {missing:?}"))?;
        let message = String::from_utf8_lossy(&buffer[..length]).into_owned();
        missing.retain(|text| !message.contains(text));
    }
    Ok(())
}

fn stop(server: &Server) -> Result<()> {
    let stopped = command("kill")
        .args(["-TERM", &server.0.id().to_string()])
        .status()?;
    ensure!(stopped.success(), "the server had already ended");
    Ok(())
}

/// A port that was free a moment ago: the other process opens the socket itself.
pub(super) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

pub(super) fn eventually<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 0..ATTEMPTS {
        if let Ok(value) = attempt() {
            return Ok(value);
        }
        std::thread::sleep(INTERVAL);
    }
    match attempt() {
        Ok(value) => Ok(value),
        Err(error) => bail!("gave up: {error:#}"),
    }
}
