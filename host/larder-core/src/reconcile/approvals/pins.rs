//! The pinned digests of what a provider instructs models with or shows to people: the definitions of tools, skills, and
//! the pages of apps. What differs from its pin waits for approval.

use std::collections::{BTreeMap, BTreeSet};

use super::{Approvals, ApprovalsError, ByProvider, MAX_REMEMBERED_PROVIDERS, OFFERS_FILE};
use crate::catalog::OfferRecord;
use larder_model::name::{Digest, ProviderName, TeamName};

/// The digests of one kind of one provider, by the name of the tool or the URI of the skill or page.
pub(crate) type Pins = BTreeMap<String, String>;
pub(super) type PinsByFolder = ByProvider<Pins>;

/// The files with pins, one for each kind.
pub(super) const PIN_FILES: [&str; 3] = [TOOLS_FILE, "skills.json", "pages.json"];
pub(super) const TOOLS_FILE: &str = "tools.json";
/// Maximum number of pins that are stored for one provider. Names come and go with its revisions.
const MAX_PINS: usize = 10_000;

/// What is pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PinKind {
    /// The definitions of tools.
    Tool,
    /// The contents of skills.
    Skill,
    /// The HTML of the pages of apps.
    Page,
}

impl PinKind {
    fn file(self) -> &'static str {
        PIN_FILES[self as usize]
    }

    /// The line that an operator approves.
    fn line(self, name: &str, digest: &str) -> String {
        match self {
            Self::Tool => format!("tool {name} with definition {digest}"),
            Self::Skill => format!("skill {name} with content {digest}"),
            Self::Page => format!("page {name} with content {digest}"),
        }
    }
}

/// Decides what of one kind of one provider is approved.
pub(crate) struct PinCheck<'a> {
    pub(crate) approvals: &'a Approvals,
    pub(crate) kind: PinKind,
    pub(crate) team: &'a TeamName,
    pub(crate) provider: &'a ProviderName,
    /// The digest of the component.
    pub(crate) component: Digest,
}

/// What is not approved.
#[derive(Debug, Default)]
pub(crate) struct PinDecision {
    /// The lines to approve, by name.
    pub(crate) waiting: BTreeMap<String, String>,
    /// The names of what an operator rejected.
    pub(crate) rejected: BTreeSet<String>,
    /// The pinned digests of the names that have another digest now. Rejected names are included.
    pub(crate) changed: Pins,
}

impl PinDecision {
    pub(crate) fn is_approved(&self, name: &str) -> bool {
        !(self.waiting.contains_key(name) || self.rejected.contains(name))
    }
}

impl PinCheck<'_> {
    /// Decides about these digests, and pins those that are approved. What is not pinned yet needs an approval too,
    /// unless nothing of the provider is pinned, or `is_named` says that the operator named it.
    pub(crate) fn decide(
        &self,
        digests: &Pins,
        is_named: impl Fn(&str) -> bool,
    ) -> Result<PinDecision, ApprovalsError> {
        let pins = self.approvals.pins(self.kind, self.team, self.provider)?;
        let decision = match pins {
            Some(pins) => self.compare(&pins, digests, is_named)?,
            None => PinDecision::default(),
        };
        let mut approved = digests.clone();
        approved.retain(|name, _| decision.is_approved(name));
        self.approvals
            .pin(self.kind, self.team, self.provider, &approved)?;
        Ok(decision)
    }

    fn compare(
        &self,
        pins: &Pins,
        digests: &Pins,
        is_named: impl Fn(&str) -> bool,
    ) -> Result<PinDecision, ApprovalsError> {
        let is_pinned = |name: &str, digest: &String| match pins.get(name) {
            Some(pinned) => pinned == digest,
            None => is_named(name),
        };
        let mut lines = BTreeMap::new();
        for (name, digest) in digests {
            if !is_pinned(name, digest) {
                lines.insert(self.kind.line(name, digest), name);
            }
        }
        let all = lines.keys().cloned().collect();
        let component = Some(self.component);
        let unapproved =
            self.approvals
                .unapproved_for(self.team, self.provider, component, &all)?;
        let rejections =
            self.approvals
                .rejections(self.team, self.provider.as_str(), self.component)?;
        let mut decision = PinDecision::default();
        for (line, name) in lines {
            if !unapproved.contains(&line) {
                continue;
            }
            if let Some(pinned) = pins.get(name) {
                decision.changed.insert(name.clone(), pinned.clone());
            }
            if rejections
                .iter()
                .any(|rejection| rejection.record.lines.contains(&line))
            {
                decision.rejected.insert(name.clone());
            } else {
                decision.waiting.insert(name.clone(), line);
            }
        }
        Ok(decision)
    }
}

