//! Functions that always fail, for versions of proposals that this host does not offer. Many components import a
//! logger or a store that they can do without, so such an import does not prevent that a component is loaded.
//!
//! A function that can return an error returns one. A function without a result has no effect. Calling another function
//! ends the call of the guest, as the host has no value to return. The host logs the first of these calls.

use std::borrow::Cow;

use wasmtime::component::types::{ComponentItem, Type};
use wasmtime::component::{Component, Linker, ResourceType, Val};

use super::ProposalImport;
use crate::guest::state::GuestState;

const MESSAGE: &str =
    "the provider calls an import that this host does not offer, so that the call fails";

/// The type of all resources of refused interfaces. There is no value of it.
struct RefusedResource;

/// Adds functions that fail for all imports of a component that are refused when they are called.
pub(crate) fn refuse_calls(
    linker: &mut Cow<'_, Linker<GuestState>>,
    component: &Component,
) -> wasmtime::Result<()> {
    let engine = component.engine();
    for (import, item) in component.component_type().imports(engine) {
        if ProposalImport::of(import) != Some(ProposalImport::Refused) {
            continue;
        }
        let ComponentItem::ComponentInstance(interface) = item.ty else {
            continue;
        };
        let mut instance = linker.to_mut().instance(import)?;
        for (name, item) in interface.exports(engine) {
            match item.ty {
                ComponentItem::ComponentFunc(_) => {
                    let function = format!("{import}#{name}");
                    instance.func_new(name, move |store, function_type, _, results| {
                        store.data().log_refusal(&function);
                        match (results, function_type.results().next()) {
                            ([result], Some(result_type)) => {
                                *result = error_result(&result_type, &function)?;
                                Ok(())
                            }
                            _ => Ok(()),
                        }
                    })?;
                }
                ComponentItem::Resource(_) => {
                    let resource = ResourceType::host::<RefusedResource>();
                    instance.resource(name, resource, |_, _| Ok(()))?;
                }
                _ => {}
            }
        }
    }
    Ok(())
}

impl GuestState {
    fn log_refusal(&self, function: &str) {
        if self.lease.log.is_first(MESSAGE, "", function) {
            let team = self.lease.team.non_default();
            let provider = self.lease.provider.as_str();
            tracing::warn!(team, provider, function, "{MESSAGE}");
        }
    }
}

/// Returns the error that a function returns. If it cannot return one, ends the call of the guest.
fn error_result(result_type: &Type, function: &str) -> wasmtime::Result<Val> {
    let why = format!("`{function}` is not offered by this host");
    let Type::Result(result) = result_type else {
        wasmtime::bail!("{why}");
    };
    let Some(error_type) = result.err() else {
        return Ok(Val::Result(Err(None)));
    };
    match error_value(&error_type, &why) {
        Some(error) => Ok(Val::Result(Err(Some(Box::new(error))))),
        None => wasmtime::bail!("{why}"),
    }
}

/// Returns an error of a type: with the reason if the type has a case for a text, otherwise its first case without a
/// value.
fn error_value(error_type: &Type, why: &str) -> Option<Val> {
    match error_type {
        Type::String => Some(Val::String(why.to_owned())),
        Type::Enum(cases) => cases.names().next().map(|name| Val::Enum(name.to_owned())),
        Type::Variant(variant) => {
            let with_text = variant.cases().find(|case| case.ty == Some(Type::String));
            if let Some(case) = with_text {
                let text = Val::String(why.to_owned());
                return Some(Val::Variant(case.name.to_owned(), Some(Box::new(text))));
            }
            let without_value = variant.cases().find(|case| case.ty.is_none())?;
            Some(Val::Variant(without_value.name.to_owned(), None))
        }
        _ => None,
    }
}
