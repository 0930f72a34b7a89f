//! The protocol extension `resources-get`, known from other servers: `resources/get` with a version,
//! subscriptions to several URIs, and update notifications that contain the resource. It is off by default,
//! so that nothing changes for standard clients.

mod content_updates;

use std::sync::Arc;

pub(crate) use self::content_updates::ContentUpdates;
use super::method::Method;
use crate::subscribe::subscriptions::Subscriptions;
use crate::wire::json_writer::{Object, object};
use crate::wire::message::Request;
use crate::wire::rpc_error::RpcError;
use crate::{Endpoint, Extension};
use larder_model::resource::{Body, Call, Content, Entry, ReadResult};
use larder_model::uri::Uri;

impl Endpoint {
    fn has_resources_get(&self) -> bool {
        self.0
            .settings
            .load()
            .extensions
            .contains(&Extension::ResourcesGet)
    }

    /// Checks that the method of a modern request does not belong to an extension that is off.
    pub(crate) fn supported_method(
        &self,
        method: Method,
        request: &Request<'_>,
    ) -> Result<Method, RpcError> {
        let is_supported = method != Method::Get || self.has_resources_get();
        is_supported
            .then_some(method)
            .ok_or_else(|| RpcError::unknown_method(&request.method))
    }

    /// Returns the method of a legacy request.
    pub(crate) fn legacy_method(&self, request: &Request<'_>) -> Result<Method, RpcError> {
        let unknown = || RpcError::unknown_method(&request.method);
        let method = self.supported_method(
            Method::legacy(&request.method).ok_or_else(unknown)?,
            request,
        )?;
        let fields = &request.params.fields;
        let several =
            self.has_resources_get() && fields.get("uri").is_none() && fields.get("uris").is_some();
        Ok(match method {
            Method::Subscribe if several => Method::SubscribeAll,
            Method::Unsubscribe if several => Method::UnsubscribeAll,
            method => method,
        })
    }

    /// Returns the `content_changed` notification with the current resource. If the resource cannot be read, the
    /// notification has only the metadata in the catalog.
    async fn content_changed(&self, subscriptions: &Subscriptions, uri: &Uri) -> Vec<u8> {
        let call = Arc::new(Call::from_caller(subscriptions.caller().clone()));
        let reading = self.0.gateway.read(&call, uri, None).await;
        let entry = self.0.gateway.listed_entry(&call, uri);
        let version = reading
            .as_ref()
            .ok()
            .and_then(|reading| reading.version.as_deref());
        object(|o| {
            o.text("jsonrpc", "2.0");
            o.text("method", "notifications/resources/content_changed");
            o.object("params", |o| {
                o.object("resource", |o| resource(o, uri, entry.as_deref(), version));
            });
        })
    }
}

/// Writes the result of `resources/get`.
pub(crate) fn write_get_result(
    o: &mut Object<'_>,
    uri: &Uri,
    entry: Option<&Entry>,
    reading: &ReadResult,
) {
    o.object("resource", |o| {
        resource(o, uri, entry, reading.version.as_deref())
    });
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
fn resource(o: &mut Object<'_>, uri: &Uri, entry: Option<&Entry>, version: Option<&str>) {
    o.text("uri", uri.as_str());
    let Some(entry) = entry else {
        return o.optional_text("version", version);
    };
    o.optional_text("kind", entry.details.kind.as_deref());
    o.text("name", &entry.name);
    o.optional_text("title", entry.title.as_deref());
    o.optional_text("description", entry.description.as_deref());
    o.optional_text("version", version.or(entry.version.as_deref()));
    if !entry.details.metadata.is_empty() {
        o.object("metadata", |o| {
            entry
                .details
                .metadata
                .iter()
                .for_each(|(key, json)| o.raw(key, json))
        });
    }
}

fn content(o: &mut Object<'_>, content: &Content) {
    o.optional_text("contentType", content.mime_type.as_deref());
    match &content.body {
        body @ Body::Text(_) => o.body("content", body),
        body @ Body::Blob(_) => o.body("blob", body),
    }
}
