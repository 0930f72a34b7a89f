//! The seals of another replica: none of its messages is accepted twice, and a message without a seal cannot replace a
//! sealed one.

/// The kinds of messages that a replica sends in the order of their sequence numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Lease,
    Interest,
    Events,
}

/// The known state of one replica's seals.
#[derive(Debug, Default)]
pub(super) struct SealRecord {
    /// Whether the replica seals its messages. If it does, all of its messages have a seal.
    pub(super) is_sealing: bool,
    /// The newest sequence number of each kind.
    newest: [u64; 3],
}

impl SealRecord {
    /// Whether a message may be used. `sequence` comes from a valid seal, and is none if there is no seal.
    pub(super) fn admit(&mut self, kind: MessageKind, sequence: Option<u64>) -> bool {
        let Some(sequence) = sequence else {
            return !self.is_sealing;
        };
        self.is_sealing = true;
        let newest = &mut self.newest[kind as usize];
        let is_new = sequence > *newest;
        *newest = sequence.max(*newest);
        is_new
    }
}
