//! A queue that drops its oldest items, so that neither their number nor their bytes exceed a limit.

use std::collections::{BTreeMap, VecDeque};

/// An item whose size is counted.
pub trait RingItem {
    /// The bytes of text in the item.
    fn bytes(&self) -> usize;
}

/// The limits of a ring. The newest item is kept even if it exceeds the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RingLimits {
    /// Maximum number of items.
    pub items: usize,
    /// Maximum number of bytes of the items.
    pub bytes: usize,
}

/// The bytes of an item in addition to its text.
const ITEM_BYTES: usize = 64;

/// A queue of the newest items. Each item has a number, and the numbers increase.
#[derive(Debug)]
pub struct BoundedRing<T> {
    items: VecDeque<(u64, T)>,
    bytes: usize,
    last_id: u64,
}

impl<T> Default for BoundedRing<T> {
    fn default() -> Self {
        Self {
            items: VecDeque::new(),
            bytes: 0,
            last_id: 0,
        }
    }
}

impl<T: RingItem> BoundedRing<T> {
    /// Adds an item with the next number. Returns the number.
    pub fn push(&mut self, item: T, limits: RingLimits) -> u64 {
        self.add(self.last_id + 1, item);
        self.shrink(limits);
        self.last_id
    }

    /// Adds an item with this number, which must be higher than all others. If the limits are exceeded, the owner with
    /// the most items loses its oldest item. So no owner removes items of an owner who has fewer.
    pub fn push_of<K: Ord>(&mut self, id: u64, item: T, limits: RingLimits, owner: fn(&T) -> &K) {
        self.add(id, item);
        while self.exceeds(limits) {
            let by_count = self.items.len() > limits.items;
            let oldest =
                self.oldest_of_largest(owner, |item| if by_count { 1 } else { size(item) });
            self.remove(oldest);
        }
    }

    /// Removes the oldest items beyond these limits.
    pub fn shrink(&mut self, limits: RingLimits) {
        while self.exceeds(limits) {
            self.remove(0);
        }
        // A ring that was large once must not keep that much memory.
        if self.items.capacity() > 64 && self.items.capacity() / 4 > self.items.len() {
            self.items.shrink_to(self.items.len() * 2);
        }
    }

    fn add(&mut self, id: u64, item: T) {
        self.last_id = id;
        self.bytes += size(&item);
        self.items.push_back((id, item));
    }

    fn remove(&mut self, at: usize) {
        let removed = self.items.remove(at);
        self.bytes -= removed.map_or(0, |(_, item)| size(&item));
    }

    fn exceeds(&self, limits: RingLimits) -> bool {
        self.items.len() > 1 && (self.items.len() > limits.items || self.bytes > limits.bytes)
    }

    /// The position of the oldest item of the owner whose items have the greatest weight.
    fn oldest_of_largest<K: Ord>(
        &self,
        owner: fn(&T) -> &K,
        weight: impl Fn(&T) -> usize,
    ) -> usize {
        let mut owners = BTreeMap::<&K, usize>::new();
        for (_, item) in &self.items {
            *owners.entry(owner(item)).or_default() += weight(item);
        }
        let largest = owners
            .into_iter()
            .max_by_key(|(_, weight)| *weight)
            .map(|(owner, _)| owner);
        self.items
            .iter()
            .position(|(_, item)| Some(owner(item)) == largest)
            .unwrap_or_default()
    }

    /// Returns the items with their numbers, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &T)> {
        self.items.iter().map(|(id, item)| (*id, item))
    }
}

fn size(item: &impl RingItem) -> usize {
    item.bytes() + ITEM_BYTES
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
        let limits = RingLimits {
            items: 3,
            bytes: 3 * ITEM_BYTES + 100,
        };
        let mut ring = BoundedRing::default();
        (0..5).for_each(|n| _ = ring.push(n.to_string(), limits));
        assert_eq!(ring.iter().map(|(id, _)| id).collect::<Vec<_>>(), [3, 4, 5]);
        ring.push("x".repeat(99), limits);
        assert_eq!(ring.iter().map(|(id, _)| id).collect::<Vec<_>>(), [5, 6]);
        ring.push("x".repeat(10_000), limits);
        assert_eq!(
            ring.iter().map(|(id, _)| id).collect::<Vec<_>>(),
            [7],
            "the newest one is kept"
        );
        ring.push("y".into(), limits);
        assert_eq!(ring.bytes, ITEM_BYTES + 1);
    }

    #[test]
    fn who_has_most_loses_its_oldest_item() {
        let shown = |sizes: &[(&str, usize)], limits| {
            let mut ring = BoundedRing::default();
            for (id, (owner, size)) in (1..).zip(sizes) {
                let item = format!("{owner}{}", "x".repeat(*size));
                ring.push_of(id, item, limits, |item| item.as_bytes().first().unwrap());
            }
            ring.iter()
                .map(|(id, item)| format!("{id}{}", &item[..1]))
                .collect::<Vec<_>>()
                .join(" ")
        };
        // The number decides, also if another owner has larger items.
        let items = RingLimits {
            items: 4,
            bytes: usize::MAX,
        };
        assert_eq!(
            shown(
                &[("a", 900), ("b", 0), ("b", 0), ("b", 0), ("b", 0), ("b", 0)],
                items
            ),
            "1a 4b 5b 6b"
        );
        // The bytes decide, also if another owner has more items.
        let bytes = RingLimits {
            items: 99,
            bytes: 5 * ITEM_BYTES + 1_000,
        };
        assert_eq!(
            shown(&[("a", 0), ("a", 0), ("b", 600), ("b", 600)], bytes),
            "1a 2a 4b"
        );
    }
}
