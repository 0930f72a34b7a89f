//! Reports the progress of transfers, for progress bars.

use larder_model::name::Digest;

/// Receives the progress of transfers. The methods are called for each piece of a transfer, so they must be fast.
pub trait Progress: Send + Sync {
    /// A blob of this size is being transferred. If a transfer is repeated, this is called again.
    fn started(&self, blob: &Digest, size: u64);

    /// More bytes of the blob were transferred.
    fn advanced(&self, blob: &Digest, bytes: u64);

    /// The blob is complete, or was in the store already.
    fn finished(&self, blob: &Digest);
}

/// Ignores all reports.
#[derive(Debug, Clone, Copy)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn started(&self, _: &Digest, _: u64) {}
    fn advanced(&self, _: &Digest, _: u64) {}
    fn finished(&self, _: &Digest) {}
}
