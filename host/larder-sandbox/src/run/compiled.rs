//! Checks, compiles and links components.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, ComponentExportIndex, InstancePre};
use wasmtime::{Engine, Precompiled};

use super::contract_exports::{ContractExports, FunctionName};
use super::contract_version::{
    CONTRACT_PACKAGE, UnsupportedContract, check_contract_version, is_offered,
};
use super::function_exports::FunctionExports;
use crate::Sandbox;
use crate::compile::cache::ComponentCode;
use crate::compile::compiled_code::{CompiledCode, CompiledLibrary, Pins};
use crate::compile::libraries::instance_size;
use crate::engine::error::shortened;
use crate::engine::tier::Tier;
use crate::guest::places::Places;
use crate::guest::state::GuestState;
use crate::imports::wasi_proposals::refuse_calls;
use larder_model::name::{Digest, TeamName};
use larder_provider::{
    CompileJob, CompilePhases, HashedComponent, OptionalInterfaces, Priority, Rejection,
};
use larder_runtime::file_fingerprint::FileFingerprint;
use larder_runtime::metrics::GaugeGuard;

impl From<UnsupportedContract> for Rejection {
    fn from(unsupported: UnsupportedContract) -> Self {
        match unsupported {
            UnsupportedContract::Newer(version) => Self::NewerContract(version),
            UnsupportedContract::Other(version) => Self::OtherContract(version),
        }
    }
}

/// A component that was checked, compiled and linked. Guests are instantiated from it.
pub struct CompiledComponent {
    pub(super) pre: InstancePre<GuestState>,
    /// How many places each guest of the component needs.
    pub(crate) places: Places,
    /// Bytes of the library instances of each guest.
    pub(super) library_instances: u64,
    /// Keeps the entries of the component in the cache.
    _pins: Pins,
    digest: Digest,
    /// What the host calls.
    exports: ComponentExports,
    imports: Vec<String>,
    /// Present if the code is to be replaced by optimised code.
    first_tier: Option<GaugeGuard>,
    /// Whether the provider uses other code by now.
    is_replaced: AtomicBool,
}

/// What the host calls in guests of a component.
enum ComponentExports {
    /// The contract.
    Contract(Box<ContractExports>),
    /// Other functions, as tools.
    Functions(FunctionExports),
}

/// A compiled component from the cache.
pub struct CachedComponent {
    digest: Digest,
    code: CompiledCode,
}

impl CachedComponent {
    /// The digest of the component.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

impl Sandbox {
    /// Checks, compiles and links a component. If the component is not in the cache, a separate process compiles it.
    /// Dropping the future kills that process.
    pub async fn compile(
        &self,
        team: &TeamName,
        bytes: Bytes,
    ) -> Result<CompiledComponent, Rejection> {
        self.compile_hashed(team, HashedComponent::new(bytes)).await
    }

    /// Like [`Self::compile`], for bytes whose digest is known.
    pub async fn compile_hashed(
        &self,
        team: &TeamName,
        hashed: HashedComponent,
    ) -> Result<CompiledComponent, Rejection> {
        let job = CompileJob {
            team,
            provider: None,
            priority: Priority::Awaited,
        };
        self.link(self.compile_for(&job, hashed).await?.0)
    }

    /// Checks and compiles a component, and returns how long the phases took. Dropping the future kills the process.
    pub async fn compile_for(
        &self,
        job: &CompileJob<'_>,
        hashed: HashedComponent,
    ) -> Result<(CachedComponent, CompilePhases), Rejection> {
        let digest = hashed.digest();
        let bytes = hashed.bytes().clone();
        check_magic_bytes(&bytes)?;
        let (code, phases) = self.compiler.get_or_compile(job, digest, bytes).await?;
        Ok((CachedComponent { digest, code }, phases))
    }

