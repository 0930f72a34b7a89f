//! What answers cost the team of who gives them. Where there are no teams nothing is counted.

use super::{CallError, Provider};

impl Provider {
    /// Whether its team may give more answers now.
    pub fn affords_bytes(&self) -> Result<(), CallError> {
        let Some(ration) = &self.terms.ration else { return Ok(()) };
        ration.affords_bytes().inspect_err(|_| ration.refused()).map_err(CallError::UsedUp)
    }

    /// It gave an answer of about that many bytes to a caller, whether or not it was asked for it anew.
    pub fn gave(&self, bytes: usize) {
        if let Some(ration) = &self.terms.ration {
            ration.gave(bytes as u64);
        }
    }
}
