//! The maximum number of files and streams of a guest. Each of them can use a file descriptor of the process, and
//! connections need descriptors too. So all guests together may use at most half of the descriptors.

use rustix::process::{Resource, getrlimit};

/// The maximum for a guest on any server.
const MAX: usize = 256;
/// The minimum for a guest on any server. A guest needs descriptors for its output, its folders and each request that
/// it sends.
const MIN: usize = 64;

/// Returns how many files and streams each guest may hold, on a server with this many places for guests.
pub(crate) fn max_per_guest(guests: u32) -> usize {
    // A server raises its own limit to the maximum of the system. None if the system has no maximum.
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let max = share(limit, guests);
    if max < MAX {
        tracing::warn!(
            limit,
            max,
            "the limit of open files is low (`ulimit -n`): a guest may hold fewer files and streams"
        );
    }
    max
}

fn share(limit: u64, guests: u32) -> usize {
    // Idle guests hold descriptors as well.
    let all = (u64::from(guests) + u64::from(guests / 4)).max(1);
    usize::try_from(limit / 2 / all)
        .unwrap_or(MAX)
        .clamp(MIN, MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_leave_half_of_the_descriptors() {
        for (limit, guests, expected) in [
            (u64::MAX, 256, 256),
            (524_288, 256, 256),
            (524_288, 2_048, 102),
            (65_536, 256, 102),
            (1_024, 4, 102),
            (16_384, 256, MIN),
            (1_024, 0, 256),
        ] {
            let max = share(limit, guests);
            assert_eq!(max, expected, "{limit} {guests}");
            let all = max as u64 * u64::from(guests + guests / 4);
            assert!(all <= limit / 2 || max == MIN, "{limit} {guests}");
        }
    }
}
