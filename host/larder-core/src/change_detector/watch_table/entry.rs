//! A watched URI: what is known about it, and what must be considered when its next check is answered.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::sharing::SharingState;
use crate::catalog::Catalog;
use crate::change_detector::known_content::KnownContent;
use larder_model::name::ProviderName;
use larder_model::uri::Uri;
use larder_provider::Provider;

/// Hints arrive later than the changes. A hint within this time after the first answer may concern a change that this
/// answer already contains. A client that read the content earlier has not seen that change. An unnecessary
/// notification costs a read; a missing one leaves a client with outdated content.
pub(super) const EARLY_HINT_WINDOW: Duration = Duration::from_secs(3);

/// A watched URI.
#[derive(Debug)]
pub(super) struct WatchEntry {
    pub(super) content: KnownContent,
    /// The providers that a read would call, in order.
    pub(super) owners: Vec<OwningRevision>,
    /// When the provider itself reported an update that the next answer shows. The watchers were notified of the
    /// update.
    pub(super) provider_updated: Option<Instant>,
    /// When the content became known; none if the content is known from before a restart.
    pub(super) known_since: Option<Instant>,
    /// Whether a client was told that it is subscribed before the content was known.
    pub(super) announced_early: bool,
    /// The version in the catalog when the URI was added.
    pub(super) listed_version: Option<String>,
    /// Another change may be hidden by a report of the provider. The next answer is reported in any case.
    pub(super) must_notify: bool,
    /// A change was reported before the first answer, which may show the content before or after the change. The next
    /// answer is reported, unless it has the version that the catalog listed when the URI was added.
    pub(super) in_doubt: bool,
    /// Whether the last change was not reported because an earlier report of the provider covered it.
    pub(super) was_covered: bool,
    /// Whether an event on this replica made the next check necessary. Other replicas may not have noticed such an
    /// event.
    pub(super) noticed_here: bool,
    /// Set while a check is unanswered.
    pub(super) in_flight: Option<InFlight>,
    pub(super) sharing: SharingState,
}

/// Why an unanswered check was made. If there is no answer, the reason is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InFlight {
    pub(super) provider_updated: Option<Instant>,
    pub(super) noticed_here: bool,
}

/// A revision of a provider. This value does not keep the revision alive.
#[derive(Debug, Clone)]
pub(super) struct OwningRevision {
    pub(super) name: ProviderName,
    pub(super) provider: Weak<dyn Provider>,
}

impl PartialEq for OwningRevision {
    fn eq(&self, other: &Self) -> bool {
        self.provider.ptr_eq(&other.provider)
    }
}

/// How a provider is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::change_detector) enum CheckMethod {
    /// By comparing versions.
    Version,
    /// By reading.
    Read,
}

impl WatchEntry {
    pub(super) fn new(catalog: &Catalog, watched: &Uri) -> Self {
        Self {
            content: KnownContent::Unknown,
            owners: owners(catalog, watched),
            provider_updated: None,
            known_since: None,
            announced_early: false,
            listed_version: listed_version(catalog, watched),
            must_notify: false,
            in_doubt: false,
            was_covered: false,
            noticed_here: false,
            in_flight: None,
            sharing: SharingState::default(),
        }
    }

    /// Records an event, observed at this time, that may have changed the content.
    pub(super) fn hint(&mut self, observed: Instant) {
        self.must_notify |= self.is_covered();
        self.in_doubt |= self.may_contain_change(observed);
        self.noticed_here = true;
    }

    /// Records that reports of providers may have been missed. A change that seemed to be covered by an earlier report
    /// may be another change, so clients have to be notified of it.
    pub(super) fn signals_were_missed(&mut self) {
        self.must_notify |= std::mem::take(&mut self.was_covered) || self.is_covered();
    }

    /// Whether the provider itself reported an update that the next answer shows. That report may concern an earlier
    /// change, and would hide a later change.
    fn is_covered(&self) -> bool {
        let is_checked = self
            .in_flight
            .is_some_and(|check| check.provider_updated.is_some());
        self.provider_updated.is_some() || is_checked
    }

    /// Begins a check. Events from now on concern the next one.
    pub(super) fn begin_check(&mut self) -> InFlight {
        let check = InFlight {
            provider_updated: self.provider_updated.take(),
            noticed_here: std::mem::take(&mut self.noticed_here),
        };
        self.in_flight = Some(check);
        check
    }

    /// Whether the known content may already contain the change that caused an event at this time.
    fn may_contain_change(&self, observed: Instant) -> bool {
        // For most URIs, an unchanged listed version proves that the content did not change. Without that proof, a
        // client that read before it subscribed has to read again.
        let is_late = self.announced_early || self.listed_version.is_some();
        let window = if is_late {
            EARLY_HINT_WINDOW
        } else {
            Duration::ZERO
        };
        self.content == KnownContent::Unknown
            || self
                .known_since
                .is_some_and(|since| observed < since + window)
    }

    /// Whether the catalog had the known version already when the URI was added. This is not known if a client was told
    /// too early that it is subscribed: the URI is added to the table a moment later.
    pub(super) fn is_older_than_watch(&self) -> bool {
        let listed = self
            .listed_version
            .as_ref()
            .filter(|_| !self.announced_early);
        listed.is_some_and(|listed| self.content.version().as_ref() == Some(listed))
    }

    /// Ends an unanswered check and restores the reason for it. Returns false if no check was unanswered.
    pub(super) fn return_unanswered(&mut self) -> bool {
        let Some(check) = self.in_flight.take() else {
            return false;
        };
        self.provider_updated = self.provider_updated.or(check.provider_updated);
        self.noticed_here |= check.noticed_here;
        true
    }
}

impl OwningRevision {
    /// Returns `None` if the revision was unloaded.
    pub(super) fn check_method(&self) -> Option<CheckMethod> {
        let provider = self.provider.upgrade()?;
        Some(if provider.interfaces().versions {
            CheckMethod::Version
        } else {
            CheckMethod::Read
        })
    }
}

fn listed_version(catalog: &Catalog, uri: &Uri) -> Option<String> {
    let entry = catalog.by_uri(uri.as_str())?.listed_entry(uri)?;
    entry.version.clone()
}

pub(super) fn owners(catalog: &Catalog, uri: &Uri) -> Vec<OwningRevision> {
    let offers = catalog.routes(uri).filter_map(|route| route.offer());
    offers
        .map(|offer| OwningRevision {
            name: offer.name().clone(),
            provider: Arc::downgrade(&offer.provider),
        })
        .collect()
}