impl Approvals {
    /// Returns the pins of a provider. Returns `None` if no folder in the state has pins for a provider of this name,
    /// and no provider of this name was served with tools: only then everything is accepted as it is. If only providers
    /// of the same name in other folders have pins, these pins count, and what they pin differently counts as changed.
    pub(in crate::reconcile) fn pins(
        &self,
        kind: PinKind,
        team: &TeamName,
        provider: &ProviderName,
    ) -> Result<Option<Pins>, ApprovalsError> {
        let all: PinsByFolder = self.store.read(kind.file())?;
        let known = self.of_provider(&all, team, provider, |_| true);
        let may_be_lost = kind == PinKind::Tool && self.had_tools(team, provider)?;
        if known.is_empty() && !may_be_lost {
            return Ok(None);
        }
        let mut pins = Pins::new();
        for (name, digest) in known.iter().copied().flatten() {
            let pin = pins.entry(name.clone()).or_insert_with(|| digest.clone());
            if pin != digest {
                // Nothing has an empty digest.
                pin.clear();
            }
        }
        Ok(Some(pins))
    }

    /// Whether a provider of this name was served with tools. The pins of such a provider may be lost, for example
    /// because the file was damaged and moved away.
    fn had_tools(&self, team: &TeamName, provider: &ProviderName) -> Result<bool, ApprovalsError> {
        let all: ByProvider<OfferRecord> = self.store.read(OFFERS_FILE)?;
        let known = self.of_provider(&all, team, provider, |_| true);
        Ok(known.iter().any(|record| record.has_tools()))
    }

    /// Adds these pins. Pins of other names are kept: a tool, skill or page that is removed and later returns without a
    /// change needs no approval.
    pub(in crate::reconcile) fn pin(
        &self,
        kind: PinKind,
        team: &TeamName,
        provider: &ProviderName,
        pins: &Pins,
    ) -> Result<(), ApprovalsError> {
        let all: PinsByFolder = self.store.read(kind.file())?;
        let of_team = self.of_team(&all, team);
        let own = of_team.and_then(|providers| providers.get(provider.as_str()));
        if own.is_some_and(|own| has_all(own, pins)) {
            return Ok(());
        }
        // A provider without pins would be accepted as if it were new, so no pins are removed to make room for another
        // provider.
        if own.is_none()
            && of_team.is_some_and(|providers| providers.len() >= MAX_REMEMBERED_PROVIDERS)
        {
            return Err(ApprovalsError::Full {
                path: self.store.path(kind.file()),
                team: team.clone(),
            });
        }
        self.store.change(kind.file(), |all: &mut PinsByFolder| {
            let providers = self.of_team_mut(all, team.as_str());
            add_pins(providers.entry(provider.to_string()).or_default(), pins);
        })
    }
}

fn has_all(known: &Pins, pins: &Pins) -> bool {
    pins.iter()
        .all(|(name, digest)| known.get(name) == Some(digest))
}

fn add_pins(known: &mut Pins, pins: &Pins) {
    if known.len() + pins.len() > MAX_PINS {
        known.clear();
    }
    known.extend(pins.clone());
}
