//! The seals of another replica: no message of it is accepted twice, and none without a seal takes the place of one.

/// The kinds of messages that a replica sends in the order of their sequence numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageKind {
    Lease,
    Interest,
    Events,
}

/// What is known of the seals of one replica.
#[derive(Debug, Default)]
pub(super) struct SealRecord {
    /// Whether it seals its messages. If it does, all of them have a seal.
    pub(super) is_sealing: bool,
    /// The newest sequence number of each kind.
    newest: [u64; 3],
}

impl SealRecord {
    /// Whether a message may be used. `sequence` comes from a valid seal, and is none without one.
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
