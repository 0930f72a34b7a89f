//! Limits how often a client can send a wrong token.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};

use larder_runtime::connection_slots::Source;

/// How many wrong tokens a client can send at once.
const BURST: u32 = 10;
/// The time until the client can send one more token.
const REFILL: Duration = Duration::from_secs(2);
/// Maximum number of clients in the table.
const MAX_CLIENTS: usize = 1_000;

/// The wrong tokens of each client.
#[derive(Default)]
pub(super) struct Attempts(Mutex<HashMap<Source, Instant>>);

/// A client has sent too many wrong tokens, and can try again after this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyAttempts(pub(crate) Duration);

impl Attempts {
    /// Checks a token with `is_valid`, unless the client has sent too many wrong tokens. A client does not gain
    /// attempts if it sends several tokens at the same time.
    pub(super) fn check(
        &self,
        client: Source,
        now: Instant,
        is_valid: impl FnOnce() -> bool,
    ) -> Result<bool, TooManyAttempts> {
        let mut table = self.table();
        // The value is the time at which all attempts of the client are available again.
        let full_at = table.get(&client).copied().unwrap_or(now).max(now);
        let after = full_at + REFILL;
        if let Some(wait) = wait_time(after, now) {
            return Err(TooManyAttempts(wait));
        }
        let is_valid = is_valid();
        if !is_valid {
            make_room(&mut table, now);
            table.insert(client, after);
        }
        Ok(is_valid)
    }

    fn table(&self) -> MutexGuard<'_, HashMap<Source, Instant>> {
        self.0.lock()
    }
}

/// Returns how long a client must wait for an attempt after which all attempts are available again at `full_at`.
fn wait_time(full_at: Instant, now: Instant) -> Option<Duration> {
    let wait = full_at.checked_duration_since(now + REFILL * BURST);
    wait.filter(|wait| !wait.is_zero())
}

/// Removes clients whose attempts are all available again. If there are none, removes all clients: an attacker with
/// this many addresses has many attempts in any case.
fn make_room(table: &mut HashMap<Source, Instant>, now: Instant) {
    if table.len() >= MAX_CLIENTS {
        table.retain(|_, full_at| *full_at > now);
    }
    if table.len() >= MAX_CLIENTS {
        table.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn client(n: u32) -> Source {
        IpAddr::from(Ipv4Addr::from_bits(n)).into()
    }

    #[test]
    fn wrong_tokens_use_up_attempts_and_right_ones_do_not() {
        let attempts = Attempts::default();
        let now = Instant::now();
        let check = |client, now, is_valid| attempts.check(client, now, || is_valid);
        for _ in 0..100 {
            assert_eq!(check(client(1), now, true), Ok(true));
        }
        for _ in 0..BURST {
            assert_eq!(check(client(1), now, false), Ok(false));
        }
        assert_eq!(
            check(client(1), now, true),
            Err(TooManyAttempts(REFILL)),
            "a right one is not tried either"
        );
        assert_eq!(
            check(client(2), now, true),
            Ok(true),
            "others are not affected"
        );
        let later = now + REFILL;
        assert_eq!(check(client(1), later, true), Ok(true));
        assert_eq!(check(client(1), later, false), Ok(false));
        assert!(check(client(1), later, false).is_err());
    }

    #[test]
    fn the_number_of_clients_is_limited() {
        let attempts = Attempts::default();
        let now = Instant::now();
        for n in 0..3_000 {
            assert_eq!(attempts.check(client(n), now, || false), Ok(false));
        }
        assert!(attempts.table().len() <= MAX_CLIENTS);
    }
}
