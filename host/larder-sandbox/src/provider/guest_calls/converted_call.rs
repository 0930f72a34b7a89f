//! A call whose answer is converted and checked before the call ends. The host does this work on behalf of the guest,
//! so it is a part of the call: it is measured, charged to the team and ended at the deadline.

use std::sync::Arc;

use super::CallChecks;
use crate::guest_config::{GuestConfig, Lease};
use crate::run::guest::{CallableGuest, GuestCall};
use larder_provider::CallError;
use larder_runtime::memory_budget::{ChargeError, MemoryCharge, MemoryUse};

/// Answers up to this size are not charged to the memory budget.
const FREE_ANSWER: usize = 64 << 10;

pub(in crate::provider) struct ConvertedCall<W, C, K> {
    pub(in crate::provider) guest_call: W,
    pub(in crate::provider) convert: C,
    pub(in crate::provider) checks: K,
}

impl<W, C, F, T, K> GuestCall for ConvertedCall<W, C, K>
where
    W: GuestCall,
    C: Fn(Arc<GuestConfig>, W::Output) -> F + Send + Sync,
    F: Future<Output = Result<T, CallError>> + Send,
    T: Send,
    K: CallChecks<T>,
{
    type Output = Result<T, CallError>;

    fn operation(&self) -> &'static str {
        self.guest_call.operation()
    }

    fn is_repeatable(&self) -> bool {
        self.guest_call.is_repeatable()
    }

    fn subject(&self) -> &str {
        self.guest_call.subject()
    }

    async fn before_call(&self, lease: &Lease) -> Option<Self::Output> {
        if let Err(error) = self.checks.before(lease).await {
            return Some(Err(error));
        }
        let output = self.guest_call.before_call(lease).await?;
        Some((self.convert)(lease.config.clone(), output).await)
    }

    async fn call(&self, guest: CallableGuest<'_>) -> wasmtime::Result<Self::Output> {
        let inner = CallableGuest {
            store: &mut *guest.store,
            ..guest
        };
        let mut output = self.guest_call.call(inner).await?;
        let store = guest.store;
        if store.data().used_caller_bucket {
            W::restrict_to_caller(&mut output);
        }
        let bytes = self.guest_call.answer_size(&output);
        let Ok(memory) = charge_answer(&store.data().lease, bytes) else {
            return Ok(Err(CallError::NoMemory));
        };
        let config = store.data().lease.config.clone();
        let deadline = store.data().deadline;
        let converted = match (self.convert)(config.clone(), output).await {
            Ok(answer) => self.checks.after(&config, answer, deadline).await,
            Err(error) => Err(error),
        };
        if let Some(memory) = memory {
            self.guest_call.keep_answer_memory(memory);
        }
        Ok(converted)
    }
}

/// Charges an answer of this many bytes to the caller, if it is large. The answer was copied from the guest in one step
/// that cannot be interrupted, so at most one answer for each thread is not charged yet.
fn charge_answer(lease: &Lease, bytes: usize) -> Result<Option<MemoryCharge>, ChargeError> {
    if bytes <= FREE_ANSWER {
        return Ok(None);
    }
    lease.charge(MemoryUse::Answers, bytes as u64).map(Some)
}
