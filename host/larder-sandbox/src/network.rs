//! Outgoing connections of guests: which addresses a guest may reach, and the connections to them. It knows nothing of the
//! engine.

pub(crate) mod credential_test;
pub(crate) mod dns;
pub(crate) mod outgoing_http;
pub(crate) mod outgoing_tcp;
pub(crate) mod resolved_addresses;
