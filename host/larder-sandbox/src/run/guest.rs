//! A guest: one instance of a component, and the calls to it.

use std::sync::Arc;
use std::time::Instant;

use scopeguard::ScopeGuard;
use wasmtime::Store;
use wasmtime::component::{ComponentNamedList, ComponentType, Instance, Lift, Lower};

use super::compiled::CompiledComponent;
use super::contract_exports::FunctionName;
use super::fault::fault_without_detail;
use crate::Sandbox;
use crate::bindings::exports::larder::provider::resource_provider;
use crate::guest::cpu_time::set_cpu_deadline;
use crate::guest::state::{GuestState, MAX_HANDLES};
use crate::guest_config::Lease;
use crate::threads::call_meter::CallMeter;
use crate::threads::call_thread::{
    MAX_GROWTH, MAX_INITIAL, MAX_UNMOVED_LIBRARIES, UnmovedGrowth, is_long_call_thread,
    move_to_long_call_thread,
};
use crate::threads::long_calls::LongCalls;
use larder_provider::{Fault, FaultKind};
use larder_runtime::memory_budget::MemoryCharge;
use larder_runtime::shares::SharePermit;

/// A call of one of the contract's functions.
pub(crate) trait GuestCall: Send + Sync {
    /// The result of the call.
    type Output: Send;

    /// The name of the operation in metrics and traces.
    fn operation(&self) -> &'static str;

    /// Whether the call may be made again after a guest failed. Reads may be made again, because they have no effects.
    fn is_repeatable(&self) -> bool {
        true
    }

    /// Bytes of an answer, if it can be large.
    fn answer_size(&self, _answer: &Self::Output) -> usize {
        0
    }

    /// If an answer depends on values of its caller, makes it unusable for other callers.
    fn restrict_to_caller(_answer: &mut Self::Output) {}

    /// Receives the memory that is charged for a large answer. The converted answer needs that memory as well.
    fn keep_answer_memory(&self, _memory: MemoryCharge) {}

    /// Returns the memory that is charged for the answer.
    fn into_answer_memory(self) -> Option<MemoryCharge>
    where
        Self: Sized,
    {
        None
    }

    /// The subject of the call, such as a URI or a cursor.
    fn subject(&self) -> &str {
        ""
    }

    /// Does work before a guest is opened. Returns an answer if no guest needs to be called.
    fn before_call(&self, _lease: &Lease) -> impl Future<Output = Option<Self::Output>> + Send {
        std::future::ready(None)
    }

    /// Makes the call.
    fn call(
        &self,
        guest: CallableGuest<'_>,
    ) -> impl Future<Output = wasmtime::Result<Self::Output>> + Send;
}

/// A guest to which a call is made.
pub(crate) struct CallableGuest<'a> {
    pub(crate) store: &'a mut Store<GuestState>,
    pub(crate) compiled: &'a CompiledComponent,
    pub(crate) instance: Instance,
    /// The functions of the required interface, if the guest is reused: their types were already checked.
    pub(crate) functions: Option<&'a resource_provider::Guest>,
}

impl CallableGuest<'_> {
    /// Calls one function of the contract. If all functions of its interface were loaded, the types of the other
    /// functions would be checked too.
    pub(crate) async fn call<P, A>(
        &mut self,
        function: FunctionName,
        parameters: P,
    ) -> wasmtime::Result<A>
    where
        P: ComponentNamedList + Lower,
        A: ComponentType + Lift + 'static,
    {
        let export = self.compiled.contract_function(function)?;
        let function = self
            .instance
            .get_typed_func::<P, (A,)>(&mut *self.store, &export)?;
        Ok(function.call_async(&mut *self.store, parameters).await?.0)
    }
}

/// A guest. If it has much memory, it is cleared on another thread.
pub(super) type OpenGuest = ScopeGuard<Guest, fn(Guest)>;

/// One instance of a component with its store.
pub(crate) struct Guest {
    pub(super) store: Store<GuestState>,
    /// The component of the guest. The code of the provider may have been replaced since the guest was opened.
    compiled: Arc<CompiledComponent>,
    /// None until the first call.
    instance: Option<Instance>,
    /// Loaded at the second call. The first call loads only its own function, because checking the types of all
    /// functions takes longer.
    functions: Option<resource_provider::Guest>,
    /// Number of calls that the guest may still get; none until the first call has ended.
    pub(super) calls_left: Option<u32>,
    /// Bytes of memory after instantiation.
    initial_memory: u64,
    long_calls: Arc<LongCalls>,
    /// This field is dropped last: the places of the guest are free when the guest is cleared.
    _places: SharePermit,
}

