//! Tests of one replica and its knowledge about another replica.

use super::*;

const LEASE: Duration = Duration::from_secs(10);

fn replica(number: u64) -> Replica {
    Replica::new(ReplicaId::of(number), "1".into(), LEASE)
}

fn hashes(numbers: std::ops::Range<u128>) -> Vec<UriHash> {
    numbers.map(|n| UriHash(n << 64 | n)).collect()
}

/// Two replicas, of which the first has seen the lease of the second.
struct Two {
    own: Replica,
    other: Replica,
    now: Instant,
}

impl Two {
    fn new(watched: std::ops::Range<u128>) -> Self {
        let mut two = Self {
            own: replica(1),
            other: replica(2),
            now: Instant::now(),
        };
        two.own.watch(&hashes(watched.clone()), &[]);
        two.own.renewed(two.now);
        two.other.watch(&hashes(watched), &[]);
        two.deliver_all();
        two
    }

    fn deliver_all(&mut self) {
        let (batches, lease) = self.other.lease();
        for batch in batches {
            self.own.batch_received(self.other.id, batch, self.now);
        }
        self.own.lease_seen(self.other.id, lease, self.now);
    }

    fn deliver_lease(&mut self) {
        let (_, lease) = self.other.lease();
        self.own.lease_seen(self.other.id, lease, self.now);
    }

    fn deliver_snapshot(&mut self) {
        let (_, parts) = self.other.snapshot();
        for part in parts {
            self.own.snapshot_received(self.other.id, part, self.now);
        }
    }

    fn pass(&mut self, time: Duration) -> Due {
        self.now += time;
        self.own.tick(self.now)
    }

    fn polled(&self) -> usize {
        self.own.polled_count()
    }
}

#[test]
fn two_replicas_share_what_both_watch() {
    let mut two = Two::new(0..1000);
    assert!((400..600).contains(&two.polled()), "{}", two.polled());
    assert!(two.own.is_watched_elsewhere(hashes(3..4)[0]));
    assert!(!two.own.is_watched_elsewhere(hashes(1000..1001)[0]));
    two.other.watch(&[], &hashes(0..1000));
    two.deliver_all();
    assert_eq!(two.polled(), 1000);
    assert!(!two.own.is_watched_elsewhere(hashes(3..4)[0]));
}

#[test]
fn a_lease_that_is_not_renewed_ends() {
    let mut two = Two::new(0..1000);
    two.pass(LEASE / 2);
    two.own.renewed(two.now);
    assert!(two.polled() < 1000);
    two.pass(LEASE / 2);
    assert_eq!((two.polled(), two.own.live_peers().len()), (1000, 0));
    two.own.renewed(two.now);
    two.deliver_lease();
    assert!(two.polled() < 1000, "it returned with the same interest");
    two.own.left(two.other.id);
    assert_eq!((two.polled(), two.own.live_peers().len()), (1000, 0));
}

#[test]
fn a_replica_without_its_own_lease_polls_everything() {
    let mut two = Two::new(0..1000);
    two.now += LEASE;
    two.deliver_lease();
    two.pass(Duration::ZERO);
    assert_eq!(two.polled(), 1000);
    two.own.renewed(two.now);
    assert!(two.polled() < 1000);
    two.own.disconnected();
    assert_eq!(two.polled(), 1000);
    two.own.renewed(two.now);
    assert_eq!(two.polled(), 1000, "the other one was not heard of since");
    two.deliver_lease();
    assert!(two.polled() < 1000);
}

#[test]
fn a_lost_batch_is_replaced_by_a_snapshot() {
    let mut two = Two::new(0..1000);
    two.other.watch(&[], &hashes(0..500));
    let _lost = two.other.take_batches();
    assert!(two.polled() < 600);
    two.deliver_lease();
    assert_eq!(
        two.pass(Duration::ZERO).snapshots,
        [],
        "the batch may still arrive"
    );
    assert_eq!(two.pass(Duration::from_secs(1)).snapshots, [two.other.id]);
    assert_eq!(two.polled(), 1000, "nobody relies on what may be wrong");
    assert_eq!(
        two.pass(Duration::from_secs(1)).snapshots,
        [],
        "it was requested"
    );
    // A batch that arrives before the snapshot waits for the snapshot.
    two.other.watch(&hashes(5000..5001), &[]);
    let next = two.other.take_batches().remove(0);
    two.own.batch_received(two.other.id, next, two.now);
    two.deliver_snapshot();
    assert!((700..800).contains(&two.polled()), "{}", two.polled());
    two.deliver_lease();
    assert_eq!(two.pass(Duration::from_secs(1)), Due::default());
}

#[test]
fn a_gap_in_batches_is_noticed_at_once() {
    let mut two = Two::new(0..10);
    for n in 0..3 {
        two.other.watch(&hashes(100 + n..101 + n), &[]);
        let batch = two.other.take_batches().remove(0);
        if n != 1 {
            two.own.batch_received(two.other.id, batch, two.now);
        }
    }
    assert_eq!(two.pass(Duration::ZERO).snapshots, [two.other.id]);
    two.deliver_snapshot();
    let (_, lease) = two.other.lease();
    assert_eq!(two.own.peers[&two.other.id].interest.digest, lease.watched);
}

