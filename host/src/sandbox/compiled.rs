//! From a component's bytes to something that guests can be made of, or a sentence that says why not.

use std::sync::Arc;

use bytes::Bytes;
use wasmtime::component::{Component, ComponentExportIndex, Instance, InstancePre};
use wasmtime::{Engine, Precompiled, Store};

use super::Sandbox;
use super::bindings::exports::larder::provider::{completion_provider, resource_provider, version_provider};
use super::cache::Kept;
use super::state::State;
use crate::name::{Digest, TeamName};
use crate::stamp::Stamp;

/// The contract's package, and the line of versions that this host speaks.
const PACKAGE: &str = "larder:provider/";
const SPOKEN: &str = "0.1";
/// The interface that every provider has.
const PROVIDER: &str = "larder:provider/resource-provider@0.1.0";

/// Why a file cannot become a provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// 0 bytes.
    #[error("the file is empty")]
    Empty,
    /// Not wasm at all.
    #[error("it is not a WebAssembly component (it does not begin with the magic bytes `\\0asm`)")]
    NotWasm,
    /// A core module.
    #[error("it is a core module, not a component; `larder pack FILE -o OUT.wasm` makes one of it")]
    CoreModule,
    /// Machine code that some engine produced.
    #[error(
        "it is precompiled machine code, which is never taken from a plugins folder; put the component itself there"
    )]
    Precompiled,
    /// The engine does not take it.
    #[error("it is not a valid component (truncated, damaged, or of a newer kind): {0}")]
    Invalid(String),
    /// It imports what the host has not.
    #[error("it imports `{0}`, which this host does not offer")]
    UnknownImport(String),
    /// It does not implement the contract.
    #[error("it does not export `larder:provider/resource-provider@0.1.0`, so it is not a provider")]
    NotAProvider,
    /// It implements another version of the contract.
    #[error("it exports `{0}`, but this host speaks version {SPOKEN} of the contract; build it against that")]
    OtherVersion(String),
    /// Names fit, types do not.
    #[error(
        "its types do not fit the contract: {0}; build it with the WIT that `larder bindings wit` writes"
    )]
    Mismatch(String),
    /// The compiling process died, took too long, or did not do what it is there for. The component may be
    /// sound: another try later may end better.
    #[error("it could not be compiled: {0}")]
    Compiler(String),
}

/// A component that was checked, compiled and linked.
#[derive(Clone)]
pub struct Compiled {
    pub(super) pre: InstancePre<State>,
    /// Keeps its entry in the cache from being thrown out.
    _hold: Arc<()>,
    /// The digest of the component.
    pub digest: Digest,
    /// The functions of the required interface.
    pub resources: resource_provider::GuestIndices,
    /// The one of them that is called most.
    pub read: ComponentExportIndex,
    /// Those of the optional ones, where it has them.
    pub completion: Option<completion_provider::GuestIndices>,
    /// Those of the optional ones, where it has them.
    pub versions: Option<version_provider::GuestIndices>,
    /// The names of what it imports.
    pub imports: Vec<String>,
    /// The names of what it exports.
    pub exports: Vec<String>,
}

/// The bytes of a component, and their digest.
#[derive(Debug, Clone)]
pub struct Hashed {
    bytes: Bytes,
    digest: Digest,
}

impl Hashed {
    /// Holds its thread for as long as hashing takes.
    pub fn new(bytes: Bytes) -> Self {
        Self { digest: Digest::of(&bytes), bytes }
    }

    /// Their digest.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// A component that was compiled before, known by the stamp of its file.
pub struct Recalled {
    digest: Digest,
    kept: Kept,
}

impl Recalled {
    /// The digest that its file had.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

impl Sandbox {
    /// Checks, compiles in a process of its own unless the cache has it, and links. Dropping the future ends
    /// that process.
    pub async fn compile(&self, team: &TeamName, bytes: Bytes) -> Result<Compiled, Rejection> {
        self.compile_hashed(team, Hashed::new(bytes)).await
    }

    /// The same for what was hashed before.
    pub async fn compile_hashed(&self, team: &TeamName, hashed: Hashed) -> Result<Compiled, Rejection> {
        let Hashed { bytes, digest } = hashed;
        look_at(&bytes)?;
        let kept = self.compiler.component(team, digest, bytes).await?;
        self.link(Recalled { digest, kept })
    }

    /// What was compiled of a file with this stamp, which then need not be read.
    pub async fn recall(&self, team: &TeamName, stamp: Stamp) -> Option<Recalled> {
        self.compiler.recall(team, stamp).await.map(|(digest, kept)| Recalled { digest, kept })
    }

    /// A file with this stamp has this digest. To be said only where it was at rest and the same before and after it was read.
    pub async fn remember(&self, stamp: Stamp, digest: Digest) {
        self.compiler.remember(stamp, digest).await;
    }

    /// It has not.
    pub async fn disown(&self, stamp: Stamp) {
        self.compiler.disown(stamp).await;
    }

