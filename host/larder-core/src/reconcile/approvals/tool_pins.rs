//! The pinned definitions of tools: the digests of the definitions that were offered.

use std::collections::BTreeMap;

use super::{Approvals, ApprovalsError, ByProvider, MAX_REMEMBERED_PROVIDERS, OFFERS_FILE};
use crate::catalog::OfferRecord;
use larder_model::name::{ProviderName, TeamName};

/// The digests of the definitions of one provider, by the name of the tool.
pub(in crate::reconcile) type ToolPins = BTreeMap<String, String>;
pub(super) type PinsByFolder = ByProvider<ToolPins>;

pub(super) const PINS_FILE: &str = "tools.json";
/// Maximum number of tools whose pins are stored for one provider. Names come and go with its revisions.
const MAX_PINS: usize = 10_000;

impl Approvals {
    /// Returns the pinned definitions of a provider's tools. Returns `None` if no folder in the state has pins for a
    /// provider of this name, and no provider of this name was served with tools: only then the tools are accepted as
    /// they are. If only providers of the same name in other folders have pins, these pins count, and a tool that they
    /// pin differently counts as changed.
    pub(in crate::reconcile) fn tool_pins(
        &self,
        team: &TeamName,
        provider: &ProviderName,
    ) -> Result<Option<ToolPins>, ApprovalsError> {
        let all: PinsByFolder = self.store.read(PINS_FILE)?;
        let known = self.of_provider(&all, team, provider, |_| true);
        if known.is_empty() && !self.had_tools(team, provider)? {
            return Ok(None);
        }
        let mut pins = ToolPins::new();
        for (tool, digest) in known.iter().copied().flatten() {
            let pin = pins.entry(tool.clone()).or_insert_with(|| digest.clone());
            if pin != digest {
                // No definition has an empty digest.
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

    /// Pins these definitions. The pins of other tools stay, so that a tool that is offered again without a change
    /// needs no approval.
    pub(in crate::reconcile) fn pin_tools(
        &self,
        team: &TeamName,
        provider: &ProviderName,
        pins: &ToolPins,
    ) -> Result<(), ApprovalsError> {
        let all: PinsByFolder = self.store.read(PINS_FILE)?;
        let of_team = all
            .get(self.key.as_str())
            .and_then(|teams| teams.get(team.as_str()));
        let own = of_team.and_then(|providers| providers.get(provider.as_str()));
        if own.is_some_and(|own| {
            pins.iter()
                .all(|(tool, digest)| own.get(tool) == Some(digest))
        }) {
            return Ok(());
        }
        // A provider without pins would be accepted as if it were new, so no pins are removed to make room for another
        // provider.
        if own.is_none()
            && of_team.is_some_and(|providers| providers.len() >= MAX_REMEMBERED_PROVIDERS)
        {
            return Err(ApprovalsError::Full {
                path: self.store.path(PINS_FILE),
                team: team.clone(),
            });
        }
        self.store.change(PINS_FILE, |all: &mut PinsByFolder| {
            let teams = all.entry(self.key.to_string()).or_default();
            let providers = teams.entry(team.to_string()).or_default();
            let known = providers.entry(provider.to_string()).or_default();
            if known.len() + pins.len() > MAX_PINS {
                known.clear();
            }
            known.extend(pins.clone());
        })
    }
}
