//! The call of a function, with the engine's dynamic values.

use std::sync::{Arc, OnceLock};

use serde_json::Value;
use wasmtime::component::Val;

use super::arguments;
use super::value_facts::value_size;
use crate::guest_config::Lease;
use crate::provider::guest_calls::AnswerMemory;
use crate::run::guest::{CallableGuest, GuestCall};
use larder_functions::{Function, FunctionSet};
use larder_model::uri::Uri;
use larder_provider::CallError;
use larder_runtime::memory_budget::{ChargeError, MemoryCharge, MemoryUse};

/// Arguments up to this size are not charged to the memory budget.
const FREE_ARGUMENTS: usize = 64 << 10;

/// What a function returned; none if it returns nothing.
pub(super) type FunctionAnswer = Result<FunctionValue, CallError>;

/// The value that a function returned, and whether it belongs to its caller.
#[derive(Debug)]
pub(super) struct FunctionValue {
    pub(super) value: Option<Val>,
    /// Whether the value may be used only for the caller that received it.
    pub(super) belongs_to_caller: bool,
}

/// The arguments of a call.
struct Arguments {
    values: Vec<Val>,
    /// The memory that is charged for them, if they are large.
    _memory: Option<MemoryCharge>,
}

/// A call of one function.
pub(super) struct FunctionCall {
    functions: Arc<FunctionSet>,
    /// The position of the function in the set.
    index: usize,
    /// The arguments of a tool, which are converted while the call holds its permits.
    json: Option<Arc<Value>>,
    arguments: OnceLock<Arguments>,
    /// Whether a resource is read. Then the call may be repeated.
    is_read: bool,
    subject: String,
    memory: AnswerMemory,
}

impl FunctionCall {
    pub(super) fn of_tool(functions: Arc<FunctionSet>, index: usize, json: Arc<Value>) -> Self {
        Self {
            subject: functions.functions[index].tool.clone(),
            json: Some(json),
            arguments: OnceLock::new(),
            is_read: false,
            memory: AnswerMemory::default(),
            functions,
            index,
        }
    }

    pub(super) fn of_resource(
        functions: Arc<FunctionSet>,
        index: usize,
        uri: &Uri,
        values: Vec<Val>,
    ) -> Self {
        Self {
            subject: uri.to_string(),
            json: None,
            arguments: OnceLock::from(Arguments {
                values,
                _memory: None,
            }),
            is_read: true,
            memory: AnswerMemory::default(),
            functions,
            index,
        }
    }

    fn function(&self) -> &Function {
        &self.functions.functions[self.index]
    }

    fn values(&self) -> &[Val] {
        let arguments = self.arguments.get();
        arguments.map_or(&[], |arguments| &arguments.values)
    }
}

impl GuestCall for FunctionCall {
    type Output = FunctionAnswer;

    fn operation(&self) -> &'static str {
        if self.is_read { "read" } else { "tool" }
    }

    fn is_repeatable(&self) -> bool {
        self.is_read
    }

    fn answer_size(&self, answer: &Self::Output) -> usize {
        let value = answer
            .as_ref()
            .ok()
            .and_then(|answer| answer.value.as_ref());
        value.map_or(0, value_size)
    }

    fn restrict_to_caller(answer: &mut Self::Output) {
        if let Ok(answer) = answer {
            answer.belongs_to_caller = true;
        }
    }

    fn keep_answer_memory(&self, memory: MemoryCharge) {
        self.memory.keep(memory);
    }

    fn into_answer_memory(self) -> Option<MemoryCharge> {
        self.memory.into_charge()
    }

    fn subject(&self) -> &str {
        &self.subject
    }

    /// Converts the arguments. No guest is opened if they do not fit.
    async fn before_call(&self, lease: &Lease) -> Option<Self::Output> {
        let json = self.json.as_ref()?;
        let parameters = &self.function().parameters;
        let converted = arguments::values(&self.functions.types, parameters, json);
        let values = match converted {
            Ok(values) => values,
            Err(error) => return Some(Err(CallError::Refused(error.to_string()))),
        };
        let Ok(memory) = charge_arguments(lease, &values) else {
            return Some(Err(CallError::NoMemory));
        };
        // A repeated call has the same arguments.
        _ = self.arguments.set(Arguments {
            values,
            _memory: memory,
        });
        None
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        let exports = guest.compiled.functions();
        let export = exports.and_then(|functions| functions.exports.get(self.index));
        let function = export.and_then(|export| guest.instance.get_func(&mut *guest.store, export));
        let function = function
            .ok_or_else(|| wasmtime::Error::msg("the component does not export the function"))?;
        let returns = self.function().result.is_some();
        // The engine replaces the value.
        let mut results = vec![Val::Bool(false); usize::from(returns)];
        function
            .call_async(guest.store, self.values(), &mut results)
            .await?;
        Ok(Ok(FunctionValue {
            value: results.pop(),
            belongs_to_caller: false,
        }))
    }
}

/// Charges arguments to the caller, if they are large. As values of the engine, they are larger than their JSON, which
/// was charged when the request was received.
fn charge_arguments(lease: &Lease, values: &[Val]) -> Result<Option<MemoryCharge>, ChargeError> {
    let bytes: usize = values.iter().map(value_size).sum();
    if bytes <= FREE_ARGUMENTS {
        return Ok(None);
    }
    lease.charge(MemoryUse::Requests, bytes as u64).map(Some)
}
