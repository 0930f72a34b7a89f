//! A request that was accepted: its parameters were read, and it is ready to run.

use std::sync::Arc;

use futures_util::FutureExt as _;

use super::RequestContext;
use crate::client_side::call_stream::{CallMessages, CallStream};
use crate::client_side::cancellation::CancellableRequest;
use crate::dispatch::Work;
use crate::era::method::{Method, Operation, ParsedRequest};
use crate::era::parameter_headers;
use crate::era::peer::Peer;
use crate::era::request_slot::RequestSlot;
use crate::wire::message::{Id, Request};
use crate::wire::rpc_error::RpcError;
use larder_model::resource::Caller;

/// A request that is ready to run. This value is small: the future of the request, which is large, exists only while
/// the request runs.
pub(crate) struct AcceptedRequest {
    messages: CallMessages,
    work: Work,
}

impl AcceptedRequest {
    /// Reads the parameters of a request, registers it, and takes its permit.
    pub(super) fn new(
        request: &Request<'_>,
        method: Method,
        peer: Peer,
        context: RequestContext<'_>,
    ) -> Result<Self, RpcError> {
        let mut accepted = Self::queued(request, method, peer, context)?;
        accepted.work.slot.take(context.endpoint, context.caller)?;
        Ok(accepted)
    }

    /// Reads the parameters of a request and registers it, but takes no permit yet.
    pub(super) fn queued(
        request: &Request<'_>,
        method: Method,
        mut peer: Peer,
        context: RequestContext<'_>,
    ) -> Result<Self, RpcError> {
        let parsed = ParsedRequest::read(request, method, context.new_call(&request.params)?)?;
        let mut parsed = parsed.with_client(&mut peer, &request.params.meta)?;
        if let Some(headers) = context.headers {
            parsed = parsed.with_trace_headers(headers);
        }
        let ParsedRequest {
            id,
            operation,
            call,
            messages,
            ..
        } = parsed;
        if let (Operation::CallTool(retried), true, Some(headers)) =
            (&operation, peer.is_modern(), context.headers)
        {
            let tool = context
                .endpoint
                .0
                .gateway
                .tool(&call, &retried.request.name);
            let arguments = &retried.request.arguments;
            tool.map_or(Ok(()), |tool| {
                parameter_headers::check(&tool, arguments, headers)
            })?;
        }
        let cancellable = context
            .in_flight
            .map(|requests| requests.register(&id))
            .transpose()?
            .map(Arc::new);
        let endpoint = context.endpoint.clone();
        let slot = RequestSlot::new(context.limit.clone(), method);
        let work = Work {
            endpoint,
            id,
            method,
            operation,
            call,
            peer,
            slot,
            cancellable,
        };
        Ok(Self { messages, work })
    }

    /// Takes the permit of a queued request.
    pub(super) fn with_permit(mut self, caller: &Caller) -> Result<Self, (Id, RpcError)> {
        match self.work.slot.take(&self.work.endpoint, caller) {
            Ok(()) => Ok(self),
            Err(rpc_error) => Err((self.work.id, rpc_error)),
        }
    }

    /// Whether the client wants messages before the response.
    pub(crate) fn wants_messages(&self) -> bool {
        self.messages.are_requested()
    }

    /// Whether the response is immediate, because no provider is called for it.
    pub(crate) fn is_immediate(&self) -> bool {
        self.work.method.is_immediate()
    }

    /// The handle of a request that can be cancelled by id. The id is in use until the request is dropped.
    pub(crate) fn cancellable(&self) -> Option<Arc<CancellableRequest>> {
        self.work.cancellable.clone()
    }

    /// Separates the messages from the work.
    pub(crate) fn into_parts(self) -> (CallMessages, Work) {
        (self.messages, self.work)
    }

    /// Returns the work without messages before the response. Nobody receives them, so a call that requests input fails
    /// at once.
    pub(crate) fn into_work(self) -> Work {
        self.work
    }

    /// The id of the request.
    pub(crate) fn id(&self) -> &Id {
        &self.work.id
    }

    /// Returns the messages of the request. The request runs while the stream is polled.
    pub(crate) fn into_stream(self) -> CallStream {
        let Self { messages, mut work } = self;
        CallStream::new(messages, async move { work.run().await }.boxed())
    }
}
