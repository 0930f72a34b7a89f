//! The buffer in which a response is written. A large buffer is charged to the memory budget before it is allocated,
//! and again when escapes make it larger. If memory is missing, texts are omitted, and the response must not be sent.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::held_contents::{BodySlot, BodySlots, HeldContents};
use larder_model::resource::Body;
use larder_runtime::memory_budget::{ChargeError, MemoryCharge};

/// A buffer for JSON.
#[derive(Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    /// None if the buffer is expected to be small.
    charge: Option<Box<MemoryCharge>>,
    refused: Option<ChargeError>,
    /// Places for contents that are encoded later. Most responses have no such places.
    places: Option<Box<BodySlots>>,
}

/// The written response.
#[derive(Debug)]
pub(crate) struct WrittenOutput {
    pub(crate) bytes: Vec<u8>,
    /// None if the bytes were expected to be few.
    pub(crate) charge: Option<Box<MemoryCharge>>,
    pub(crate) places: Option<Box<BodySlots>>,
}

impl WrittenOutput {
    /// The places in the JSON.
    pub(crate) fn places(&self) -> &[BodySlot] {
        self.places.as_ref().map_or(&[], |places| &places.places)
    }
}

impl Output {
    /// Creates a buffer that is not charged.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(capacity),
            ..Self::default()
        }
    }

    /// Creates a buffer with the size of this charge.
    pub(crate) fn charged(charge: Box<MemoryCharge>) -> Self {
        let capacity = usize::try_from(charge.bytes()).unwrap_or(usize::MAX);
        Self {
            charge: Some(charge),
            ..Self::with_capacity(capacity)
        }
    }

    /// Leaves places for those of these contents that are large.
    pub(crate) fn with_places_for(self, held: &Arc<HeldContents>) -> Self {
        Self {
            places: Some(Box::new(BodySlots::new(held.clone()))),
            ..self
        }
    }

    /// Leaves a place for a body here, within a string. Returns false if the body has to be written instead.
    pub(super) fn leave_place(&mut self, body: &Body) -> bool {
        let at = self.bytes.len();
        self.places
            .as_mut()
            .is_some_and(|places| places.add(at, body))
    }

    /// Leaves a place for the content at a place of other JSON. `is_text` says that the other JSON is a text in this
    /// JSON.
    pub(super) fn leave_place_again(&mut self, place: &BodySlot, is_text: bool) {
        let at = self.bytes.len();
        self.places
            .iter_mut()
            .for_each(|places| places.add_again(at, place, is_text));
    }

    /// Extends the buffer to `len` bytes for a text that may need escapes. If the extension has to be charged, extends
    /// the buffer to the `exact` length instead. Returns false if there is no memory for it.
    pub(super) fn extend_to(&mut self, len: usize, exact: impl FnOnce() -> usize) -> bool {
        if len <= self.bytes.capacity() || self.charge.is_none() {
            self.bytes.resize(len, 0);
            return true;
        }
        let exact = exact();
        // The growth is larger than necessary, so that many texts that are slightly too large do not each move the
        // whole buffer.
        let ahead = self.bytes.capacity() / 2 * 3;
        let is_larger =
            exact <= self.bytes.capacity() || self.grow(ahead.max(exact)) || self.grow(exact);
        if is_larger {
            self.bytes.resize(exact, 0);
        }
        is_larger
    }

    /// Moves the content to a larger buffer. During the move, both buffers are charged.
    fn grow(&mut self, capacity: usize) -> bool {
        let Some(charge) = &mut self.charge else {
            return true;
        };
        match charge.grow_again(capacity as u64) {
            Ok(()) => {
                self.refused = None;
                self.bytes.reserve_exact(capacity - self.bytes.len());
                charge.shrink(charge.bytes() - capacity as u64);
                true
            }
            Err(refused) => {
                self.refused = Some(refused);
                false
            }
        }
    }

    /// Returns the written response.
    pub(crate) fn finish(mut self) -> Result<WrittenOutput, ChargeError> {
        if let Some(charge) = &mut self.charge {
            let more = (self.bytes.capacity() as u64).saturating_sub(charge.bytes());
            self.refused = self.refused.or(charge.grow_again(more).err());
        }
        let Self {
            bytes,
            charge,
            refused,
            places,
        } = self;
        refused.map_or(
            Ok(WrittenOutput {
                bytes,
                charge,
                places,
            }),
            Err,
        )
    }
}

impl Deref for Output {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.bytes
    }
}

impl DerefMut for Output {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::super::escape::write_text;
    use super::*;
    use larder_model::name::TeamName;
    use larder_runtime::memory_budget::{MemoryBudget, MemoryUse};

    fn output(budget: &MemoryBudget, bytes: u64) -> Output {
        let team = budget.team(&TeamName::default_team());
        Output::charged(Box::new(
            team.charge(MemoryUse::Responses, None, bytes).unwrap(),
        ))
    }

    #[test]
    fn escapes_are_charged() {
        let budget = MemoryBudget::new(8 << 20);
        let text = "\u{1}".repeat(1 << 20);
        let mut out = output(&budget, text.len() as u64);
        write_text(&mut out, &text);
        write_text(&mut out, "end");
        let WrittenOutput { bytes, charge, .. } = out.finish().unwrap();
        assert_eq!(bytes.len(), 6 * text.len() + 7);
        assert_eq!(
            (budget.used(), charge.unwrap().bytes()),
            (bytes.capacity() as u64, budget.used())
        );
        assert!(bytes.capacity() < bytes.len() + 1_000);
    }

    #[test]
    fn a_text_without_room_for_its_escapes_is_refused() {
        let budget = MemoryBudget::new(5 << 20);
        let text = "\u{1}".repeat(1 << 20);
        let mut out = output(&budget, text.len() as u64);
        write_text(&mut out, &text);
        assert!(out.capacity() < 5 << 20);
        assert_eq!(out.finish().unwrap_err(), ChargeError::AboveLimit(5 << 20));
        assert_eq!(budget.used(), 0);
    }
}
