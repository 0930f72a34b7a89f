//! The JSON of the protocol: reads messages and their fields, and writes results and errors. It uses no other room, and
//! knows neither sessions nor transports.

pub(crate) mod error_message;
pub(crate) mod escape;
pub(crate) mod fields;
pub(crate) mod held_contents;
pub(crate) mod json_writer;
pub(crate) mod message;
pub(crate) mod output;
pub(crate) mod raw_json;
pub(crate) mod rpc_error;
