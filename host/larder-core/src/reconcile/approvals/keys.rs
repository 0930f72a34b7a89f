//! The keys under which the files store the state of each plugins folder: which keys there are, and how one key takes
//! over the state of another key.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::pins::{PIN_FILES, PinsByFolder, TOOLS_FILE};
use super::rejections::{REJECTIONS_FILE, RejectionsByFolder};
use super::store::JsonStore;
use super::{
    APPROVALS_FILE, Approvals, ApprovalsByFolder, ApprovalsError, ByProvider, OFFERS_FILE,
    PENDING_FILE, PendingByFolder, SERVED_FILE, ServedByFolder,
};
use crate::catalog::OfferRecord;
use larder_model::name::TeamName;
use larder_model::state_key::StateKey;

/// All files. The last file contains each key that a server used, so it is written last.
const FILES: [&str; 8] = [
    APPROVALS_FILE,
    PIN_FILES[0],
    PIN_FILES[1],
    PIN_FILES[2],
    REJECTIONS_FILE,
    PENDING_FILE,
    OFFERS_FILE,
    SERVED_FILE,
];
/// The levels of a file below the key that are merged: the team, the provider, and the line or the pin.
const MERGED_LEVELS: usize = 3;

/// The content of a file, by key.
type ByKey = BTreeMap<String, Value>;

/// What is stored under one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredState {
    /// The key.
    pub key: StateKey,
    /// The teams of which something is stored.
    pub teams: Vec<TeamName>,
    /// The number of approved lines.
    pub approvals: usize,
    /// The number of pinned tools.
    pub tools: usize,
    /// The number of requests that wait for approval.
    pub pending: usize,
}

impl Approvals {
    /// Returns what a state folder contains, by key.
    pub fn stored(state: &Path) -> Result<Vec<StoredState>, ApprovalsError> {
        let store = JsonStore::new(state);
        let mut files = BTreeMap::<_, ByKey>::new();
        for file in FILES {
            files.insert(file, store.read(file)?);
        }
        let mut keys: Vec<_> = files.values().flat_map(BTreeMap::keys).collect();
        keys.sort_unstable();
        keys.dedup();
        let stored = |key: &String| {
            let of = |file| files.get(file).and_then(|file| file.get(key));
            let teams = [APPROVALS_FILE, TOOLS_FILE, SERVED_FILE]
                .into_iter()
                .filter_map(of);
            let teams = teams
                .filter_map(Value::as_object)
                .flat_map(serde_json::Map::keys);
            let mut teams: Vec<_> = teams
                .filter_map(|team| TeamName::parse(team).ok())
                .collect();
            teams.sort_unstable();
            teams.dedup();
            StoredState {
                key: StateKey::from_text(key),
                teams,
                approvals: count(of(APPROVALS_FILE), MERGED_LEVELS),
                tools: count(of(TOOLS_FILE), MERGED_LEVELS),
                pending: count(of(PENDING_FILE), 1),
            }
        };
        Ok(keys.into_iter().map(stored).collect())
    }

    /// Checks that all files of a state folder can be read. Returns what is wrong.
    pub fn verify(state: &Path) -> Vec<ApprovalsError> {
        let store = JsonStore::new(state);
        let pins = PIN_FILES.map(|file| store.read::<PinsByFolder>(file).map(drop));
        let others = [
            store.read::<ApprovalsByFolder>(APPROVALS_FILE).map(drop),
            store.read::<RejectionsByFolder>(REJECTIONS_FILE).map(drop),
            store.read::<PendingByFolder>(PENDING_FILE).map(drop),
            store.read::<ServedByFolder>(SERVED_FILE).map(drop),
            store.read::<ByProvider<OfferRecord>>(OFFERS_FILE).map(drop),
        ];
        let checks = pins.into_iter().chain(others);
        checks.filter_map(Result::err).collect()
    }

    /// Whether a server used this key before.
    pub fn is_known(&self) -> Result<bool, ApprovalsError> {
        Ok(self
            .store
            .read::<ByKey>(SERVED_FILE)?
            .contains_key(self.key.as_str()))
    }

    /// Returns the first of these keys under which something is stored, if nothing is stored under this key.
    pub fn used_instead(
        &self,
        keys: impl IntoIterator<Item = StateKey>,
    ) -> Result<Option<StateKey>, ApprovalsError> {
        let mut files = Vec::new();
        for file in FILES {
            files.push(self.store.read::<ByKey>(file)?);
        }
        let is_used = |key: &StateKey| files.iter().any(|file| file.contains_key(key.as_str()));
        Ok(keys
            .into_iter()
            .find(|key| !is_used(&self.key) && is_used(key)))
    }

    /// Copies the state of another key, where this key has no state. From now on, this key is known.
    pub fn take_over(&self, from: Option<&StateKey>) -> Result<(), ApprovalsError> {
        for file in from.iter().flat_map(|_| FILES) {
            self.store.change(file, |all: &mut ByKey| {
                let copied = from.and_then(|from| all.get(from.as_str())).cloned();
                self.merge_in(all, copied);
            })?;
        }
        self.store.change(SERVED_FILE, |all: &mut ByKey| {
            all.entry(self.key.to_string())
                .or_insert_with(|| Value::Object(serde_json::Map::new()));
        })
    }

    /// Moves the state of another key to this key, where this key has no state.
    pub fn move_from(&self, from: &StateKey) -> Result<(), ApprovalsError> {
        for file in FILES {
            self.store.change(file, |all: &mut ByKey| {
                let moved = all.remove(from.as_str());
                self.merge_in(all, moved);
            })?;
        }
        Ok(())
    }

    fn merge_in(&self, all: &mut ByKey, other: Option<Value>) {
        match (all.get_mut(self.key.as_str()), other) {
            (Some(own), Some(other)) => merge(own, other, MERGED_LEVELS),
            (None, Some(other)) => _ = all.insert(self.key.to_string(), other),
            (_, None) => {}
        }
    }
}

/// Adds values that are missing. Lists are extended only if the value itself is a list.
fn merge(own: &mut Value, other: Value, levels: usize) {
    match (own, other) {
        (Value::Object(own), Value::Object(other)) if levels > 0 => {
            for (name, value) in other {
                match own.get_mut(&name) {
                    Some(own) => merge(own, value, levels - 1),
                    None => _ = own.insert(name, value),
                }
            }
        }
        (Value::Array(own), Value::Array(other)) if levels == MERGED_LEVELS => {
            let new: Vec<_> = other
                .into_iter()
                .filter(|value| !own.contains(value))
                .collect();
            own.extend(new);
        }
        _ => {}
    }
}

/// The number of values at this level.
fn count(value: Option<&Value>, levels: usize) -> usize {
    match value {
        Some(Value::Object(values)) if levels > 0 => values
            .values()
            .map(|value| count(Some(value), levels - 1))
            .sum(),
        Some(Value::Array(values)) if levels > 0 => values.len(),
        Some(_) => 1,
        None => 0,
    }
}
