//! What goes on during a soak. Each function is one bout, done again and again by a thread of its own.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::peer::Peer;
use super::{Count, Soak};

/// Questions of one connection.
const BOUT: usize = 200;
/// How long somebody listens, if he is told much, and for how long he waits for more.
const LISTENS: Duration = Duration::from_secs(2);
const QUIET: Duration = Duration::from_secs(1);
/// How long a swap may take on a busy machine.
const SWAPPED_WITHIN: Duration = Duration::from_secs(60);
const MARK: &str = "revision-00000000";

/// One component in any number of revisions.
pub(crate) struct Revisions {
    bytes: Vec<u8>,
    at: usize,
}

impl Revisions {
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).with_context(|| path.display().to_string())?;
        let at = bytes.windows(MARK.len()).position(|window| window == MARK.as_bytes());
        Ok(Self { at: at.context("the guest `revision` has no mark")?, bytes })
    }

    pub(crate) fn number(&self, number: u32) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[self.at..self.at + MARK.len()].copy_from_slice(format!("revision-{number:08}").as_bytes());
        bytes
    }
}

/// Replaces the component until the end, and waits for each revision.
pub(crate) fn swap(soak: &Soak, revisions: &Revisions) -> Result<()> {
    let mut peer = Peer::connect(&soak.url)?;
    for number in 2.. {
        let new = soak.plugins.join("revision.new");
        fs::write(&new, revisions.number(number))?;
        fs::rename(&new, soak.plugins.join("revision.wasm"))?;
        let began = Instant::now();
        while revision_in(&mut peer, "revision://now")? != u64::from(number) {
            if soak.is_over() {
                return Ok(());
            }
            ensure!(
                began.elapsed() < SWAPPED_WITHIN,
                "revision {number} was not served in {SWAPPED_WITHIN:?}"
            );
            thread::sleep(Duration::from_millis(10));
        }
        soak.count(Count::Swaps);
    }
    Ok(())
}

/// Reads; no answer mixes revisions, and none is older than the one before it.
pub(crate) fn read(soak: &Soak) -> Result<()> {
    let mut peer = Peer::connect(&soak.url)?;
    let mut seen = 0;
    for _ in 0..BOUT {
        if soak.is_over() {
            break;
        }
        let answer = revision_in(&mut peer, "revision://many")?;
        ensure!(answer >= seen, "revision {answer} after {seen}");
        seen = answer;
        peer.ask("resources/read", json!({ "uri": "file:///docs/touched.txt" }))?;
        soak.count(Count::Reads);
        soak.count(Count::Reads);
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// The only revision in an answer.
fn revision_in(peer: &mut Peer, uri: &str) -> Result<u64> {
    let answer = peer.ask("resources/read", json!({ "uri": uri }))?;
    let contents = answer["contents"].as_array().context("no contents")?;
    let mut all = contents.iter().map(|content| number(&content["text"]));
    let first = all.next().flatten().with_context(|| format!("no revision: {answer}"))?;
    ensure!(all.all(|other| other == Some(first)), "several revisions: {answer}");
    Ok(first)
}

fn number(text: &Value) -> Option<u64> {
    text.as_str()?.strip_prefix("revision-")?.parse().ok()
}

/// Lists, and templates.
pub(crate) fn list(soak: &Soak) -> Result<()> {
    let mut peer = Peer::connect(&soak.url)?;
    for _ in 0..BOUT {
        if soak.is_over() {
            break;
        }
        let answer = peer.ask("resources/list", json!({}))?;
        ensure!(answer["resources"].as_array().is_some_and(|all| all.len() > 3), "a short list: {answer}");
        peer.ask("resources/templates/list", json!({}))?;
        soak.count(Count::Lists);
        soak.count(Count::Lists);
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Listens for a moment, and leaves without a word.
pub(crate) fn listen(soak: &Soak) -> Result<()> {
    let began = Instant::now();
    let params = json!({ "notifications": {
        "resourcesListChanged": true,
        "resourceSubscriptions": ["revision://now", "file:///docs/touched.txt"],
    } });
    let mut acknowledged = false;
    Peer::connect(&soak.url)?.listen(params, QUIET, |line| {
        if line.contains("subscriptions/acknowledged") {
            acknowledged = true;
        } else {
            soak.count(Count::Told);
        }
        began.elapsed() < LISTENS && !soak.is_over()
    })?;
    ensure!(acknowledged, "a listener was not acknowledged");
    soak.count(Count::Listens);
    Ok(())
}

/// Opens sessions of the legacy era; every second one is left as it is.
pub(crate) fn open_sessions(soak: &Soak) -> Result<()> {
    for at in 0..BOUT {
        if soak.is_over() {
            break;
        }
        let mut peer = Peer::connect(&soak.url)?;
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "soak", "version": "1" },
        });
        let answer = peer.legacy(None, "initialize", params)?;
        let id = answer.session.with_context(|| format!("no session: {} {}", answer.status, answer.body))?;
        let subscribed = peer.legacy(Some(&id), "resources/subscribe", json!({ "uri": "revision://now" }))?;
        ensure!(subscribed.body["result"].is_object(), "subscribe: {}", subscribed.body);
        let listed = peer.legacy(Some(&id), "resources/list", json!({}))?;
        ensure!(listed.body["result"]["resources"].is_array(), "list: {}", listed.body);
        if at % 2 == 0 {
            peer.end(&id)?;
        }
        soak.count(Count::Sessions);
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Changes a file that the provider `files` shows.
pub(crate) fn touch_files(soak: &Soak) -> Result<()> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    fs::write(soak.docs.join("touched.txt"), now.as_nanos().to_string())?;
    thread::sleep(Duration::from_millis(100));
    Ok(())
}
