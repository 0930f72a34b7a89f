//! The connection between an open session and the other replicas.

use std::fmt;
use std::sync::{Arc, Weak};

use super::SharedSessions;
use super::message::{Content, split_answer};
use super::recorder::SharedRecorder;
use crate::client_side::Outcome;
use crate::client_side::peer_replicas::PeerReplicas;
use crate::session::store::{ReplicaName, SessionKey};
use crate::wire::message::Id;

/// The connection of an open session to the other replicas.
pub(crate) struct SessionLink {
    pub(super) shared: Arc<SharedSessions>,
    pub(super) key: SessionKey,
    pub(super) recorder: Arc<SharedRecorder>,
}

/// Passes messages of a client to other replicas.
pub(super) struct OtherReplicas {
    pub(super) shared: Weak<SharedSessions>,
    pub(super) replica: ReplicaName,
    pub(super) key: SessionKey,
}

impl SessionLink {
    /// Stores the session soon.
    pub(in crate::session) fn changed(&self) {
        self.shared.store_soon(self.key);
    }
}

impl PeerReplicas for OtherReplicas {
    fn replica(&self) -> &str {
        self.replica.as_str()
    }

    fn answer(&self, replica: &str, id: &str, outcome: &Outcome) -> bool {
        let (Some(shared), Some(replica)) = (self.shared.upgrade(), ReplicaName::parse(replica))
        else {
            // The id names no replica, so no replica sent the request.
            return true;
        };
        let parts = split_answer(self.key, id, outcome);
        parts
            .into_iter()
            .all(|part| shared.send(Some(&replica), part))
    }

    fn cancel(&self, id: &Id) {
        let cancel = Content::Cancel {
            session: self.key.to_string(),
            id: id.json().to_owned(),
        };
        // If the cancellation cannot be sent, the request continues. A cancellation may always be too late.
        if let Some(shared) = self.shared.upgrade() {
            _ = shared.send(None, cancel.clone());
        }
    }
}

impl fmt::Debug for OtherReplicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtherReplicas")
            .field("replica", &self.replica)
            .finish_non_exhaustive()
    }
}
