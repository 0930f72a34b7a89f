//! Several replicas of one server: three `larder serve` processes, Debian's `nats-server`, HAProxy and nginx. Clients of
//! both eras read without pause and listen for updates, while replicas and NATS are killed, disconnected and restarted.
//! Only requests that a killed replica was answering may fail, and each listener must end with the current content. Legacy
//! clients stay at the replica that has their session, and initialise again when it is gone.

mod listener;
mod nats;
mod origin;
mod proxy;
mod replica;
mod requests;
mod routing;
mod scenarios;
mod session;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use self::listener::{Listener, Surroundings};
use self::nats::{Nats, PASSWORD};
use self::origin::Origin;
use self::proxy::Proxy;
use self::replica::Replica;
use self::requests::Requests;
use self::session::Continuations;
use crate::clients::{add_token, copy_providers};
use crate::run::{Output, command, larder, root, target};
use crate::step::Outcome;
use crate::tools;

/// The programs, and their packages in Debian.
const PROGRAMS: [(&str, &str); 3] = [
    ("nats-server", "nats-server"),
    ("haproxy", "haproxy"),
    ("nginx", "nginx-light"),
];
/// Longer than any step takes on a loaded machine.
const TIMEOUT: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(50);
/// How long a replica without messages counts as alive.
const LEASE: Duration = Duration::from_secs(3);
/// The number of clients that read without pause, and of listeners of each kind.
const READERS: usize = 2;
const WATCHERS: usize = 4;
const SESSIONS: usize = 3;
/// The secrets that seal the data that replicas share. Each replica also has its own secret in the file.
const KEYS: [&str; 2] = ["key-a", "key-b"];

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    for (program, package) in PROGRAMS {
        if let Outcome::Skipped(reason) = tools::debian_package(output, program, package)? {
            return Ok(Outcome::Skipped(reason));
        }
    }
    let work = target("xtask/replicas");
    if work.exists() {
        fs::remove_dir_all(&work)?;
    }
    fs::create_dir_all(&work)?;
    let report =
        run(output, &work).with_context(|| format!("the logs are in {}", work.display()))?;
    Ok(Outcome::PassedWithNote(report))
}

fn run(output: &Output, work: &Path) -> Result<String> {
    let mut deployment = Deployment::start(work)?;
    let mut lines = routing::check_all(output, work, &mut deployment)?;
    let clients = Clients::start(output, &deployment)?;
    lines.extend(scenarios::run_all(output, &mut deployment, &clients)?);
    Ok(format!("{}\n{}", lines.join("\n"), clients.finish()?))
}

/// The replicas with the servers that they need, and the proxy in front of them. They are stopped in this order.
struct Deployment {
    proxy: Proxy,
    replicas: Vec<Replica>,
    nats: Nats,
    origin: Arc<Origin>,
    config: PathBuf,
    token: String,
}

impl Deployment {
    fn start(work: &Path) -> Result<Self> {
        let origin = Arc::new(Origin::start()?);
        let nats = Nats::start(&work.join("nats"))?;
        let config = work.join("larder.toml");
        copy_providers(&work.join("plugins"), &["http"])?;
        fs::rename(
            work.join("plugins/http.wasm"),
            work.join("plugins/pages.wasm"),
        )?;
        for (name, digit) in KEYS.into_iter().zip(["3", "7"]) {
            fs::write(work.join(name), digit.repeat(64))?;
        }
        fs::write(&config, configuration(&origin.url(), &KEYS))?;
        let token = add_token(&[&config])?;
        let new = |name| Replica::new(name, work, &config, nats.port());
        let mut replicas = ["a", "b", "c"]
            .map(new)
            .into_iter()
            .collect::<Result<Vec<_>>>()?;
        replicas.iter_mut().try_for_each(Replica::start)?;
        let proxy = Proxy::haproxy(work, &replicas)?;
        let deployment = Self {
            proxy,
            replicas,
            nats,
            origin,
            config,
            token,
        };
        deployment.wait_until_complete()?;
        Ok(deployment)
    }

    /// Waits until each replica has all other replicas in its list.
    fn wait_until_complete(&self) -> Result<()> {
        for replica in &self.replicas {
            replica.wait_until_connected(true)?;
            replica.wait_for_replicas(self.replicas.len())?;
        }
        Ok(())
    }

    /// Changes the order of the keys in the configuration, which replicas read when they start.
    fn set_keys(&self, keys: &[&str]) -> Result<()> {
        let text = fs::read_to_string(&self.config)?;
        let line = |line: &str| {
            if line.starts_with("key = ") {
                format!("key = {keys:?}\n")
            } else {
                format!("{line}\n")
            }
        };
        Ok(fs::write(
            &self.config,
            text.lines().map(line).collect::<String>(),
        )?)
    }
}

