//! The simulated deployment: replicas, and clients that watch URIs at one of them.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::super::{InterestBatch, Replica, UriHash};
use super::bus::{Bus, Message, Traffic};
use super::measure::{Phase, PollerTimes};
use crate::replica_id::ReplicaId;

pub(super) const LEASE: Duration = Duration::from_secs(10);
/// The interval at which a replica checks leases and sends its interest, as in the server.
const TICK: Duration = Duration::from_millis(100);
/// The steps of the clock.
const STEP: Duration = Duration::from_millis(10);
/// A message with one event of a URI with about 60 bytes.
const EVENT_BYTES: usize = 230;

/// The size of the deployment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) replicas: usize,
    pub(super) watchers: usize,
    pub(super) uris: usize,
    /// The number of URIs whose pollers are counted ten times a second.
    pub(super) sampled: usize,
    pub(super) updates_per_second: u64,
}

/// A running replica.
struct RunningReplica {
    replica: Replica,
    /// The number of clients that watch a URI.
    watchers: HashMap<usize, usize>,
    tick_at: Duration,
    lease_at: Duration,
}

/// The deployment.
pub(super) struct World {
    size: Size,
    base: Instant,
    now: Duration,
    running: BTreeMap<ReplicaId, RunningReplica>,
    /// The URI of each client, and the replica to which it is connected.
    watchers: Vec<(usize, Option<ReplicaId>)>,
    /// Clients that connect again at this time.
    returning: BTreeMap<Duration, Vec<usize>>,
    hashes: Vec<UriHash>,
    bus: Bus,
    is_connected: bool,
    loss: f64,
    times: PollerTimes,
    random: u64,
    phase_start: Duration,
    event_at: Duration,
}

impl World {
    pub(super) fn new(size: Size) -> Self {
        let (running, returning, bus) = Default::default();
        let mut world = Self {
            size,
            base: Instant::now(),
            now: Duration::ZERO,
            running,
            watchers: Vec::new(),
            returning,
            hashes: Vec::new(),
            bus,
            is_connected: true,
            loss: 0.0,
            times: PollerTimes::new(size.sampled),
            random: 7,
            phase_start: Duration::ZERO,
            event_at: Duration::ZERO,
        };
        world.hashes = (0..size.uris)
            .map(|_| UriHash(u128::from(world.next()) << 64 | u128::from(world.next())))
            .collect();
        // Some URIs are watched by many clients, and most by few.
        let uri = |world: &mut Self| (world.fraction().powi(3) * size.uris as f64) as usize;
        world.watchers = (0..size.watchers)
            .map(|_| (uri(&mut world), None))
            .collect();
        world
    }

    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// A number from 0 to 1.
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn instant(&self) -> Instant {
        self.base + self.now
    }

    pub(super) fn start(&mut self, replicas: usize) {
        for _ in 0..replicas {
            let id = ReplicaId::of(self.next());
            let replica = Replica::new(id, "1".into(), LEASE);
            let tick_at = self.now + TICK.mul_f64(self.fraction());
            let running = RunningReplica {
                replica,
                watchers: HashMap::new(),
                tick_at,
                lease_at: self.now,
            };
            self.running.insert(id, running);
            // The content of the bucket is read at the start.
            for other in self
                .running
                .keys()
                .copied()
                .filter(|other| *other != id)
                .collect::<Vec<_>>()
            {
                let lease = self
                    .running
                    .get_mut(&other)
                    .map(|other| other.replica.lease());
                let Some((batches, lease)) = lease.filter(|_| self.is_connected) else {
                    continue;
                };
                self.publish_batches(other, batches);
                let bytes = bytes(&lease);
                self.bus.record(bytes, 1);
                self.bus
                    .send(self.now, other, id, Message::Lease(Rc::new(lease)));
            }
        }
    }

    pub(super) fn connect_watchers(&mut self) {
        (0..self.watchers.len()).for_each(|watcher| self.return_soon(watcher));
    }

    /// If a replica ends, its clients connect to another replica. The delay differs between clients.
    fn return_soon(&mut self, watcher: usize) {
        let at = self.now
            + Duration::from_millis(200)
            + Duration::from_millis(2800).mul_f64(self.fraction());
        self.returning.entry(at).or_default().push(watcher);
    }

