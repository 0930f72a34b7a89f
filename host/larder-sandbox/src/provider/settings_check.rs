//! Compares the configured settings of a provider with the settings that the provider declares.

use super::Provider;
use larder_model::policy::Permit;
use larder_model::settings::{self, Problem};
use larder_provider::{CallError, LoadError, Provider as _};

/// The result of the comparison.
#[derive(Debug, Clone, Default)]
pub(super) struct SettingsCheck {
    pub(super) problems: Vec<Problem>,
    /// What was omitted from the declarations, and why.
    pub(super) omitted: Vec<String>,
}

impl SettingsCheck {
    fn without_declarations(error: &CallError) -> Self {
        Self {
            problems: Vec::new(),
            omitted: vec![format!("the settings that it declares: {error}")],
        }
    }
}

impl Provider {
    /// Rejects the revision if a required setting is missing.
    pub async fn require_settings(&self) -> Result<(), LoadError> {
        let problems = self.settings_check().await.problems;
        if problems.iter().any(Problem::prevents_serving) {
            // All problems are returned, because one of them may be a wrong name of the missing setting.
            Err(LoadError::Settings(problems))
        } else {
            Ok(())
        }
    }

    /// Checks the settings, if the provider declares any. If the declarations cannot be used, the provider works
    /// nevertheless. The declarations and the configuration of a revision do not change, so one successful call is
    /// enough.
    pub(super) async fn settings_check(&self) -> SettingsCheck {
        if !self.facts.interfaces.settings {
            return SettingsCheck::default();
        }
        if let Some(check) = self.settings_check.get() {
            return check.clone();
        }
        let declared = match self.declared_settings(Permit::for_host()).await {
            Ok(declared) => declared,
            Err(error) => return SettingsCheck::without_declarations(&error),
        };
        let grant = &self.config.grant;
        let problems = settings::check(&declared.items, &grant.settings, &grant.secrets);
        let check = SettingsCheck {
            problems,
            omitted: declared.omitted,
        };
        self.settings_check.get_or_init(|| check).clone()
    }
}
