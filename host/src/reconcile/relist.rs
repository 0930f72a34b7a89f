//! How often a provider may say that its lists differ: each time costs a probe, and whoever listens a
//! notification. What is said more often is worked off later, once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::name::ProviderName;

/// The shortest time between two probes of one provider.
const PAUSE: Duration = Duration::from_millis(500);
const NEVER: Duration = Duration::from_secs(3_600);

/// Who was asked when, and who wants to be asked again.
#[derive(Default)]
pub(super) struct Relists(BTreeMap<ProviderName, (Instant, bool)>);

impl Relists {
    /// A provider's lists differ: whether to ask it at once.
    pub(super) fn want(&mut self, provider: &ProviderName) -> bool {
        let now = Instant::now();
        match self.0.get_mut(provider) {
            Some((last, waits)) if now < *last + PAUSE => {
                *waits = true;
                false
            }
            _ => {
                self.0.insert(provider.clone(), (now, false));
                true
            }
        }
    }

    /// Those that waited long enough.
    pub(super) fn due(&mut self) -> Vec<ProviderName> {
        let now = Instant::now();
        let mut due = Vec::new();
        self.0.retain(|provider, (last, waits)| {
            let is_over = *last + PAUSE <= now;
            if is_over && *waits {
                due.push(provider.clone());
                (*last, *waits) = (now, false);
                return true;
            }
            !is_over
        });
        due
    }

    /// How long until the next one is due.
    pub(super) fn next(&self) -> Duration {
        let now = Instant::now();
        let waiting = self.0.values().filter(|(_, waits)| *waits);
        waiting.map(|(last, _)| (*last + PAUSE).saturating_duration_since(now)).min().unwrap_or(NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_often_is_asked_once_now_and_once_later() {
        let mut relists = Relists::default();
        let provider = ProviderName::parse("p").unwrap();
        let asked = (0..1_000).filter(|_| relists.want(&provider)).count();
        assert_eq!((asked, relists.due().len()), (1, 0));
        assert!(relists.next() <= PAUSE);
        std::thread::sleep(relists.next());
        assert_eq!((relists.due(), relists.due()), (vec![provider], vec![]));
    }
}