#[test]
fn a_snapshot_that_is_not_answered_is_requested_again() {
    let mut two = Two::new(0..10);
    two.other.watch(&hashes(50..60), &[]);
    let _lost = two.other.take_batches();
    two.deliver_lease();
    assert_eq!(two.pass(Duration::from_secs(1)).snapshots, [two.other.id]);
    assert_eq!(two.pass(Duration::from_secs(2)).snapshots, []);
    two.deliver_lease();
    assert_eq!(two.pass(Duration::from_secs(4)).snapshots, [two.other.id]);
}

#[test]
fn lost_events_are_noticed_by_the_next_one_or_by_the_lease() {
    let mut two = Two::new(0..10);
    let id = two.other.id;
    assert_eq!(two.other.count_events(2), 0);
    assert!(!two.own.events_received(id, 0, 2, two.now));
    two.other.count_events(1);
    assert_eq!(two.other.count_events(1), 3);
    assert!(two.own.events_received(id, 3, 1, two.now));
    two.other.count_events(1);
    two.deliver_lease();
    assert!(!two.pass(Duration::ZERO).events_lost);
    assert!(two.pass(Duration::from_secs(1)).events_lost);
    assert!(!two.pass(Duration::from_secs(1)).events_lost);
}

#[test]
fn what_is_gone_is_forgotten() {
    let mut two = Two::new(0..10);
    two.pass(LEASE * 3);
    assert!(two.own.index.watchers(hashes(0..1)[0]).is_empty());
    assert_eq!(two.own.peers.len(), 1, "its events are still counted");
    two.pass(MEMORY);
    assert!(two.own.peers.is_empty());
}

/// Messages of `other` with seals, and its answers to requests.
impl Two {
    /// From now on, the other replica seals its messages.
    fn sealed(&mut self, kind: MessageKind, sequence: u64) -> bool {
        self.own
            .admits(self.other.id, kind, Some(sequence), self.now)
    }
}

#[test]
fn a_sealed_message_is_accepted_once() {
    let mut two = Two::new(0..10);
    let id = two.other.id;
    assert!(
        two.own.admits(id, MessageKind::Events, None, two.now),
        "an earlier version"
    );
    assert!(two.sealed(MessageKind::Lease, 7) && two.sealed(MessageKind::Events, 5));
    assert!(!two.sealed(MessageKind::Lease, 7) && !two.sealed(MessageKind::Lease, 6));
    assert!(two.sealed(MessageKind::Lease, 8));
    assert!(
        !two.own.admits(id, MessageKind::Events, None, two.now),
        "it seals all of its messages"
    );
    assert!(!two.own.admits_snapshot(id, false) && two.own.admits_snapshot(id, true));
    assert!(
        !two.own
            .admits(two.own.id, MessageKind::Lease, Some(9), two.now),
        "its own lease"
    );
}

#[test]
fn nobody_relies_on_a_replica_that_answers_no_request() {
    let mut two = Two {
        own: replica(1),
        other: replica(2),
        now: Instant::now(),
    };
    two.own.watch(&hashes(0..1000), &[]);
    two.own.renewed(two.now);
    two.other.watch(&hashes(0..1000), &[]);
    // A lease and a batch, which may be messages of a stopped replica.
    assert!(two.sealed(MessageKind::Interest, 1) && two.sealed(MessageKind::Lease, 2));
    two.deliver_all();
    assert_eq!(two.polled(), 1000);
    assert_eq!(two.pass(Duration::ZERO).snapshots, [two.other.id]);
    two.deliver_snapshot();
    assert!((400..600).contains(&two.polled()), "{}", two.polled());
    // From now on, the messages of the replica are used.
    assert!(two.sealed(MessageKind::Interest, 3));
    two.other.watch(&[], &hashes(0..500));
    two.deliver_all();
    assert!((700..800).contains(&two.polled()), "{}", two.polled());
    assert_eq!(two.pass(Duration::from_secs(1)), Due::default());
}

#[test]
fn a_lease_lasts_no_longer_than_the_own_one() {
    let mut two = Two::new(0..1000);
    let (_, lease) = two.other.lease();
    let lease = Lease {
        milliseconds: u64::MAX,
        ..lease
    };
    two.own.lease_seen(two.other.id, lease, two.now);
    assert!(two.polled() < 1000);
    two.pass(LEASE);
    two.own.renewed(two.now);
    two.pass(Duration::ZERO);
    assert_eq!((two.polled(), two.own.live_peers().len()), (1000, 0));
}

#[test]
fn the_number_of_replicas_and_of_what_they_watch_is_limited() {
    let mut two = Two::new(0..10);
    let id = ReplicaId::of;
    let lease = two.other.lease().1;
    for number in 10..5_000 {
        let batch = InterestBatch {
            number: 2,
            added: uri_hash::HashList(hashes(0..100)),
            removed: Default::default(),
        };
        if two
            .own
            .admits(id(number), MessageKind::Interest, None, two.now)
        {
            two.own.batch_received(id(number), batch, two.now);
            two.own.lease_seen(id(number), lease.clone(), two.now);
        }
    }
    assert_eq!(two.own.peers.len(), MAX_PEERS);
    assert!(
        two.own.peers.contains_key(&two.other.id),
        "those that are alive are kept"
    );
    two.pass(LEASE);
    assert!(
        two.own.admits(id(9_999), MessageKind::Lease, None, two.now),
        "one whose lease has ended makes room"
    );
    assert_eq!(two.own.peers.len(), MAX_PEERS);
}
