//! The functions of a component that does not export the contract.

use std::sync::Arc;

use wasmtime::component::{Component, ComponentExportIndex};

use larder_functions::{Function, FunctionSet};
use larder_provider::Rejection;

/// The functions that can be called.
pub(crate) struct FunctionExports {
    /// What the compiler process read from the component.
    pub(crate) set: Arc<FunctionSet>,
    /// The exports of the functions, in the order of the set.
    pub(crate) exports: Vec<ComponentExportIndex>,
}

impl FunctionExports {
    /// Finds the exports of the functions.
    pub(super) fn find(component: &Component, set: Arc<FunctionSet>) -> Result<Self, Rejection> {
        if set.functions.is_empty() {
            return Err(no_function(&set));
        }
        let exports = set.functions.iter().map(|function| {
            let missing =
                || Rejection::Mismatch(format!("it does not export {}", function.export()));
            export_index(component, function).ok_or_else(missing)
        });
        Ok(Self {
            exports: exports.collect::<Result<_, _>>()?,
            set,
        })
    }
}

fn no_function(set: &FunctionSet) -> Rejection {
    match set.refusals() {
        refusals if refusals.is_empty() => Rejection::NotAProvider,
        refusals => Rejection::NoCallableFunction(refusals.join("; ")),
    }
}

fn export_index(component: &Component, function: &Function) -> Option<ComponentExportIndex> {
    let interface = match &function.interface {
        Some(interface) => Some(component.get_export_index(None, interface)?),
        None => None,
    };
    component.get_export_index(interface.as_ref(), &function.name)
}
