//! The code of a component, before it is linked.

use std::sync::Arc;

use wasmtime::Module;

use super::cache::{CacheEntry, ComponentCode, Pin};
use crate::engine::tier::Tier;

/// The code of a component.
pub(crate) struct CompiledCode {
    pub(crate) entry: CacheEntry<ComponentCode>,
    /// The libraries that the component imports because they were compiled separately.
    pub(crate) libraries: Vec<CompiledLibrary>,
    pub(crate) tier: Tier,
}

impl CompiledCode {
    /// The code of a component that was compiled with its libraries, or has none.
    pub(super) fn without_libraries(entry: CacheEntry<ComponentCode>, tier: Tier) -> Self {
        Self {
            entry,
            libraries: Vec::new(),
            tier,
        }
    }
}

/// A library, and the name of the import that replaces the library.
pub(crate) struct CompiledLibrary {
    pub(crate) name: String,
    pub(crate) entry: CacheEntry<Module>,
}

/// Keeps the entries of a component and its libraries in the cache.
pub(crate) struct Pins {
    _component: Arc<Pin<ComponentCode>>,
    _libraries: Vec<Arc<Pin<Module>>>,
}

impl CompiledCode {
    pub(crate) fn pins(&self) -> Pins {
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
