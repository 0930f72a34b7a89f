//! What a replica knows about itself and the other replicas, and the consequences. There is no network, no task and no
//! clock: the caller passes messages and the time, so that the simulation runs the same code.

mod event_sequence;
mod index;
mod message;
mod own_interest;
mod peer;
mod rendezvous;
mod seal_record;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
mod uri_hash;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use self::index::InterestIndex;
pub(crate) use self::message::{InterestBatch, Lease, SnapshotPart};
use self::own_interest::OwnInterest;
use self::peer::Peer;
use self::rendezvous::weight;
pub(crate) use self::seal_record::MessageKind;
pub(crate) use self::uri_hash::UriHash;
use crate::replica_id::ReplicaId;

/// How long a stopped replica is recorded, so that lost events are found if it returns.
const MEMORY: Duration = Duration::from_secs(3600);
/// The maximum number of other replicas, and of URIs that all of them watch together. Replicas and URIs beyond the
/// limit are unknown, so this replica checks more URIs itself.
const MAX_PEERS: usize = 256;
const MAX_WATCHED: u64 = 4_000_000;

/// A replica, and what it has received from the other replicas.
#[derive(Debug)]
pub(crate) struct Replica {
    id: ReplicaId,
    version: String,
    lease: Duration,
    own: OwnInterest,
    /// The number of events that were sent.
    events: u64,
    peers: HashMap<ReplicaId, Peer>,
    index: InterestIndex,
    /// When the own lease was last renewed over this connection.
    renewed: Option<Instant>,
    is_alone: bool,
}

/// The actions that are due.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Due {
    /// Replicas whose interest is not completely known.
    pub(crate) snapshots: Vec<ReplicaId>,
    /// Events of other replicas were lost.
    pub(crate) events_lost: bool,
}

/// Another replica, for operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LivePeer {
    pub(crate) id: ReplicaId,
    pub(crate) version: String,
    pub(crate) last_seen: Instant,
}

impl Replica {
    pub(crate) fn new(id: ReplicaId, version: String, lease: Duration) -> Self {
        let (own, events, peers, index) = Default::default();
        Self {
            id,
            version,
            lease,
            own,
            events,
            peers,
            index,
            renewed: None,
            is_alone: true,
        }
    }

    /// Changes the URIs that this replica watches.
    pub(crate) fn watch(&mut self, added: &[UriHash], removed: &[UriHash]) {
        removed.iter().for_each(|hash| self.own.remove(*hash));
        added.iter().for_each(|hash| self.own.add(*hash));
    }

    /// Whether this replica makes the periodic checks of a URI that it watches.
    pub(crate) fn is_poller(&self, hash: UriHash) -> bool {
        let own = weight(self.id, hash);
        let is_candidate = |id: &ReplicaId| self.peers.get(id).is_some_and(Peer::is_candidate);
        let mut others = self.index.watchers(hash).iter();
        self.is_alone || !others.any(|id| weight(*id, hash) > own && is_candidate(id))
    }

    /// Whether another replica also watches this URI, or may watch it.
    pub(crate) fn is_watched_elsewhere(&self, hash: UriHash) -> bool {
        let is_alive = |id: &ReplicaId| self.peers.get(id).is_some_and(|peer| peer.is_alive);
        let is_unknown = |peer: &Peer| peer.is_alive && !peer.interest.is_complete;
        self.index.watchers(hash).iter().any(is_alive) || self.peers.values().any(is_unknown)
    }

    pub(crate) fn watched_count(&self) -> usize {
        self.own.len()
    }

    pub(crate) fn polled_count(&self) -> usize {
        self.own.iter().filter(|hash| self.is_poller(*hash)).count()
    }

    pub(crate) fn has_unsent_interest(&self) -> bool {
        self.own.has_unsent()
    }

    /// Returns the changes of the interest that must be sent to the other replicas.
    pub(crate) fn take_batches(&mut self) -> Vec<InterestBatch> {
        self.own.take_batches()
    }

