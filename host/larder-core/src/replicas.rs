//! What the replicas of a server report to each other. Each replica loads the same components and answers any request
//! alone. The replicas need each other only to find changes: one of them polls a watched URI, and a replica that
//! notices a change reports it to all others.
//!
//! A report of another replica is a hint. A replica notifies its listeners only of what its own check finds, so
//! messages may be late, lost, repeated or in any order.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::catalog::ContentState;
use larder_model::name::ProviderName;
use larder_model::uri::Uri;

/// Connects the change detector of a team with the same team on other replicas: sends reports, and receives theirs.
pub trait TeamReplicas: Send + Sync {
    /// Changes the set of URIs that this replica is able to poll for the others. Cheap: the implementation may combine
    /// several calls. A URI that is watched is absent while its checks fail.
    fn watch(&self, added: &[Uri], removed: &[Uri]);

    /// Whether this replica makes the periodic checks of this URI, because no other replica is chosen for the URI.
    fn is_poller(&self, uri: &Uri) -> bool;

    /// Whether other replicas watch this URI, according to their messages.
    fn is_watched_elsewhere(&self, uri: &Uri) -> bool {
        let _ = uri;
        true
    }

    /// Sends an event to the other replicas. Never waits. An event that does not fit into the queue is dropped and
    /// counted, and the receivers get a [`ReplicaEvent::CompareAll`].
    fn publish(&self, event: ReplicaEvent);

    /// Returns the next event from another replica. For a single consumer. Cancel safe. Never ends.
    fn next(&self) -> BoxFuture<'_, ReplicaEvent>;
}

/// An event of another replica.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub enum ReplicaEvent {
    /// A check found that the content differs from the content that was known.
    Updated {
        /// The URI of the content.
        #[serde(with = "uri_text")]
        uri: Uri,
        /// What the check found.
        state: ContentState,
    },
    /// A provider reported an update; the new content is not known.
    Signalled {
        /// The URI that was updated.
        #[serde(with = "uri_text")]
        uri: Uri,
    },
    /// A provider reported a change of its list.
    ListChanged {
        /// The provider.
        #[serde(with = "provider_text")]
        provider: ProviderName,
    },
    /// Events may have been lost, or this replica became the poller of more URIs: this replica must compare everything
    /// that is watched.
    CompareAll,
}

/// A server without replicas.
#[derive(Debug, Clone, Copy, Default)]
pub struct Single;

impl TeamReplicas for Single {
    fn watch(&self, _added: &[Uri], _removed: &[Uri]) {}

    fn is_poller(&self, _uri: &Uri) -> bool {
        true
    }

    fn is_watched_elsewhere(&self, _uri: &Uri) -> bool {
        false
    }

    fn publish(&self, _event: ReplicaEvent) {}

    fn next(&self) -> BoxFuture<'_, ReplicaEvent> {
        std::future::pending().boxed()
    }
}

/// Writes a URI as text.
mod uri_text {
    use std::borrow::Cow;

    use larder_model::uri::Uri;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(uri: &Uri, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(uri.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Uri, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        Uri::parse(&text).map_err(D::Error::custom)
    }
}

/// Writes the name of a provider as text.
mod provider_text {
    use std::borrow::Cow;

    use larder_model::name::ProviderName;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(
        name: &ProviderName,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(name.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<ProviderName, D::Error> {
        let text = Cow::<'_, str>::deserialize(deserializer)?;
        ProviderName::parse(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_as_they_were_written() {
        let uri = Uri::parse("note:a?b=%20").unwrap();
        let events = [
            ReplicaEvent::Updated {
                uri: uri.clone(),
                state: ContentState::Missing,
            },
            ReplicaEvent::Signalled { uri },
            ReplicaEvent::ListChanged {
                provider: ProviderName::parse("notes").unwrap(),
            },
            ReplicaEvent::CompareAll,
        ];
        for event in events {
            let text = serde_json::to_string(&event).unwrap();
            assert_eq!(
                serde_json::from_str::<ReplicaEvent>(&text).unwrap(),
                event,
                "{text}"
            );
        }
        assert!(
            serde_json::from_str::<ReplicaEvent>(r#"{"Signalled":{"uri":"not a URI"}}"#).is_err()
        );
    }
}
