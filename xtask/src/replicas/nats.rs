//! Debian's `nats-server` with JetStream, and the connections to this server, which a test can disconnect.

use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::eventually;
use crate::run::{command, root};

/// The password of the user that deploy/nats/larder.conf defines.
pub(super) const PASSWORD: &str = "replicas-test";

/// How long a read of a connection waits before it checks whether the connection is disconnected.
const LOOK: Duration = Duration::from_millis(50);

pub(super) struct Nats {
    child: Option<Child>,
    port: u16,
    folder: PathBuf,
}

impl Nats {
    pub(super) fn start(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        fs::copy(
            root().join("deploy/nats/larder.conf"),
            folder.join("user.conf"),
        )?;
        let jetstream = format!("jetstream {{ store_dir: {:?} }}", folder.join("data"));
        fs::write(
            folder.join("nats.conf"),
            format!("{jetstream}\ninclude user.conf\n"),
        )?;
        let mut nats = Self {
            child: None,
            port: super::free_port()?,
            folder: folder.to_owned(),
        };
        nats.restart()?;
        Ok(nats)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Starts the server with its stored data.
    pub(super) fn restart(&mut self) -> Result<()> {
        let log = fs::File::options()
            .create(true)
            .append(true)
            .open(self.folder.join("log"))?;
        let mut serve = command("nats-server");
        serve.args([
            "--addr",
            "127.0.0.1",
            "--port",
            &self.port.to_string(),
            "--config",
        ]);
        serve
            .arg(self.folder.join("nats.conf"))
            .env("NATS_PASSWORD", PASSWORD)
            .stdout(Stdio::null())
            .stderr(log);
        self.child = Some(serve.spawn().context("nats-server")?);
        eventually("nats-server accepts connections", || {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
            let mut line = String::new();
            BufReader::new(stream).read_line(&mut line)?;
            ensure!(line.starts_with("INFO "), "it sends {line:?}");
            Ok(())
        })
    }

    /// Kills the server.
    pub(super) fn kill(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        // This fails only if the server has already ended.
        let _ = self.kill();
    }
}

/// The address to which one replica connects instead of the server. The link passes on all bytes. If a test disconnects
/// it, connections stay open, but no bytes arrive any more.
pub(super) struct Link {
    port: u16,
    state: Arc<LinkState>,
}

#[derive(Default)]
struct LinkState {
    cut: AtomicBool,
    stop: AtomicBool,
}

impl Link {
    pub(super) fn start(nats: u16) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let link = Self {
            port: listener.local_addr()?.port(),
            state: Arc::default(),
        };
        let state = link.state.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if state.stop.load(Ordering::Relaxed) {
                    return;
                }
                let state = state.clone();
                // An error means that one of the two ends was closed.
                thread::spawn(move || state.forward(client, nats));
            }
        });
        Ok(link)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn set_cut(&self, cut: bool) {
        self.state.cut.store(cut, Ordering::Relaxed);
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
        // The connection wakes the thread, which otherwise would be blocked until the end of the process.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

impl LinkState {
    fn forward(self: Arc<Self>, client: TcpStream, nats: u16) -> Result<()> {
        self.wait();
        let server = TcpStream::connect((Ipv4Addr::LOCALHOST, nats))?;
        let (from, to) = (server.try_clone()?, client.try_clone()?);
        let state = self.clone();
        thread::spawn(move || state.copy(from, to));
        self.copy(client, server)
    }

    /// Waits while the connection is cut.
    fn wait(&self) {
        while self.cut.load(Ordering::Relaxed) && !self.stop.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
    }

    fn copy(&self, mut from: TcpStream, mut to: TcpStream) -> Result<()> {
        from.set_read_timeout(Some(LOOK))?;
        to.set_nodelay(true)?;
        let mut buffer = vec![0; 64 << 10];
        while !self.stop.load(Ordering::Relaxed) {
            self.wait();
            match from.read(&mut buffer) {
                Ok(0) => break,
                Ok(length) => to.write_all(&buffer[..length])?,
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => break,
            }
        }
        // Both calls fail only if the connection has already ended.
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
        Ok(())
    }
}
