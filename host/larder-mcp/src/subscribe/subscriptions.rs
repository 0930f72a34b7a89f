//! The resource subscriptions of a legacy client.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::replay::LoggedEvents;
use crate::Endpoint;
use crate::wire::rpc_error::{DispatchError, RpcError};
use larder_core::catalog::{ContentState, Watch};
use larder_model::resource::{Call, Caller};
use larder_model::uri::Uri;

/// The resource subscriptions of a legacy client.
pub(crate) struct Subscriptions {
    pub(crate) watch: Watch,
    caller: Caller,
    /// The subscribed URIs, and whether each was subscribed to through the extension `resources-get`.
    uris: Mutex<HashMap<Uri, bool>>,
}

/// Keeps the subscriptions of a client across restarts of the server.
pub(crate) trait SubscriptionStorage: Send + Sync {
    /// Stores the subscriptions, if they differ from the stored ones. Returns whether they were stored.
    fn save<'a>(&'a self, subscriptions: &'a Subscriptions) -> BoxFuture<'a, bool>;
}

/// A subscription, and the content that its client had of the resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredSubscription {
    pub(crate) uri: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) with_content: bool,
    /// The state for each team of the caller. The state is unknown while a change was not sent yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) states: Vec<Option<ContentState>>,
    /// The number of the last notification of an update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) updated: Option<u64>,
}

impl Subscriptions {
    pub(crate) fn new(watch: Watch, caller: Caller) -> Self {
        Self {
            watch,
            caller,
            uris: Mutex::default(),
        }
    }

    /// Restores the stored subscriptions. A change that the client has not received yet is reported.
    pub(crate) fn restore(&self, stored: &[StoredSubscription]) {
        for subscription in stored {
            let Ok(uri) = Uri::parse(&subscription.uri) else {
                continue;
            };
            if self.watch.resume(uri.clone(), &subscription.states) {
                self.uris().insert(uri, subscription.with_content);
            }
        }
        self.watch.mark_lists_changed();
    }

    /// Stores the subscriptions, if there is a storage and they differ from the stored ones. Returns whether they were
    /// stored.
    pub(crate) async fn save(&self, storage: Option<&Arc<dyn SubscriptionStorage>>) -> bool {
        match storage {
            Some(storage) => storage.save(self).await,
            None => false,
        }
    }

    /// Returns the subscriptions in the form in which they are stored, sorted by URI.
    pub(crate) fn stored(&self, events: &LoggedEvents) -> Vec<StoredSubscription> {
        let uris = self.uris().clone();
        let mut stored: Vec<_> = uris
            .into_iter()
            .map(|(uri, with_content)| StoredSubscription {
                states: self.watch.states(&uri),
                updated: events.updated.get(&uri).copied(),
                uri: uri.to_string(),
                with_content,
            })
            .collect();
        stored.sort_by(|a, b| a.uri.cmp(&b.uri));
        stored
    }

    /// The caller on whose behalf content is read for update notifications.
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Subscribes to a URI. With `with_content`, its update notifications contain the resource, as the extension
    /// requires. Returns false if the limit of subscriptions is reached.
    fn add(&self, uri: Uri, with_content: bool) -> bool {
        let added = self.watch.add(uri.clone());
        if added {
            self.uris().insert(uri, with_content);
        }
        added
    }

    /// Subscribes to all of these URIs, or to none of these URIs.
    fn add_all(&self, uris: &[Uri], with_content: bool) -> bool {
        let before = self.uris().clone();
        let Some(refused) = uris
            .iter()
            .position(|uri| !self.add(uri.clone(), with_content))
        else {
            return true;
        };
        for uri in &uris[..refused] {
            match before.get(uri.as_str()) {
                Some(with_content) => self.uris().insert(uri.clone(), *with_content),
                None => {
                    self.remove(uri.as_str());
                    None
                }
            };
        }
        false
    }

    /// Unsubscribes from these URIs. Unknown URIs are ignored.
    pub(crate) fn unsubscribe(&self, uris: &[String]) {
        for uri in uris {
            self.remove(uri);
        }
    }

    fn remove(&self, uri: &str) {
        self.uris().remove(uri);
        self.watch.remove(uri);
    }

    pub(crate) fn sends_content(&self, uri: &Uri) -> bool {
        self.uris()
            .get(uri.as_str())
            .is_some_and(|with_content| *with_content)
    }

    fn uris(&self) -> MutexGuard<'_, HashMap<Uri, bool>> {
        self.uris.lock()
    }
}

impl Endpoint {
    /// Subscribes to these URIs. Fails if the caller cannot read one of them: only resources that can be read can be
    /// watched.
    pub(crate) async fn subscribe(
        &self,
        subscriptions: &Subscriptions,
        call: &Arc<Call>,
        uris: &[Uri],
        with_content: bool,
    ) -> Result<(), DispatchError> {
        for uri in uris {
            self.0.gateway.check_readable(call, uri).await?;
        }
        if !subscriptions.add_all(uris, with_content) {
            return Err(RpcError::subscription_limit_exceeded().into());
        }
        self.settled(&subscriptions.watch, uris).await;
        Ok(())
    }

    /// Waits until the content of these added URIs is known. When the server stops, content is not compared any more.
    pub(super) async fn settled(&self, watch: &Watch, uris: &[Uri]) {
        tokio::select! {
            () = watch.settled(uris) => {}
            () = self.0.drain.stopping() => {}
        }
    }
}
