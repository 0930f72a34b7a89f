//! The code of a component, before it is linked.

use std::sync::Arc;

use wasmtime::Module;
use wasmtime::component::Component;

use super::cache::{CacheEntry, Pin};
use super::tier::Tier;

/// The code of a component.
pub(super) struct CompiledCode {
    pub(super) entry: CacheEntry<Component>,
    /// The libraries that the component imports because they were compiled separately.
    pub(super) libraries: Vec<CompiledLibrary>,
    pub(super) tier: Tier,
}

impl CompiledCode {
    /// The code of a component that was compiled with its libraries, or has none.
    pub(super) fn without_libraries(entry: CacheEntry<Component>, tier: Tier) -> Self {
        Self {
            entry,
            libraries: Vec::new(),
            tier,
        }
    }
}

/// A library, and the name of the import that replaces the library.
pub(super) struct CompiledLibrary {
    pub(super) name: String,
    pub(super) entry: CacheEntry<Module>,
}

/// Keeps the entries of a component and its libraries in the cache.
pub(super) struct Pins {
    _component: Arc<Pin<Component>>,
    _libraries: Vec<Arc<Pin<Module>>>,
}

impl CompiledCode {
    pub(super) fn pins(&self) -> Pins {
        Pins {
            _component: self.entry.pin.clone(),
            _libraries: self
                .libraries
                .iter()
                .map(|library| library.entry.pin.clone())
                .collect(),
        }
    }
}
