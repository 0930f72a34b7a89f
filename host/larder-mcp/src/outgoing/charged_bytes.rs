//! Bytes that are charged to the memory budget until the last reference to them is dropped.

use std::sync::Arc;

use bytes::Bytes;
use larder_runtime::memory_budget::MemoryCharge;

/// Returns bytes with the charge for them, if there is a charge.
pub(crate) fn charged(bytes: Vec<u8>, charge: Option<Box<MemoryCharge>>) -> Bytes {
    match charge {
        Some(charge) => Bytes::from_owner(ChargedBuffer {
            bytes,
            _charge: charge,
        }),
        None => bytes.into(),
    }
}

/// Returns bytes that share the charge of other bytes.
pub(super) fn sharing_charge(bytes: Vec<u8>, charge: &Arc<MemoryCharge>) -> Bytes {
    Bytes::from_owner(ChargedBuffer {
        bytes,
        _charge: charge.clone(),
    })
}

struct ChargedBuffer<C> {
    bytes: Vec<u8>,
    _charge: C,
}

impl<C> AsRef<[u8]> for ChargedBuffer<C> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}