    /// Returns the value of the lease, and the batches that must be sent before it.
    pub(crate) fn lease(&mut self) -> (Vec<InterestBatch>, Lease) {
        let batches = self.take_batches();
        let (batch, watched) = self.own.sent();
        let milliseconds = u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX);
        let version = self.version.clone();
        (
            batches,
            Lease {
                version,
                milliseconds,
                batch,
                watched,
                events: self.events,
            },
        )
    }

    /// Returns the whole interest for a replica that requests it, and the batches that must be sent before it.
    pub(crate) fn snapshot(&mut self) -> (Vec<InterestBatch>, Vec<SnapshotPart>) {
        (self.take_batches(), self.own.snapshot())
    }

    /// Counts events that are sent or dropped. Returns the number of the first of these events.
    pub(crate) fn count_events(&mut self, count: u64) -> u64 {
        let first = self.events;
        self.events = self.events.saturating_add(count);
        first
    }

    /// The own lease was renewed.
    pub(crate) fn renewed(&mut self, now: Instant) {
        self.renewed = Some(now);
        self.is_alone = false;
    }

    /// The connection was lost: this replica checks all URIs itself. It relies on another replica only after it has
    /// received a message of that replica again.
    pub(crate) fn disconnected(&mut self) {
        self.renewed = None;
        self.is_alone = true;
        for peer in self.peers.values_mut() {
            peer.interest.doubt();
            peer.events.restart();
        }
    }

    /// Whether a message of another replica may be used. `sequence` comes from the seal, and is none if there is no
    /// seal.
    pub(crate) fn admits(
        &mut self,
        from: ReplicaId,
        kind: MessageKind,
        sequence: Option<u64>,
        now: Instant,
    ) -> bool {
        from != self.id && self.has_room(from) && self.peer(from, now).admit(kind, sequence)
    }

    /// Whether a part of a snapshot may be used. Its seal is for the request of this replica only.
    pub(crate) fn admits_snapshot(&self, from: ReplicaId, is_sealed: bool) -> bool {
        self.peers
            .get(&from)
            .is_some_and(|peer| is_sealed || !peer.seals.is_sealing)
    }

    /// Whether there is room for a replica. If the lease of another replica has ended, that replica is removed to make
    /// room.
    fn has_room(&mut self, from: ReplicaId) -> bool {
        if self.peers.len() < MAX_PEERS || self.peers.contains_key(&from) {
            return true;
        }
        let ended = self.peers.iter().filter(|(_, peer)| !peer.is_alive);
        let oldest = ended
            .min_by_key(|(_, peer)| peer.lease_end())
            .map(|(id, _)| *id);
        oldest.map(|id| self.left(id)).is_some()
    }

    /// Whether this many additional hashes can be stored.
    fn can_store(&self, added: usize) -> bool {
        let counts = self.peers.values().map(|peer| peer.interest.digest.count);
        counts.fold(added as u64, u64::saturating_add) <= MAX_WATCHED
    }

    /// The lease of another replica was renewed.
    pub(crate) fn lease_seen(&mut self, from: ReplicaId, lease: Lease, now: Instant) {
        if from != self.id {
            let max = self.lease;
            self.peer(from, now).renew(lease, max, now);
        }
    }

    /// Another replica stopped.
    pub(crate) fn left(&mut self, from: ReplicaId) {
        if let Some(mut peer) = self.peers.remove(&from) {
            self.index.clear(from, &mut peer.interest.digest);
        }
    }

    /// Another replica changed the URIs that it watches.
    pub(crate) fn batch_received(&mut self, from: ReplicaId, batch: InterestBatch, now: Instant) {
        if from == self.id {
            return;
        }
        let can_store = self.can_store(batch.added.0.len());
        let interest = &mut self
            .peers
            .entry(from)
            .or_insert_with(|| Peer::new(now))
            .interest;
        let Some(batch) = interest.accept(batch) else {
            return;
        };
        if can_store {
            apply(&mut self.index, from, &batch, &mut interest.digest);
            interest.applied(batch.number, now);
        } else {
            interest.release();
        }
    }

    /// A part of the URIs that another replica watches has arrived.
    pub(crate) fn snapshot_received(&mut self, from: ReplicaId, part: SnapshotPart, now: Instant) {
        let Some(peer) = self.peers.get_mut(&from) else {
            return;
        };
        let Some(hashes) = peer.interest.snapshot_part(part) else {
            return;
        };
        self.index.clear(from, &mut peer.interest.digest);
        if !self.can_store(hashes.len()) {
            return;
        }
        let Some(peer) = self.peers.get_mut(&from) else {
            return;
        };
        for hash in hashes {
            self.index.add(from, hash, &mut peer.interest.digest);
        }
        for batch in peer.interest.complete() {
            self.batch_received(from, batch, now);
        }
    }

    /// Events of another replica have arrived. Returns whether earlier events were lost.
    pub(crate) fn events_received(
        &mut self,
        from: ReplicaId,
        first: u64,
        count: u64,
        now: Instant,
    ) -> bool {
        self.peer(from, now).events.received(first, count)
    }

    /// Lets time pass.
    pub(crate) fn tick(&mut self, now: Instant) -> Due {
        self.is_alone = self
            .renewed
            .is_none_or(|renewed| now.saturating_duration_since(renewed) >= self.lease);
        let mut due = Due::default();
        for (id, peer) in &mut self.peers {
            peer.expire(now);
            due.events_lost |= peer.events.is_overdue(now);
            if peer.is_alive && peer.interest.must_request(now) {
                due.snapshots.push(*id);
            }
        }
        self.forget_old(now);
        due
    }

    /// Removes the interest of stopped replicas, and some time later the replicas.
    fn forget_old(&mut self, now: Instant) {
        self.peers.retain(|id, peer| {
            let gone = now.saturating_duration_since(peer.lease_end());
            if gone > self.lease {
                self.index.clear(*id, &mut peer.interest.digest);
                peer.interest.release();
            }
            gone < MEMORY
        });
    }

    fn peer(&mut self, id: ReplicaId, now: Instant) -> &mut Peer {
        self.peers.entry(id).or_insert_with(|| Peer::new(now))
    }

    /// The other replicas that are alive.
    pub(crate) fn live_peers(&self) -> Vec<LivePeer> {
        let alive = self.peers.iter().filter(|(_, peer)| peer.is_alive);
        let mut peers: Vec<_> = alive
            .filter_map(|(id, peer)| {
                let (last_seen, _) = peer.lease?;
                Some(LivePeer {
                    id: *id,
                    version: peer.version.clone(),
                    last_seen,
                })
            })
            .collect();
        peers.sort_unstable_by_key(|peer| peer.id);
        peers
    }
}

fn apply(
    index: &mut InterestIndex,
    from: ReplicaId,
    batch: &InterestBatch,
    digest: &mut uri_hash::SetDigest,
) {
    batch
        .removed
        .0
        .iter()
        .for_each(|hash| index.remove(from, *hash, digest));
    batch
        .added
        .0
        .iter()
        .for_each(|hash| index.add(from, *hash, digest));
}
