//! The legacy era: a client initializes, which negotiates a version. After that, the client can subscribe and gets
//! notifications. One version also has batches.

mod batch;
mod client_description;

use std::sync::Arc;

use super::{AcceptedRequest, RequestContext};
use crate::client_side::LegacyClientSide;
use crate::dispatch::write_capabilities;
use crate::era::LegacyVersion;
use crate::era::method::{self, Method};
use crate::era::peer::{LegacyPeer, Peer};
use crate::subscribe::replay::NotificationLog;
use crate::subscribe::subscriptions::{StoredSubscription, SubscriptionStorage, Subscriptions};
use crate::wire::json_writer::object;
use crate::wire::message::{Message, Request};
use crate::wire::rpc_error::{INVALID_REQUEST, RpcError};
use larder_core::catalog::Lists;
use larder_model::trace::ActiveSpan;
use larder_runtime::metrics::ProtocolEra;

pub(crate) use batch::{Batch, contains_modern, not_supported};
pub(crate) use client_description::ClientDescription;

/// The state of a client that has initialized. It is generic over the subscriptions for the tests of sessions.
pub(crate) struct Client<S = Subscriptions> {
    pub(crate) version: LegacyVersion,
    pub(crate) subscriptions: Arc<S>,
    /// None if the subscriptions are not stored.
    pub(crate) storage: Option<Arc<dyn SubscriptionStorage>>,
    pub(crate) log: Arc<NotificationLog>,
    pub(crate) description: Arc<ClientDescription>,
    pub(crate) side: Arc<LegacyClientSide>,
}

impl Client {
    /// Handles `initialize`, and returns the response. A client that initializes again keeps its
    /// subscriptions.
    pub(crate) fn initialize(
        request: &Request<'_>,
        context: RequestContext<'_>,
        before: Option<&Self>,
    ) -> Result<(Self, Vec<u8>), RpcError> {
        let version = LegacyVersion::from_initialize(request)?;
        let (subscriptions, log) = match before {
            Some(client) => (client.subscriptions.clone(), client.log.clone()),
            None => {
                let watch = context.endpoint.0.gateway.watch(context.caller);
                (
                    Arc::new(Subscriptions::new(watch, context.caller.clone())),
                    Arc::default(),
                )
            }
        };
        subscriptions.watch.watch_lists(Lists::ALL);
        let description = Arc::new(ClientDescription::of(request));
        let side = Arc::new(LegacyClientSide::new(description.capabilities.as_deref()));
        let client = Self {
            version,
            subscriptions,
            storage: None,
            log,
            description,
            side,
        };
        Ok((client, initialize_result(request, context, version)))
    }

    /// Continues a client of an earlier run of the server.
    pub(crate) fn restore(
        version: LegacyVersion,
        subscriptions: Subscriptions,
        stored: &[StoredSubscription],
        description: ClientDescription,
    ) -> Self {
        subscriptions.watch.watch_lists(Lists::ALL);
        subscriptions.restore(stored);
        let description = Arc::new(description);
        let side = Arc::new(LegacyClientSide::new(description.capabilities.as_deref()));
        Self {
            version,
            subscriptions: Arc::new(subscriptions),
            storage: None,
            log: Arc::default(),
            description,
            side,
        }
    }

    /// Stores the subscriptions, if they are stored. Returns whether they had changed.
    pub(crate) async fn save(&self) -> bool {
        self.subscriptions.save(self.storage.as_ref()).await
    }

    /// Accepts a request other than `initialize`.
    pub(crate) fn accept(
        &self,
        request: &Request<'_>,
        context: RequestContext<'_>,
    ) -> Result<AcceptedRequest, RpcError> {
        let method = context.endpoint.legacy_method(request)?;
        AcceptedRequest::new(request, method, self.peer(), context)
    }

    /// Accepts the messages of a batch.
    pub(crate) fn accept_batch(
        &self,
        batch: Vec<Message<'_>>,
        context: RequestContext<'_>,
    ) -> Result<Batch, RpcError> {
        if self.version.has_batches() {
            Ok(Batch::accept(&self.peer(), batch, context))
        } else {
            Err(not_supported())
        }
    }

    fn peer(&self) -> Peer {
        Peer::Legacy(LegacyPeer {
            subscriptions: self.subscriptions.clone(),
            storage: self.storage.clone(),
            side: self.side.clone(),
            stream: None,
        })
    }
}

/// Accepts a request of a client that has not initialized. Such a client may only send pings.
pub(crate) fn accept_uninitialized(
    request: &Request<'_>,
    context: RequestContext<'_>,
) -> Result<AcceptedRequest, RpcError> {
    match context.endpoint.legacy_method(request)? {
        Method::Ping => AcceptedRequest::new(request, Method::Ping, Peer::Uninitialized, context),
        _ => Err(RpcError::new(INVALID_REQUEST, "call `initialize` first")),
    }
}

/// Returns the response to `initialize`.
fn initialize_result(
    request: &Request<'_>,
    context: RequestContext<'_>,
    version: LegacyVersion,
) -> Vec<u8> {
    let inner = &context.endpoint.0;
    inner
        .metrics
        .server()
        .request("initialize", ProtocolEra::Legacy);
    let span = initialize_span(request, context);
    let server = inner.gateway.instructions(context.caller);
    let response = object(|o| {
        o.text("jsonrpc", "2.0");
        o.json("id", request.id.json());
        o.object("result", |o| {
            o.text("protocolVersion", version.as_str());
            write_capabilities(o, server.has_apps);
            o.json("serverInfo", &inner.settings.load().server_info);
            o.optional_text("instructions", server.instructions.as_deref());
        });
    });
    if let Some(mut span) = span {
        span.set_attribute("mcp.protocol.version", version.as_str());
        span.end(None);
    }
    response
}

/// Starts the span of `initialize`, which does not reach the gateway.
fn initialize_span(request: &Request<'_>, context: RequestContext<'_>) -> Option<ActiveSpan> {
    let telemetry = Some(&context.endpoint.0.telemetry).filter(|telemetry| telemetry.is_on())?;
    let mut call = context.new_call(&request.params).ok()?;
    call.request_id = Some(request.id.shared());
    if let Some(headers) = context.headers {
        method::add_trace_headers(&mut call, headers);
    }
    telemetry.start_request(&mut call, &request.method)
}
