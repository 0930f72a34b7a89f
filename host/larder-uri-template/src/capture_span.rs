//! Positions of values in a URI.

use super::program::CaptureGroup;

/// The position in the URI of one value or key of a capture group.
#[derive(Debug, Clone, Copy)]
pub(super) struct CaptureSpan {
    pub(super) group: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether this is the key of the next value.
    pub(super) is_key: bool,
}

impl CaptureSpan {
    /// Returns the positions of the items. A list that is separated by commas has several items.
    pub(super) fn items(
        self,
        group: &CaptureGroup,
        uri: &str,
    ) -> impl Iterator<Item = (usize, usize)> {
        let splits = group.splits_at_commas && !self.is_key;
        let mut next = Some(self.start);
        std::iter::from_fn(move || {
            let start = next?;
            let comma = if splits {
                uri[start..self.end].find(',')
            } else {
                None
            };
            next = comma.map(|comma| start + comma + 1);
            Some((start, comma.map_or(self.end, |comma| start + comma)))
        })
    }
}
