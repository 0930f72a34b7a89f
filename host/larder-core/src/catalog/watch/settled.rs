//! Newly watched URIs are settled once their content is known. The code that adds a URI waits until it is settled
//! before it tells the client that it is subscribed: each later change is then found by a comparison, also if its hint
//! arrives late.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::{HubState, Registration, Watch, WatchHub};
use larder_model::uri::Uri;

/// How long a client waits for its subscription if its provider is slow.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The watched URIs whose content is not known yet.
#[derive(Debug, Default)]
pub(super) struct UnsettledUris {
    /// The value is whether a client was told of its subscription before the URI was settled.
    uris: HashMap<Uri, bool>,
    /// Whether there is a change detector, which settles URIs.
    has_detector: bool,
    settled: Arc<Notify>,
}

impl UnsettledUris {
    pub(super) fn add(&mut self, uri: &Uri) {
        self.uris.insert(uri.clone(), false);
    }

    pub(super) fn remove(&mut self, uri: &Uri) -> bool {
        let gave_up = self.uris.remove(uri);
        if gave_up.is_some() {
            self.settled.notify_waiters();
        }
        gave_up.unwrap_or(false)
    }

    pub(super) fn detector_started(&mut self) {
        self.has_detector = true;
    }

    /// Records that a client is told of its subscription although the content is not yet known.
    fn give_up(&mut self, uri: &Uri) {
        if let Some(gave_up) = self.uris.get_mut(uri) {
            *gave_up = true;
        }
    }
}

impl WatchHub {
    /// Settles a URI, whose content is known now. Returns whether a client was told of its subscription before.
    pub(in crate::catalog) fn settle(&self, uri: &Uri) -> bool {
        self.state.lock().unsettled.remove(uri)
    }
}

impl Watch {
    /// Waits until the content of these added URIs is known, but only for a limited time.
    pub async fn settled(&self, uris: &[Uri]) {
        let deadline = Instant::now() + MAX_WAIT;
        for registration in &self.registrations {
            let mut remaining: Vec<&Uri> = uris.iter().collect();
            if timeout_at(deadline, registration.settled(&mut remaining))
                .await
                .is_err()
            {
                let mut hub = registration.state.lock();
                for uri in remaining {
                    hub.unsettled.give_up(uri);
                }
            }
        }
    }
}

impl Registration {
    /// Waits until all of these URIs are settled, and removes the settled ones from the list. Cancel safe.
    async fn settled(&self, remaining: &mut Vec<&Uri>) {
        let settled = self.state.lock().unsettled.settled.clone();
        loop {
            let wake = settled.notified();
            if self.state.lock().drop_settled(remaining) {
                return;
            }
            wake.await;
        }
    }
}

impl HubState {
    /// Removes settled URIs from the end of the list. Returns whether there is nothing left to wait for.
    fn drop_settled(&mut self, remaining: &mut Vec<&Uri>) -> bool {
        if !self.unsettled.has_detector {
            remaining
                .drain(..)
                .for_each(|uri| self.unsettled.give_up(uri));
        }
        while remaining
            .pop_if(|uri| !self.unsettled.uris.contains_key(*uri))
            .is_some()
        {}
        remaining.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        Uri::parse(text).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn waits_until_all_uris_are_settled_or_too_much_time_has_passed() {
        let hub = WatchHub::new(10);
        let watch = Watch::new([&hub].into_iter());
        let uris = ["a:1", "a:2", "a:3"].map(uri);
        assert!(uris.iter().all(|uri| watch.add(uri.clone())));
        // Without a detector, this does not wait.
        watch.settled(&uris[2..]).await;
        assert!(hub.settle(&uris[2]), "a client was told too early");

        hub.next_events().await;
        let settle = async {
            tokio::task::yield_now().await;
            assert!(!hub.settle(&uris[1]) && !hub.settle(&uris[0]));
        };
        tokio::join!(watch.settled(&uris), settle);

        assert!(watch.add(uri("a:4")));
        let began = Instant::now();
        watch.settled(&[uri("a:4")]).await;
        assert!(began.elapsed() >= MAX_WAIT && hub.settle(&uri("a:4")) && !hub.settle(&uri("a:4")));
    }
}
