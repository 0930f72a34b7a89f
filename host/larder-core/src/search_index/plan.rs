//! Compares a page of the list of a provider with what is stored of the provider.

use std::collections::{HashMap, HashSet, VecDeque};

use super::content::may_be_text;
use larder_model::resource::Entry;
use larder_model::text_index::KnownDocument;
use larder_model::uri::Uri;

/// Prefixes of stored states. This one is the version from a list, or from a version query.
const VERSION: &str = "version ";
/// The time of the last change, and the size.
const MODIFIED: &str = "modified ";
/// The version that a read returned. Only a read tells whether it is still current.
const READ: &str = "read ";
/// The content cannot be read without a caller. One of the other prefixes follows.
const NEEDS_CALLER: &str = "needs-caller ";

/// A resource to read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PlannedRead {
    pub(super) uri: Uri,
    pub(super) title: String,
    /// The state that the provider reported before the read.
    pub(super) state: Option<String>,
    /// The version that the provider may answer "not modified" for.
    pub(super) known_version: Option<String>,
    /// Whether a document of the resource is stored.
    pub(super) is_stored: bool,
}

/// In addition to the listed entries and the stored documents: what decides which resources have to be read.
pub(super) struct Situation<'a> {
    /// The versions that the provider returned for these URIs.
    pub(super) versions: HashMap<Uri, String>,
    /// URIs whose update was noticed.
    pub(super) updated: &'a HashSet<Uri>,
    /// URIs that were read from this revision, and whose state does not show whether they changed.
    pub(super) already_read: &'a HashSet<Uri>,
    /// URIs that could not be read.
    pub(super) failed: &'a HashSet<Uri>,
    /// Whether the index is full, so that nothing new can be stored.
    pub(super) is_full: bool,
}

/// Returns the resources of one page of a list that have to be read. Removes the listed resources from `unlisted`, which
/// contains the stored documents of the provider at the beginning of the list. `entries` belong to the provider.
pub(super) fn planned_reads<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    unlisted: &mut HashMap<Uri, KnownDocument>,
    situation: &Situation<'_>,
) -> VecDeque<PlannedRead> {
    let mut listed = HashSet::new();
    let mut reads = VecDeque::new();
    for entry in entries.filter(|entry| may_be_text(entry)) {
        if listed.insert(&entry.uri) {
            let known = unlisted.remove(&entry.uri);
            reads.extend(planned_read(entry, known.as_ref(), situation));
        }
    }
    reads
}

fn planned_read(
    entry: &Entry,
    known: Option<&KnownDocument>,
    situation: &Situation<'_>,
) -> Option<PlannedRead> {
    let state = state(entry, situation);
    let is_updated = situation.updated.contains(&entry.uri);
    let was_read =
        situation.already_read.contains(&entry.uri) || situation.failed.contains(&entry.uri);
    let is_due = match (known, &state) {
        _ if is_updated => true,
        (None, _) => !was_read && !situation.is_full,
        (Some(known), Some(state)) => match known.state.strip_prefix(NEEDS_CALLER) {
            // With another configuration, the provider may answer without a caller.
            Some(before) => !was_read || before != state,
            None => known.state != *state,
        },
        (Some(_), None) => !was_read,
    };
    let known_version = known
        .and_then(|known| known.state.strip_prefix(READ))
        .map(ToOwned::to_owned);
    is_due.then(|| PlannedRead {
        uri: entry.uri.clone(),
        title: entry.title.clone().unwrap_or_else(|| entry.name.clone()),
        state,
        known_version: known_version.filter(|_| !is_updated),
        is_stored: known.is_some(),
    })
}

/// Returns the state that a provider reports without a read.
fn state(entry: &Entry, situation: &Situation<'_>) -> Option<String> {
    let version = situation
        .versions
        .get(&entry.uri)
        .or(entry.version.as_ref());
    let version = version.map(|version| format!("{VERSION}{version}"));
    let modified = || {
        let modified = entry.details.last_modified.as_ref()?;
        Some(format!(
            "{MODIFIED}{modified} {}",
            entry.size.map(|size| size.to_string()).unwrap_or_default()
        ))
    };
    version.or_else(modified)
}

