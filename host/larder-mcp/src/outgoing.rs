//! Responses that wait for their clients: their memory, and the contents that are encoded while the client reads. It
//! uses `wire`.

pub(crate) mod charged_bytes;
pub(crate) mod deferred;
mod output_chunk;
pub(crate) mod unsent;
pub(crate) mod waiting_bytes;
