//! What a component can import: the interfaces of the contract, functions of WASI that are replaced here, and proposals
//! of WASI.

pub(crate) mod host;
pub(crate) mod http_client;
pub(crate) mod interaction_host;
pub(crate) mod key_value_host;
pub(crate) mod linker;
pub(crate) mod unreadable_names;
pub(crate) mod wasi_proposals;
pub(crate) mod wasi_sockets;
