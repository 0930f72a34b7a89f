//! The dialect `resources-get`, which some servers spoke beside the protocol: `resources/get` with a version,
//! subscriptions to several URIs, and updates that carry the resource. Off unless the operator turns it on; then
//! a standard client sees what it always sees.

mod carried;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(super) use self::carried::Carried;
use super::answer::Unanswered;
use super::json::{Object, object};
use super::message::Request;
use super::method::Method;
use super::refusal::Refusal;
use super::{Dialect, Endpoint};
use crate::catalog::Watch;
use crate::resource::{Body, Call, Caller, Content, Entry, Reading};
use crate::uri::Uri;

/// What a legacy session hears, and in which words.
pub(super) struct Ear {
    pub(super) watch: Watch,
    caller: Caller,
    /// What it wants to hear of, and whether in the dialect.
    wanted: Mutex<HashMap<Uri, bool>>,
}

impl Ear {
    pub(super) fn new(watch: Watch, caller: Caller) -> Self {
        Self { watch, caller, wanted: Mutex::default() }
    }

    /// Wants to hear of this URI, in the words of the dialect or of the protocol. False if it watches too many.
    pub(super) fn add(&self, uri: Uri, in_dialect: bool) -> bool {
        let added = self.watch.add(uri.clone());
        if added {
            self.wanted().insert(uri, in_dialect);
        }
        added
    }

    /// In the dialect, all of them or none.
    fn add_all(&self, uris: &[Uri]) -> bool {
        let before = self.wanted().clone();
        let Some(refused) = uris.iter().position(|uri| !self.add(uri.clone(), true)) else { return true };
        for uri in &uris[..refused] {
            match before.get(uri.as_str()) {
                Some(in_dialect) => self.wanted().insert(uri.clone(), *in_dialect),
                None => {
                    self.remove(uri.as_str());
                    None
                }
            };
        }
        false
    }

    pub(super) fn remove(&self, uri: &str) {
        self.wanted().remove(uri);
        self.watch.remove(uri);
    }

    fn speaks_of(&self, uri: &Uri) -> bool {
        self.wanted().get(uri.as_str()).is_some_and(|in_dialect| *in_dialect)
    }

    fn wanted(&self) -> MutexGuard<'_, HashMap<Uri, bool>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Endpoint {
    fn speaks_get(&self) -> bool {
        self.0.config.dialects.contains(&Dialect::ResourcesGet)
    }

    /// The method of a modern request, unless it belongs to a dialect that is not spoken here.
    pub(super) fn spoken(&self, method: Method, request: &Request<'_>) -> Result<Method, Refusal> {
        let is_spoken = method != Method::Get || self.speaks_get();
        is_spoken.then_some(method).ok_or_else(|| Refusal::unknown_method(&request.method))
    }

    /// The method of a legacy request.
    pub(super) fn legacy_method(&self, request: &Request<'_>) -> Result<Method, Refusal> {
        let unknown = || Refusal::unknown_method(&request.method);
        let method = self.spoken(Method::legacy(&request.method).ok_or_else(unknown)?, request)?;
        let fields = &request.params.fields;
        let several = self.speaks_get() && fields.get("uri").is_none() && fields.get("uris").is_some();
        Ok(match method {
            Method::Subscribe if several => Method::SubscribeAll,
            Method::Unsubscribe if several => Method::UnsubscribeAll,
            method => method,
        })
    }

    /// Subscribes to all of them, or to none.
    pub(super) async fn subscribe_all(
        &self,
        ear: &Ear,
        call: &Arc<Call>,
        uris: Vec<String>,
    ) -> Result<(), Unanswered> {
        let mut parsed = Vec::new();
        for uri in uris {
            parsed.push(self.watchable(call, uri).await?);
        }
        match ear.add_all(&parsed) {
            true => Ok(()),
            false => Err(Refusal::too_many_subscriptions().into()),
        }
    }

    /// The resource as it is now. One that cannot be read is told as far as it is known.
    async fn content_changed(&self, ear: &Ear, uri: &Uri) -> Vec<u8> {
        let call = Arc::new(Call::by(ear.caller.clone()));
        let reading = self.0.gateway.read(&call, uri.as_str(), None).await;
        let entry = self.0.gateway.entry(&call, uri.as_str());
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

/// The result of `resources/get`.
pub(super) fn got(o: &mut Object<'_>, uri: &str, entry: Option<&Entry>, reading: &Reading) {
    o.object("resource", |o| resource(o, uri, entry, reading.version.as_deref()));
    match &**reading.contents {
        [one] => o.object("contents", |o| content(o, one)),
        // The dialect has one; what a provider gave more is not kept back.
        several => o.objects("contents", several, |o, one| {
            o.text("uri", one.uri.as_str());
            content(o, one);
        }),
    }
}

/// A resource in the words of the dialect. Of one that nobody lists not more than its URI is known.
fn resource(o: &mut Object<'_>, uri: &str, entry: Option<&Entry>, version: Option<&str>) {
    o.text("uri", uri);
    let Some(entry) = entry else {
        return o.maybe("version", version);
    };
    o.maybe("kind", entry.details.kind.as_deref());
    o.text("name", &entry.name);
    o.maybe("title", entry.title.as_deref());
    o.maybe("description", entry.description.as_deref());
    o.maybe("version", version.or(entry.version.as_deref()));
    if !entry.details.metadata.is_empty() {
        o.object("metadata", |o| entry.details.metadata.iter().for_each(|(key, json)| o.raw(key, json)));
    }
}

fn content(o: &mut Object<'_>, content: &Content) {
    o.maybe("contentType", content.mime_type.as_deref());
    match &content.body {
        Body::Text(text) => o.text("content", text),
        Body::Blob(bytes) => o.blob("blob", bytes),
    }
}
