//! Another replica: whether it is alive, and whether its interest is completely known.

use std::time::{Duration, Instant};

use super::event_sequence::EventSequence;
use super::message::{InterestBatch, Lease, MAX_HASHES, SnapshotPart};
use super::seal_record::{MessageKind, SealRecord};
use super::uri_hash::{SetDigest, UriHash};

/// How long a batch may be in transit after the sender announced it.
const DELIVERY_TIME: Duration = Duration::from_secs(1);
/// How long a snapshot may take before it is requested again.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(5);
/// The maximum number of batches that wait for a snapshot. If there are more, another snapshot is necessary.
const MAX_WAITING: usize = 256;

/// The maximum number of hashes in the waiting batches.
const MAX_WAITING_HASHES: usize = 4 * MAX_HASHES;
/// The maximum number of parts of a snapshot, which can have as many hashes as a replica stores.
const MAX_PARTS: usize = 256;

/// Another replica.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) version: String,
    /// When the first message of the replica arrived.
    heard: Instant,
    /// When the lease of the replica was last seen, and how long it lasts.
    pub(super) lease: Option<(Instant, Duration)>,
    pub(super) is_alive: bool,
    pub(super) seals: SealRecord,
    pub(super) events: EventSequence,
    pub(super) interest: PeerInterest,
}

/// The known interest of another replica. The hashes themselves are in the index of all replicas.
#[derive(Debug, Default)]
pub(super) struct PeerInterest {
    /// The last batch that was applied.
    batch: u64,
    pub(super) digest: SetDigest,
    /// Whether the interest is complete, as far as this replica knows. Only in this case, this replica relies on the
    /// other one.
    pub(super) is_complete: bool,
    /// The content of the lease, until it was compared.
    announced: Option<(u64, SetDigest)>,
    /// The time since which a batch is missing that the lease mentions.
    behind_since: Option<Instant>,
    needs_snapshot: bool,
    /// Whether another sender may be repeating messages of a stopped replica: the messages have seals, and the replica
    /// has not answered a request of this replica yet.
    needs_answer: bool,
    requested_at: Option<Instant>,
    waiting: Vec<InterestBatch>,
    parts: Vec<SnapshotPart>,
}

impl Peer {
    pub(super) fn new(now: Instant) -> Self {
        let (version, lease, is_alive, seals, events, interest) = Default::default();
        Self {
            version,
            heard: now,
            lease,
            is_alive,
            seals,
            events,
            interest,
        }
    }

    /// When the lease ended or will end. If only messages of a peer are known, its lease has ended.
    pub(super) fn lease_end(&self) -> Instant {
        self.lease
            .and_then(|(seen, lease)| seen.checked_add(lease))
            .unwrap_or(self.heard)
    }

    /// Whether a message may be used.
    pub(super) fn admit(&mut self, kind: MessageKind, sequence: Option<u64>) -> bool {
        self.interest.needs_answer |= sequence.is_some() && !self.seals.is_sealing;
        self.seals.admit(kind, sequence)
    }

    /// Records that the lease was renewed. The lease counts for at most this time.
    pub(super) fn renew(&mut self, lease: Lease, max: Duration, now: Instant) {
        self.version = lease.version;
        self.lease = Some((now, Duration::from_millis(lease.milliseconds).min(max)));
        self.is_alive = true;
        self.events.announced(lease.events, now);
        self.interest.announced = Some((lease.batch, lease.watched));
        self.interest.compare(now);
    }

    /// Marks a peer as stopped if its lease ended.
    pub(super) fn expire(&mut self, now: Instant) {
        self.is_alive &= now < self.lease_end();
    }

    /// Whether this replica relies on the peer to check the URIs that the peer watches.
    pub(super) fn is_candidate(&self) -> bool {
        self.is_alive && self.interest.is_complete && !self.interest.needs_answer
    }
}

