//! The examples for proxies send the requests of a legacy session to the replica that the id of the session names. If that
//! replica is gone, another one answers that there is no such session, and the client initialises again. When the replica
//! is back, it has its sessions.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::proxy::Proxy;
use super::{Deployment, eventually};
use crate::mcp_client::Client;
use crate::run::Output;

/// More sessions than a proxy needs so that each replica has one.
const MAX_SESSIONS: usize = 60;
/// How often each session is used.
const REQUESTS: usize = 20;

/// Checks both proxies. Returns a line for each of them.
pub(super) fn check_all(
    output: &Output,
    work: &Path,
    deployment: &mut Deployment,
) -> Result<Vec<String>> {
    let nginx = Proxy::nginx(work, &deployment.replicas)?;
    let urls = [
        ("HAProxy", deployment.proxy.url.clone()),
        ("nginx", nginx.url.clone()),
    ];
    let mut lines = Vec::new();
    for (name, url) in urls {
        let result = check(deployment, &url).with_context(|| format!("sessions behind {name}"))?;
        let line = format!("    sessions behind {name}: {result}");
        output.write_line(&line)?;
        lines.push(line);
    }
    Ok(lines)
}

fn check(deployment: &mut Deployment, url: &str) -> Result<String> {
    let token = deployment.token.clone();
    let sessions = sessions_at_all(deployment, url)?;
    for (name, id) in &sessions {
        for _ in 0..REQUESTS {
            let status = ping(url, &token, id)?;
            ensure!(status == 200, "a request of the session {name}: {status}");
        }
    }
    check_other_replicas(deployment, &sessions)?;
    let (name, gone) = sessions.first_key_value().context("no session")?;
    let killed = deployment.replicas.iter().position(|one| one.name == *name);
    let killed = killed.with_context(|| format!("no replica {name}"))?;
    deployment.replicas[killed].kill();
    eventually("the session of a killed replica is unknown", || {
        let status = ping(url, &token, gone)?;
        ensure!(status == 404, "status {status}");
        Ok(())
    })?;
    let again = open(url, &token)?;
    ensure!(!again.starts_with(&format!("{name}.")), "{again}");
    for id in sessions.values().skip(1).chain([&again]) {
        let status = ping(url, &token, id)?;
        ensure!(status == 200, "a session of another replica: {status}");
    }
    deployment.replicas[killed].start()?;
    deployment.wait_until_complete()?;
    eventually("the session continues at its restarted replica", || {
        let status = ping(url, &token, gone)?;
        ensure!(status == 200, "status {status}");
        Ok(())
    })?;
    Ok(format!(
        "{} requests at their replicas, initialised again after kill -9, continued after the restart",
        sessions.len() * REQUESTS
    ))
}

/// Opens sessions until each replica has one. Returns one for each name.
fn sessions_at_all(deployment: &Deployment, url: &str) -> Result<BTreeMap<String, String>> {
    let mut sessions = BTreeMap::new();
    for _ in 0..MAX_SESSIONS {
        let id = open(url, &deployment.token)?;
        let (name, _) = id
            .split_once('.')
            .with_context(|| format!("no name: {id}"))?;
        sessions.insert(name.to_owned(), id);
        if sessions.len() == deployment.replicas.len() {
            break;
        }
    }
    let names: Vec<_> = deployment.replicas.iter().map(|one| &one.name).collect();
    ensure!(
        sessions.keys().eq(names),
        "the proxy opens sessions only at {:?}",
        sessions.keys()
    );
    Ok(sessions)
}

/// Each replica knows only its own session.
fn check_other_replicas(
    deployment: &Deployment,
    sessions: &BTreeMap<String, String>,
) -> Result<()> {
    for replica in &deployment.replicas {
        for (name, id) in sessions {
            let expected = if *name == replica.name { 200 } else { 404 };
            let status = ping(&replica.url(), &deployment.token, id)?;
            ensure!(
                status == expected,
                "the session of {name} at {}: {status}",
                replica.name
            );
        }
    }
    Ok(())
}

fn open(url: &str, token: &str) -> Result<String> {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    });
    let mut client = Client::connect(url)?.with_token(token);
    let response = client.legacy(None, "initialize", params)?;
    response
        .session
        .with_context(|| format!("no session: {} {}", response.status, response.body))
}

/// Sends a request of a session on a connection of its own. Returns the status.
fn ping(url: &str, token: &str, session: &str) -> Result<u16> {
    let mut client = Client::connect(url)?.with_token(token);
    Ok(client.legacy(Some(session), "ping", json!({}))?.status)
}
