//! Charges responses to their callers. A response without room is replaced by an error.

use super::Endpoint;
use super::dispatch::error;
use super::message::Id;
use super::rpc_error::{INTERNAL_ERROR, RpcError};
use super::waiting_bytes::{ChargedResponse, FREE_BYTES, Refused};
use larder_model::resource::Caller;

impl Endpoint {
    /// Charges a response to its caller. If there is no room for it, it is replaced by an error.
    pub(super) fn charged(&self, caller: &Caller, id: &Id, bytes: Vec<u8>) -> ChargedResponse {
        if bytes.len() <= FREE_BYTES { bytes.into() } else { self.charged_always(caller, id, bytes) }
    }

    /// Charges a response of any size.
    pub(super) fn charged_always(&self, caller: &Caller, id: &Id, bytes: Vec<u8>) -> ChargedResponse {
        match self.0.waiting_bytes.charge(caller, bytes.len()) {
            Ok(charge) => ChargedResponse { charge: Some(charge), ..bytes.into() },
            Err(refused) => {
                let rpc_error = rpc_error(refused, bytes.len());
                let bytes = error(Some(id), &rpc_error);
                ChargedResponse { refused: Some(Box::new(rpc_error)), ..bytes.into() }
            }
        }
    }
}

fn rpc_error(refused: Refused, bytes: usize) -> RpcError {
    match refused {
        Refused::Full => {
            RpcError::overloaded("too many large responses wait for slow clients, or the batch is too large")
        }
        Refused::AboveLimit(limit) => RpcError::new(
            INTERNAL_ERROR,
            format!(
                "the response has {bytes} bytes, and at most {limit} may wait for a client: the operator can \
                 raise `server.waiting_bytes`"
            ),
        ),
    }
}
