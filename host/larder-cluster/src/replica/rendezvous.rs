//! Rendezvous hashing: of the replicas that watch a URI, the one with the highest weight checks it. When a replica
//! joins or leaves, only the URIs of this replica move.

use super::uri_hash::UriHash;
use crate::replica_id::ReplicaId;

/// The weight of a replica for a URI. All replicas compute the same weight.
pub(super) fn weight(replica: ReplicaId, uri: UriHash) -> (u64, ReplicaId) {
    let [high, low] = [(uri.0 >> 64) as u64, uri.0 as u64];
    (mix(mix(replica.number() ^ low) ^ high), replica)
}

/// The last step of SplitMix64: each bit of the input changes half of the bits of the output.
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes() -> impl Iterator<Item = UriHash> {
        (0..10_000u64)
            .map(|n| UriHash((u128::from(mix(n + 1)) << 64) | u128::from(mix(n + 100_000))))
    }

    fn chosen(replicas: &[ReplicaId], uri: UriHash) -> ReplicaId {
        replicas
            .iter()
            .copied()
            .max_by_key(|replica| weight(*replica, uri))
            .unwrap()
    }

    #[test]
    fn uris_are_spread_evenly() {
        let replicas: Vec<_> = (0..10).map(|n| ReplicaId::of(mix(n))).collect();
        for replica in &replicas {
            let count = hashes()
                .filter(|uri| chosen(&replicas, *uri) == *replica)
                .count();
            assert!((900..1100).contains(&count), "{count}");
        }
    }

    #[test]
    fn only_the_uris_of_a_replica_that_leaves_move() {
        let replicas: Vec<_> = (0..10).map(|n| ReplicaId::of(mix(n))).collect();
        for uri in hashes() {
            let before = chosen(&replicas, uri);
            let after = chosen(&replicas[1..], uri);
            assert!(before == after || before == replicas[0]);
        }
    }
}