impl Guest {
    /// Whether the provider uses other code by now.
    pub(super) fn has_replaced_code(&self) -> bool {
        self.compiled.is_replaced()
    }

    /// How many places the guest needs.
    pub(super) fn places(&self) -> u64 {
        self.compiled.places.count()
    }

    /// Resets the limits of a call that ends at this deadline. The meter records when the guest exceeds its CPU
    /// time.
    pub(crate) fn prepare_call(&mut self, deadline: Instant, meter: Arc<CallMeter>) {
        let state = self.store.data_mut();
        state.deadline = deadline;
        state.meter = Some(meter.clone());
        let limits = &self.store.data().lease.grant.limits;
        let cpu_time = limits.cpu_time;
        let result = usize::try_from(limits.result).unwrap_or(usize::MAX);
        self.store.set_hostcall_fuel(result);
        set_cpu_deadline(&mut self.store, cpu_time, meter);
    }

    /// Returns the guest in the form to which calls are made. If the component is not instantiated yet, it is
    /// instantiated.
    pub(crate) async fn callable(&mut self) -> wasmtime::Result<CallableGuest<'_>> {
        let instance = match self.instance {
            Some(instance) => instance,
            None => self.instantiate().await?,
        };
        if self.calls_left.is_some()
            && self.functions.is_none()
            && let Some(contract) = self.compiled.find_contract()
        {
            self.functions = Some(contract.resources.load(&mut self.store, &instance)?);
        }
        Ok(CallableGuest {
            store: &mut self.store,
            compiled: &self.compiled,
            instance,
            functions: self.functions.as_ref(),
        })
    }

    /// Instantiates the component.
    pub(crate) async fn instantiate(&mut self) -> wasmtime::Result<Instance> {
        if self.compiled.library_instances > 0 {
            self.charge_libraries().await?;
        }
        let instance = self.compiled.pre.instantiate_async(&mut self.store).await?;
        let state = self.store.data_mut();
        self.initial_memory = state.limiter.memory();
        state.unmoved_growth = UnmovedGrowth::in_call();
        Ok(*self.instance.insert(instance))
    }

    /// Charges the instances of libraries as memory of the guest, because the engine does not report them.
    async fn charge_libraries(&mut self) -> wasmtime::Result<()> {
        let bytes = self.compiled.library_instances;
        if bytes > MAX_UNMOVED_LIBRARIES {
            move_to_long_call_thread().await;
        }
        let GuestState { limiter, lease, .. } = self.store.data_mut();
        wasmtime::ensure!(
            limiter.grow_memory(bytes, lease.permit.caller()),
            "there is no memory for the instances of its libraries"
        );
        Ok(())
    }

    /// Bytes of memory that the guest allocated since instantiation.
    pub(super) fn memory_growth(&self) -> u64 {
        self.store
            .data()
            .limiter
            .memory()
            .saturating_sub(self.initial_memory)
    }

    /// Drops the guest. If clearing its memory takes long, the guest is dropped on a thread for long calls.
    fn clear(self) {
        let is_large = self.memory_growth() > MAX_GROWTH || self.initial_memory > MAX_INITIAL;
        if is_large && !is_long_call_thread() {
            let meter = CallMeter::new(self.store.data().lease.config.clone());
            self.long_calls.clone().clear(meter, self);
        }
    }
}

impl Sandbox {
    /// Creates a guest. Its component is instantiated at the first call.
    pub(crate) async fn open(
        &self,
        lease: Lease,
        places: SharePermit,
        compiled: Arc<CompiledComponent>,
    ) -> Result<OpenGuest, Fault> {
        let state = match lease.folder_threads.clone() {
            Some(threads) => threads
                .open(|| GuestState::new(lease))
                .await
                .map_err(Into::into)
                .flatten(),
            None => GuestState::new(lease),
        };
        let mut state = state.map_err(|error| {
            // The detail is for the operator: the guest did not cause that the folder is missing.
            Fault {
                detail: format!("{error:#}"),
                ..fault_without_detail(FaultKind::Trap("a granted folder cannot be opened".into()))
            }
        })?;
        state.places = compiled.places;
        let mut store = Store::new(&self.engine, state);
        store.limiter_async(|state| state);
        store.set_max_component_handles(MAX_HANDLES);
        let guest = Guest {
            store,
            compiled,
            instance: None,
            functions: None,
            calls_left: None,
            initial_memory: 0,
            long_calls: self.long_calls.clone(),
            _places: places,
        };
        Ok(scopeguard::guard(guest, Guest::clear))
    }
}
