//! One replica: a `larder serve` process that can be killed, stopped and started again with the same ports and state.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::eventually;
use super::nats::Link;
use crate::packaging::get;
use crate::run::{Output, command, larder};
use crate::server::RunningServer;

pub(super) struct Replica {
    pub(super) name: String,
    pub(super) port: u16,
    pub(super) admin_port: u16,
    pub(super) link: Link,
    config: PathBuf,
    work: PathBuf,
    server: Option<RunningServer>,
}

impl Replica {
    pub(super) fn new(name: &str, work: &Path, config: &Path, nats_port: u16) -> Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            port: super::free_port()?,
            admin_port: super::free_port()?,
            link: Link::start(nats_port)?,
            config: config.to_owned(),
            work: work.to_owned(),
            server: None,
        })
    }

    /// Starts the server and waits until it is ready.
    pub(super) fn start(&mut self) -> Result<()> {
        let mut serve = command(larder());
        serve.arg("serve").arg("--config").arg(&self.config);
        serve
            .arg("--listen")
            .arg(format!("127.0.0.1:{}", self.port));
        serve
            .arg("--admin")
            .arg(format!("127.0.0.1:{}", self.admin_port));
        serve.env("STATE", self.work.join(format!("state-{}", self.name)));
        serve
            .env("REPLICA", &self.name)
            .env("NATS_PORT", self.link.port().to_string());
        let log = self.log();
        fs::File::options().create(true).append(true).open(&log)?;
        self.server = Some(RunningServer::spawn(serve, &Output::Log(log))?);
        eventually("a replica is ready", || {
            get(&format!("{}/readyz", self.admin_url())).map(drop)
        })
    }

    pub(super) fn log(&self) -> PathBuf {
        self.work.join(format!("{}.log", self.name))
    }

    /// Kills the server with SIGKILL.
    pub(super) fn kill(&mut self) {
        self.server = None;
    }

    /// Stops the server with SIGTERM. The server must exit successfully.
    pub(super) fn stop(&mut self) -> Result<()> {
        self.server.take().map_or(Ok(()), RunningServer::stop)
    }

    /// Waits until the server reports that it is connected to NATS, or that it is not connected.
    pub(super) fn wait_until_connected(&self, connected: bool) -> Result<()> {
        let what = format!(
            "{} is {}connected to NATS",
            self.name,
            if connected { "" } else { "not " }
        );
        eventually(&what, || {
            let status = self.status()?;
            ensure!(status["connected"] == connected, "its status: {status}");
            let value = self.metric("larder_cluster_connected")?;
            ensure!(
                value == f64::from(u8::from(connected)),
                "its metric: {value}"
            );
            let ready = get(&format!("{}/readyz", self.admin_url())).context("it is not ready")?;
            ensure!(ready.contains("NATS") != connected, "/readyz says: {ready}");
            Ok(())
        })
    }

    /// Waits until the replica has this number of replicas in its list, including itself.
    pub(super) fn wait_for_replicas(&self, count: usize) -> Result<()> {
        eventually(&format!("{} knows {count} replicas", self.name), || {
            let known = self.metric("larder_cluster_replicas")?;
            ensure!(
                known as usize == count,
                "it knows {known}: {}",
                self.status()?
            );
            Ok(())
        })
    }

    fn status(&self) -> Result<Value> {
        let status: Value = serde_json::from_str(&get(&format!("{}/status", self.admin_url()))?)?;
        Ok(status["cluster"].clone())
    }

    /// The sum of the values of a metric.
    pub(super) fn metric(&self, name: &str) -> Result<f64> {
        let text = get(&format!("{}/metrics", self.admin_url()))?;
        let values = text
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.rsplit_once(' '));
        let values: Vec<f64> = values
            .map(|(_, value)| value.parse())
            .collect::<Result<_, _>>()?;
        ensure!(!values.is_empty(), "there is no metric {name}");
        Ok(values.iter().sum())
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    fn admin_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.admin_port)
    }
}
