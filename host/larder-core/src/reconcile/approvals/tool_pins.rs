//! The pinned definitions of tools: the digests of those that were offered.

use std::collections::BTreeMap;

use super::{Approvals, ApprovalsError, MAX_REMEMBERED_PROVIDERS};
use larder_model::name::{ProviderName, TeamName};

/// The digests of the definitions of one provider, by the name of the tool.
pub(in crate::reconcile) type ToolPins = BTreeMap<String, String>;
/// Keys: folder, team, provider.
type PinsByFolder = BTreeMap<String, BTreeMap<String, BTreeMap<String, ToolPins>>>;

const PINS_FILE: &str = "tools.json";
/// Maximum number of remembered tools of one provider. Names come and go with its revisions.
const MAX_PINS: usize = 10_000;

impl Approvals {
    /// Returns the pinned definitions of a provider's tools, or `None` if none was ever offered.
    pub(in crate::reconcile) fn tool_pins(
        &self,
        team: &TeamName,
        provider: &ProviderName,
    ) -> Result<Option<ToolPins>, ApprovalsError> {
        let mut all: PinsByFolder = self.store.read(PINS_FILE)?;
        let providers = all.get_mut(&self.plugins).and_then(|teams| teams.get_mut(team.as_str()));
        Ok(providers.and_then(|providers| providers.remove(provider.as_str())))
    }

    /// Pins these definitions. Those of other tools stay, so that a tool that comes back unchanged needs no approval.
    pub(in crate::reconcile) fn pin_tools(
        &self,
        team: &TeamName,
        provider: &ProviderName,
        pins: &ToolPins,
    ) -> Result<(), ApprovalsError> {
        let known = self.tool_pins(team, provider)?;
        if known.is_some_and(|known| pins.iter().all(|(tool, digest)| known.get(tool) == Some(digest))) {
            return Ok(());
        }
        self.store.change(PINS_FILE, |all: &mut PinsByFolder| {
            let teams = all.entry(self.plugins.clone()).or_default();
            let providers = teams.entry(team.to_string()).or_default();
            if providers.len() >= MAX_REMEMBERED_PROVIDERS && !providers.contains_key(provider.as_str()) {
                providers.pop_first();
            }
            let known = providers.entry(provider.to_string()).or_default();
            if known.len() + pins.len() > MAX_PINS {
                known.clear();
            }
            known.extend(pins.clone());
        })
    }
}
