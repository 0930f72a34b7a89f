//! What the replicas tell each other about a watched URI. A report of another replica causes a check on this replica.
//! Only results of this replica's own checks are compared with each other: another replica may have newer or older
//! content for a while, for example if each machine receives a folder at another time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::{KnownContent, WatchTable};
use crate::catalog::ContentState;
use crate::replicas::TeamReplicas;
use larder_model::uri::Uri;

/// The time until the next check if the first check does not find what another replica reported.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The maximum of the pause, which doubles each time. The replica thus looks for the reported content for about two
/// minutes.
const LAST_PAUSE: Duration = Duration::from_secs(64);
/// After this number of checks in a row without an answer, another replica should poll the URI.
const MAX_FAILURES: u32 = 3;

/// What the other replicas know about a URI from this replica, and what they reported.
#[derive(Debug, Default)]
pub(super) struct SharingState {
    /// Whether this replica offers to poll the URI for the other replicas, and relies on the replica that polls it.
    is_offered: bool,
    /// Whether this replica has reported what it found since it began to poll for the others.
    is_announced: bool,
    /// Checks in a row without an answer.
    failures: u32,
    /// The last check, until it is decided whether its result is reported.
    checked: Option<CheckOutcome>,
    expected: Option<ExpectedState>,
}

/// A check that was answered.
#[derive(Debug, Clone, Copy)]
struct CheckOutcome {
    has_changed: bool,
    /// Whether the other replicas may not notice the change.
    noticed_here: bool,
}

/// What another replica found and this replica has not found yet.
#[derive(Debug)]
struct ExpectedState {
    state: ContentState,
    next: Instant,
    pause: Duration,
}

/// The URIs that this replica begins (true) or ceases (false) to offer.
#[derive(Debug, Default)]
pub(super) struct Offers(HashMap<Uri, bool>);

impl SharingState {
    /// Records an answer. `change` is set if the answer differs from the previous one. Its value is whether an event on
    /// this replica caused the check, which other replicas may not notice.
    pub(super) fn checked(
        &mut self,
        uri: &Uri,
        content: &KnownContent,
        change: Option<bool>,
        offers: &mut Offers,
    ) {
        self.failures = 0;
        let is_reported = self.compare(content);
        let noticed_here = change == Some(true) && !is_reported;
        self.checked = Some(CheckOutcome {
            has_changed: change.is_some(),
            noticed_here,
        });
        // If this replica finds no content, another replica may have a provider that has the URI.
        match content {
            KnownContent::Present(_) if !self.is_offered => {
                self.is_offered = true;
                offers.0.insert(uri.clone(), true);
            }
            KnownContent::Present(_) => {}
            _ => self.withdraw(uri, offers),
        }
    }

    /// Compares an answer with what another replica reported. Returns whether both are the same.
    fn compare(&mut self, content: &KnownContent) -> bool {
        let Some(expected) = &mut self.expected else {
            return false;
        };
        let is_reported = !content.differs(&expected.state);
        expected.next = Instant::now() + expected.pause;
        expected.pause *= 2;
        if is_reported || expected.pause > 2 * LAST_PAUSE {
            self.expected = None;
        }
        is_reported
    }

    /// Records that a check was not answered.
    pub(super) fn not_answered(&mut self, uri: &Uri, offers: &mut Offers) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= MAX_FAILURES {
            self.withdraw(uri, offers);
        }
    }

    /// Ceases to poll a URI for the others.
    pub(super) fn withdraw(&mut self, uri: &Uri, offers: &mut Offers) {
        if std::mem::take(&mut self.is_offered) {
            offers.0.insert(uri.clone(), false);
        }
    }

    /// Whether it is time to look again for what another replica reported.
    pub(super) fn expects_more(&self, now: Instant) -> bool {
        self.expected
            .as_ref()
            .is_some_and(|expected| expected.next <= now)
    }

    /// Whether this replica makes the periodic checks of the URI: no other replica is chosen for the URI, or this
    /// replica does not offer to poll it for the others.
    pub(super) fn polls(&self, uri: &Uri, replicas: &dyn TeamReplicas) -> bool {
        !self.is_offered || replicas.is_poller(uri)
    }

    fn expect(&mut self, state: ContentState) {
        // If the same report arrives again, it does not extend the time.
        if self
            .expected
            .as_ref()
            .is_none_or(|expected| expected.state != state)
        {
            self.expected = Some(ExpectedState {
                state,
                next: Instant::now(),
                pause: FIRST_PAUSE,
            });
        }
    }

    /// Decides whether to report to the other replicas what the last check found. The replica that polls reports each
    /// change. It also reports once what it knows, because the other replicas may only know what the previous poller
    /// found, or less. Other replicas report only changes that the poller may not notice. Reports are not answered.
    fn must_tell(&mut self, is_poller: bool, others_watch: bool) -> bool {
        let Some(CheckOutcome {
            has_changed,
            noticed_here,
        }) = self.checked.take()
        else {
            return false;
        };
        let announces = is_poller && others_watch;
        let was_announced = std::mem::replace(&mut self.is_announced, announces);
        noticed_here || is_poller && has_changed || announces && !was_announced
    }
}

impl WatchTable {
    /// Records what another replica found. If this replica found something else, the URI is checked.
    pub(in crate::change_detector) fn reported(&mut self, watched: &Uri, state: ContentState) {
        let Some(entry) = self.entries.get_mut(watched) else {
            return;
        };
        if entry.content.differs(&state) {
            entry.sharing.expect(state);
            self.make_due(watched);
        } else {
            entry.sharing.expected = None;
        }
    }

    /// Returns what must be reported to the other replicas after a check.
    pub(in crate::change_detector) fn news(
        &mut self,
        watched: &Uri,
        replicas: &dyn TeamReplicas,
    ) -> Option<ContentState> {
        let entry = self.entries.get_mut(watched)?;
        let is_poller = replicas.is_poller(watched);
        let others_watch = is_poller && replicas.is_watched_elsewhere(watched);
        if entry.sharing.must_tell(is_poller, others_watch) {
            entry.content.state()
        } else {
            None
        }
    }

    /// Returns the URIs that this replica begins to offer and the URIs that it ceases to offer.
    pub(in crate::change_detector) fn take_offers(&mut self) -> Option<(Vec<Uri>, Vec<Uri>)> {
        if self.offers.0.is_empty() {
            return None;
        }
        let (begins, ceases): (Vec<_>, Vec<_>) =
            self.offers.0.drain().partition(|(_, offered)| *offered);
        let uris = |all: Vec<(Uri, bool)>| all.into_iter().map(|(uri, _)| uri).collect();
        Some((uris(begins), uris(ceases)))
    }
}
