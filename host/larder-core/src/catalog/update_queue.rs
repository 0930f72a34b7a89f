//! Hints that content may have changed, for the search index: the URIs whose update was noticed, and the providers that
//! reported a change of their list. The queue is bounded: if there are too many URIs, it only stores that URIs are
//! missing.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use larder_model::name::ProviderName;
use larder_model::uri::Uri;

/// Maximum number of URIs that wait.
const MAX_URIS: usize = 10_000;

/// The hints that have not been taken. Nothing is collected before [`Self::collect`].
#[derive(Debug, Default)]
pub(super) struct UpdateQueue {
    is_collected: AtomicBool,
    waiting: Mutex<UpdateHints>,
    wake: Notify,
}

/// What may have changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct UpdateHints {
    /// URIs with new content.
    pub(crate) uris: BTreeSet<Uri>,
    /// Providers of which anything may have changed.
    pub(crate) providers: BTreeSet<ProviderName>,
    /// Whether URIs are missing, so that anything may have changed.
    pub(crate) is_incomplete: bool,
}

impl UpdateQueue {
    /// Begins to collect hints.
    pub(super) fn collect(&self) {
        self.is_collected.store(true, Ordering::Release);
    }

    pub(super) fn uri(&self, uri: &Uri) {
        self.add(|hints| {
            if hints.uris.len() < MAX_URIS {
                hints.uris.insert(uri.clone());
            } else {
                hints.uris.clear();
                hints.is_incomplete = true;
            }
        });
    }

    /// Records that anything may have changed.
    pub(super) fn anything(&self) {
        self.add(|hints| hints.is_incomplete = true);
    }

    pub(super) fn provider(&self, provider: &ProviderName) {
        self.add(|hints| {
            hints.providers.insert(provider.clone());
        });
    }

    fn add(&self, add: impl FnOnce(&mut UpdateHints)) {
        if self.is_collected.load(Ordering::Acquire) {
            add(&mut self.lock());
            self.wake.notify_one();
        }
    }

    /// Waits for hints, and takes them. For a single consumer. Cancel safe.
    pub(super) async fn next(&self) -> UpdateHints {
        loop {
            let hints = std::mem::take(&mut *self.lock());
            if hints != UpdateHints::default() {
                return hints;
            }
            self.wake.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, UpdateHints> {
        self.waiting.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn collects_hints_within_its_limit() {
        let queue = UpdateQueue::default();
        let uri = |n: usize| Uri::parse(&format!("x:{n}")).unwrap();
        queue.uri(&uri(1));
        queue.collect();
        queue.uri(&uri(2));
        queue.uri(&uri(2));
        let provider = ProviderName::parse("a").unwrap();
        queue.provider(&provider);
        let hints = queue.next().await;
        assert_eq!(
            (hints.uris, hints.is_incomplete),
            (BTreeSet::from([uri(2)]), false)
        );
        assert_eq!(hints.providers, BTreeSet::from([provider]));
        (0..=MAX_URIS).for_each(|n| queue.uri(&uri(n)));
        let hints = queue.next().await;
        assert!(hints.is_incomplete && hints.uris.is_empty());
    }
}
