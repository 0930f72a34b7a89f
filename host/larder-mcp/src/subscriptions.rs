//! The resource subscriptions of a legacy client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Endpoint;
use super::rpc_error::{DispatchError, RpcError};
use larder_core::catalog::Watch;
use larder_core::gateway::Error;
use larder_model::resource::{Call, Caller};
use larder_model::uri::Uri;

/// The resource subscriptions of a legacy client.
pub(super) struct Subscriptions {
    pub(super) watch: Watch,
    caller: Caller,
    /// The subscribed URIs, and whether each was subscribed to through the extension `resources-get`.
    uris: Mutex<HashMap<Uri, bool>>,
}

impl Subscriptions {
    pub(super) fn new(watch: Watch, caller: Caller) -> Self {
        Self { watch, caller, uris: Mutex::default() }
    }

    /// The caller on whose behalf content is read for update notifications.
    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Subscribes to a URI. With `with_content`, its update notifications carry the resource, as the
    /// extension demands. Returns false if the limit of subscriptions is reached.
    fn add(&self, uri: Uri, with_content: bool) -> bool {
        let added = self.watch.add(uri.clone());
        if added {
            self.uris().insert(uri, with_content);
        }
        added
    }

    /// Subscribes to all of these URIs through the extension, or to none of them.
    fn add_all(&self, uris: &[Uri]) -> bool {
        let before = self.uris().clone();
        let Some(refused) = uris.iter().position(|uri| !self.add(uri.clone(), true)) else { return true };
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

    pub(super) fn remove(&self, uri: &str) {
        self.uris().remove(uri);
        self.watch.remove(uri);
    }

    pub(super) fn sends_content(&self, uri: &Uri) -> bool {
        self.uris().get(uri.as_str()).is_some_and(|with_content| *with_content)
    }

    fn uris(&self) -> MutexGuard<'_, HashMap<Uri, bool>> {
        self.uris.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Endpoint {
    /// Subscribes to a URI. Fails if the caller cannot read it: only resources that can be read can be
    /// watched.
    pub(super) async fn subscribe(
        &self,
        subscriptions: &Subscriptions,
        call: &Arc<Call>,
        uri: Uri,
    ) -> Result<(), DispatchError> {
        self.check_readable(call, &uri).await?;
        match subscriptions.add(uri, false) {
            true => Ok(()),
            false => Err(RpcError::subscription_limit_exceeded().into()),
        }
    }

    /// Subscribes to all of these URIs through the extension, or to none of them.
    pub(super) async fn subscribe_all(
        &self,
        subscriptions: &Subscriptions,
        call: &Arc<Call>,
        uris: &[Uri],
    ) -> Result<(), DispatchError> {
        for uri in uris {
            self.check_readable(call, uri).await?;
        }
        match subscriptions.add_all(uris) {
            true => Ok(()),
            false => Err(RpcError::subscription_limit_exceeded().into()),
        }
    }

    async fn check_readable(&self, call: &Arc<Call>, uri: &Uri) -> Result<(), DispatchError> {
        match self.0.gateway.is_readable(call, uri).await {
            true => Ok(()),
            false => Err(Error::NotFound { uri: uri.to_string() }.into()),
        }
    }
}
