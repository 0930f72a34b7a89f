//! A call whose answer is converted before the call ends. The conversion is work of the host on behalf of the guest:
//! as a part of the call it is measured, charged to the team and ended at the deadline.

use wasmtime::Store;

use crate::guest::{CallableGuest, GuestCall};
use crate::provider::CallError;
use crate::state::GuestState;

pub(in crate::provider) struct Converted<'a, W, C> {
    pub(in crate::provider) guest_call: &'a W,
    pub(in crate::provider) convert: C,
}

impl<W, C, F, T> GuestCall for Converted<'_, W, C>
where
    W: GuestCall,
    C: Fn(W::Output) -> F + Send + Sync,
    F: Future<Output = Result<T, CallError>> + Send,
    T: Send,
{
    type Output = Result<T, CallError>;
    const OPERATION: &'static str = W::OPERATION;
    const IS_REPEATABLE: bool = W::IS_REPEATABLE;

    fn subject(&self) -> &str {
        self.guest_call.subject()
    }

    async fn call(
        &self,
        store: &mut Store<GuestState>,
        guest: CallableGuest<'_>,
    ) -> wasmtime::Result<Self::Output> {
        let output = self.guest_call.call(store, guest).await?;
        Ok((self.convert)(output).await)
    }
}
