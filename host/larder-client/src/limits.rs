//! Limits that every transport shares.

/// The maximum size of a message from a server, in bytes. Servers may send more than any user reads.
pub(super) const MAX_MESSAGE_BYTES: usize = 256 << 20;
