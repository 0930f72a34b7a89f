//! The stored data of a session. They contain no credential: the caller who opened the session is stored, and each
//! request is authenticated again.

use serde::{Deserialize, Serialize};

use super::SessionOwner;
use crate::era::LegacyVersion;
use crate::protocol::legacy::ClientDescription;
use crate::subscribe::replay::EventIds;
use crate::subscribe::subscriptions::StoredSubscription;
use larder_model::name::{TeamName, Teams};

/// The version of the format. Records of another version are ignored.
const FORMAT: u32 = 1;
/// Maximum size of a record in bytes.
pub(crate) const MAX_RECORD_BYTES: usize = 1 << 20;

/// The stored data of a session.
#[derive(Debug, Clone)]
pub struct SessionRecord {
    pub(crate) version: LegacyVersion,
    pub(crate) owner: SessionOwner,
    pub(crate) client: ClientDescription,
    pub(crate) events: EventIds,
    pub(crate) subscriptions: Vec<StoredSubscription>,
}

/// The written form.
#[derive(Serialize, Deserialize)]
struct SerializedRecord {
    format: u32,
    version: String,
    subject: Option<String>,
    issuer: Option<String>,
    teams: Vec<String>,
    client: ClientDescription,
    events: EventIds,
    subscriptions: Vec<StoredSubscription>,
}

impl SessionRecord {
    /// Returns the owner of the session.
    pub fn owner(&self) -> &SessionOwner {
        &self.owner
    }

    /// Writes the record. `None` if the record is too large. If the record is too large because of the states, the
    /// states are omitted: the client is then notified of every subscription.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let mut written = SerializedRecord {
            format: FORMAT,
            version: self.version.as_str().into(),
            subject: self.owner.subject.clone(),
            issuer: self.owner.issuer.clone(),
            teams: self.owner.teams.iter().map(ToString::to_string).collect(),
            client: self.client.clone(),
            events: self.events.clone(),
            subscriptions: self.subscriptions.clone(),
        };
        let fits = |bytes: &Vec<u8>| bytes.len() <= MAX_RECORD_BYTES;
        if let Some(bytes) = serde_json::to_vec(&written).ok().filter(fits) {
            return Some(bytes);
        }
        written
            .subscriptions
            .iter_mut()
            .for_each(|subscription| subscription.states.clear());
        serde_json::to_vec(&written).ok().filter(fits)
    }

    /// Reads a record. `None` if this version of the server cannot use it.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let written: SerializedRecord = serde_json::from_slice(bytes).ok()?;
        let version =
            LegacyVersion::parse(&written.version).filter(|_| written.format == FORMAT)?;
        let owner = SessionOwner {
            subject: written.subject,
            issuer: written.issuer,
            teams: parse_teams(&written.teams)?,
        };
        Some(Self {
            version,
            owner,
            client: written.client,
            events: written.events,
            subscriptions: written.subscriptions,
        })
    }
}

fn parse_teams(names: &[String]) -> Option<Teams> {
    let teams = names.iter().map(|name| TeamName::parse(name).ok());
    Teams::of(teams.collect::<Option<Vec<_>>>()?)
}

#[cfg(test)]
pub(in super::super) mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use larder_core::catalog::ContentState;

    pub(in super::super::super) fn record(uris: &[&str]) -> SessionRecord {
        let subscription = |uri: &&str| StoredSubscription {
            uri: (*uri).to_owned(),
            with_content: false,
            states: vec![Some(ContentState::Missing), None],
            updated: Some(3),
        };
        let capabilities = RawValue::from_string(r#"{"sampling":{}}"#.into()).unwrap();
        SessionRecord {
            version: LegacyVersion::negotiate("2025-06-18"),
            owner: SessionOwner {
                subject: Some("ann".into()),
                issuer: None,
                teams: Teams::of(["b", "a"].map(|team| TeamName::parse(team).unwrap())).unwrap(),
            },
            client: ClientDescription {
                info: None,
                capabilities: Some(capabilities),
            },
            events: EventIds {
                session: "a1".into(),
                run: "b2".into(),
                last: 7,
                oldest: 2,
            },
            subscriptions: uris.iter().map(subscription).collect(),
        }
    }

    #[test]
    fn a_record_is_read_again() {
        let bytes = record(&["x:1"]).to_bytes().unwrap();
        let record = record(&["x:1"]);
        let read = SessionRecord::from_bytes(&bytes).unwrap();
        assert_eq!(
            (read.version, &read.owner, &read.events),
            (record.version, &record.owner, &record.events)
        );
        assert_eq!(read.subscriptions, record.subscriptions);
        assert_eq!(
            read.client.capabilities.unwrap().get(),
            r#"{"sampling":{}}"#
        );
        let text = String::from_utf8(bytes).unwrap();
        for (part, other) in [
            ("\"format\":1", "\"format\":2"),
            ("2025-06-18", "2020-01-01"),
            ("\"a\"", "\"?\""),
        ] {
            assert!(text.contains(part));
            assert!(
                SessionRecord::from_bytes(text.replace(part, other).as_bytes()).is_none(),
                "{other}"
            );
        }
        assert!(
            SessionRecord::from_bytes(b"{}").is_none() && SessionRecord::from_bytes(b"").is_none()
        );
    }

    #[test]
    fn a_large_record_is_stored_without_states_or_not_at_all() {
        let uris: Vec<_> = (0..1_000)
            .map(|n| format!("x:{n}{}", "y".repeat(1_005)))
            .collect();
        let record = record(&uris.iter().map(String::as_str).collect::<Vec<_>>());
        let read = SessionRecord::from_bytes(&record.to_bytes().unwrap()).unwrap();
        assert_eq!(
            (read.subscriptions.len(), read.subscriptions[0].states.len()),
            (1_000, 0)
        );
        let twice = record
            .subscriptions
            .iter()
            .chain(&record.subscriptions)
            .cloned()
            .collect();
        assert!(
            SessionRecord {
                subscriptions: twice,
                ..record
            }
            .to_bytes()
            .is_none()
        );
    }
}
