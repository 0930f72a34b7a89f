//! What the replicas tell each other about a watched URI. A report of another replica causes a check here, and only what
//! this replica's own checks find is compared with each other: another replica may see newer or older content for a while,
//! for example of a folder that each machine receives at another time.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::{KnownContent, WatchTable};
use crate::catalog::ContentState;
use crate::replicas::TeamReplicas;
use larder_model::uri::Uri;

/// When to check again after the first check does not find what another replica reported.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The pause doubles up to this one, so that the replica looks for the reported content for about two minutes.
const LAST_PAUSE: Duration = Duration::from_secs(64);
/// After so many checks in a row without an answer, another replica should poll the URI.
const MAX_FAILURES: u32 = 3;

/// What the other replicas know of a URI from this one, and what they reported.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    /// Whether this replica offers to poll the URI for the others, and relies on the one that polls it.
    is_offered: bool,
    /// Whether it told them what it found, since it polls for them.
    is_announced: bool,
    /// Checks in a row without an answer.
    failures: u32,
    /// The last check, until it is decided whether to report it.
    checked: Option<Checked>,
    expected: Option<Expected>,
}

/// A check that was answered.
#[derive(Debug, Clone, Copy)]
struct Checked {
    has_changed: bool,
    /// Whether the others may not notice the change.
    noticed_here: bool,
}

/// What another replica found and this one does not see yet.
#[derive(Debug)]
struct Expected {
    state: ContentState,
    next: Instant,
    pause: Duration,
}

/// The URIs that this replica begins or ceases to offer.
#[derive(Debug, Default)]
pub(super) struct Offers(HashMap<Uri, bool>);

impl Sharing {
    /// Records an answer. `change` is set if it differs from the one before: whether something here led to the check that
    /// other replicas may not notice.
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
        self.checked = Some(Checked {
            has_changed: change.is_some(),
            noticed_here,
        });
        // If this replica finds nothing, another one may have a provider that does.
        match content {
            KnownContent::Present(_) if !self.is_offered => {
                self.is_offered = true;
                offers.0.insert(uri.clone(), true);
            }
            KnownContent::Present(_) => {}
            _ => self.withdraw(uri, offers),
        }
    }

    /// Compares an answer with what another replica reported. Returns whether it is the same.
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

    /// Whether this replica makes the periodic checks of the URI: it was chosen, or it cannot take part.
    pub(super) fn polls(&self, uri: &Uri, replicas: &dyn TeamReplicas) -> bool {
        !self.is_offered || replicas.is_poller(uri)
    }

    fn expect(&mut self, state: ContentState) {
        // The same report again does not extend the time.
        if self
            .expected
            .as_ref()
            .is_none_or(|expected| expected.state != state)
        {
            self.expected = Some(Expected {
                state,
                next: Instant::now(),
                pause: FIRST_PAUSE,
            });
        }
    }

    /// Decides whether to report to the other replicas what the last check found. The replica that polls reports each
    /// change. It also reports once what it knows, because the others may know only what the previous poller found, or
    /// less. Other replicas report only what the poller may not notice. Nobody answers a report.
    fn must_tell(&mut self, is_poller: bool, others_watch: bool) -> bool {
        let Some(Checked {
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
    /// Takes what another replica found. If this one knows something else, the URI is checked.
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

    /// Returns what the other replicas must be told after a check.
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

    /// Returns the URIs that this replica begins to offer, and those that it ceases to offer.
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
