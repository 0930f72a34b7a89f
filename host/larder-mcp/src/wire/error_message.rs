//! The JSON of an error response.

use super::json_writer::object;
use super::message::Id;
use super::rpc_error::RpcError;

/// Returns a JSON-RPC error response.
pub(crate) fn error(id: Option<&Id>, rpc_error: &RpcError) -> Vec<u8> {
    object(|o| {
        o.text("jsonrpc", "2.0");
        // `id` is omitted when it could not be read: the schema does not allow null.
        if let Some(id) = id {
            o.json("id", id.json());
        }
        o.object("error", |o| {
            o.signed("code", rpc_error.code);
            o.text("message", &rpc_error.message);
            rpc_error.data.iter().for_each(|data| o.json("data", data));
        });
    })
}
