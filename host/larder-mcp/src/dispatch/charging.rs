//! Charges responses to their callers. If memory for a response is missing, an error replaces the response.

use std::sync::Arc;

use super::ENVELOPE;
use crate::Endpoint;
use crate::outgoing::charged_bytes::charged;
use crate::outgoing::deferred::{DeferredResponse, MAX_ENCODED};
use crate::outgoing::waiting_bytes::{ChargedResponse, FREE_BYTES};
use crate::wire::error_message::error;
use crate::wire::held_contents::HeldContents;
use crate::wire::message::Id;
use crate::wire::output::{Output, WrittenOutput};
use crate::wire::rpc_error::{INTERNAL_ERROR, RpcError};
use larder_model::resource::{Call, Caller, ReadResult};
use larder_model::size;
use larder_runtime::memory_budget::{ChargeError, MemoryCharge};

impl Endpoint {
    /// Creates a buffer for a response with this approximate size of its content. A large buffer is charged to the
    /// caller.
    pub(crate) fn output(&self, call: &Call, size: usize) -> Result<Output, RpcError> {
        let size = ENVELOPE + size;
        if size <= FREE_BYTES {
            return Ok(Output::with_capacity(size));
        }
        let caller = call.caller.as_ref().unwrap_or(&self.0.fixed.caller);
        let charge = self
            .0
            .waiting_bytes
            .charge(caller, size)
            .map_err(rpc_error)?;
        Ok(Output::charged(Box::new(charge)))
    }

    /// Holds contents until their response was sent. The charge of the contents as an answer is released, except in two
    /// cases: others also hold the contents, or many contents are small. The charge of the response contains only the
    /// large contents.
    pub(crate) fn hold(
        &self,
        call: &Call,
        reading: &mut ReadResult,
    ) -> Result<Arc<HeldContents>, RpcError> {
        let caller = call.caller.as_ref().unwrap_or(&self.0.fixed.caller);
        let bytes = HeldContents::large_bytes(&reading.contents) + MAX_ENCODED;
        let mut charge = self
            .0
            .waiting_bytes
            .charge(caller, bytes)
            .map_err(rpc_error)?;
        let pieces = charge.split(MAX_ENCODED as u64);
        let is_charged = HeldContents::small_bytes(&reading.contents) <= FREE_BYTES;
        if let Some(contents) = Arc::get_mut(&mut reading.contents).filter(|_| is_charged) {
            contents.release();
        }
        Ok(Arc::new(HeldContents::new(
            reading.contents.clone(),
            charge,
            pieces,
        )))
    }

    /// Like [`Self::output`], for JSON that is kept for other responses.
    pub(super) fn kept_output(&self, call: &Call, size: usize) -> Result<Output, RpcError> {
        if size <= FREE_BYTES {
            return Ok(Output::with_capacity(size));
        }
        let caller = call.caller.as_ref().unwrap_or(&self.0.fixed.caller);
        let charge = self
            .0
            .waiting_bytes
            .charge_kept(caller, size)
            .map_err(rpc_error)?;
        Ok(Output::charged(Box::new(charge)))
    }

    /// Charges a call that waits for the answers of its client. A call of any size is charged, because it can wait for
    /// a long time.
    pub(crate) fn charge_question(
        &self,
        call: &Call,
        size: usize,
    ) -> Result<MemoryCharge, RpcError> {
        let caller = call.caller.as_ref().unwrap_or(&self.0.fixed.caller);
        let charge = self
            .0
            .waiting_bytes
            .charge_question(caller, ENVELOPE + size);
        charge.map_err(|_| {
            RpcError::overloaded("too many large calls wait for the answers of their clients")
        })
    }

    /// Returns the written bytes, or an error if memory for them was missing.
    pub(crate) fn written(&self, out: Output) -> Result<WrittenOutput, RpcError> {
        out.finish().map_err(rpc_error)
    }

    /// Returns the written bytes as a response.
    pub(super) fn finished(&self, out: Output) -> Result<ChargedResponse, RpcError> {
        let WrittenOutput {
            bytes,
            charge,
            places,
        } = self.written(out)?;
        Ok(match places {
            None => ChargedResponse {
                charge,
                ..bytes.into()
            },
            Some(places) => {
                let threads = self.0.low_priority_threads.clone();
                DeferredResponse::new(charged(bytes, charge), *places, threads).into()
            }
        })
    }

    /// Charges a large response to its caller, unless it was charged while it was written. If memory for it is missing,
    /// an error replaces it.
    pub(crate) fn charged(
        &self,
        caller: &Caller,
        id: &Id,
        response: ChargedResponse,
    ) -> ChargedResponse {
        if response.is_large() || response.bytes.len() <= FREE_BYTES {
            return response;
        }
        self.charged_always(caller, id, response)
    }

    /// Charges a response of any size.
    pub(crate) fn charged_always(
        &self,
        caller: &Caller,
        id: &Id,
        response: ChargedResponse,
    ) -> ChargedResponse {
        if response.is_large() {
            return response;
        }
        match self
            .0
            .waiting_bytes
            .charge(caller, response.bytes.capacity())
        {
            Ok(charge) => ChargedResponse {
                charge: Some(Box::new(charge)),
                ..response
            },
            Err(refused) => {
                let rpc_error = rpc_error(refused);
                let bytes = error(Some(id), &rpc_error);
                ChargedResponse {
                    refused: Some(Box::new(rpc_error)),
                    ..bytes.into()
                }
            }
        }
    }
}

fn rpc_error(refused: ChargeError) -> RpcError {
    match refused {
        ChargeError::Full => RpcError::overloaded(
            "too many large responses wait for slow clients, or the batch is too large",
        ),
        ChargeError::AboveLimit(limit) => RpcError::new(
            INTERNAL_ERROR,
            format!(
                "the response needs more than {}, which one client can use: the operator can raise \
                 `server.waiting_bytes` or `server.memory`",
                size::show(limit)
            ),
        ),
    }
}
