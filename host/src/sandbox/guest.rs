//! A guest from its opening to its end: most live for one call.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wasmtime::Store;
use wasmtime::component::Instance;

use super::bindings::exports::larder::provider::resource_provider;
use super::fault::{Fault, FaultKind, plain};
use super::limits;
use super::state::{HANDLES, Lease, State};
use super::{Compiled, Sandbox};

/// Work for a guest: a question of the contract.
pub trait Work: Send + Sync {
    /// What comes of it.
    type Answer: Send;

    /// Has a guest do it.
    fn work(
        &self,
        store: &mut Store<State>,
        guest: Called<'_>,
    ) -> impl Future<Output = wasmtime::Result<Self::Answer>> + Send;
}

/// A guest that is called.
#[derive(Clone, Copy)]
pub struct Called<'a> {
    /// Where its functions are.
    pub instance: &'a Instance,
    /// The functions themselves, if it was called before: their types were compared then.
    pub functions: Option<&'a resource_provider::Guest>,
}

/// One guest. Dropping it is its end.
pub(super) struct Guest {
    pub(super) store: Store<State>,
    /// None until it is first called.
    instance: Option<Instance>,
    /// None until it is called again: to compare the types of all functions takes longer than that of the one that is called.
    functions: Option<resource_provider::Guest>,
    /// Calls that it may have yet, once that is decided.
    pub(super) left: Option<u32>,
    /// Bytes of memory with which it began.
    began_with: u64,
}

impl Guest {
    /// Begins a call: everything that counts for one call begins anew.
    pub(super) fn arm(&mut self) -> Arc<AtomicBool> {
        let limits = &self.store.data().lease.grant.limits;
        let (cpu, result) = (limits.cpu, usize::try_from(limits.result).unwrap_or(usize::MAX));
        self.store.set_hostcall_fuel(result);
        limits::arm(&mut self.store, cpu)
    }

    pub(super) async fn work<W: Work>(
        &mut self,
        compiled: &Compiled,
        work: &W,
    ) -> wasmtime::Result<W::Answer> {
        let instance = match self.instance {
            Some(instance) => instance,
            None => {
                let instance = compiled.pre.instantiate_async(&mut self.store).await?;
                self.began_with = self.store.data().meter.memory();
                *self.instance.insert(instance)
            }
        };
        if self.left.is_some() && self.functions.is_none() {
            self.functions = Some(compiled.resources.load(&mut self.store, &instance)?);
        }
        let called = Called { instance: &instance, functions: self.functions.as_ref() };
        work.work(&mut self.store, called).await
    }

    /// Bytes of memory that it took since it began.
    pub(super) fn grown(&self) -> u64 {
        self.store.data().meter.memory().saturating_sub(self.began_with)
    }
}

impl Sandbox {
    /// A guest that was not called yet.
    pub(super) async fn open(&self, lease: Lease) -> Result<Guest, Fault> {
        let state = match lease.threads.clone() {
            Some(threads) => threads.open(|| State::new(lease)).await.map_err(Into::into).flatten(),
            None => State::new(lease),
        };
        let state = state.map_err(|error| {
            // A granted folder that is gone is the operator's to know, and not what a guest did.
            Fault {
                detail: format!("{error:#}"),
                ..plain(FaultKind::Trap("what it was granted cannot be opened".into()))
            }
        })?;
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.meter);
        store.set_max_component_handles(HANDLES);
        Ok(Guest { store, instance: None, functions: None, left: None, began_with: 0 })
    }
}