    pub(super) fn move_watchers(&mut self, count: usize) {
        for _ in 0..count {
            let watcher = (self.next() % self.size.watchers as u64) as usize;
            let (uri, replica) = self.watchers[watcher];
            let Some(id) = replica else { continue };
            self.watchers[watcher].1 = None;
            if let Some(running) = self.running.get_mut(&id) {
                running.unwatch(uri, self.hashes[uri]);
            }
            self.return_soon(watcher);
        }
    }

    /// Replicas end without a message to the others.
    pub(super) fn kill(&mut self, replicas: usize) {
        let ids: Vec<_> = self.running.keys().copied().take(replicas).collect();
        for id in ids {
            self.end(id);
        }
    }

    fn end(&mut self, id: ReplicaId) {
        self.running.remove(&id);
        for watcher in 0..self.watchers.len() {
            if self.watchers[watcher].1 == Some(id) {
                self.watchers[watcher].1 = None;
                self.return_soon(watcher);
            }
        }
    }

    /// All replicas are replaced, one after another.
    pub(super) fn restart_all(&mut self, interval: Duration) {
        for id in self.running.keys().copied().collect::<Vec<_>>() {
            self.publish(id, Message::Left, 60);
            self.end(id);
            self.run(interval / 2);
            self.start(1);
            self.run(interval / 2);
        }
    }

    pub(super) fn lose_messages(&mut self, fraction: f64) {
        self.loss = fraction;
    }

    pub(super) fn disconnect_all(&mut self) {
        self.is_connected = false;
        self.running
            .values_mut()
            .for_each(|running| running.replica.disconnected());
    }

    /// The connections return within two seconds.
    pub(super) fn connect_all(&mut self) {
        self.is_connected = true;
        for id in self.running.keys().copied().collect::<Vec<_>>() {
            let at = self.now + Duration::from_secs(2).mul_f64(self.fraction());
            if let Some(running) = self.running.get_mut(&id) {
                running.lease_at = at;
            }
        }
    }

