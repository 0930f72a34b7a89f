//! Decides whether a guest may grow. A call is moved to a thread for long calls before its guest allocates much memory:
//! the first use of each page takes time, and clearing the page later takes time too.

use async_trait::async_trait;
use wasmtime::ResourceLimiterAsync;

use super::state::GuestState;
use crate::threads::call_thread::move_to_long_call_thread;

#[async_trait]
impl ResourceLimiterAsync for GuestState {
    async fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let by = desired.saturating_sub(current) as u64;
        if self.unmoved_growth.is_exceeded_by(by) {
            move_to_long_call_thread().await;
        }
        Ok(self.limiter.grow_memory(by, self.lease.permit.caller()))
    }

    async fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self
            .limiter
            .grow_table(current, desired, self.lease.permit.caller()))
    }

    fn instances(&self) -> usize {
        self.limiter.instances
    }

    fn tables(&self) -> usize {
        self.places.tables()
    }

    fn memories(&self) -> usize {
        self.places.memories()
    }
}
