//! Cursors: a position in the lists of all resources. Clients send cursors back, and may have changed them.

use larder_provider::{Error, Result};

/// The position at which a page of the list continues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The list: 0 for the single resources, then the list of each template.
    pub(crate) list: usize,
    /// How many items of the page of the API were returned already.
    pub(crate) offset: usize,
    /// The token that requests the page of the API; `None` for the first page.
    pub(crate) token: Option<String>,
}

impl Position {
    pub(crate) fn parse(cursor: Option<&str>) -> Result<Self> {
        let Some(cursor) = cursor else {
            return Ok(Self::default());
        };
        let parsed = || {
            let mut parts = cursor.splitn(3, ':');
            let (list, offset) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            Some(Self {
                list,
                offset,
                token: parts.next().map(str::to_owned),
            })
        };
        parsed().ok_or_else(|| Error::invalid("the cursor is invalid"))
    }

    /// The beginning of the next list.
    pub(crate) fn next_list(&self) -> Self {
        Self {
            list: self.list + 1,
            ..Self::default()
        }
    }

    pub(crate) fn cursor(&self) -> String {
        let token = self
            .token
            .as_ref()
            .map(|token| format!(":{token}"))
            .unwrap_or_default();
        format!("{}:{}{token}", self.list, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back() {
        for (list, offset, token) in [(0, 3, None), (1, 0, Some("")), (2, 7, Some("page=2&x=a:b"))]
        {
            let position = Position {
                list,
                offset,
                token: token.map(str::to_owned),
            };
            assert_eq!(Position::parse(Some(&position.cursor())), Ok(position));
        }
        for cursor in ["", "1", "x:1", "1:-1", "1:x:y"] {
            assert!(Position::parse(Some(cursor)).is_err(), "{cursor}");
        }
    }
}
