//! Where a page begins: opaque to clients, self-contained, and good across reloads and restarts,
//! because it names a team, a provider and a place in its list, and nothing of this process.

use base64_simd::URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};

use super::Filter;
use crate::catalog::Offer;
use crate::name::TeamName;

/// The longest cursor that is looked at. A provider's own cursor and the filter are inside.
const LONGEST: usize = 96 * 1024;

/// A place in a list over all providers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cursor {
    /// Which list.
    #[serde(rename = "k")]
    pub(super) list: List,
    /// In whose part of it: left out where it is the team that there is without teams.
    #[serde(rename = "t", default = "sole", skip_serializing_if = "is_sole")]
    pub(super) team: String,
    /// And there, in which provider's.
    #[serde(rename = "p")]
    pub(super) provider: String,
    /// What is wanted of it.
    #[serde(rename = "f", default, skip_serializing_if = "Filter::is_open")]
    pub(super) filter: Filter,
    /// Where in that part.
    #[serde(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum List {
    #[serde(rename = "r")]
    Entries,
    #[serde(rename = "t")]
    Templates,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Place {
    /// Behind this URI or template, among what the catalog holds.
    #[serde(rename = "u")]
    After(String),
    /// At this cursor of the provider's own.
    #[serde(rename = "c")]
    At(String),
    /// At this cursor of the provider's own, in a list that it was asked to narrow: a cursor goes back only
    /// with the hints with which it came.
    #[serde(rename = "n")]
    Narrowed(String),
}

fn sole() -> String {
    TeamName::sole().to_string()
}

fn is_sole(team: &str) -> bool {
    team == TeamName::sole().as_str()
}

impl Place {
    /// Whether it is the provider's own.
    pub(super) fn is_own(&self) -> bool {
        !matches!(self, Self::After(_))
    }
}

impl Cursor {
    pub(super) fn new(list: List, offer: &Offer, place: Place) -> Self {
        let (team, provider) = (offer.provider.team().to_string(), offer.name().to_string());
        Self { list, team, provider, filter: Filter::default(), place }
    }

    /// Whether it is a place in this offer.
    pub(super) fn is_in(&self, offer: &Offer) -> bool {
        self.provider == offer.name().as_str() && self.team == offer.provider.team().as_str()
    }

    pub(super) fn write(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        BASE64.encode_to_string(json)
    }

    /// Reads a cursor for this list. None if it is not one.
    pub(super) fn read(text: &str, list: List) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let json = BASE64.decode_to_vec(text).ok()?;
        serde_json::from_slice(&json).ok().filter(|cursor: &Self| cursor.list == list)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cursor_comes_back_as_it_was(team in ".*", provider in ".*", text in ".*", own in any::<bool>()) {
            let filter = Filter { text: (!own).then(|| text.clone()), ..Filter::default() };
            let place = if own { Place::At(text) } else { Place::After(text) };
            let cursor = Cursor { list: List::Entries, team, provider, filter, place };
            prop_assert_eq!(Cursor::read(&cursor.write(), List::Entries), Some(cursor.clone()));
            prop_assert_eq!(Cursor::read(&cursor.write(), List::Templates), None);
        }

        #[test]
        fn anything_else_is_no_cursor(text in ".*", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(Cursor::read(&text, List::Entries), None);
            prop_assert_eq!(Cursor::read(&BASE64.encode_to_string(bytes), List::Entries), None);
        }
    }

    #[test]
    fn a_damaged_cursor_is_no_cursor() {
        let cursor = Cursor {
            list: List::Entries,
            team: sole(),
            provider: "p".into(),
            filter: Filter::default(),
            place: Place::After("x:y".into()),
        };
        let text = cursor.write();
        for bad in
            [&text[1..], &text[..text.len() - 1], "", "AAAA", &format!("{text}="), &"A".repeat(LONGEST + 1)]
        {
            assert_eq!(Cursor::read(bad, List::Entries), None, "{bad}");
        }
    }
}
