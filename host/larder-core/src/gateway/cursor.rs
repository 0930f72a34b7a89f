//! Cursors of lists. A cursor is opaque to clients and self-contained. It stays valid across reloads and restarts,
//! because it contains only a team, a provider and a position in the provider's list.

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

use base64_simd::URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};

use super::{Error, Filter};
use crate::catalog::Offer;
use larder_model::name::TeamName;

/// Maximum length of a cursor that is decoded. It contains the provider's cursor and the filter.
const MAX_LEN: usize = 96 * 1024;

/// A position in a list over all providers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cursor {
    /// The kind of list.
    #[serde(rename = "k")]
    pub(super) list: ListKind,
    /// The team; omitted for the default team.
    #[serde(
        rename = "t",
        default = "default_team_name",
        skip_serializing_if = "is_default_team"
    )]
    pub(super) team: String,
    /// The provider.
    #[serde(rename = "p")]
    pub(super) provider: String,
    /// The filter of the list.
    #[serde(rename = "f", default, skip_serializing_if = "Filter::is_empty")]
    pub(super) filter: Filter,
    /// The position in the provider's list.
    #[serde(flatten)]
    pub(super) position: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ListKind {
    #[serde(rename = "r")]
    Entries,
    #[serde(rename = "t")]
    Templates,
    #[serde(rename = "o")]
    Tools,
    #[serde(rename = "p")]
    Prompts,
    #[serde(rename = "s")]
    Search,
    #[serde(rename = "k")]
    Skills,
    #[serde(rename = "d")]
    Directory,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Position {
    /// After this URI or template, in the catalog.
    #[serde(rename = "u")]
    After(String),
    /// At this cursor of the provider.
    #[serde(rename = "c")]
    At(String),
    /// At this cursor of the provider, in a list that the provider filters by hints. The provider receives the cursor
    /// together with the same hints.
    #[serde(rename = "n")]
    AtHinted(String),
}

fn default_team_name() -> String {
    TeamName::default_team().to_string()
}

fn is_default_team(team: &str) -> bool {
    team == TeamName::default_team().as_str()
}

impl Position {
    /// Whether the position contains a cursor of the provider.
    pub(super) fn is_provider_cursor(&self) -> bool {
        !matches!(self, Self::After(_))
    }
}

impl Cursor {
    pub(super) fn new(list: ListKind, offer: &Offer, position: Position) -> Self {
        Self {
            list,
            team: offer.team().to_string(),
            provider: offer.name().to_string(),
            filter: Filter::default(),
            position,
        }
    }

    /// Returns the position after this item of a list that is not divided by providers.
    pub(super) fn after(list: ListKind, filter: Filter, last: String) -> Self {
        Self {
            list,
            team: default_team_name(),
            provider: String::new(),
            filter,
            position: Position::After(last),
        }
    }

    /// Whether the position is in the list of this offer.
    pub(super) fn is_in(&self, offer: &Offer) -> bool {
        self.provider == offer.name().as_str() && self.team == offer.team().as_str()
    }

    pub(super) fn encode(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        BASE64.encode_to_string(json)
    }

    /// Decodes a cursor for this kind of list. Returns `None` if it is invalid.
    pub(super) fn decode(text: &str, list: ListKind) -> Option<Self> {
        if text.len() > MAX_LEN {
            return None;
        }
        let json = BASE64.decode_to_vec(text).ok()?;
        serde_json::from_slice(&json)
            .ok()
            .filter(|cursor: &Self| cursor.list == list)
    }

    /// Decodes a cursor for this kind of list with this filter.
    pub(super) fn decode_for(text: &str, list: ListKind, filter: &Filter) -> Result<Self, Error> {
        let cursor = Self::decode(text, list).ok_or(Error::BadCursor)?;
        if cursor.filter != *filter {
            return Err(Error::FilterMismatch);
        }
        Ok(cursor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn round_trips(team in ".*", provider in ".*", text in ".*", is_provider_cursor in any::<bool>()) {
            let filter = Filter { text: (!is_provider_cursor).then(|| text.clone()), ..Filter::default() };
            let position = if is_provider_cursor { Position::At(text) } else { Position::After(text) };
            let cursor = Cursor { list: ListKind::Entries, team, provider, filter, position };
            prop_assert_eq!(Cursor::decode(&cursor.encode(), ListKind::Entries), Some(cursor.clone()));
            prop_assert_eq!(Cursor::decode(&cursor.encode(), ListKind::Templates), None);
        }

        #[test]
        fn rejects_arbitrary_text(text in ".*", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(Cursor::decode(&text, ListKind::Entries), None);
            prop_assert_eq!(Cursor::decode(&BASE64.encode_to_string(bytes), ListKind::Entries), None);
        }
    }

    #[test]
    fn rejects_a_damaged_cursor() {
        let cursor = Cursor {
            list: ListKind::Entries,
            team: default_team_name(),
            provider: "p".into(),
            filter: Filter::default(),
            position: Position::After("x:y".into()),
        };
        let text = cursor.encode();
        for bad in [
            &text[1..],
            &text[..text.len() - 1],
            "",
            "AAAA",
            &format!("{text}="),
            &"A".repeat(MAX_LEN + 1),
        ] {
            assert_eq!(Cursor::decode(bad, ListKind::Entries), None, "{bad}");
        }
    }
}
