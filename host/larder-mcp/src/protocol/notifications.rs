//! The notifications of a legacy client: changes of the lists and of subscribed resources.

use std::sync::Arc;

use super::legacy::Client;
use crate::Endpoint;
use crate::era::extension::ContentUpdates;
use crate::subscribe::listen::notification;
use crate::subscribe::replay::{LogPosition, NotificationLog};
use crate::subscribe::subscriptions::Subscriptions;
use larder_core::catalog::Change;

/// The notifications of a legacy client from one position of its log.
pub(crate) struct Notifications {
    subscriptions: Arc<Subscriptions>,
    log: Arc<NotificationLog>,
    position: LogPosition,
    content_updates: ContentUpdates,
}

/// A notification in the form in which it is sent.
pub(crate) struct NotificationMessage {
    pub(crate) message: Vec<u8>,
    /// The number of the event from which a client that has received this message can resume. `None` if it
    /// would miss a pending update.
    pub(crate) resume_from: Option<u64>,
}

impl Notifications {
    pub(crate) fn new(endpoint: &Endpoint, client: &Client, position: LogPosition) -> Self {
        let subscriptions = client.subscriptions.clone();
        let content_updates = ContentUpdates::new(endpoint.clone(), subscriptions.clone());
        Self {
            subscriptions,
            log: client.log.clone(),
            position,
            content_updates,
        }
    }

    /// Waits for the next messages. Updates that need a read from a provider are sent later, and do not delay other
    /// messages. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Vec<NotificationMessage> {
        loop {
            tokio::select! {
                message = self.content_updates.next() => {
                    let delivered = self.content_updates.delivered_up_to(self.position.number());
                    return vec![NotificationMessage { message, resume_from: Some(delivered) }];
                }
                changes = self.log.next(&mut self.position, &self.subscriptions.watch) => {
                    let plain = self.content_updates.take(changes);
                    if !plain.is_empty() {
                        return self.messages(&plain);
                    }
                }
            }
        }
    }

    /// Encodes notifications. A notification that overtakes a pending content update is not a position to resume from:
    /// a client that resumes there would never receive that update.
    fn messages(&self, changes: &[(u64, Change)]) -> Vec<NotificationMessage> {
        let delivered_up_to = self.content_updates.delivered_up_to(self.position.number());
        let messages = changes.iter().map(|(number, change)| NotificationMessage {
            message: notification(change, None),
            resume_from: (*number <= delivered_up_to).then_some(*number),
        });
        messages.collect()
    }
}
