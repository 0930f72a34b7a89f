//! The scenarios for the replicas. After each scenario, every listener has received the current content.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::origin::PAGES;
use super::{Clients, Deployment, KEYS, LEASE, SESSIONS, eventually};
use crate::run::Output;

/// How often all pages are changed in a scenario without faults.
const ROUNDS: u64 = 4;
/// How often a page must be polled by the same replica, so that this replica counts as its only poller.
const OFTEN_ENOUGH: usize = 4;
/// How long another replica may take until it polls the pages of a killed replica: the lease, and the delays of a
/// loaded machine.
const TAKEOVER: Duration = LEASE.saturating_mul(10);

type Scenario = fn(&mut Deployment, &Clients) -> Result<String>;

const SCENARIOS: [(&str, Scenario); 6] = [
    ("changes", changes),
    ("kill -9 of a replica", kill_replica),
    ("kill -9 of NATS", kill_nats),
    ("a replica without NATS", partition),
    ("restart of all, one after the other", rolling_restart),
    ("the same with another key", other_key),
];

/// Runs all scenarios. Returns a line for each of them.
pub(super) fn run_all(
    output: &Output,
    deployment: &mut Deployment,
    clients: &Clients,
) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for (name, scenario) in SCENARIOS {
        let (began, before) = (Instant::now(), deployment.origin.counts());
        let result =
            scenario(deployment, clients).with_context(|| match clients.requests.check() {
                Ok(_) => name.to_owned(),
                Err(failures) => format!("{name} ({failures})"),
            })?;
        let (answered, failed) = clients.requests.check().context(name)?;
        let after = deployment.origin.counts();
        let line = format!(
            "    {name}: {result}; {} s, {answered} requests so far, {failed} failed on a killed replica, {} polls, {} reads \
             of the origin",
            began.elapsed().as_secs(),
            after.0 - before.0,
            after.1 - before.1,
        );
        output.write_line(&line)?;
        lines.push(line);
    }
    Ok(lines)
}

/// Each listener receives each change exactly once, and one replica polls each page.
fn changes(deployment: &mut Deployment, clients: &Clients) -> Result<String> {
    for replica in &deployment.replicas {
        eventually("each replica has listeners", || {
            let streams = replica.metric("larder_streams")?;
            ensure!(streams > 0.0, "{} has {streams} streams", replica.name);
            Ok(())
        })?;
    }
    let pollers = wait_for_single_pollers(deployment)?;
    let told = change_exactly(deployment, clients, ROUNDS)?;
    Ok(format!(
        "{told} updates, each exactly once; {}",
        show(&pollers)
    ))
}

/// Other replicas take over the polls of a killed replica, and its legacy clients initialise again.
fn kill_replica(deployment: &mut Deployment, clients: &Clients) -> Result<String> {
    let pollers = wait_for_single_pollers(deployment)?;
    let (busiest, polled) = busiest(&pollers)?;
    let index = deployment
        .replicas
        .iter()
        .position(|replica| replica.name == busiest)
        .context("no such replica")?;
    let opened = clients.continued.sessions.load(Ordering::Relaxed);
    let killed = Instant::now();
    clients.requests.while_killing(|| {
        deployment.replicas[index].kill();
        Ok(())
    })?;
    deployment.origin.change_all();
    eventually("the other replicas poll all pages", || {
        let polls = deployment.origin.polls(killed);
        let by_others = |page: &&usize| {
            polls
                .get(*page)
                .is_some_and(|by| by.keys().any(|name| *name != busiest))
        };
        let left = polled.iter().filter(|page| !by_others(page)).count();
        ensure!(left == 0, "nobody polls {left} pages of {busiest}");
        Ok(())
    })?;
    let takeover = killed.elapsed();
    ensure!(
        takeover < TAKEOVER,
        "it took {takeover:?} until its pages were polled"
    );
    wait_until_current(deployment, clients)?;
    deployment.replicas[index].start()?;
    deployment.wait_until_complete()?;
    let told = change_exactly(deployment, clients, 1)?;
    let opened = clients.continued.sessions.load(Ordering::Relaxed) - opened;
    Ok(format!(
        "{} pages polled by others after {takeover:.1?}, {opened} sessions opened again, then {told} updates, each exactly \
         once",
        polled.len()
    ))
}

/// Without NATS, each replica polls the pages that it watches.
fn kill_nats(deployment: &mut Deployment, clients: &Clients) -> Result<String> {
    // Messages about these changes may be lost.
    deployment.origin.change_all();
    deployment.nats.kill()?;
    deployment
        .replicas
        .iter()
        .try_for_each(|replica| replica.wait_until_connected(false))?;
    wait_until_current(deployment, clients)?;
    deployment.origin.change_all();
    wait_until_current(deployment, clients)?;
    deployment.origin.change_all();
    deployment.nats.restart()?;
    deployment.wait_until_complete()?;
    wait_until_current(deployment, clients)?;
    let pollers = wait_for_single_pollers(deployment)?;
    let told = change_exactly(deployment, clients, 1)?;
    Ok(format!(
        "ready all the time; then {told} updates, each exactly once; {}",
        show(&pollers)
    ))
}

