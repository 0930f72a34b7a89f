//! What clients are told of changes: streams of notifications, subscriptions, and events that are kept for clients that
//! reconnect. It uses `wire` and `outgoing`.

pub(crate) mod listen;
pub(crate) mod replay;
pub(crate) mod stream_permit;
pub(crate) mod subscriptions;
