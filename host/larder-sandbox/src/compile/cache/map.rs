//! Maps code from the cache as a component or a module. This is the only unsafe code that handles data.

#![allow(
    unsafe_code,
    reason = "wasmtime cannot check that it has written the file itself"
)]

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use wasmtime::component::Component;
use wasmtime::{Engine, Module};

use super::seal::VerifiedCode;
use super::{Cache, Pins};
use crate::compile::function_list;
use larder_functions::{ComponentKind, FunctionSet};
use larder_platform::files::path_of_descriptor;

/// What an entry of the cache contains.
pub(crate) trait Code: Clone + Send + Sync + 'static {
    /// Maps verified code. Code from another engine version, with other settings, or of another kind is an error, which
    /// wasmtime detects.
    fn map(engine: &Engine, verified: &VerifiedCode) -> wasmtime::Result<Self>;

    /// The pins of the entries of this kind that are in use.
    fn pins(cache: &Cache) -> &Pins<Self>;

    /// The size of the mapped code in bytes.
    fn size(&self) -> u64;
}

/// The code of a component, and what the compiler process read from the component.
#[derive(Clone)]
pub(crate) struct ComponentCode {
    pub(crate) component: Component,
    /// The functions of a component that does not export the contract.
    pub(crate) functions: Option<Arc<FunctionSet>>,
}

impl Code for ComponentCode {
    fn map(engine: &Engine, verified: &VerifiedCode) -> wasmtime::Result<Self> {
        let component = map_file(verified, |path| {
            // SAFETY: see `map_file`.
            unsafe { Component::deserialize_file(engine, path) }
        })?;
        let functions = functions(&component, engine, verified.file())?;
        Ok(Self {
            component,
            functions,
        })
    }

    fn pins(cache: &Cache) -> &Pins<Self> {
        &cache.components
    }

    fn size(&self) -> u64 {
        let range = self.component.image_range();
        (range.end.addr() - range.start.addr()) as u64
    }
}

impl Code for Module {
    fn map(engine: &Engine, verified: &VerifiedCode) -> wasmtime::Result<Self> {
        map_file(verified, |path| {
            // SAFETY: see `map_file`.
            unsafe { Self::deserialize_file(engine, path) }
        })
    }

    fn pins(cache: &Cache) -> &Pins<Self> {
        &cache.libraries
    }

    fn size(&self) -> u64 {
        let range = self.image_range();
        (range.end.addr() - range.start.addr()) as u64
    }
}

/// Returns the functions of a component that does not export the contract. An earlier version of the server stored no
/// list: then the component is compiled again.
fn functions(
    component: &Component,
    engine: &Engine,
    file: &File,
) -> wasmtime::Result<Option<Arc<FunctionSet>>> {
    let component_type = component.component_type();
    let exports = component_type.exports(engine).map(|(name, _)| name);
    if ComponentKind::of(exports) == ComponentKind::Provider {
        return Ok(None);
    }
    let functions = function_list::read(file)?;
    let functions =
        functions.ok_or_else(|| wasmtime::Error::msg("the list of its functions is missing"))?;
    Ok(Some(Arc::new(functions)))
}

/// Calls `deserialize` with a path to the verified code.
fn map_file<T>(
    verified: &VerifiedCode,
    deserialize: impl FnOnce(PathBuf) -> wasmtime::Result<T>,
) -> wasmtime::Result<T> {
    // Why `deserialize` is safe: the file must contain what wasmtime's compiler wrote, and must not change while it is
    // mapped. The first condition holds: a `VerifiedCode` exists only if the seal, which was made with a key that only
    // this user can read, matches every byte of the file behind the descriptor that `path` leads to; or if the seal
    // matched before, and the file has the same identity, size and change time (as set by the system). Seals are made
    // only for the output of our own compiler process. The second condition holds: an entry is written under another
    // name, renamed, and never opened for writing again, in a folder and with modes that no other user can write to. A
    // process of the same user could change the file, but such a process could also write to our memory.
    deserialize(mappable_path(verified))
}

/// A path to the code, because the engine can map a file only by its path. On Linux this path leads to exactly the file
/// that was verified. On other systems the path is the name in the cache folder, where no other user can put another
/// file.
fn mappable_path(verified: &VerifiedCode) -> PathBuf {
    let by_descriptor = path_of_descriptor(verified.file()).filter(|path| path.exists());
    by_descriptor.unwrap_or_else(|| verified.path().to_owned())
}