impl PlannedRead {
    /// Returns the state to store after a read.
    pub(super) fn stored_state(&self, read_version: Option<&str>, needs_caller: bool) -> String {
        let state = self
            .state
            .clone()
            .or_else(|| read_version.map(|version| format!("{READ}{version}")));
        format!(
            "{}{}",
            if needs_caller { NEEDS_CALLER } else { "" },
            state.unwrap_or_default()
        )
    }

    /// Whether the stored state tells whether the content changed.
    pub(super) fn is_versioned(&self) -> bool {
        self.state.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_model::resource::{Details, RenderCache};

    fn uri(text: &str) -> Uri {
        Uri::parse(text).unwrap()
    }

    fn entry(text: &str, version: Option<&str>) -> Entry {
        Entry {
            uri: uri(text),
            name: text.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
            version: version.map(ToOwned::to_owned),
            details: Details::default(),
            rendered: RenderCache::default(),
        }
    }

    fn known(states: &[(&str, &str)]) -> HashMap<Uri, KnownDocument> {
        let document = |state: &str| KnownDocument {
            state: state.into(),
            is_searchable: true,
        };
        states
            .iter()
            .map(|(text, state)| (uri(text), document(state)))
            .collect()
    }

    /// Returns which URIs are read and which are removed.
    fn planned(
        entries: &[Entry],
        known: &HashMap<Uri, KnownDocument>,
        situation: &Situation<'_>,
    ) -> (String, String) {
        let mut unlisted = known.clone();
        let reads = planned_reads(entries.iter(), &mut unlisted, situation);
        let removed = unlisted.keys();
        let join = |uris: Vec<&Uri>| {
            uris.into_iter()
                .map(Uri::as_str)
                .collect::<Vec<_>>()
                .join(" ")
        };
        (
            join(reads.iter().map(|read| &read.uri).collect()),
            join(removed.collect()),
        )
    }

    #[test]
    fn reads_what_is_new_or_changed() {
        let none = HashSet::new();
        let read = HashSet::from([uri("x:unversioned"), uri("x:denied")]);
        let failed = HashSet::from([uri("x:failed")]);
        let updated = HashSet::from([uri("x:same")]);
        let situation = |updated, already_read, failed, is_full| Situation {
            versions: HashMap::from([(uri("x:asked"), "2".to_owned())]),
            updated,
            already_read,
            failed,
            is_full,
        };
        let entries = [
            entry("x:same", Some("1")),
            entry("x:changed", Some("2")),
            entry("x:asked", Some("1")),
            entry("x:unversioned", None),
            entry("x:denied", Some("1")),
            entry("x:failed", Some("1")),
            entry("x:new", Some("1")),
            Entry {
                mime_type: Some("image/png".into()),
                ..entry("x:image", Some("1"))
            },
        ];
        let stored = known(&[
            ("x:same", "version 1"),
            ("x:changed", "version 1"),
            ("x:asked", "version 1"),
            ("x:unversioned", "read 7"),
            ("x:denied", "needs-caller version 1"),
            ("x:gone", "version 1"),
        ]);
        let check = |situation: Situation<'_>, expected: &str| {
            let (reads, removed) = planned(&entries, &stored, &situation);
            assert_eq!((reads.as_str(), removed.as_str()), (expected, "x:gone"));
        };
        check(
            situation(&none, &none, &none, false),
            "x:changed x:asked x:unversioned x:denied x:failed x:new",
        );
        check(
            situation(&none, &read, &failed, false),
            "x:changed x:asked x:new",
        );
        check(
            situation(&updated, &read, &failed, true),
            "x:same x:changed x:asked",
        );
        let mut unlisted = stored.clone();
        let reads = planned_reads(
            entries.iter(),
            &mut unlisted,
            &situation(&none, &none, &none, false),
        );
        let unversioned = reads
            .iter()
            .find(|read| read.uri == uri("x:unversioned"))
            .unwrap();
        assert_eq!(unversioned.known_version.as_deref(), Some("7"));
        assert_eq!(unversioned.stored_state(Some("8"), false), "read 8");
        assert_eq!(unversioned.stored_state(None, true), "needs-caller ");
        assert_eq!(reads[0].stored_state(Some("8"), false), "version 2");
    }
}
