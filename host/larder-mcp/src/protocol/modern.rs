//! The modern era: each request is independent, and contains the version and the capabilities of its client.
//! Notifications are sent only on the streams of `subscriptions/listen`.

use std::sync::Arc;

use http::StatusCode;

use super::{AcceptedRequest, RequestContext};
use crate::Endpoint;
use crate::client_side::cancellation::CancellableRequest;
use crate::era::method::{self, Method};
use crate::era::peer::Peer;
use crate::subscribe::listen::{ListenFilter, ListenSubscription};
use crate::subscribe::stream_permit::StreamPermit;
use crate::wire::json_writer::object;
use crate::wire::message::{Id, Request};
use crate::wire::rpc_error::RpcError;
use larder_model::resource::Call;

/// Accepts a request other than `subscriptions/listen`.
pub(crate) fn accept(
    request: &Request<'_>,
    method: Method,
    context: RequestContext<'_>,
) -> Result<AcceptedRequest, RpcError> {
    let unknown = |rpc_error: RpcError| rpc_error.with_status(StatusCode::NOT_FOUND);
    let method = context
        .endpoint
        .supported_method(method, request)
        .map_err(unknown)?;
    AcceptedRequest::new(request, method, Peer::Modern, context)
}

/// Accepts a `subscriptions/listen` request.
pub(crate) fn listen(
    request: &Request<'_>,
    context: RequestContext<'_>,
) -> Result<AcceptedListen, RpcError> {
    let filter = ListenFilter::read(&request.params)?;
    let mut call = context.new_call(&request.params)?;
    if let Some(headers) = context.headers {
        method::add_trace_headers(&mut call, headers);
    }
    let permit = context.endpoint.stream_permit(context.caller)?;
    let id = request.id.clone();
    let cancellable = context
        .in_flight
        .map(|requests| requests.register(&id))
        .transpose()?
        .map(Arc::new);
    Ok(AcceptedListen {
        endpoint: context.endpoint.clone(),
        id,
        filter,
        call,
        permit,
        cancellable,
    })
}

/// A `subscriptions/listen` request that was accepted.
pub(crate) struct AcceptedListen {
    endpoint: Endpoint,
    id: Id,
    filter: ListenFilter,
    call: Call,
    permit: StreamPermit,
    cancellable: Option<Arc<CancellableRequest>>,
}

impl AcceptedListen {
    /// The handle of a request that can be cancelled by id.
    pub(crate) fn cancellable(&self) -> Option<Arc<CancellableRequest>> {
        self.cancellable.clone()
    }

    /// Starts watching the resources that the caller can read.
    pub(crate) async fn begin(self) -> ListenStream {
        let Self {
            endpoint,
            id,
            filter,
            call,
            permit,
            cancellable,
        } = self;
        let subscription = ListenSubscription::begin(&endpoint, id, filter, call).await;
        ListenStream {
            endpoint,
            subscription,
            state: ListenState::Accepted,
            _permit: permit,
            _cancellable: cancellable,
        }
    }
}

/// The messages of a `subscriptions/listen` request: an acknowledgement, notifications, and the result.
pub(crate) struct ListenStream {
    endpoint: Endpoint,
    subscription: ListenSubscription,
    state: ListenState,
    _permit: StreamPermit,
    _cancellable: Option<Arc<CancellableRequest>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListenState {
    Accepted,
    Acknowledged,
    Ended,
}

impl ListenStream {
    /// Waits for the next messages. Sends the result when the server stops or when `ended` completes, and then
    /// returns `None`. Cancel-safe.
    pub(crate) async fn next(&mut self, ended: impl Future<Output = ()>) -> Option<Vec<Vec<u8>>> {
        match self.state {
            ListenState::Accepted => {
                self.state = ListenState::Acknowledged;
                Some(vec![self.subscription.acknowledgement()])
            }
            ListenState::Acknowledged => {
                let mut last = tokio::select! {
                    biased;
                    // Pending notifications are sent before the end.
                    () = self.endpoint.0.drain.stopping() => self.subscription.take(),
                    () = ended => Vec::new(),
                    notifications = self.subscription.next() => return Some(notifications),
                };
                self.state = ListenState::Ended;
                last.push(self.result());
                Some(last)
            }
            ListenState::Ended => None,
        }
    }

    /// Whether the stream ended because the server stops.
    pub(crate) fn ends_with_the_server(&self) -> bool {
        self.state == ListenState::Ended && self.endpoint.0.drain.is_stopping()
    }

    fn result(&self) -> Vec<u8> {
        let id = self.subscription.id();
        object(|o| {
            o.text("jsonrpc", "2.0");
            o.json("id", id.json());
            o.object("result", |o| {
                o.text("resultType", "complete");
                o.object("_meta", |o| {
                    o.json("io.modelcontextprotocol/subscriptionId", id.json());
                    o.json(
                        "io.modelcontextprotocol/serverInfo",
                        &self.endpoint.0.settings.load().server_info,
                    );
                });
            });
        })
    }
}
