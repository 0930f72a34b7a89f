//! Stores one session and its changes: its subscriptions, and which content of the resources its client has.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::Session;
use super::storage::Storage;
use super::store::{SessionKey, SessionOwner, SessionRecord};
use crate::subscribe::replay::NotificationLog;
use crate::subscribe::subscriptions::{SubscriptionStorage, Subscriptions};
use larder_model::name::Digest;

/// Stores one session.
pub(super) struct Recorder {
    storage: Arc<Storage>,
    key: SessionKey,
    /// The record without subscriptions.
    record: SessionRecord,
    log: Arc<NotificationLog>,
    ended: CancellationToken,
    stored: Mutex<StoreContent>,
}

/// The state of the session in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StoreContent {
    Nothing,
    /// A record of an earlier run of the server.
    Earlier,
    /// A record with this digest.
    Record(Digest),
}

impl Recorder {
    pub(super) fn new<W>(
        storage: Arc<Storage>,
        session: &Session<W>,
        stored: StoreContent,
    ) -> Self {
        let client = &session.client;
        let record = SessionRecord {
            version: client.version,
            owner: SessionOwner::of(&session.caller),
            client: (*client.description).clone(),
            events: session.replay.ids().clone(),
            subscriptions: vec![],
        };
        Self {
            storage,
            key: SessionKey::of(&session.id),
            record,
            log: client.log.clone(),
            ended: session.ended.clone(),
            stored: Mutex::new(stored),
        }
    }

    /// Stores the session, if it differs from the stored session. Only one writer runs at a time, so that the newest
    /// state is stored last.
    async fn write(&self, subscriptions: &Subscriptions) -> bool {
        let mut stored = self.stored.lock().await;
        if self.ended.is_cancelled() {
            return false;
        }
        let record = self.snapshot(subscriptions);
        let Some(content) = record.to_bytes() else {
            return self
                .discard(&mut stored, "it has too many subscriptions")
                .await;
        };
        let digest = StoreContent::Record(Digest::of(&content));
        if *stored == digest {
            return false;
        }
        let Ok(surplus) = self
            .storage
            .bytes
            .reserve(self.key, &record.owner, content.len())
        else {
            return self.discard(&mut stored, "the store is full").await;
        };
        if !surplus.is_empty() {
            self.storage.remove(surplus).await;
        }
        let written = match *stored {
            StoreContent::Nothing => self.storage.store.create(self.key, &record).await,
            StoreContent::Earlier | StoreContent::Record(_) => {
                self.storage.store.update(self.key, &record).await
            }
        };
        match written {
            Ok(()) => *stored = digest,
            Err(error) => self.storage.report("write", &error.to_string()),
        }
        if self.ended.is_cancelled() {
            self.storage.remove(vec![self.key]).await;
        }
        true
    }

    fn snapshot(&self, subscriptions: &Subscriptions) -> SessionRecord {
        self.log.between_changes(|events| {
            let mut record = SessionRecord {
                subscriptions: subscriptions.stored(events),
                ..self.record.clone()
            };
            record.events.last = events.last;
            record.events.oldest = events.oldest;
            record
        })
    }

    /// Removes an outdated record: a session without some of its subscriptions would miss notifications.
    async fn discard(&self, stored: &mut StoreContent, why: &str) -> bool {
        self.storage.report("keep", why);
        if *stored != StoreContent::Nothing {
            self.storage.remove(vec![self.key]).await;
            *stored = StoreContent::Nothing;
        }
        false
    }
}

impl SubscriptionStorage for Recorder {
    fn save<'a>(&'a self, subscriptions: &'a Subscriptions) -> BoxFuture<'a, bool> {
        self.write(subscriptions).boxed()
    }
}
