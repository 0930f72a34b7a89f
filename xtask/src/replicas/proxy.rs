//! The examples for HAProxy and nginx, in front of the replicas.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::replica::Replica;
use crate::packaging::proxy::start_nginx;
use crate::run::{command, root};

/// The lines of the examples for TLS.
const HAPROXY_TLS: &str = "bind :443 ssl crt /etc/ssl/docs.example.com.pem";
const NGINX_TLS: [&str; 3] = [
    "listen 443 ssl;",
    "ssl_certificate /etc/ssl/docs.example.com.pem;",
    "ssl_certificate_key /etc/ssl/docs.example.com.key;",
];

pub(super) struct Proxy {
    child: Child,
    pub(super) url: String,
}

impl Proxy {
    pub(super) fn haproxy(work: &Path, replicas: &[Replica]) -> Result<Self> {
        let port = super::free_port()?;
        let mut config = fs::read_to_string(root().join("deploy/proxy/haproxy.cfg"))?;
        replace(&mut config, HAPROXY_TLS, &format!("bind 127.0.0.1:{port}"))?;
        for (number, replica) in (1..).zip(replicas) {
            let address = format!("127.0.0.1:{} port {}", replica.port, replica.admin_port);
            replace(
                &mut config,
                &format!("10.0.0.{number}:7878 port 7879"),
                &address,
            )?;
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
        Self::wait_for(child, port)
    }

    pub(super) fn nginx(work: &Path, replicas: &[Replica]) -> Result<Self> {
        let port = super::free_port()?;
        let work = work.join("nginx");
        fs::create_dir_all(&work)?;
        let mut config = fs::read_to_string(root().join("deploy/proxy/nginx-replicas.conf"))?;
        let [listen, certificate, key] = NGINX_TLS;
        replace(&mut config, listen, &format!("listen 127.0.0.1:{port};"))?;
        replace(&mut config, certificate, "")?;
        replace(&mut config, key, "")?;
        for (number, replica) in (1..).zip(replicas) {
            let address = format!("127.0.0.1:{}", replica.port);
            replace(&mut config, &format!("10.0.0.{number}:7878"), &address)?;
        }
        Self::wait_for(start_nginx(&work, &config)?, port)
    }

    /// Waits until the proxy passes requests on.
    fn wait_for(child: Child, port: u16) -> Result<Self> {
        let proxy = Self {
            child,
            url: format!("http://127.0.0.1:{port}/mcp"),
        };
        super::eventually("the proxy passes requests on", || {
            let mut client = crate::mcp_client::Client::connect(&proxy.url)?;
            // Without a token, a server refuses the request. Without a server, the proxy refuses it.
            let response = client.legacy(None, "ping", serde_json::json!({}))?;
            ensure!(response.status == 401, "status {}", response.status);
            Ok(())
        })?;
        Ok(proxy)
    }
}

fn replace(config: &mut String, old: &str, new: &str) -> Result<()> {
    ensure!(config.contains(old), "the example has no `{old}`");
    *config = config.replace(old, new);
    Ok(())
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Both calls fail only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