    /// Returns the compiled component of a file with this fingerprint from the cache, so that the file need
    /// not be read.
    pub async fn find_cached(
        &self,
        team: &TeamName,
        fingerprint: FileFingerprint,
    ) -> Option<CachedComponent> {
        self.compiler
            .find_cached(team, fingerprint)
            .await
            .map(|(digest, code)| CachedComponent { digest, code })
    }

    /// Returns the optimised code of the component with this digest from the cache.
    pub async fn find_optimised(&self, team: &TeamName, digest: Digest) -> Option<CachedComponent> {
        let code = self.compiler.find_optimised(team, digest).await?;
        Some(CachedComponent { digest, code })
    }

    /// Records the digest of the file with this fingerprint. The fingerprint must be settled, and must be the same
    /// before and after the file was read.
    pub async fn record_digest(&self, fingerprint: FileFingerprint, digest: Digest) {
        self.compiler.record_digest(fingerprint, digest).await;
    }

    /// Removes the recorded digest of the file with this fingerprint, because it is wrong.
    pub async fn forget_digest(&self, fingerprint: FileFingerprint) {
        self.compiler.forget_digest(fingerprint).await;
    }

    /// Links a compiled component, and checks its imports and exports.
    pub fn link(&self, cached: CachedComponent) -> Result<CompiledComponent, Rejection> {
        let CachedComponent { digest, code } = cached;
        let pins = code.pins();
        let ComponentCode {
            component,
            functions,
        } = code.entry.code;
        let (mut imports, exports) = import_and_export_names(&component, &self.engine);
        imports.retain(|name| code.libraries.iter().all(|library| library.name != *name));
        check_names(&imports, &exports)?;
        let pre = self
            .instantiate_pre(&component, &code.libraries)
            .map_err(|error| import_mismatch(&imports, &error))?;
        let exports = match functions {
            None => ComponentExports::Contract(Box::new(ContractExports::find(
                &component, &pre, &exports,
            )?)),
            Some(set) => ComponentExports::Functions(FunctionExports::find(&component, set)?),
        };
        Ok(CompiledComponent {
            exports,
            places: Places::of(component.resources_required()),
            library_instances: instances_size(&code.libraries),
            pre,
            _pins: pins,
            digest,
            imports,
            first_tier: self.count_unoptimised(code.tier),
            is_replaced: AtomicBool::new(false),
        })
    }
}

impl Sandbox {
    fn count_unoptimised(&self, tier: Tier) -> Option<GaugeGuard> {
        let count = &self.metrics.server().unoptimised_components;
        (tier != Tier::Optimised).then(|| GaugeGuard::new(count))
    }

    fn instantiate_pre(
        &self,
        component: &Component,
        libraries: &[CompiledLibrary],
    ) -> wasmtime::Result<InstancePre<GuestState>> {
        let mut linker = Cow::Borrowed(&self.linker);
        refuse_calls(&mut linker, component)?;
        for CompiledLibrary { name, entry } in libraries {
            linker.to_mut().root().module(name, &entry.code)?;
        }
        linker.instantiate_pre(component)
    }
}

impl CompiledComponent {
    /// The digest of the component.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Whether optimised code is to replace the code of this component.
    pub(crate) fn is_first_tier(&self) -> bool {
        self.first_tier.is_some()
    }

    /// Records that the provider uses other code from now on.
    pub(crate) fn set_replaced(&self) {
        self.is_replaced.store(true, Ordering::Relaxed);
    }

    /// Whether the provider uses other code by now.
    pub(super) fn is_replaced(&self) -> bool {
        self.is_replaced.load(Ordering::Relaxed)
    }

    /// The names of the component's imports.
    pub fn imports(&self) -> &[String] {
        &self.imports
    }

    /// The functions of the contract. Calls of the contract are made only to components that export it.
    pub(crate) fn contract(&self) -> wasmtime::Result<&ContractExports> {
        self.find_contract()
            .ok_or_else(|| wasmtime::Error::msg("the component does not export the contract"))
    }