    pub(super) fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now += STEP;
            self.reconnect_watchers();
            self.deliver();
            self.update_contents();
            self.tick_all();
            if self.now.as_millis().is_multiple_of(TICK.as_millis()) {
                self.sample();
            }
        }
    }

    fn reconnect_watchers(&mut self) {
        while let Some(entry) = self
            .returning
            .first_entry()
            .filter(|entry| *entry.key() <= self.now)
        {
            for watcher in entry.remove() {
                let ids: Vec<_> = self.running.keys().copied().collect();
                let id = ids[(self.next() % ids.len() as u64) as usize];
                let (uri, _) = self.watchers[watcher];
                self.watchers[watcher].1 = Some(id);
                if let Some(running) = self.running.get_mut(&id) {
                    running.watch(uri, self.hashes[uri]);
                }
            }
        }
    }

    fn deliver(&mut self) {
        while let Some((from, to, message)) = self.bus.next(self.now) {
            let now = self.instant();
            let Some(running) = self.running.get_mut(&to).filter(|_| self.is_connected) else {
                continue;
            };
            let replica = &mut running.replica;
            match message {
                Message::Lease(lease) => replica.lease_seen(from, (*lease).clone(), now),
                Message::Left => replica.left(from),
                Message::Batch(batch) => replica.batch_received(from, (*batch).clone(), now),
                Message::Snapshot(part) => replica.snapshot_received(from, (*part).clone(), now),
                Message::Events { first, count } => {
                    _ = replica.events_received(from, first, count, now)
                }
                Message::SnapshotRequest => {
                    let (batches, parts) = replica.snapshot();
                    self.publish_batches(to, batches);
                    for part in parts {
                        self.bus.record(bytes(&part), 1);
                        self.bus
                            .send(self.now, to, from, Message::Snapshot(Rc::new(part)));
                    }
                }
            }
        }
    }

    /// Contents change, and the replica that finds a change reports it to all others.
    fn update_contents(&mut self) {
        let interval =
            Duration::from_secs(1) / u32::try_from(self.size.updates_per_second).unwrap();
        while self.event_at <= self.now {
            self.event_at += interval;
            let ids: Vec<_> = self.running.keys().copied().collect();
            let Some(id) = ids.get((self.next() % ids.len().max(1) as u64) as usize) else {
                continue;
            };
            let Some(running) = self.running.get_mut(id) else {
                continue;
            };
            let first = running.replica.count_events(1);
            self.publish(*id, Message::Events { first, count: 1 }, EVENT_BYTES);
        }
    }

    fn tick_all(&mut self) {
        for id in self.running.keys().copied().collect::<Vec<_>>() {
            let now = self.now;
            let instant = self.instant();
            let Some(running) = self.running.get_mut(&id) else {
                continue;
            };
            if running.tick_at <= now {
                running.tick_at += TICK;
                let due = running.replica.tick(instant);
                if self.is_connected {
                    let batches = running.replica.take_batches();
                    self.publish_batches(id, batches);
                    for other in due.snapshots {
                        self.bus.record(80, 1);
                        self.bus.send(now, id, other, Message::SnapshotRequest);
                    }
                }
            }
            self.renew_lease(id);
        }
    }

    fn renew_lease(&mut self, id: ReplicaId) {
        let now = self.now;
        let instant = self.instant();
        let is_connected = self.is_connected;
        let Some(running) = self
            .running
            .get_mut(&id)
            .filter(|running| running.lease_at <= now)
        else {
            return;
        };
        running.lease_at += LEASE / 3;
        if is_connected {
            let (batches, lease) = running.replica.lease();
            running.replica.renewed(instant);
            self.publish_batches(id, batches);
            let bytes = bytes(&lease);
            self.publish(id, Message::Lease(Rc::new(lease)), bytes);
        }
    }

    fn publish_batches(&mut self, id: ReplicaId, batches: Vec<InterestBatch>) {
        for batch in batches {
            let bytes = bytes(&batch);
            self.publish(id, Message::Batch(Rc::new(batch)), bytes);
        }
    }

    fn publish(&mut self, from: ReplicaId, message: Message, bytes: usize) {
        let is_lossy = !matches!(message, Message::Lease(_) | Message::Left);
        let others: Vec<_> = self
            .running
            .keys()
            .copied()
            .filter(|id| *id != from)
            .collect();
        // The sender also receives its own messages.
        self.bus.record(bytes, others.len() as u64 + 1);
        for to in others {
            if !(is_lossy && self.loss > 0.0 && self.fraction() < self.loss) && self.is_connected {
                self.bus.send(self.now, from, to, message.clone());
            }
        }
    }

    /// The replicas that poll a URI; none if no client watches it.
    fn pollers(&self, uri: usize) -> Option<usize> {
        let watching = || {
            self.running
                .values()
                .filter(move |running| running.watchers.contains_key(&uri))
        };
        watching().next()?;
        Some(
            watching()
                .filter(|running| running.replica.is_poller(self.hashes[uri]))
                .count(),
        )
    }

    fn sample(&mut self) {
        let step = self.size.uris / self.size.sampled;
        for sample in 0..self.size.sampled {
            let pollers = self.pollers(sample * step);
            self.times.record(sample, pollers, TICK);
        }
    }

    pub(super) fn with_other_than_one_poller(&self) -> usize {
        (0..self.size.uris)
            .filter(|uri| self.pollers(*uri).is_some_and(|pollers| pollers != 1))
            .count()
    }

    fn polled(&self) -> Vec<usize> {
        self.running
            .values()
            .map(|running| running.replica.polled_count())
            .collect()
    }

    /// The difference between the highest number of polled URIs of a replica and the mean.
    pub(super) fn spread(&self) -> f64 {
        let polled = self.polled();
        let mean = polled.iter().sum::<usize>() as f64 / polled.len() as f64;
        polled.iter().max().map_or(0.0, |most| *most as f64 / mean)
    }

    pub(super) fn begin_phase(&mut self) {
        self.phase_start = self.now;
        self.bus.traffic = Traffic::default();
        self.times.restart();
    }

    pub(super) fn end_phase(&mut self, name: &str) -> Phase {
        Phase {
            name: name.to_owned(),
            time: self.now - self.phase_start,
            traffic: self.bus.traffic,
            longest_without_poller: self.times.longest_without,
            longest_with_several: self.times.longest_several,
            polled: self.polled(),
            polled_without_cluster: self
                .running
                .values()
                .map(|running| running.watchers.len())
                .sum(),
        }
    }
}

impl RunningReplica {
    fn watch(&mut self, uri: usize, hash: UriHash) {
        *self.watchers.entry(uri).or_default() += 1;
        self.replica.watch(&[hash], &[]);
    }

    fn unwatch(&mut self, uri: usize, hash: UriHash) {
        let Some(count) = self.watchers.get_mut(&uri) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            self.watchers.remove(&uri);
            self.replica.watch(&[], &[hash]);
        }
    }
}

fn bytes(message: &impl Serialize) -> usize {
    serde_json::to_vec(message).unwrap().len()
}
