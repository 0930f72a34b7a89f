//! The notification stream of a session moves to this replica: the previous replica stores the state of the client, and
//! this replica compares its own state with that.

use std::time::Duration;

use super::SessionLink;
use super::message::Content;
use super::recorder::SyncState;
use super::restore::earlier_events;
use crate::session::Session;
use crate::session::store::ReplicaName;
use crate::subscribe::replay::replica_of;

/// How long the replica that had the stream may take to store the state of the client.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

impl SessionLink {
    /// Prepares a notification stream at this replica. `last_run` is the run of the last event that the client
    /// received, if it names one.
    pub(crate) async fn take_notifications(&self, session: &Session, last_run: Option<&str>) {
        let mut synced = self.recorder.lock().await;
        if synced.own_move.is_some() {
            return;
        }
        // If the client continues with an event of this replica, this replica has the notifications that were not sent.
        // Otherwise the replica that sent notifications last has them.
        if last_run.is_none_or(|run| run != session.replay.ids().run) {
            self.compare_with_stored(session, &mut synced).await;
        }
        synced.take_notifications();
    }

    /// Reports the differences from the state of the client. Without the store, every resource that changed on this
    /// replica counts as changed.
    async fn compare_with_stored(&self, session: &Session, synced: &mut SyncState) {
        let Ok(Some(mut opened)) = self.recorder.pull(session, synced).await else {
            return;
        };
        if self.release(&opened.record.events.run).await
            && let Ok(Some(released)) = self.recorder.pull(session, synced).await
        {
            opened = released;
        }
        session
            .client
            .subscriptions
            .compare(&opened.record.subscriptions);
        session.replay.set_earlier(earlier_events(&opened.record));
    }

    /// Notifies the replica that has the stream. Returns whether that replica has stored its state of the client.
    async fn release(&self, run: &str) -> bool {
        let own = self.shared.store.replica();
        let Some(replica) = replica_of(run)
            .and_then(ReplicaName::parse)
            .filter(|name| name != own)
        else {
            return false;
        };
        let content = Content::Release {
            session: self.key.to_string(),
            run: run.to_owned(),
        };
        let Some(message) = self.shared.seal_message(Some(&replica), content) else {
            return false;
        };
        let request = self.shared.store.request(&replica, message);
        matches!(
            tokio::time::timeout(RELEASE_TIMEOUT, request).await,
            Ok(Ok(_))
        )
    }
}
