//! Batches of messages. All requests of a batch are accepted at once, so that they can be cancelled. They run one after
//! another, and their responses are sent together.

use crate::Endpoint;
use crate::era::declares_version;
use crate::era::peer::Peer;
use crate::outgoing::waiting_bytes::{ChargedArray, ChargedResponse};
use crate::protocol::{AcceptedRequest, RequestContext};
use crate::wire::error_message::error;
use crate::wire::message::{Message, Request};
use crate::wire::rpc_error::{INVALID_REQUEST, RpcError};
use larder_model::resource::Caller;

/// A batch that was accepted.
pub(crate) struct Batch {
    items: Vec<Item>,
    endpoint: Endpoint,
    caller: Caller,
}

enum Item {
    Response(Vec<u8>),
    Request(Box<AcceptedRequest>),
}

/// Whether a message of the batch is in the modern version. The modern version has no batches.
pub(crate) fn contains_modern(batch: &[Message<'_>]) -> bool {
    batch.iter().any(|message| match message {
        Message::Request(request) => declares_version(&request.params),
        Message::Notification(notification) => declares_version(&notification.params),
        Message::Response(_) | Message::Malformed { .. } => false,
    })
}

/// The error for a batch in a version without batches.
pub(crate) fn not_supported() -> RpcError {
    RpcError::bad_request(
        INVALID_REQUEST,
        "this version of the protocol has no batches",
    )
}

impl Batch {
    pub(super) fn accept(
        peer: &Peer,
        batch: Vec<Message<'_>>,
        context: RequestContext<'_>,
    ) -> Self {
        let mut items = Vec::new();
        for (position, message) in batch.into_iter().enumerate() {
            match message {
                Message::Request(request) => {
                    items.push(match accept_item(&request, peer, position, context) {
                        Ok(accepted) => Item::Request(Box::new(accepted)),
                        Err(rpc_error) => {
                            context.endpoint.count_unknown_method(&request, &rpc_error);
                            Item::Response(error(Some(&request.id), &rpc_error))
                        }
                    })
                }
                Message::Malformed { id, rpc_error } => {
                    items.push(Item::Response(error(id.as_ref(), &rpc_error)));
                }
                Message::Notification(notification) => context.handle_notification(&notification),
                Message::Response(response) => peer.resolve(&response),
            }
        }
        Self {
            items,
            endpoint: context.endpoint.clone(),
            caller: context.caller.clone(),
        }
    }

    /// Runs the requests, and returns the array of their responses in parts. `None` if there are no responses. If there
    /// is no memory for a response, the remaining requests do not run.
    pub(crate) async fn respond(self) -> Option<Vec<ChargedResponse>> {
        let Self {
            items,
            endpoint,
            caller,
        } = self;
        let mut responses = ChargedArray::default();
        let mut refused: Option<Box<RpcError>> = None;
        for item in items {
            let mut response: ChargedResponse = match (item, &refused) {
                (Item::Response(response), _) => response.into(),
                (Item::Request(request), Some(refused)) => {
                    error(Some(request.id()), refused).into()
                }
                (Item::Request(request), None) => {
                    let id = request.id().clone();
                    let Some(response) = run(*request, &caller).await else {
                        continue;
                    };
                    if responses.has_cost(response.len()) {
                        endpoint.charged_always(&caller, &id, response)
                    } else {
                        response
                    }
                }
            };
            refused = response.refused.take().or(refused);
            responses.push(response);
        }
        responses.finish()
    }
}

/// Runs one request. The response of a batch cannot contain progress notifications.
async fn run(request: AcceptedRequest, caller: &Caller) -> Option<ChargedResponse> {
    match request.with_permit(caller) {
        Ok(request) => request.into_work().run().await,
        Err((id, rpc_error)) => Some(error(Some(&id), &rpc_error).into()),
    }
}

fn accept_item(
    request: &Request<'_>,
    peer: &Peer,
    position: usize,
    context: RequestContext<'_>,
) -> Result<AcceptedRequest, RpcError> {
    if position > 0 {
        context.limit.admit(context.endpoint, context.caller)?;
    }
    let method = context.endpoint.legacy_method(request)?;
    AcceptedRequest::queued(request, method, peer.clone(), context)
}
