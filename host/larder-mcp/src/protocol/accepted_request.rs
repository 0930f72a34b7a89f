//! A request that was accepted: its parameters were read, and it is ready to run.

use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt as _;

use super::{ConcurrencyLimit, RequestContext, RequestPermit};
use crate::Endpoint;
use crate::cancellation::CancellableRequest;
use crate::dispatch::Peer;
use crate::message::{Id, Request};
use crate::method::{Method, Operation, ParsedRequest};
use crate::progress::{CallStream, ProgressNotifications};
use crate::rpc_error::RpcError;
use crate::waiting_bytes::ChargedResponse;
use larder_model::resource::{Call, Caller};

/// A request that is ready to run. It is small: its future, which is large, exists only while it runs.
pub(crate) struct AcceptedRequest {
    progress: ProgressNotifications,
    work: Work,
}

/// The part of a request that runs and gives the response.
pub(crate) struct Work {
    endpoint: Endpoint,
    id: Id,
    method: Method,
    operation: Operation,
    call: Arc<Call>,
    peer: Peer,
    permit: RequestPermit,
    cancellable: Option<Arc<CancellableRequest>>,
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
        accepted.work.permit = context.limit.permit(context.endpoint, context.caller, method)?;
        Ok(accepted)
    }

    /// Reads the parameters of a request and registers it, but takes no permit yet.
    pub(super) fn queued(
        request: &Request<'_>,
        method: Method,
        peer: Peer,
        context: RequestContext<'_>,
    ) -> Result<Self, RpcError> {
        let mut parsed = ParsedRequest::read(request, method, context.new_call(&request.params)?)?;
        if let Some(headers) = context.headers {
            parsed = parsed.with_trace_headers(headers);
        }
        let ParsedRequest { id, operation, call, progress } = parsed;
        let cancellable = context.in_flight.map(|requests| requests.register(&id)).transpose()?.map(Arc::new);
        let (endpoint, permit) = (context.endpoint.clone(), RequestPermit::Held { _permit: None });
        let work = Work { endpoint, id, method, operation, call, peer, permit, cancellable };
        Ok(Self { progress, work })
    }

    /// Takes the permit of a queued request.
    pub(super) fn with_permit(
        mut self,
        limit: &ConcurrencyLimit,
        caller: &Caller,
    ) -> Result<Self, (Id, RpcError)> {
        match limit.permit(&self.work.endpoint, caller, self.work.method) {
            Ok(permit) => {
                self.work.permit = permit;
                Ok(self)
            }
            Err(rpc_error) => Err((self.work.id, rpc_error)),
        }
    }

    /// Whether the client wants progress notifications.
    pub(crate) fn wants_progress(&self) -> bool {
        self.progress.is_requested()
    }

    /// Whether the response takes no time, because it needs no provider.
    pub(crate) fn is_immediate(&self) -> bool {
        self.work.method.is_immediate()
    }

    /// The handle of a request that can be cancelled by id. The id is in use until it is dropped.
    pub(crate) fn cancellable(&self) -> Option<Arc<CancellableRequest>> {
        self.work.cancellable.clone()
    }

    /// Separates the progress notifications from the work.
    pub(crate) fn into_parts(self) -> (ProgressNotifications, Work) {
        (self.progress, self.work)
    }

    /// Runs the request without progress notifications. Returns `None` if it is cancelled.
    pub(crate) fn respond(&mut self) -> impl Future<Output = Option<Vec<u8>>> + Send {
        self.work.run()
    }

    /// The id of the request.
    pub(crate) fn id(&self) -> &Id {
        &self.work.id
    }

    /// Returns the messages of the request. It runs as the stream is polled.
    pub(crate) fn into_stream(self) -> CallStream {
        let Self { progress, mut work } = self;
        CallStream::new(progress, async move { work.run().await.map(ChargedResponse::from) }.boxed())
    }

    /// Returns the messages of the request, of which the response is charged to the caller.
    pub(crate) fn into_charged_stream(self) -> CallStream {
        let Self { progress, mut work } = self;
        CallStream::new(progress, async move { work.run_charged().await }.boxed())
    }
}

impl Work {
    /// Runs the request, once it has a permit. Returns `None` if it is cancelled.
    ///
    /// The future borrows the request, as the futures inside it do: a value that is passed to an `async fn`
    /// takes space twice in its future, and a future is copied where it is passed on.
    pub(crate) async fn run(&mut self) -> Option<Vec<u8>> {
        let Self { endpoint, id, operation, call, peer, permit, cancellable, .. } = self;
        permit.acquire().await;
        match cancellable {
            None => Some(endpoint.dispatch(id, operation, call, peer).await),
            Some(cancellable) => {
                cancellable.until_cancelled(pin!(endpoint.dispatch(id, operation, call, peer))).await
            }
        }
    }

    /// Runs the request, and charges the response to the caller.
    pub(crate) async fn run_charged(&mut self) -> Option<ChargedResponse> {
        let bytes = self.run().await?;
        let caller = self.call.caller.as_ref().unwrap_or(&self.endpoint.0.config.caller);
        Some(self.endpoint.charged(caller, &self.id, bytes))
    }
}