impl PeerInterest {
    /// Compares the known interest with the lease.
    fn compare(&mut self, now: Instant) {
        let Some((batch, digest)) = self.announced else {
            return;
        };
        let newest = self
            .waiting
            .last()
            .map_or(self.batch, |waiting| waiting.number);
        if batch < newest {
            // The lease is older than a batch that arrived.
            self.announced = None;
        } else if batch == self.batch {
            self.announced = None;
            self.behind_since = None;
            self.requested_at = None;
            self.is_complete = digest == self.digest;
            self.needs_snapshot = !self.is_complete;
        } else if self.is_complete {
            self.behind_since.get_or_insert(now);
        } else {
            self.needs_snapshot = true;
        }
    }

    /// Accepts a batch that can be applied now. Other batches wait, or are already known.
    pub(super) fn accept(&mut self, batch: InterestBatch) -> Option<InterestBatch> {
        if batch.number <= self.batch {
            return None;
        }
        if self.batch.checked_add(1) == Some(batch.number)
            && !self.needs_snapshot
            && !self.needs_answer
        {
            return Some(batch);
        }
        self.is_complete = false;
        self.needs_snapshot = true;
        let hashes =
            |batch: &InterestBatch| batch.added.0.len().saturating_add(batch.removed.0.len());
        let held: usize = self.waiting.iter().map(hashes).sum();
        if self.waiting.len() == MAX_WAITING
            || held.saturating_add(hashes(&batch)) > MAX_WAITING_HASHES
        {
            self.waiting.clear();
        }
        self.waiting.push(batch);
        None
    }

    /// Records that a batch was applied.
    pub(super) fn applied(&mut self, number: u64, now: Instant) {
        self.batch = number;
        self.compare(now);
    }

    /// Collects the parts of a snapshot. Returns all hashes when the snapshot is complete.
    pub(super) fn snapshot_part(&mut self, part: SnapshotPart) -> Option<Vec<UriHash>> {
        let is_expected = self.needs_snapshot || self.needs_answer;
        if !is_expected || part.parts > MAX_PARTS {
            return None;
        }
        let is_next = |last: &SnapshotPart| {
            last.batch == part.batch && last.part.checked_add(1) == Some(part.part)
        };
        if part.part != 0 && !self.parts.last().is_some_and(is_next) {
            self.parts.clear();
            return None;
        }
        if part.part == 0 {
            self.parts.clear();
        }
        let batch = part.batch;
        let is_last = part.part.checked_add(1) == Some(part.parts);
        self.parts.push(part);
        if !is_last {
            return None;
        }
        self.batch = batch;
        Some(
            self.parts
                .drain(..)
                .flat_map(|part| part.hashes.0)
                .collect(),
        )
    }

    /// Ends the wait for a snapshot, after it was applied. Returns the batches that came after the snapshot.
    pub(super) fn complete(&mut self) -> Vec<InterestBatch> {
        self.needs_snapshot = false;
        self.requested_at = None;
        self.behind_since = None;
        self.is_complete = true;
        self.needs_answer = false;
        std::mem::take(&mut self.waiting)
    }

    /// Messages may have been lost, so the peer is not relied on before its next lease confirms its interest.
    pub(super) fn doubt(&mut self) {
        self.is_complete = false;
        self.announced = None;
        self.behind_since = None;
    }

    /// Removes the batches that wait for a snapshot.
    pub(super) fn release(&mut self) {
        (self.waiting, self.parts) = Default::default();
        self.doubt();
    }

    /// Whether a snapshot has to be requested now.
    pub(super) fn must_request(&mut self, now: Instant) -> bool {
        let is_late = |since: Instant| now.saturating_duration_since(since) >= DELIVERY_TIME;
        if self.behind_since.take_if(|since| is_late(*since)).is_some() {
            self.is_complete = false;
            self.needs_snapshot = true;
        }
        let is_requested = self
            .requested_at
            .is_some_and(|at| now.saturating_duration_since(at) < SNAPSHOT_TIMEOUT);
        let must = (self.needs_snapshot || self.needs_answer) && !is_requested;
        if must {
            self.requested_at = Some(now);
        }
        must
    }
}