    /// Links what was compiled.
    pub fn link(&self, recalled: Recalled) -> Result<Compiled, Rejection> {
        let Recalled { digest, kept: Kept { component, hold } } = recalled;
        let (imports, exports) = names(&component, &self.engine);
        if let Some(unknown) = imports.iter().find(|name| !is_offered(name)) {
            return Err(Rejection::UnknownImport(unknown.clone()));
        }
        let pre = self.linker.instantiate_pre(&component).map_err(|error| mismatch(&error))?;
        let interface = component.get_export_index(None, PROVIDER);
        let read =
            interface.and_then(|interface| component.get_export_index(Some(&interface), "read-resource"));
        Ok(Compiled {
            read: read.ok_or(Rejection::NotAProvider)?,
            resources: resource_provider::GuestIndices::new(&pre)
                .map_err(|error| without_provider(&exports, &error))?,
            completion: optional(&exports, "completion-provider", || {
                completion_provider::GuestIndices::new(&pre)
            })?,
            versions: optional(&exports, "version-provider", || version_provider::GuestIndices::new(&pre))?,
            pre,
            _hold: hold,
            digest,
            imports,
            exports,
        })
    }
}

/// A function that a guest has by its name is of another type.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unlike(String);

impl Compiled {
    /// The functions of the required interface in this guest, once the types of all interfaces were compared: the
    /// engine does that only where there is a guest.
    pub fn fitting(
        &self,
        store: &mut Store<State>,
        instance: &Instance,
    ) -> wasmtime::Result<resource_provider::Guest> {
        let unlike = |error: wasmtime::Error| wasmtime::Error::from(Unlike(first_line(&error)));
        if let Some(completion) = &self.completion {
            completion.load(&mut *store, instance).map_err(unlike)?;
        }
        if let Some(versions) = &self.versions {
            versions.load(&mut *store, instance).map_err(unlike)?;
        }
        self.resources.load(store, instance).map_err(unlike)
    }
}

/// What can be told from the first bytes.
fn look_at(bytes: &[u8]) -> Result<(), Rejection> {
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

fn names(component: &Component, engine: &Engine) -> (Vec<String>, Vec<String>) {
    let kind = component.component_type();
    let imports = kind.imports(engine).map(|(name, _)| name.to_owned()).collect();
    let exports = kind.exports(engine).map(|(name, _)| name.to_owned()).collect();
    (imports, exports)
}

/// Told here rather than by the engine, so that the sentence names the import as its author knows it.
fn is_offered(import: &str) -> bool {
    let (interface, version) = import.split_once('@').unwrap_or((import, ""));
    if let Some(interface) = interface.strip_prefix(PACKAGE) {
        return matches!(interface, "provider-types" | "provider-host" | "http-client")
            && is_line(version, SPOKEN);
    }
    [
        "wasi:cli/",
        "wasi:io/",
        "wasi:clocks/",
        "wasi:random/",
        "wasi:filesystem/",
        "wasi:sockets/",
        "wasi:http/",
    ]
    .iter()
    .any(|package| interface.starts_with(package))
        && is_line(version, "0.2")
}

fn is_line(version: &str, line: &str) -> bool {
    version.strip_prefix(line).is_some_and(|rest| rest.starts_with('.') && !rest.contains('-'))
}

fn optional<T>(
    exports: &[String],
    interface: &str,
    find: impl FnOnce() -> wasmtime::Result<T>,
) -> Result<Option<T>, Rejection> {
    let has = exports.iter().any(|name| {
        let (name, version) = name.split_once('@').unwrap_or((name, ""));
        name.strip_prefix(PACKAGE) == Some(interface) && is_line(version, SPOKEN)
    });
    if has { find().map(Some).map_err(|error| mismatch(&error)) } else { Ok(None) }
}

fn without_provider(exports: &[String], error: &wasmtime::Error) -> Rejection {
    let required = format!("{PACKAGE}resource-provider");
    match exports.iter().find(|name| name.starts_with(&required)) {
        Some(name) if name.split_once('@').is_some_and(|(_, version)| is_line(version, SPOKEN)) => {
            mismatch(error)
        }
        Some(name) => Rejection::OtherVersion(name.clone()),
        None => Rejection::NotAProvider,
    }
}

fn mismatch(error: &wasmtime::Error) -> Rejection {
    Rejection::Mismatch(first_line(error))
}

/// The engine's errors may run over many lines; the log of a round has one.
pub(super) fn first_line(error: &wasmtime::Error) -> String {
    let text = format!("{error:#}");
    text.lines().next().unwrap_or_default().chars().take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_what_it_is() {
        assert_eq!(look_at(b""), Err(Rejection::Empty));
        assert_eq!(look_at(b"#!/bin/sh"), Err(Rejection::NotWasm));
        assert_eq!(look_at(b"\0asm\x01\0\0\0"), Err(Rejection::CoreModule));
        assert_eq!(look_at(b"\0asm\x0d\0\x01\0"), Ok(()));
    }

    #[test]
    fn an_import_is_offered_by_name_and_version_line() {
        for offered in [
            "wasi:io/poll@0.2.6",
            "wasi:sockets/tcp@0.2.9",
            "wasi:http/types@0.2.12",
            "larder:provider/http-client@0.1.7",
        ] {
            assert!(is_offered(offered), "{offered}");
        }
        for unknown in [
            "other:thing/api",
            "wasi:http/types@0.3.0",
            "larder:provider/http-client@0.2.0",
            "larder:provider/secrets@0.1.0",
            "wasi:nn/graph@0.2.0",
            "wasi:io/poll@0.2.0-rc.1",
        ] {
            assert!(!is_offered(unknown), "{unknown}");
        }
    }
}
