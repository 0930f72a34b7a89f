//! When the clients of event streams reconnect after the server stopped. The times are random, so that the clients do
//! not all reconnect at once.

use std::ops::Range;

use super::connection::MAX_CLOSING_TIME;

/// For clients that try again until they succeed, perhaps at another replica. Such clients should not reconnect while the
/// stopping server still accepts connections.
const SOON: Range<u32> = 1_000..3_000;
const _: () = assert!(SOON.start as u128 > MAX_CLOSING_TIME.as_millis());
/// For legacy clients, whose session continues at the restarted server. Some of these clients try only twice, so the delay
/// is longer than most restarts take.
const AFTER_RESTART: Range<u32> = 3_000..4_000;

/// The delay of a modern client, in milliseconds.
pub(super) fn of_modern_client() -> u32 {
    random(SOON)
}

/// The delay of a legacy client, in milliseconds.
pub(super) fn of_legacy_client() -> u32 {
    random(AFTER_RESTART)
}

fn random(range: Range<u32>) -> u32 {
    // If there are no random numbers, all clients wait for the same time.
    range.start + getrandom::u32().unwrap_or_default() % (range.end - range.start)
}
