//! Sets of characters that values may contain without percent-encoding.

use super::parse::{Expression, Operator, Part};

/// A set of ASCII characters that may appear without percent-encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CharClass(u128);

impl CharClass {
    pub(super) const UNRESERVED: Self =
        Self::of(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~");
    const RESERVED: Self = Self::UNRESERVED.and(b":/?#[]@!$&'()*+,;=");
    /// Characters that are common in queries, although RFC 6570 percent-encodes them.
    const QUERY: Self = Self::UNRESERVED.and(b":/?@!$'()*+,;=");

    /// The set of characters of the values of an expression, before the delimiters between values are removed.
    pub(super) fn of_values(expression: &Expression, later: &[Part]) -> Self {
        let mut class = match expression.operator {
            Operator::Query | Operator::Continuation => return Self::QUERY,
            Operator::Parameter => return Self::UNRESERVED,
            operator if operator.allows_reserved() => Self::RESERVED,
            _ => Self::UNRESERVED,
        };
        // Without this, the version in `{+path}{?version}` would never match.
        for part in later {
            match part {
                Part::Expression(e)
                    if matches!(e.operator, Operator::Query | Operator::Fragment) =>
                {
                    class = class.without(e.operator.first());
                }
                _ => {}
            }
        }
        class
    }

    const fn of(bytes: &[u8]) -> Self {
        Self(0).and(bytes)
    }

    pub(super) const fn and(self, bytes: &[u8]) -> Self {
        let mut bits = self.0;
        let mut i = 0;
        while i < bytes.len() {
            bits |= 1 << bytes[i];
            i += 1;
        }
        Self(bits)
    }

    pub(super) fn without(self, text: &str) -> Self {
        Self(self.0 & !Self::of(text.as_bytes()).0)
    }

    pub(super) fn has(self, byte: u8) -> bool {
        byte.is_ascii() && self.0 >> byte & 1 == 1
    }
}
