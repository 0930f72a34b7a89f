//! Messages of a legacy client that belong to another replica: answers to requests of the server, and cancellations.

use std::fmt;

use crate::wire::message::Id;

/// The other replicas, for the messages of one client.
pub(crate) trait PeerReplicas: fmt::Debug + Send + Sync {
    /// The name of this replica.
    fn replica(&self) -> &str;
    /// Sends an answer, which is the JSON text of a result or of an error, to the replica that sent the request. Never
    /// waits. Returns false if the answer cannot be sent.
    fn answer(&self, replica: &str, id: &str, outcome: &Result<String, String>) -> bool;
    /// Cancels a request on the replica that runs it. Never waits.
    fn cancel(&self, id: &Id);
}
