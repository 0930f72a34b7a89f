//! The pace of a conversion. Large answers are converted in steps, so that they do not block a thread, and so that the
//! conversion ends with its call: at the deadline, or when the client is gone.

use tokio::task::yield_now;

/// Bytes of text of one step. A step takes well below a millisecond.
const STEP_BYTES: usize = 64 << 10;
/// The cost of an item without text, in bytes.
const ITEM_BYTES: usize = 64;

/// The bytes that remain of the current step.
pub(super) struct Pace(usize);

impl Default for Pace {
    fn default() -> Self {
        Self(STEP_BYTES)
    }
}

impl Pace {
    /// Counts an item with this many bytes of text before its conversion, and yields at the end of each step.
    pub(super) async fn item(&mut self, bytes: usize) {
        match self.0.checked_sub(bytes.saturating_add(ITEM_BYTES)) {
            Some(left) => self.0 = left,
            None => {
                self.0 = STEP_BYTES;
                yield_now().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    /// Returns how often the conversion of these items yields.
    fn yields(items: usize, bytes: usize) -> usize {
        let mut conversion = pin!(async {
            let mut pace = Pace::default();
            for _ in 0..items {
                pace.item(bytes).await;
            }
        });
        let mut context = Context::from_waker(Waker::noop());
        std::iter::repeat_with(|| conversion.as_mut().poll(&mut context))
            .take_while(|poll| poll.is_pending())
            .count()
    }

    #[test]
    fn yields_after_many_items_or_much_text() {
        assert_eq!(yields(1, 1_024), 0);
        assert_eq!(yields(1_000, 0), 0);
        assert_eq!(yields(10_000, 0), 9);
        assert_eq!(yields(10, usize::MAX), 10);
    }
}
