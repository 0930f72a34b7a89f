//! The functions of the contract in a component.

use wasmtime::Store;
use wasmtime::component::{Component, ComponentExportIndex, Instance, InstancePre};

use super::contract_version::{CONTRACT_PACKAGE, is_compatible};
use crate::bindings::exports::larder::provider::{
    completion_provider, directory_provider, prompt_provider, resource_provider, search_provider,
    settings_provider, tool_provider, version_provider,
};
use crate::engine::error::shortened;
use crate::guest::state::GuestState;
use larder_provider::{CONTRACT_VERSION, OptionalInterfaces, Rejection};

/// The interface that every provider exports.
pub(crate) const RESOURCES: &str = "larder:provider/resource-provider@0.1.0";

/// The name of a function of the contract, and of its interface with the version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FunctionName(pub(crate) &'static str, pub(crate) &'static str);

impl FunctionName {
    pub(super) fn find(self, component: &Component) -> Option<ComponentExportIndex> {
        let interface = component.get_export_index(None, self.0)?;
        component.get_export_index(Some(&interface), self.1)
    }
}

/// The function that is called most.
const READ: FunctionName = FunctionName(RESOURCES, "read-resource");

/// The functions of the contract that a component exports.
pub(crate) struct ContractExports {
    /// The functions of the required interface.
    pub(crate) resources: resource_provider::GuestIndices,
    /// The function `read-resource`, which is called most.
    pub(crate) read: ComponentExportIndex,
    /// The functions of `completion-provider`, if the component exports it.
    pub(crate) completion: Option<completion_provider::GuestIndices>,
    /// The functions of `directory-provider`, if the component exports it.
    directories: Option<directory_provider::GuestIndices>,
    /// The functions of `version-provider`, if the component exports it.
    versions: Option<version_provider::GuestIndices>,
    /// The functions of `tool-provider`, if the component exports it.
    tools: Option<tool_provider::GuestIndices>,
    /// The functions of `prompt-provider`, if the component exports it.
    prompts: Option<prompt_provider::GuestIndices>,
    /// The functions of `search-provider`, if the component exports it.
    search: Option<search_provider::GuestIndices>,
    /// The functions of `settings-provider`, if the component exports it.
    settings: Option<settings_provider::GuestIndices>,
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
        Ok(Self {
            read: READ.find(component).ok_or(Rejection::NotAProvider)?,
            resources: resource_provider::GuestIndices::new(pre)
                .map_err(|error| missing_provider_interface(exports, &error))?,
            completion: find_optional(exports, "completion-provider", || {
                completion_provider::GuestIndices::new(pre)
            })?,
            directories: find_optional(exports, "directory-provider", || {
                directory_provider::GuestIndices::new(pre)
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
            directories: self.directories.is_some(),
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
        check_types(&self.completion, |it| it.load(&mut *store, instance))?;
        check_types(&self.directories, |it| it.load(&mut *store, instance))?;
        check_types(&self.versions, |it| it.load(&mut *store, instance))?;
        check_types(&self.tools, |it| it.load(&mut *store, instance))?;
        check_types(&self.prompts, |it| it.load(&mut *store, instance))?;
        check_types(&self.search, |it| it.load(&mut *store, instance))?;
        check_types(&self.settings, |it| it.load(&mut *store, instance))?;
        self.resources.load(store, instance).map_err(type_mismatch)
    }
}

fn check_types<T, F>(
    functions: &Option<T>,
    load: impl FnOnce(&T) -> wasmtime::Result<F>,
) -> wasmtime::Result<()> {
    match functions {
        Some(functions) => load(functions).map(drop).map_err(type_mismatch),
        None => Ok(()),
    }
}

fn type_mismatch(error: wasmtime::Error) -> wasmtime::Error {
    TypeMismatch(shortened(&error)).into()
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
