//! The protocol extension `resources-get`, known from other servers: `resources/get` with a version,
//! subscriptions to several URIs, and update notifications that carry the resource. It is off by default;
//! then a standard client sees no difference.

mod content_updates;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) use self::content_updates::ContentUpdates;
use super::dispatch::DispatchError;
use super::json_writer::{Object, object};
use super::message::Request;
use super::method::Method;
use super::rpc_error::RpcError;
use super::{Endpoint, Extension};
use larder_core::catalog::Watch;
use larder_model::resource::{Body, Call, Caller, Content, Entry, ReadResult};
use larder_model::uri::Uri;

/// The resource subscriptions of a legacy session.
pub(super) struct Subscriptions {
    pub(super) watch: Watch,
    caller: Caller,
    /// The subscribed URIs, and whether each was subscribed to through the extension.
    uris: Mutex<HashMap<Uri, bool>>,
}

impl Subscriptions {
    pub(super) fn new(watch: Watch, caller: Caller) -> Self {
        Self { watch, caller, uris: Mutex::default() }
    }

    /// Subscribes to a URI. With `with_content`, its update notifications carry the resource, as the
    /// extension demands. Returns false if the limit of subscriptions is reached.
    pub(super) fn add(&self, uri: Uri, with_content: bool) -> bool {
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

    fn sends_content(&self, uri: &Uri) -> bool {
        self.uris().get(uri.as_str()).is_some_and(|with_content| *with_content)
    }

    fn uris(&self) -> MutexGuard<'_, HashMap<Uri, bool>> {
        self.uris.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Endpoint {
    fn has_resources_get(&self) -> bool {
        self.0.config.extensions.contains(&Extension::ResourcesGet)
    }

    /// Checks that the method of a modern request is not one of an extension that is off.
    pub(super) fn supported_method(&self, method: Method, request: &Request<'_>) -> Result<Method, RpcError> {
        let is_supported = method != Method::Get || self.has_resources_get();
        is_supported.then_some(method).ok_or_else(|| RpcError::unknown_method(&request.method))
    }

    /// Returns the method of a legacy request.
    pub(super) fn legacy_method(&self, request: &Request<'_>) -> Result<Method, RpcError> {
        let unknown = || RpcError::unknown_method(&request.method);
        let method = self.supported_method(Method::legacy(&request.method).ok_or_else(unknown)?, request)?;
        let fields = &request.params.fields;
        let several = self.has_resources_get() && fields.get("uri").is_none() && fields.get("uris").is_some();
        Ok(match method {
            Method::Subscribe if several => Method::SubscribeAll,
            Method::Unsubscribe if several => Method::UnsubscribeAll,
            method => method,
        })
    }

    /// Subscribes to all of these URIs, or to none of them.
    pub(super) async fn subscribe_all(
        &self,
        subscriptions: &Subscriptions,
        call: &Arc<Call>,
        uris: Vec<String>,
    ) -> Result<(), DispatchError> {
        let mut parsed = Vec::new();
        for uri in uris {
            parsed.push(self.subscribable_uri(call, uri).await?);
        }
        match subscriptions.add_all(&parsed) {
            true => Ok(()),
            false => Err(RpcError::subscription_limit_exceeded().into()),
        }
    }

    /// Returns the `content_changed` notification with the current resource. If it cannot be read, the
    /// notification has only what the catalog says of it.
    async fn content_changed(&self, subscriptions: &Subscriptions, uri: &Uri) -> Vec<u8> {
        let call = Arc::new(Call::from_caller(subscriptions.caller.clone()));
        let reading = self.0.gateway.read(&call, uri.as_str(), None).await;
        let entry = self.0.gateway.listed_entry(&call, uri.as_str());
        let version = reading.as_ref().ok().and_then(|reading| reading.version.as_deref());
        object(|o| {
            o.text("jsonrpc", "2.0");
            o.text("method", "notifications/resources/content_changed");
            o.object("params", |o| {
                o.object("resource", |o| resource(o, uri.as_str(), entry.as_deref(), version));
            });
        })
    }
}

/// Writes the result of `resources/get`.
pub(super) fn write_get_result(o: &mut Object<'_>, uri: &str, entry: Option<&Entry>, reading: &ReadResult) {
    o.object("resource", |o| resource(o, uri, entry, reading.version.as_deref()));
    match &**reading.contents {
        [one] => o.object("contents", |o| content(o, one)),
        // The extension defines a single content; if there are several, all of them are sent.
        several => o.objects("contents", several, |o, one| {
            o.text("uri", one.uri.as_str());
            content(o, one);
        }),
    }
}

/// Writes a resource in the form of the extension. For a resource that is not listed, only the URI and the
/// version are known.
fn resource(o: &mut Object<'_>, uri: &str, entry: Option<&Entry>, version: Option<&str>) {
    o.text("uri", uri);
    let Some(entry) = entry else {
        return o.optional_text("version", version);
    };
    o.optional_text("kind", entry.details.kind.as_deref());
    o.text("name", &entry.name);
    o.optional_text("title", entry.title.as_deref());
    o.optional_text("description", entry.description.as_deref());
    o.optional_text("version", version.or(entry.version.as_deref()));
    if !entry.details.metadata.is_empty() {
        o.object("metadata", |o| entry.details.metadata.iter().for_each(|(key, json)| o.raw(key, json)));
    }
}

fn content(o: &mut Object<'_>, content: &Content) {
    o.optional_text("contentType", content.mime_type.as_deref());
    match &content.body {
        Body::Text(text) => o.text("content", text),
        Body::Blob(bytes) => o.base64("blob", bytes),
    }
}
