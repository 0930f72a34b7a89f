//! All components of all teams, served or not, with all data that the API shows of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::TeamView;
use larder_core::catalog::{Offer, PendingApproval, RejectedComponent};
use larder_core::reconcile::ComponentReport;
use larder_core::search_index::ProviderProgress;
use larder_model::name::TeamName;
use larder_skills::ProviderSkills;

/// A component of a team.
pub(super) struct ComponentView {
    pub(super) team: TeamName,
    /// The name of the provider.
    pub(super) name: String,
    /// The offer of the component, if it is served.
    pub(super) offer: Option<Arc<Offer>>,
    /// The report about the component's revisions.
    pub(super) report: Option<ComponentReport>,
    /// Why the last revision of the component cannot be served.
    pub(super) rejected: Option<RejectedComponent>,
    /// The requests that wait for approval.
    pub(super) pending: Option<PendingApproval>,
    /// The component's part of the full-text index.
    pub(super) index: Option<ProviderProgress>,
    /// The skills that are offered now, and the pages of apps.
    pub(super) skills: Option<Arc<ProviderSkills>>,
}

/// The state of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComponentState {
    /// The component is served.
    Ready,
    /// The component is served, but it has a problem that its operator should solve.
    Degraded,
    /// The component is not served yet.
    Loading,
    /// The component is not served before it is approved.
    Pending,
    /// The component cannot be served.
    Rejected,
}

impl ComponentState {
    pub(super) const ALL: [Self; 5] = [
        Self::Ready,
        Self::Degraded,
        Self::Loading,
        Self::Pending,
        Self::Rejected,
    ];

    pub(super) fn label(self) -> &'static str {
        ["ready", "degraded", "loading", "pending", "rejected"][self as usize]
    }
}

impl ComponentView {
    /// Returns all components of a team, by name.
    pub(super) fn of_team(team: &TeamView) -> Vec<Self> {
        let catalog = team.catalog.snapshot();
        let index = team.index.providers();
        let skills = team.catalog.skills();
        let reports = team.components.reports();
        let offers = by_name(catalog.offers(), |offer| offer.name().as_str());
        let reports = by_name(&reports, |report| report.name.as_str());
        let rejected = by_name(catalog.rejected(), |one| one.name.as_str());
        let pending = by_name(catalog.pending_approvals(), |one| one.provider.as_str());
        let names: BTreeSet<&str> = offers
            .keys()
            .chain(reports.keys())
            .chain(pending.keys())
            .copied()
            .collect();
        let view = |name: &str| Self {
            team: team.catalog.team().clone(),
            name: name.to_owned(),
            offer: offers.get(name).copied().cloned(),
            report: reports.get(name).copied().cloned(),
            rejected: rejected.get(name).copied().cloned(),
            pending: pending.get(name).copied().cloned(),
            index: offers
                .get(name)
                .and_then(|offer| index.get(offer.name()).cloned()),
            skills: offers
                .get(name)
                .and_then(|offer| skills.of(offer.name()).cloned()),
        };
        names.into_iter().map(view).collect()
    }

    /// Returns all components of all teams.
    pub(super) fn all(teams: &[TeamView]) -> Vec<Self> {
        let mut all: Vec<_> = teams.iter().flat_map(Self::of_team).collect();
        all.sort_by_cached_key(Self::full_name);
        all
    }

    /// Returns the component with this full name.
    pub(super) fn find(teams: &[TeamView], full_name: &str) -> Option<Self> {
        let team = full_name.split_once('/').map(|(team, _)| team);
        let own = teams
            .iter()
            .filter(|view| view.catalog.team().non_default() == team);
        own.flat_map(Self::of_team)
            .find(|view| view.full_name() == full_name)
    }

    /// The name of the component. If there are teams, the name of its team precedes it.
    pub(super) fn full_name(&self) -> String {
        full_name(&self.team, &self.name)
    }

    /// Returns the state of the component.
    pub(super) fn state(&self) -> ComponentState {
        match &self.offer {
            Some(offer) if self.is_degraded(offer) => ComponentState::Degraded,
            Some(_) => ComponentState::Ready,
            None if self.pending.is_some() => ComponentState::Pending,
            None if self.rejected.is_some() => ComponentState::Rejected,
            None => ComponentState::Loading,
        }
    }

    fn is_degraded(&self, offer: &Offer) -> bool {
        let provider = &offer.provider;
        let states = provider.circuits();
        let circuits = [
            states.calls_open_for,
            states.list_open_for,
            states.search_open_for,
        ];
        self.rejected.is_some()
            || self.pending.is_some()
            || !offer.setting_problems.is_empty()
            || circuits.iter().any(Option::is_some)
    }
}

fn by_name<T>(items: &[T], name: fn(&T) -> &str) -> BTreeMap<&str, &T> {
    items.iter().map(|item| (name(item), item)).collect()
}

/// Returns the name of a provider. If there are teams, the name of its team precedes it.
pub(super) fn full_name(team: &TeamName, name: &str) -> String {
    team.non_default()
        .map_or_else(|| name.to_owned(), |team| format!("{team}/{name}"))
}
