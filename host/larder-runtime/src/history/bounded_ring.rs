//! A queue that drops its oldest items, so that neither their number nor their bytes exceed a limit.

use std::collections::VecDeque;

/// An item whose size is counted.
pub trait RingItem {
    /// The bytes of text that it contains.
    fn bytes(&self) -> usize;
}

/// The limits of a ring. The newest item is kept even if it is larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingLimits {
    /// Maximum number of items.
    pub items: usize,
    /// Maximum number of bytes in them.
    pub bytes: usize,
}

/// What an item needs in addition to its text.
const ITEM_BYTES: usize = 64;

/// A queue of the newest items, each with a number that grows.
#[derive(Debug)]
pub struct BoundedRing<T> {
    items: VecDeque<(u64, T)>,
    bytes: usize,
    last_id: u64,
}

impl<T> Default for BoundedRing<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), bytes: 0, last_id: 0 }
    }
}

impl<T: RingItem> BoundedRing<T> {
    /// Adds an item with the next number. Returns the number.
    pub fn push(&mut self, item: T, limits: RingLimits) -> u64 {
        self.push_as(self.last_id + 1, item, limits)
    }

    /// Adds an item with this number, which must be higher than all others.
    pub fn push_as(&mut self, id: u64, item: T, limits: RingLimits) -> u64 {
        self.last_id = id;
        self.bytes += item.bytes() + ITEM_BYTES;
        self.items.push_back((id, item));
        self.shrink(limits);
        id
    }

    /// Removes the oldest items beyond these limits.
    pub fn shrink(&mut self, limits: RingLimits) {
        while self.items.len() > 1 && (self.items.len() > limits.items || self.bytes > limits.bytes) {
            let removed = self.items.pop_front();
            self.bytes -= removed.map_or(0, |(_, item)| item.bytes() + ITEM_BYTES);
        }
        // A ring that was large once must not keep the memory for that.
        if self.items.capacity() > 64 && self.items.capacity() / 4 > self.items.len() {
            self.items.shrink_to(self.items.len() * 2);
        }
    }

    /// Returns the items with their numbers, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &T)> {
        self.items.iter().map(|(id, item)| (*id, item))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl RingItem for String {
        fn bytes(&self) -> usize {
            self.len()
        }
    }

    #[test]
    fn keeps_the_newest_items_within_both_limits() {
        let limits = RingLimits { items: 3, bytes: 3 * ITEM_BYTES + 100 };
        let mut ring = BoundedRing::default();
        (0..5).for_each(|n| _ = ring.push(n.to_string(), limits));
        assert_eq!(ring.iter().map(|(id, _)| id).collect::<Vec<_>>(), [3, 4, 5]);
        ring.push("x".repeat(99), limits);
        assert_eq!(ring.iter().map(|(id, _)| id).collect::<Vec<_>>(), [5, 6]);
        ring.push("x".repeat(10_000), limits);
        assert_eq!(ring.iter().map(|(id, _)| id).collect::<Vec<_>>(), [7], "the newest one is kept");
        ring.push("y".into(), limits);
        assert_eq!(ring.bytes, ITEM_BYTES + 1);
    }
}
