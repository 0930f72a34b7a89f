//! The part of a session that all replicas share: its subscriptions, and the level of its log messages. Each replica
//! stores the last state that it read from the store. The difference between that state and the replica's own state is
//! the replica's own change. The difference between that state and the stored state is the change of other replicas.
//! Both changes are kept.

use std::collections::BTreeMap;

use crate::session::store::SessionRecord;
use crate::subscribe::subscriptions::StoredSubscription;
use larder_model::name::Digest;

/// The subscribed URIs, and whether each was subscribed to through the extension; and the level of log messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SharedPart {
    pub(super) uris: BTreeMap<String, bool>,
    pub(super) log_level: Option<String>,
}

/// The changes of other replicas.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) added: Vec<StoredSubscription>,
    pub(super) removed: Vec<String>,
    pub(super) log_level: Option<String>,
}

impl SharedPart {
    pub(super) fn of(record: &SessionRecord) -> Self {
        let uris = record
            .subscriptions
            .iter()
            .map(|one| (one.uri.clone(), one.with_content))
            .collect();
        Self {
            uris,
            log_level: record.log_level.clone(),
        }
    }

    pub(super) fn digest(&self) -> String {
        // Texts are always written.
        Digest::of(&serde_json::to_vec(&(&self.uris, &self.log_level)).unwrap_or_default())
            .to_string()
    }

    /// The changes that only other replicas made. `self` is the state of the store that this replica read last.
    pub(super) fn changes_of_others(&self, own: &Self, stored: &SessionRecord) -> Changes {
        let other = Self::of(stored);
        let is_unchanged = |uri: &String| self.uris.get(uri) == own.uris.get(uri);
        let differs = |one: &&StoredSubscription| own.uris.get(&one.uri) != Some(&one.with_content);
        let added = stored
            .subscriptions
            .iter()
            .filter(|one| is_unchanged(&one.uri))
            .filter(differs);
        let removed = own
            .uris
            .keys()
            .filter(|uri| is_unchanged(uri) && !other.uris.contains_key(*uri));
        let may_set_level = self.log_level == own.log_level && other.log_level != own.log_level;
        Changes {
            added: added.cloned().collect(),
            removed: removed.cloned().collect(),
            log_level: other.log_level.clone().filter(|_| may_set_level),
        }
    }
}

/// Adds the changes of this replica to the stored state. The content that a client has of its resources stays as
/// stored, because another replica sends the notifications. `own` contains the changes of others.
pub(super) fn merged(stored: &SessionRecord, own: &SessionRecord) -> SessionRecord {
    let known = |uri: &str| stored.subscriptions.iter().find(|one| one.uri == uri);
    let subscriptions = own.subscriptions.iter().map(|one| match known(&one.uri) {
        Some(known) => StoredSubscription {
            with_content: one.with_content,
            ..known.clone()
        },
        // The numbers of notifications are numbers of the other replica.
        None => StoredSubscription {
            updated: None,
            ..one.clone()
        },
    });
    SessionRecord {
        subscriptions: subscriptions.collect(),
        log_level: own.log_level.clone(),
        ..stored.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::store::record::tests::record;

    /// A record with these URIs. A URI with a `+` is subscribed to through the extension.
    fn session_with(uris: &str) -> SessionRecord {
        let mut record = record(&uris.split_whitespace().collect::<Vec<_>>());
        for one in &mut record.subscriptions {
            one.with_content = one.uri.ends_with('+');
            one.uri = one.uri.trim_end_matches('+').to_owned();
        }
        record
    }

    /// Merges the changes of other replicas and the own changes. Both started with `base`.
    fn check(base: &str, own: &str, stored: &str, expected: &str) {
        let base = session_with(base);
        let own = session_with(own);
        let stored = session_with(stored);
        let mut part = SharedPart::of(&own);
        let changes = SharedPart::of(&base).changes_of_others(&part, &stored);
        changes
            .removed
            .iter()
            .for_each(|uri| _ = part.uris.remove(uri));
        part.uris.extend(
            changes
                .added
                .into_iter()
                .map(|one| (one.uri, one.with_content)),
        );
        let show =
            |(uri, content): (&String, &bool)| format!("{uri}{}", if *content { "+" } else { "" });
        assert_eq!(
            part.uris.iter().map(show).collect::<Vec<_>>().join(" "),
            expected
        );
    }

    #[test]
    fn the_changes_of_both_are_kept() {
        check("x:1 x:2", "x:1 x:2", "x:1 x:2", "x:1 x:2");
        check("x:1", "x:1 x:2", "x:1 x:3", "x:1 x:2 x:3");
        check("x:1 x:2", "x:1", "x:2", "");
        check("x:1 x:2", "x:1", "x:1 x:2 x:3", "x:1 x:3");
        check("x:1", "x:1+", "x:1 x:2+", "x:1+ x:2+");
        check("x:1", "x:1", "x:1+", "x:1+");
        check("x:1", "x:1+", "", "x:1+");
        check("", "x:1", "x:1+", "x:1");
    }

    #[test]
    fn what_the_client_knows_stays_as_stored() {
        let mut stored = session_with("x:1");
        let mut own = session_with("x:1 x:2");
        (
            stored.subscriptions[0].updated,
            own.subscriptions[0].updated,
        ) = (Some(7), Some(1));
        stored.log_level = None;
        own.log_level = Some("error".into());
        let merged = merged(&stored, &own);
        let updated: Vec<_> = merged.subscriptions.iter().map(|one| one.updated).collect();
        assert_eq!(
            (updated, merged.log_level.as_deref()),
            (vec![Some(7), None], Some("error"))
        );
        assert_eq!(merged.events, stored.events);
    }

    #[test]
    fn the_level_of_others_counts_unless_it_was_set_here() {
        let level = |level: Option<&str>| SessionRecord {
            log_level: level.map(Into::into),
            ..session_with("")
        };
        let change = |base, own, stored| {
            let base = SharedPart::of(&level(base));
            base.changes_of_others(&SharedPart::of(&level(own)), &level(stored))
                .log_level
        };
        assert_eq!(change(None, None, Some("error")).as_deref(), Some("error"));
        assert_eq!(change(None, Some("debug"), Some("error")), None);
        assert_eq!(change(Some("error"), Some("error"), Some("error")), None);
    }
}
