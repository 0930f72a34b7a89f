//! Converts the components that providers name: those in the program, and those in registries.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;

use super::registries::RegistrySettings;
use super::{Conversion, name_case};
use crate::RegistryComponent;
use crate::file::Provider;
use crate::value::ComponentReference;
use larder_builtin::{BuiltinComponents, BuiltinProvider};
use larder_model::name::{ProviderName, TeamName};

/// The components of a team that are not files in its plugins folder.
#[derive(Default)]
pub(super) struct NamedComponents {
    pub(super) builtin: BuiltinComponents,
    pub(super) registry: BTreeMap<ProviderName, RegistryComponent>,
}

impl Conversion<'_> {
    /// Adds the component that a provider names, if it names one.
    pub(super) fn add_component(
        &mut self,
        components: &mut NamedComponents,
        name: &Spanned<String>,
        raw: &Provider,
        plugins: &Path,
        settings: &RegistrySettings,
        team: Option<&TeamName>,
    ) {
        let builtin = builtin_component(raw);
        self.check_update(raw, builtin.is_some());
        let (Some(component), Ok(provider)) = (&raw.component, ProviderName::parse(name.get_ref()))
        else {
            return;
        };
        self.reject_file_of_same_name(&component.span(), plugins, &provider);
        if let Some(builtin) = builtin {
            components.builtin.insert(provider, builtin);
        } else if let Some(component) = self.registry_component(&provider, raw, settings, team) {
            components.registry.insert(provider, component);
        }
    }

    fn check_update(&mut self, raw: &Provider, is_builtin: bool) {
        let Some(update) = &raw.update else { return };
        if is_builtin {
            let message = "has no effect on a component in the program: remove it";
            self.error(&update.span(), message);
        } else if raw.component.is_none() {
            let message = "has no effect without `component`: remove it, or add a reference";
            self.error(&update.span(), message);
        }
    }

    fn reject_file_of_same_name(
        &mut self,
        at: &Range<usize>,
        plugins: &Path,
        provider: &ProviderName,
    ) {
        let file = name_case::file_in_any_case(plugins, &format!("{provider}.wasm"));
        if let Some(file) = file {
            let message = format!(
                "{} is a provider of the same name: remove the file or this key, or give the section another name",
                file.display()
            );
            self.error(at, message);
        }
    }
}

fn builtin_component(raw: &Provider) -> Option<&'static BuiltinProvider> {
    match raw.component.as_ref().map(Spanned::get_ref) {
        Some(ComponentReference::Builtin(builtin)) => Some(*builtin),
        _ => None,
    }
}
