//! The replacement for registries and signatures in a program without the feature `registry`. `features` rejects a
//! configuration that needs them: a rule about signatures that cannot be verified must not be ignored.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::Spanned;

use super::Conversion;
use crate::features::missing;
use crate::file::{Provider, Registries, RegistryCredentials, Trust};
use crate::{Overrides, RegistryConfig};
use larder_core::reconcile::ProviderConfig;
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::Secrets;
use larder_model::signature::{NoVerification, SignatureVerifier};

/// No registry is permitted.
#[derive(Clone)]
pub(super) struct Access;

/// No rule about signatures can be fulfilled.
#[derive(Clone)]
pub(super) struct Rule;

/// How a team reaches registries.
pub(super) struct TeamAccess {
    pub(super) access: Access,
    /// Whether the components are in a store that other teams do not use.
    pub(super) has_own_store: bool,
}

/// Without the feature, there are no registries.
pub(super) struct RegistrySettings {
    pub(super) access: Access,
}

impl RegistrySettings {
    pub(super) fn store_in(&self, state_dir: &Path) -> PathBuf {
        state_dir.join("store")
    }
}

/// Verifies nothing.
pub(super) fn verifier(_: &Rule, _: Option<Rule>) -> Arc<dyn SignatureVerifier> {
    Arc::new(NoVerification)
}

impl Conversion<'_> {
    pub(super) fn registries(
        &mut self,
        _: Registries,
        _: &Secrets,
        overrides: &Overrides,
    ) -> RegistrySettings {
        if overrides.locked {
            self.error_for_key("--locked", missing("registry"));
        }
        RegistrySettings { access: Access }
    }

    pub(super) fn trust_rule(&mut self, _: String, _: &Trust, _: Option<&Rule>) -> Rule {
        Rule
    }

    pub(super) fn team_access(
        &mut self,
        _: &Access,
        _: BTreeMap<Spanned<String>, RegistryCredentials>,
        _: &Secrets,
    ) -> Access {
        Access
    }

    pub(super) fn registry_component(
        &mut self,
        _: &ProviderName,
        _: &Provider,
        _: &RegistrySettings,
        _: Option<&TeamName>,
    ) -> Option<()> {
        // The parser refuses the reference.
        None
    }

    pub(super) fn registry_config(
        &self,
        _: &RegistrySettings,
        access: TeamAccess,
        _: BTreeMap<ProviderName, ()>,
        _: Option<TeamName>,
        _: &BTreeMap<ProviderName, ProviderConfig>,
        _: &Path,
    ) -> RegistryConfig {
        // Without the feature, there are no credentials and no stores.
        _ = (access.access, access.has_own_store);
        RegistryConfig
    }
}