/// The connection of one replica stays open, but no bytes arrive over it.
fn partition(deployment: &mut Deployment, clients: &Clients) -> Result<String> {
    let [cut, others @ ..] = &deployment.replicas[..] else {
        unreachable!("there are three replicas")
    };
    cut.link.set_cut(true);
    deployment.origin.change_all();
    others
        .iter()
        .try_for_each(|replica| replica.wait_for_replicas(others.len()))?;
    cut.wait_until_connected(false)?;
    wait_until_current(deployment, clients)?;
    deployment.origin.change_all();
    wait_until_current(deployment, clients)?;
    deployment.origin.change_all();
    cut.link.set_cut(false);
    deployment.wait_until_complete()?;
    wait_until_current(deployment, clients)?;
    let pollers = wait_for_single_pollers(deployment)?;
    let told = change_exactly(deployment, clients, 1)?;
    Ok(format!(
        "then {told} updates, each exactly once; {}",
        show(&pollers)
    ))
}

/// Restarts each replica with SIGTERM, and changes all pages while the replica is stopped.
fn rolling_restart(deployment: &mut Deployment, clients: &Clients) -> Result<String> {
    let opened = clients.continued.sessions.load(Ordering::Relaxed);
    for index in 0..deployment.replicas.len() {
        deployment.origin.change_all();
        deployment.replicas[index].stop()?;
        deployment.origin.change_all();
        wait_until_current(deployment, clients)?;
        deployment.replicas[index].start()?;
        deployment.wait_until_complete()?;
    }
    let opened = clients.continued.sessions.load(Ordering::Relaxed) - opened;
    ensure!(
        opened >= SESSIONS,
        "only {opened} sessions were opened again"
    );
    let told = change_exactly(deployment, clients, 1)?;
    Ok(format!(
        "{opened} sessions opened again, then {told} updates, each exactly once"
    ))
}

/// Replicas with the old and the new key understand each other's messages.
fn other_key(deployment: &mut Deployment, clients: &Clients) -> Result<String> {
    let [old, new] = KEYS;
    deployment.set_keys(&[new, old])?;
    rolling_restart(deployment, clients)
}

/// Changes all pages a number of times. Each listener must receive each change exactly once.
fn change_exactly(deployment: &Deployment, clients: &Clients, rounds: u64) -> Result<u64> {
    wait_until_current(deployment, clients)?;
    // When all pages have been polled again, the effects of an earlier change have arrived.
    wait_for_single_pollers(deployment)?;
    let counts = || {
        clients
            .listeners
            .iter()
            .map(|listener| listener.known().updates)
            .collect::<Vec<_>>()
    };
    let before = counts();
    for round in 1..=rounds {
        deployment.origin.change_all();
        eventually("each listener is told of each change", || {
            for (listener, before) in clients.listeners.iter().zip(&before) {
                let known = listener.known().updates;
                let missing = (0..PAGES).find(|page| known[*page] < before[*page] + round);
                ensure!(
                    missing.is_none(),
                    "{} was not told of page {missing:?}",
                    listener.name
                );
            }
            Ok(())
        })?;
    }
    wait_for_single_pollers(deployment)?;
    wait_until_current(deployment, clients)?;
    for ((listener, before), after) in clients.listeners.iter().zip(&before).zip(counts()) {
        let told: Vec<_> = after
            .iter()
            .zip(before)
            .map(|(after, before)| after - before)
            .collect();
        ensure!(
            told.iter().all(|count| *count == rounds),
            "{} was told of {rounds} changes {told:?}",
            listener.name
        );
    }
    Ok(rounds * (PAGES * clients.listeners.len()) as u64)
}

/// Waits until each listener has received the current version of each page.
fn wait_until_current(deployment: &Deployment, clients: &Clients) -> Result<()> {
    eventually("each listener knows the current content", || {
        clients
            .listeners
            .iter()
            .try_for_each(|listener| listener.check(&deployment.origin))
    })
}

/// Waits until, for some time, only one replica polls each page. Returns these replicas.
fn wait_for_single_pollers(deployment: &Deployment) -> Result<BTreeMap<usize, String>> {
    let (mut since, mut found) = (Instant::now(), None);
    eventually("one replica polls each page", || {
        found = deployment.origin.pollers(since, OFTEN_ENOUGH);
        if found.is_some() {
            return Ok(());
        }
        let polls = deployment.origin.polls(since);
        if polls.values().any(|by| by.len() > 1) {
            since = Instant::now();
        }
        anyhow::bail!("the polls: {polls:?}")
    })?;
    found.context("eventually succeeds only with pollers")
}

/// The replica that polls most pages, and these pages.
fn busiest(pollers: &BTreeMap<usize, String>) -> Result<(String, Vec<usize>)> {
    let of = |name: &String| {
        pollers
            .iter()
            .filter(|(_, poller)| *poller == name)
            .map(|(page, _)| *page)
            .collect::<Vec<_>>()
    };
    let all = pollers.values().map(|name| (name.clone(), of(name)));
    all.max_by_key(|(_, pages): &(String, Vec<usize>)| pages.len())
        .context("nobody polls")
}

fn show(pollers: &BTreeMap<usize, String>) -> String {
    let count = |name: &str| pollers.values().filter(|poller| *poller == name).count();
    format!(
        "pages polled by a, b, c: {}, {}, {}",
        count("a"),
        count("b"),
        count("c")
    )
}
