//! The example for HAProxy, in front of the replicas.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::replica::Replica;
use crate::run::{command, root};

/// The example has TLS, and addresses of other machines.
const TLS: &str = "bind :443 ssl crt /etc/ssl/docs.example.com.pem";

pub(super) struct Proxy {
    child: Child,
    pub(super) url: String,
}

impl Proxy {
    pub(super) fn start(work: &Path, replicas: &[Replica]) -> Result<Self> {
        let port = super::free_port()?;
        let example = fs::read_to_string(root().join("deploy/proxy/haproxy.cfg"))?;
        ensure!(example.contains(TLS), "the example has no line `{TLS}`");
        let mut config = example.replace(TLS, &format!("bind 127.0.0.1:{port}"));
        for (number, replica) in (1..).zip(replicas) {
            let address = format!("10.0.0.{number}:7878 port 7879");
            ensure!(
                config.contains(&address),
                "the example has no server {address}"
            );
            config = config.replace(
                &address,
                &format!("127.0.0.1:{} port {}", replica.port, replica.admin_port),
            );
        }
        let file = work.join("haproxy.cfg");
        fs::write(&file, config)?;
        let log = fs::File::create(work.join("haproxy.log"))?;
        let mut haproxy = command("haproxy");
        // In the foreground.
        haproxy
            .arg("-db")
            .arg("-f")
            .arg(&file)
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = haproxy.stdin(Stdio::null()).spawn().context("haproxy")?;
        let proxy = Self {
            child,
            url: format!("http://127.0.0.1:{port}/mcp"),
        };
        super::eventually("HAProxy passes requests on", || {
            let mut client = crate::mcp_client::Client::connect(&proxy.url)?;
            // Without a token, a server refuses the request. Without a server, HAProxy refuses it.
            let response = client.legacy(None, "ping", serde_json::json!({}))?;
            ensure!(response.status == 401, "status {}", response.status);
            Ok(())
        })?;
        Ok(proxy)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Both calls fail only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
