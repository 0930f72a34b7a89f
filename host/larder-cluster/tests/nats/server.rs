//! A real NATS server.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than anything takes on a loaded machine.
pub(crate) const WAIT: Duration = Duration::from_secs(120);
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// Waits until `condition` holds.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + WAIT;
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting for: {what}");
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

/// A server with its folder, which ends with the test.
pub(crate) struct NatsServer {
    process: Option<Child>,
    program: PathBuf,
    folder: tempfile::TempDir,
    pub(crate) port: u16,
}

impl NatsServer {
    /// Starts a server with JetStream. `None` if the program is not installed, which the test reports.
    pub(crate) fn start() -> Option<Self> {
        Self::with_lines("jetstream {}")
    }

    /// Starts a server with these lines in its configuration.
    pub(crate) fn with_lines(lines: &str) -> Option<Self> {
        let mut server = Self::prepare(lines)?;
        server.run();
        Some(server)
    }

    /// Prepares a server without starting it.
    pub(crate) fn prepare(lines: &str) -> Option<Self> {
        let Some(program) = program() else {
            assert!(
                !is_ci(),
                "nats-server is not installed (with CI=true, no test is skipped)"
            );
            println!(
                "skipped: nats-server is not installed; get the package nats-server of your system"
            );
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let lines = lines.replace(
            "jetstream {}",
            &format!("jetstream {{ store_dir: {store:?} }}"),
        );
        std::fs::write(folder.path().join("nats.conf"), lines).unwrap();
        // The port must be known before the server starts, and stay the same when it is started again.
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        Some(Self {
            process: None,
            program,
            folder,
            port,
        })
    }

    /// Starts it, and waits until it accepts connections.
    pub(crate) fn run(&mut self) {
        let deadline = Instant::now() + WAIT;
        loop {
            let process = self.command().spawn().unwrap();
            self.process = Some(process);
            if self.accepts_before(deadline) {
                return;
            }
            // Another program may have taken the port.
            assert!(
                Instant::now() < deadline,
                "nats-server does not start: {}",
                self.log()
            );
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        let log = self.folder.path().join("nats.log");
        command.args([
            "--addr",
            "127.0.0.1",
            "--port",
            &self.port.to_string(),
            "--config",
        ]);
        command
            .arg(self.folder.path().join("nats.conf"))
            .arg("--log")
            .arg(log);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn accepts_before(&mut self, deadline: Instant) -> bool {
        let process = self.process.as_mut().unwrap();
        while process.try_wait().unwrap().is_none() {
            if std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return true;
            }
            assert!(Instant::now() < deadline, "nats-server does not listen");
            std::thread::sleep(CHECK_INTERVAL);
        }
        false
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("nats.log")).unwrap_or_default()
    }

    /// Ends it without a warning.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the lint is for the server's configuration"
)]
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders
        .map(|folder| folder.join("nats-server"))
        .find(|program| program.is_file())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the lint is for the server's configuration"
)]
fn is_ci() -> bool {
    std::env::var_os("CI").is_some_and(|ci| ci == "true" || ci == "1")
}
