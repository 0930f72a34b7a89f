//! A guest: one instance of a component, and the calls to it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use wasmtime::Store;
use wasmtime::component::Instance;

use super::Sandbox;
use super::bindings::exports::larder::provider::resource_provider;
use super::compiled::CompiledComponent;
use super::cpu_time::set_cpu_deadline;
use super::fault::{Fault, FaultKind, fault_without_detail};
use super::guest_config::Lease;
use super::state::{GuestState, MAX_HANDLES};

/// A call of one of the contract's functions.
pub(super) trait GuestCall: Send + Sync {
    /// What the call returns.
    type Output: Send;

    /// The name of the operation in metrics and traces.
    const OPERATION: &'static str;

    /// Whether the call may be made again after a guest failed. Reads have no effects, so they may.
    const IS_REPEATABLE: bool = true;

    /// What the call is about: a URI, a template or a cursor.
    fn subject(&self) -> &str;

    /// Makes the call.
    fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> impl Future<Output = wasmtime::Result<Self::Output>> + Send;
}

/// A guest to which a call is made.
#[derive(Clone, Copy)]
pub(super) struct CallableGuest<'a> {
    pub(super) compiled: &'a CompiledComponent,
    pub(super) instance: &'a Instance,
    /// The functions of the required interface, if the guest is reused: their types were checked before.
    pub(super) functions: Option<&'a resource_provider::Guest>,
}

/// One instance of a component with its store.
pub(super) struct Guest {
    pub(super) store: Store<GuestState>,
    /// None until the first call.
    instance: Option<Instance>,
    /// Loaded at the second call. The first call loads only its own function, because checking the types of
    /// all of them takes longer.
    functions: Option<resource_provider::Guest>,
    /// Number of calls that may still be made to it; none until the first call has ended.
    pub(super) calls_left: Option<u32>,
    /// Bytes of memory after instantiation.
    initial_memory: u64,
}

impl Guest {
    /// Resets the limits of a call that ends at this deadline. The returned flag is set when the guest exceeds
    /// its CPU time.
    pub(super) fn prepare_call(&mut self, deadline: Instant) -> Arc<AtomicBool> {
        self.store.data_mut().deadline = deadline;
        let limits = &self.store.data().lease.grant.limits;
        let (cpu_time, result) = (limits.cpu_time, usize::try_from(limits.result).unwrap_or(usize::MAX));
        self.store.set_hostcall_fuel(result);
        set_cpu_deadline(&mut self.store, cpu_time)
    }

    /// Makes a call. The component is instantiated first if it was not.
    pub(super) async fn call<W: GuestCall>(
        &mut self,
        compiled: &CompiledComponent,
        guest_call: &W,
    ) -> wasmtime::Result<W::Output> {
        let instance = match self.instance {
            Some(instance) => instance,
            None => {
                let instance = compiled.pre.instantiate_async(&mut self.store).await?;
                self.initial_memory = self.store.data().limiter.memory();
                *self.instance.insert(instance)
            }
        };
        if self.calls_left.is_some() && self.functions.is_none() {
            self.functions = Some(compiled.resources.load(&mut self.store, &instance)?);
        }
        let guest = CallableGuest { compiled, instance: &instance, functions: self.functions.as_ref() };
        guest_call.call(&mut self.store, guest).await
    }

    /// Bytes of memory that it allocated since instantiation.
    pub(super) fn memory_growth(&self) -> u64 {
        self.store.data().limiter.memory().saturating_sub(self.initial_memory)
    }
}

impl Sandbox {
    /// Creates a guest. Its component is instantiated at the first call.
    pub(super) async fn open(&self, lease: Lease) -> Result<Guest, Fault> {
        let state = match lease.folder_threads.clone() {
            Some(threads) => threads.open(|| GuestState::new(lease)).await.map_err(Into::into).flatten(),
            None => GuestState::new(lease),
        };
        let state = state.map_err(|error| {
            // The detail is for the operator: a missing folder is not caused by the guest.
            Fault {
                detail: format!("{error:#}"),
                ..fault_without_detail(FaultKind::Trap("a granted folder cannot be opened".into()))
            }
        })?;
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.limiter);
        store.set_max_component_handles(MAX_HANDLES);
        Ok(Guest { store, instance: None, functions: None, calls_left: None, initial_memory: 0 })
    }
}