    /// The functions of the contract, if the component exports it.
    pub(crate) fn find_contract(&self) -> Option<&ContractExports> {
        match &self.exports {
            ComponentExports::Contract(contract) => Some(contract),
            ComponentExports::Functions(_) => None,
        }
    }

    /// Finds a function of the contract.
    pub(super) fn contract_function(
        &self,
        function: FunctionName,
    ) -> wasmtime::Result<ComponentExportIndex> {
        function
            .find(self.pre.component())
            .ok_or_else(|| wasmtime::Error::msg("the component does not export the interface"))
    }

    /// The optional interfaces that its provider implements.
    pub(crate) fn interfaces(&self) -> OptionalInterfaces {
        match &self.exports {
            ComponentExports::Contract(contract) => contract.interfaces(),
            ComponentExports::Functions(_) => OptionalInterfaces {
                tools: true,
                ..OptionalInterfaces::default()
            },
        }
    }

    /// The functions of a component that does not export the contract.
    pub(crate) fn functions(&self) -> Option<&FunctionExports> {
        match &self.exports {
            ComponentExports::Contract(_) => None,
            ComponentExports::Functions(functions) => Some(functions),
        }
    }
}

/// Rejects files that are not components, by their first bytes.
fn check_magic_bytes(bytes: &[u8]) -> Result<(), Rejection> {
    match bytes {
        [] => Err(Rejection::Empty),
        _ if matches!(
            Engine::detect_precompiled(bytes),
            Some(Precompiled::Module | Precompiled::Component)
        ) =>
        {
            Err(Rejection::Precompiled)
        }
        [0, b'a', b's', b'm', 1, 0, 0, 0, ..] => Err(Rejection::CoreModule),
        [0, b'a', b's', b'm', ..] => Ok(()),
        _ => Err(Rejection::NotWasm),
    }
}

fn import_and_export_names(component: &Component, engine: &Engine) -> (Vec<String>, Vec<String>) {
    let component_type = component.component_type();
    // A type that a world declares is an import of its own, which needs nothing of the host.
    let imports = component_type
        .imports(engine)
        .filter(|(_, item)| !matches!(item.ty, ComponentItem::Type(_)))
        .map(|(name, _)| name.to_owned())
        .collect();
    let exports = component_type
        .exports(engine)
        .map(|(name, _)| name.to_owned())
        .collect();
    (imports, exports)
}

fn instances_size(libraries: &[CompiledLibrary]) -> u64 {
    let sizes = libraries.iter();
    sizes
        .map(|library| instance_size(&library.entry.code))
        .sum()
}

/// Checks whether this version of the host has all interfaces that a component uses.
fn check_names(imports: &[String], exports: &[String]) -> Result<(), Rejection> {
    let mut names = imports.iter().chain(exports);
    if let Some(unsupported) = names.find_map(|name| check_contract_version(name)) {
        return Err(unsupported.into());
    }
    match imports.iter().find(|name| !is_offered(name)) {
        Some(unknown) => Err(Rejection::UnknownImport(unknown.clone())),
        None => Ok(()),
    }
}

/// The types of an import differ from those that the host offers.
fn import_mismatch(imports: &[String], error: &wasmtime::Error) -> Rejection {
    let text = shortened(error);
    let is_named = |import: &&String| text.contains(&format!("`{import}`"));
    match imports.iter().find(is_named) {
        Some(import) if !import.starts_with(CONTRACT_PACKAGE) => Rejection::ImportMismatch(text),
        _ => Rejection::Mismatch(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognizes_files_by_their_first_bytes() {
        assert_eq!(check_magic_bytes(b""), Err(Rejection::Empty));
        assert_eq!(check_magic_bytes(b"#!/bin/sh"), Err(Rejection::NotWasm));
        assert_eq!(
            check_magic_bytes(b"\0asm\x01\0\0\0"),
            Err(Rejection::CoreModule)
        );
        assert_eq!(check_magic_bytes(b"\0asm\x0d\0\x01\0"), Ok(()));
    }
}
