//! Tokens that were verified: a signature is checked once, and what it proved is remembered by the digest of the
//! token until it ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::Who;
use crate::name::Digest;

/// Tokens that are remembered.
const MOST: usize = 10_000;

/// What is remembered.
#[derive(Default)]
pub(super) struct Verified(Mutex<HashMap<Digest, Arc<Who>>>);

impl Verified {
    /// Who sent this token before, if it has not ended.
    pub(super) fn get(&self, token: Digest, now: SystemTime) -> Option<Arc<Who>> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.get(&token).filter(|who| who.is_current(now)).cloned()
    }

    /// Remembers it. Where there is no room, what has ended goes; and if that is nothing, all of it: to verify anew
    /// costs little, and to keep an order of use would cost it every time.
    pub(super) fn put(&self, token: Digest, who: &Arc<Who>, now: SystemTime) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if table.len() >= MOST {
            table.retain(|_, who| who.is_current(now));
        }
        if table.len() >= MOST {
            table.clear();
        }
        table.insert(token, who.clone());
    }
}