fn configuration(origin: &str, keys: &[&str]) -> String {
    let secrets: String = keys
        .iter()
        .map(|key| format!("[secret.{key}]\nfile = \"{key}\"\n"))
        .collect();
    format!(
        "plugins = \"plugins\"\nstate_dir = \"${{STATE}}\"\n[server]\nkeep_alive = \"2s\"\nshutdown_grace = \"5s\"\n\
         [watch]\nversion_interval = \"500ms\"\n\
         [cluster]\nreplica = \"${{REPLICA}}\"\nnats = \"nats://larder:{PASSWORD}@127.0.0.1:${{NATS_PORT}}\"\nlease = \"{}s\"\nkey = {keys:?}\n{secrets}\
         [provider.pages]\nhosts = [{{ host = \"{origin}\", private = true }}]\n\
         [provider.pages.settings]\nbase_url = \"{origin}\"\nheaders = {{ X-Replica = \"${{REPLICA}}\" }}\n\
         [[provider.pages.settings.resources]]\nuri = \"page://all/{{name}}\"\npath = \"{{name}}\"\n",
        LEASE.as_secs()
    )
}

/// All clients. They use the replicas through the proxy.
struct Clients {
    requests: Arc<Requests>,
    listeners: Vec<Listener>,
    readers: Vec<JoinHandle<()>>,
    /// How often the streams of sessions were opened again, or their sessions.
    continued: Arc<Continuations>,
}

impl Clients {
    fn start(output: &Output, deployment: &Deployment) -> Result<Self> {
        let (url, token) = (&deployment.proxy.url, &deployment.token);
        let requests = Arc::new(Requests::new(url, token));
        let surroundings = Surroundings {
            requests: requests.clone(),
            origin: deployment.origin.clone(),
        };
        let mut clients = Self {
            requests,
            listeners: Vec::new(),
            readers: Vec::new(),
            continued: Arc::default(),
        };
        for number in 0..WATCHERS {
            for protocol in ["2026-07-28", "2025-11-25"] {
                let mut watch = command(larder());
                watch
                    .args(["watch", "--json", "--url", url, "--protocol", protocol])
                    .env("LARDER_TOKEN", token);
                let name = format!("watch-{protocol}-{number}");
                clients
                    .listeners
                    .push(Listener::program(&name, watch, &surroundings)?);
            }
        }
        for number in 0..SESSIONS {
            let name = format!("session-{number}");
            clients.listeners.push(session::listen(
                &name,
                url,
                token,
                &surroundings,
                &clients.continued,
            ));
        }
        let mut python = command(target("clients/venv/bin/python"));
        python
            .arg("-B")
            .arg(root().join("host/tests/clients/python/replicas.py"))
            .arg(url);
        python.env("LARDER_TOKEN", token);
        clients
            .listeners
            .push(Listener::program("python", python, &surroundings)?);
        clients.wait_until_listening()?;
        for reader in 0..READERS {
            let (requests, origin) = (clients.requests.clone(), deployment.origin.clone());
            clients
                .readers
                .push(thread::spawn(move || requests.repeat(&origin, reader)));
        }
        output.write_line(&format!(
            "{} listeners, {READERS} readers",
            clients.listeners.len()
        ))?;
        Ok(clients)
    }

    fn wait_until_listening(&self) -> Result<()> {
        for listener in &self.listeners {
            eventually(&format!("{} listens", listener.name), || {
                ensure!(
                    listener.known().began > 0,
                    "it failed: {:?}",
                    listener.known().failed
                );
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Stops all clients. Returns a summary of their requests. Fails if a request failed that must not fail.
    fn finish(mut self) -> Result<String> {
        self.requests.stop();
        self.listeners.clear();
        for reader in self.readers.drain(..) {
            ensure!(reader.join().is_ok(), "a reader panicked");
        }
        let (answered, failed) = self.requests.check()?;
        let (stale, longest) = self.requests.stale();
        let resumed = self.continued.streams.load(Ordering::Relaxed);
        let opened = self.continued.sessions.load(Ordering::Relaxed);
        Ok(format!(
            "    {answered} requests answered, {failed} failed on a killed replica; {resumed} streams of sessions resumed, \
             {opened} sessions opened again; {stale} reads after a notification were older, at most for {longest:?}"
        ))
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        // Without this, the threads of a failed test would continue.
        self.requests.stop();
    }
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Repeats a check until it succeeds.
fn eventually(what: &str, mut check: impl FnMut() -> Result<()>) -> Result<()> {
    let start = Instant::now();
    loop {
        match check() {
            Ok(()) => return Ok(()),
            Err(error) if start.elapsed() > TIMEOUT => {
                return Err(error.context(format!("not within {TIMEOUT:?}: {what}")));
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}
