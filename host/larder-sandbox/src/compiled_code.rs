//! The code of a component, before it is linked.

use super::cache::CacheEntry;
use super::tier::Tier;

/// The code of a component.
pub(super) struct CompiledCode {
    pub(super) entry: CacheEntry,
    pub(super) tier: Tier,
}
