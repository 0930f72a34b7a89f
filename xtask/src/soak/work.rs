//! The work of the soak test. Each function is one batch, which its own thread repeats.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::{Count, Soak};
use crate::mcp_client::Client;

/// Iterations of a batch. A batch uses one connection.
const BATCH: usize = 200;
/// How long a subscription stays open at most.
const LISTEN_DURATION: Duration = Duration::from_secs(2);
/// A subscription ends earlier if no notification arrives for this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);
/// The maximum time until a replaced component is served, on a busy machine.
const SWAP_TIMEOUT: Duration = Duration::from_secs(60);
/// The text in the component that is replaced with the revision number.
const PLACEHOLDER: &str = "revision-00000000";

/// A component that can be produced with any revision number.
pub(crate) struct Revisions {
    bytes: Vec<u8>,
    at: usize,
}

impl Revisions {
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).with_context(|| path.display().to_string())?;
        let at = bytes
            .windows(PLACEHOLDER.len())
            .position(|window| window == PLACEHOLDER.as_bytes());
        Ok(Self {
            at: at.context("the guest `revision` does not contain the placeholder")?,
            bytes,
        })
    }

    pub(crate) fn component(&self, revision: u32) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[self.at..self.at + PLACEHOLDER.len()]
            .copy_from_slice(format!("revision-{revision:08}").as_bytes());
        bytes
    }
}

/// Replaces the component repeatedly and waits until each revision is served.
pub(crate) fn swap(soak: &Soak, revisions: &Revisions) -> Result<()> {
    let mut client = Client::connect(&soak.url)?;
    for revision in 2.. {
        let new = soak.plugins.join("revision.new");
        fs::write(&new, revisions.component(revision))?;
        fs::rename(&new, soak.plugins.join("revision.wasm"))?;
        let start = Instant::now();
        while read_revision(&mut client, "revision://now")? != u64::from(revision) {
            if soak.is_stopped() {
                return Ok(());
            }
            ensure!(
                start.elapsed() < SWAP_TIMEOUT,
                "revision {revision} was not served within {SWAP_TIMEOUT:?}"
            );
            thread::sleep(Duration::from_millis(10));
        }
        soak.count(Count::Swaps);
    }
    Ok(())
}

/// Reads. No response may mix revisions, and none may be older than the previous response.
pub(crate) fn read(soak: &Soak) -> Result<()> {
    let mut client = Client::connect(&soak.url)?;
    let mut last = 0;
    for _ in 0..BATCH {
        if soak.is_stopped() {
            break;
        }
        let revision = read_revision(&mut client, "revision://many")?;
        ensure!(revision >= last, "revision {revision} after {last}");
        last = revision;
        client.request(
            "resources/read",
            json!({ "uri": "file:///docs/touched.txt" }),
        )?;
        soak.count(Count::Reads);
        soak.count(Count::Reads);
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Reads a URI and returns the revision, which must be the same in all contents.
fn read_revision(client: &mut Client, uri: &str) -> Result<u64> {
    let result = client.request("resources/read", json!({ "uri": uri }))?;
    let contents = result["contents"].as_array().context("no contents")?;
    let mut revisions = contents
        .iter()
        .map(|content| parse_revision(&content["text"]));
    let first = revisions
        .next()
        .flatten()
        .with_context(|| format!("no revision: {result}"))?;
    ensure!(
        revisions.all(|other| other == Some(first)),
        "several revisions: {result}"
    );
    Ok(first)
}

fn parse_revision(text: &Value) -> Option<u64> {
    text.as_str()?.strip_prefix("revision-")?.parse().ok()
}

/// Lists resources and templates.
pub(crate) fn list(soak: &Soak) -> Result<()> {
    let mut client = Client::connect(&soak.url)?;
    for _ in 0..BATCH {
        if soak.is_stopped() {
            break;
        }
        let result = client.request("resources/list", json!({}))?;
        let is_complete = result["resources"]
            .as_array()
            .is_some_and(|resources| resources.len() > 3);
        ensure!(is_complete, "incomplete list: {result}");
        client.request("resources/templates/list", json!({}))?;
        soak.count(Count::Lists);
        soak.count(Count::Lists);
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Subscribes for a short time and then disconnects without unsubscribing.
pub(crate) fn listen(soak: &Soak) -> Result<()> {
    let start = Instant::now();
    let params = json!({ "notifications": {
        "resourcesListChanged": true,
        "resourceSubscriptions": ["revision://now", "file:///docs/touched.txt"],
    } });
    let mut acknowledged = false;
    Client::connect(&soak.url)?.listen(params, IDLE_TIMEOUT, |line| {
        if line.contains("subscriptions/acknowledged") {
            acknowledged = true;
        } else {
            soak.count(Count::Notifications);
        }
        start.elapsed() < LISTEN_DURATION && !soak.is_stopped()
    })?;
    ensure!(acknowledged, "a subscription was not acknowledged");
    soak.count(Count::Listens);
    Ok(())
}

/// Opens sessions of the legacy era. Every second session is abandoned.
pub(crate) fn open_sessions(soak: &Soak) -> Result<()> {
    for n in 0..BATCH {
        if soak.is_stopped() {
            break;
        }
        let mut client = Client::connect(&soak.url)?;
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "soak", "version": "1" },
        });
        let response = client.legacy(None, "initialize", params)?;
        let id = response
            .session
            .with_context(|| format!("no session: {} {}", response.status, response.body))?;
        let subscribed = client.legacy(
            Some(&id),
            "resources/subscribe",
            json!({ "uri": "revision://now" }),
        )?;
        ensure!(
            subscribed.body["result"].is_object(),
            "subscribe: {}",
            subscribed.body
        );
        let listed = client.legacy(Some(&id), "resources/list", json!({}))?;
        ensure!(
            listed.body["result"]["resources"].is_array(),
            "list: {}",
            listed.body
        );
        if n % 2 == 0 {
            client.end_session(&id)?;
        }
        soak.count(Count::Sessions);
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Changes a file that the provider `files` serves.
pub(crate) fn touch_files(soak: &Soak) -> Result<()> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    fs::write(soak.docs.join("touched.txt"), now.as_nanos().to_string())?;
    thread::sleep(Duration::from_millis(100));
    Ok(())
}
