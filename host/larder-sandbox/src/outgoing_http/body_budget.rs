//! The limit for the total size of response bodies that the host holds at the same time.

use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes of response bodies that may still be read.
pub(crate) struct BodyBudget {
    left: AtomicU64,
}

/// Bytes of a budget that one response uses. They are returned if the response is dropped before its end.
pub(super) struct Reservation<'a> {
    budget: &'a BodyBudget,
    bytes: u64,
}

impl BodyBudget {
    pub(crate) fn new(limit: u64) -> Self {
        Self { left: AtomicU64::new(limit) }
    }
}

impl<'a> Reservation<'a> {
    pub(super) fn new(budget: &'a BodyBudget) -> Self {
        Self { budget, bytes: 0 }
    }

    /// Reserves more bytes. Returns false if the budget has fewer.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let take = |left: u64| left.checked_sub(bytes);
        let is_taken = self.budget.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
        self.bytes += if is_taken { bytes } else { 0 };
        is_taken
    }

    /// Keeps the bytes reserved, because the response is complete and stays in memory.
    pub(super) fn keep(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.budget.left.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_response_returns_its_bytes() {
        let budget = BodyBudget::new(10);
        let mut complete = Reservation::new(&budget);
        assert!(complete.grow(4));
        complete.keep();
        let mut incomplete = Reservation::new(&budget);
        assert!(incomplete.grow(6) && !incomplete.grow(1));
        drop(incomplete);
        let mut other = Reservation::new(&budget);
        assert!(!other.grow(7) && other.grow(6));
    }
}
