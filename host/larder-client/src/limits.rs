//! Limits that every transport shares.

/// The largest message that is accepted from a server, in bytes. Servers may send more than anybody reads.
pub(super) const MAX_MESSAGE_BYTES: usize = 256 << 20;
