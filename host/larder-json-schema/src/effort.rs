//! The effort of a validation, counted in units: schemas that are evaluated, members, items, and bytes that are
//! compared.

/// Bytes of a text that count as one unit if they are compared.
const BYTES_PER_UNIT: usize = 64;
/// Number of units between two checks of whether to stop.
const UNITS_PER_CHECK: u64 = 4_096;

/// Why a validation ended early. The value is small, because each step may return it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EffortError {
    Effort,
    Depth,
    Stopped,
}

/// The effort that a validation may take.
pub struct Effort<'c> {
    /// The remaining units until the next check, or until the end.
    until_check: u64,
    /// The remaining units after that.
    rest: u64,
    must_stop: Option<&'c mut dyn FnMut() -> bool>,
}

impl<'c> Effort<'c> {
    /// Creates an effort of this many units.
    pub fn new(units: u64) -> Self {
        Self {
            until_check: units,
            rest: 0,
            must_stop: None,
        }
    }

    /// Creates an effort of this many units. The function is called every few thousand units, and stops the validation
    /// by returning `true`.
    pub fn with_check(units: u64, must_stop: &'c mut dyn FnMut() -> bool) -> Self {
        Self {
            until_check: 0,
            rest: units,
            must_stop: Some(must_stop),
        }
    }

    /// Counts this many units. Fails if too few units are left.
    pub(crate) fn spend(&mut self, units: u64) -> Result<(), EffortError> {
        match self.until_check.checked_sub(units) {
            Some(left) => {
                self.until_check = left;
                Ok(())
            }
            None => self.check(units),
        }
    }

    /// Counts the comparison of this many bytes.
    pub(crate) fn spend_bytes(&mut self, bytes: usize) -> Result<(), EffortError> {
        self.spend((bytes / BYTES_PER_UNIT) as u64)
    }

    #[cold]
    fn check(&mut self, units: u64) -> Result<(), EffortError> {
        let left = self.until_check.saturating_add(self.rest);
        let left = left.checked_sub(units).ok_or(EffortError::Effort)?;
        if self.must_stop.as_mut().is_some_and(|must_stop| must_stop()) {
            return Err(EffortError::Stopped);
        }
        self.until_check = left.min(UNITS_PER_CHECK);
        self.rest = left - self.until_check;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_after_its_units() {
        let mut effort = Effort::new(10);
        assert_eq!(effort.spend(4), Ok(()));
        assert_eq!(effort.spend(6), Ok(()));
        assert_eq!(effort.spend(1), Err(EffortError::Effort));
        assert_eq!(Effort::new(10).spend(u64::MAX), Err(EffortError::Effort));
    }

    #[test]
    fn asks_whether_to_stop() {
        let mut calls = 0;
        let mut must_stop = || {
            calls += 1;
            calls > 3
        };
        let mut effort = Effort::with_check(u64::MAX, &mut must_stop);
        let spent = (0..).take_while(|_| effort.spend(1).is_ok()).count() as u64;
        assert_eq!(effort.spend(u64::MAX), Err(EffortError::Effort));
        assert!(
            (2 * UNITS_PER_CHECK..=4 * UNITS_PER_CHECK).contains(&spent),
            "{spent}"
        );
        let mut never = || false;
        let mut effort = Effort::with_check(UNITS_PER_CHECK * 3, &mut never);
        assert_eq!(
            (0..).take_while(|_| effort.spend(1).is_ok()).count() as u64,
            UNITS_PER_CHECK * 3
        );
    }
}
