//! A call of a function of the contract with one parameter. What distinguishes these functions is data.

use wasmtime::component::{ComponentType, Lift, Lower};

use super::{Answer, AnswerMemory};
use crate::run::contract_exports::FunctionName;
use crate::run::guest::{CallableGuest, GuestCall};
use larder_runtime::memory_budget::MemoryCharge;

/// A function of the contract, with its parameter and its answer.
pub(crate) struct ContractFunction<P, T> {
    pub(super) name: FunctionName,
    /// The name of the operation in metrics and traces.
    pub(super) operation: &'static str,
    pub(super) is_repeatable: bool,
    /// The subject of a call with this parameter.
    pub(super) subject: fn(&P) -> &str,
    /// Bytes of an answer, if it can be large.
    pub(super) size: fn(&T) -> usize,
}

/// A call of a function.
pub(crate) struct ContractCall<P: 'static, T: 'static> {
    function: &'static ContractFunction<P, T>,
    parameter: P,
    memory: AnswerMemory,
}

impl<P, T> ContractFunction<P, T> {
    pub(crate) fn call(&'static self, parameter: P) -> ContractCall<P, T> {
        ContractCall {
            function: self,
            parameter,
            memory: AnswerMemory::default(),
        }
    }
}

impl<P, T> GuestCall for ContractCall<P, T>
where
    P: Lower + Send + Sync,
    T: ComponentType + Lift + Send + Sync,
{
    type Output = Answer<T>;

    fn operation(&self) -> &'static str {
        self.function.operation
    }

    fn is_repeatable(&self) -> bool {
        self.function.is_repeatable
    }

    fn answer_size(&self, answer: &Self::Output) -> usize {
        answer.as_ref().map_or(0, self.function.size)
    }

    fn keep_answer_memory(&self, memory: MemoryCharge) {
        self.memory.keep(memory);
    }

    fn into_answer_memory(self) -> Option<MemoryCharge> {
        self.memory.into_charge()
    }

    fn subject(&self) -> &str {
        (self.function.subject)(&self.parameter)
    }

    async fn call(&self, mut guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        guest.call(self.function.name, (&self.parameter,)).await
    }
}
