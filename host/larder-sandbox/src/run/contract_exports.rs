//! The functions of the contract in a component.

use wasmtime::Store;
use wasmtime::component::{Component, ComponentExportIndex, Instance, InstancePre};

use super::contract_version::{CONTRACT_PACKAGE, is_compatible};
use crate::bindings::exports::larder::provider::{
    completion_provider, prompt_provider, resource_provider, search_provider, settings_provider,
    tool_provider, version_provider,
};
use crate::engine::error::shortened;
use crate::guest::state::GuestState;
use larder_provider::{CONTRACT_VERSION, OptionalInterfaces, Rejection};

/// The interface that every provider exports.
const PROVIDER_INTERFACE: &str = "larder:provider/resource-provider@0.1.0";
/// The interface for tools.
const TOOL_INTERFACE: &str = "larder:provider/tool-provider@0.1.0";

/// The functions of the contract that a component exports.
pub(crate) struct ContractExports {
    /// The functions of the required interface.
    pub(crate) resources: resource_provider::GuestIndices,
    /// The function `read-resource`, which is called most.
    pub(crate) read: ComponentExportIndex,
    /// The functions of `completion-provider`, if the component exports it.
    pub(crate) completion: Option<completion_provider::GuestIndices>,
    /// The functions of `version-provider`, if the component exports it.
    pub(crate) versions: Option<version_provider::GuestIndices>,
    /// The functions of `tool-provider`, if the component exports it.
    pub(crate) tools: Option<tool_provider::GuestIndices>,
    /// The function `call-tool`, if the component exports `tool-provider`.
    pub(crate) call_tool: Option<ComponentExportIndex>,
    /// The functions of `prompt-provider`, if the component exports it.
    pub(crate) prompts: Option<prompt_provider::GuestIndices>,
    /// The functions of `search-provider`, if the component exports it.
    pub(crate) search: Option<search_provider::GuestIndices>,
    /// The functions of `settings-provider`, if the component exports it.
    pub(crate) settings: Option<settings_provider::GuestIndices>,
}

/// A function of a guest has the expected name, but another type.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct TypeMismatch(String);

impl ContractExports {
    /// Finds the functions. Fails if a name or a type differs from the contract.
    pub(super) fn find(
        component: &Component,
        pre: &InstancePre<GuestState>,
        exports: &[String],
    ) -> Result<Self, Rejection> {
        let function = |interface: &str, name: &str| {
            let interface = component.get_export_index(None, interface)?;
            component.get_export_index(Some(&interface), name)
        };
        Ok(Self {
            read: function(PROVIDER_INTERFACE, "read-resource").ok_or(Rejection::NotAProvider)?,
            call_tool: function(TOOL_INTERFACE, "call-tool"),
            resources: resource_provider::GuestIndices::new(pre)
                .map_err(|error| missing_provider_interface(exports, &error))?,
            completion: find_optional(exports, "completion-provider", || {
                completion_provider::GuestIndices::new(pre)
            })?,
            versions: find_optional(exports, "version-provider", || {
                version_provider::GuestIndices::new(pre)
            })?,
            tools: find_optional(exports, "tool-provider", || {
                tool_provider::GuestIndices::new(pre)
            })?,
            prompts: find_optional(exports, "prompt-provider", || {
                prompt_provider::GuestIndices::new(pre)
            })?,
            search: find_optional(exports, "search-provider", || {
                search_provider::GuestIndices::new(pre)
            })?,
            settings: find_optional(exports, "settings-provider", || {
                settings_provider::GuestIndices::new(pre)
            })?,
        })
    }

    /// The optional interfaces that the component exports.
    pub(crate) fn interfaces(&self) -> OptionalInterfaces {
        OptionalInterfaces {
            versions: self.versions.is_some(),
            tools: self.tools.is_some(),
            prompts: self.prompts.is_some(),
            search: self.search.is_some(),
            settings: self.settings.is_some(),
        }
    }

    /// Loads the functions of the required interface from an instance. Also checks the types of the optional
    /// interfaces, because Wasmtime can check function types only in an instance.
    pub(crate) fn load_checked(
        &self,
        store: &mut Store<GuestState>,
        instance: &Instance,
    ) -> wasmtime::Result<resource_provider::Guest> {
        let type_mismatch =
            |error: wasmtime::Error| wasmtime::Error::from(TypeMismatch(shortened(&error)));
        if let Some(completion) = &self.completion {
            completion
                .load(&mut *store, instance)
                .map_err(type_mismatch)?;
        }
        if let Some(versions) = &self.versions {
            versions
                .load(&mut *store, instance)
                .map_err(type_mismatch)?;
        }
        if let Some(tools) = &self.tools {
            tools.load(&mut *store, instance).map_err(type_mismatch)?;
        }
        if let Some(prompts) = &self.prompts {
            prompts.load(&mut *store, instance).map_err(type_mismatch)?;
        }
        if let Some(search) = &self.search {
            search.load(&mut *store, instance).map_err(type_mismatch)?;
        }
        if let Some(settings) = &self.settings {
            settings
                .load(&mut *store, instance)
                .map_err(type_mismatch)?;
        }
        self.resources.load(store, instance).map_err(type_mismatch)
    }
}

fn find_optional<T>(
    exports: &[String],
    interface: &str,
    find: impl FnOnce() -> wasmtime::Result<T>,
) -> Result<Option<T>, Rejection> {
    let has = exports.iter().any(|name| {
        let (name, version) = name.split_once('@').unwrap_or((name, ""));
        name.strip_prefix(CONTRACT_PACKAGE) == Some(interface)
            && is_compatible(version, CONTRACT_VERSION)
    });
    if has {
        find().map(Some).map_err(|error| mismatch(&error))
    } else {
        Ok(None)
    }
}

fn missing_provider_interface(exports: &[String], error: &wasmtime::Error) -> Rejection {
    let required = format!("{CONTRACT_PACKAGE}resource-provider");
    if exports.iter().any(|name| name.starts_with(&required)) {
        mismatch(error)
    } else {
        Rejection::NotAProvider
    }
}

fn mismatch(error: &wasmtime::Error) -> Rejection {
    Rejection::Mismatch(shortened(error))
}
