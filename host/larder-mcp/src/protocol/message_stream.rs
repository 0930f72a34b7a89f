//! Serves a client over a transport with a stream of messages in each direction. The client may use both eras
//! on it. Requests run concurrently, and share one table of requests that can be cancelled.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tokio::time::Sleep;
use tokio_util::sync::CancellationToken;

use super::legacy;
use super::modern;
use super::{
    AcceptedRequest, ConcurrencyLimit, NotificationMessage, Notifications, RequestContext,
};
use crate::Endpoint;
use crate::client_side::cancellation::{CancellableRequest, CancellableRequests};
use crate::era::{RequestKind, classify};
use crate::outgoing::unsent::UnsentMessage;
use crate::subscribe::replay::LogPosition;
use crate::wire::error_message::error;
use crate::wire::message::{self, IncomingMessages, Message, Request};
use crate::wire::rpc_error::RpcError;

/// Maximum number of requests that run concurrently. Further requests wait.
const MAX_RUNNING: usize = 64;
/// Maximum number of requests that run or wait. Further requests are rejected.
const MAX_REQUESTS: usize = 1024;
/// Capacity of the queue of messages that are not sent yet.
const OUTPUT_QUEUE: usize = 16;
/// How long requests may continue after the end of the input.
const EOF_GRACE: Duration = Duration::from_secs(1);

/// A transport with a stream of messages in each direction.
pub(crate) trait Transport: Send {
    /// Receives the next message. Cancel-safe.
    fn receive(&mut self) -> impl Future<Output = io::Result<TransportEvent>> + Send;

    /// Sends a message.
    fn send(&mut self, message: UnsentMessage) -> impl Future<Output = io::Result<()>> + Send;
}

/// What a transport received.
pub(crate) enum TransportEvent {
    /// A message, or a batch of them.
    Message(Vec<u8>),
    /// An input that is not a message. The client gets this error.
    Invalid(RpcError),
    /// The end of the input.
    End,
}

/// A message to be sent, unless its request is cancelled first.
struct OutgoingMessage {
    message: UnsentMessage,
    cancellable: Option<Arc<CancellableRequest>>,
}

type Sender = mpsc::Sender<OutgoingMessage>;

/// The state of the client. Dropping it cancels the client's requests.
struct Client {
    endpoint: Endpoint,
    /// The state in the legacy era, after the client has initialized.
    legacy: Option<legacy::Client>,
    notifications: Option<Notifications>,
    requests: Arc<CancellableRequests>,
    limit: ConcurrencyLimit,
    disconnected: CancellationToken,
}

impl Endpoint {
    /// Serves one client until its input ends or the server stops.
    pub(crate) async fn serve_message_stream(
        &self,
        mut transport: impl Transport,
    ) -> io::Result<()> {
        let mut client = Client::new(self.clone());
        let (sender, mut outgoing) = mpsc::channel(OUTPUT_QUEUE);
        let mut sender = Some(sender);
        let mut grace = std::pin::pin!(None::<Sleep>);
        loop {
            let is_open = sender.is_some();
            tokio::select! {
                received = transport.receive(), if is_open => {
                    let response = match received? {
                        TransportEvent::Message(bytes) => sender.as_ref().and_then(|sender| client.handle(&bytes, sender)),
                        TransportEvent::Invalid(rpc_error) => Some(error(None, &rpc_error)),
                        TransportEvent::End => {
                            sender = None;
                            client.disconnected.cancel();
                            grace.set(Some(tokio::time::sleep(EOF_GRACE)));
                            None
                        }
                    };
                    send(&mut transport, response).await?;
                },
                next = outgoing.recv() => match next {
                    Some(next) => send(&mut transport, next.unless_cancelled()).await?,
                    None => return Ok(()),
                },
                messages = next_notifications(&mut client.notifications), if is_open => {
                    send(&mut transport, messages.into_iter().map(|next| next.message)).await?;
                }
                () = self.0.drain.stopping(), if is_open => sender = None,
                () = grace_expired(grace.as_mut()) => {
                    client.requests.cancel_all();
                    grace.set(None);
                }
            }
        }
    }
}

async fn send<M: Into<UnsentMessage>>(
    transport: &mut impl Transport,
    messages: impl IntoIterator<Item = M>,
) -> io::Result<()> {
    for message in messages {
        transport.send(message.into()).await?;
    }
    Ok(())
}

async fn grace_expired(grace: Pin<&mut Option<Sleep>>) {
    match grace.as_pin_mut() {
        Some(grace) => grace.await,
        None => std::future::pending().await,
    }
}

async fn next_notifications(notifications: &mut Option<Notifications>) -> Vec<NotificationMessage> {
    match notifications {
        Some(notifications) => notifications.next().await,
        None => std::future::pending().await,
    }
}

impl OutgoingMessage {
    fn unless_cancelled(self) -> Option<UnsentMessage> {
        let is_cancelled = self
            .cancellable
            .is_some_and(|cancellable| cancellable.is_cancelled());
        (!is_cancelled).then_some(self.message)
    }
}

impl Client {
    fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            legacy: None,
            notifications: None,
            requests: CancellableRequests::new(MAX_REQUESTS),
            limit: ConcurrencyLimit::Connection(Arc::new(Semaphore::new(MAX_RUNNING))),
            disconnected: CancellationToken::new(),
        }
    }

    fn context(&self) -> RequestContext<'_> {
        RequestContext {
            endpoint: &self.endpoint,
            caller: &self.endpoint.0.fixed.caller,
            peer: None,
            token: None,
            details: None,
            headers: None,
            limit: &self.limit,
            in_flight: Some(&self.requests),
        }
    }

    /// Handles a message: returns an immediate response, or starts the request.
    fn handle(&mut self, bytes: &[u8], sender: &Sender) -> Option<Vec<u8>> {
        match message::read(bytes) {
            Err(rpc_error) => Some(error(None, &rpc_error)),
            Ok(IncomingMessages::One(message)) => self.handle_message(message, sender),
            Ok(IncomingMessages::Batch(batch)) => self
                .start_batch(batch, sender)
                .err()
                .map(|rpc_error| error(None, &rpc_error)),
        }
    }

    fn handle_message(&mut self, message: Message<'_>, sender: &Sender) -> Option<Vec<u8>> {
        match message {
            Message::Malformed { id, rpc_error } => Some(error(id.as_ref(), &rpc_error)),
            Message::Response(response) => {
                if let Some(client) = &self.legacy {
                    client.side.resolve(&response);
                }
                None
            }
            Message::Notification(notification) => {
                self.context().handle_notification(&notification);
                None
            }
            Message::Request(request) => {
                self.handle_request(&request, sender)
                    .unwrap_or_else(|rpc_error| {
                        self.endpoint.count_unknown_method(&request, &rpc_error);
                        Some(error(Some(&request.id), &rpc_error))
                    })
            }
        }
    }

    fn handle_request(
        &mut self,
        request: &Request<'_>,
        sender: &Sender,
    ) -> Result<Option<Vec<u8>>, RpcError> {
        let context = self.context();
        match classify(request, None)? {
            RequestKind::Initialize => return self.initialize(request).map(Some),
            RequestKind::Listen => self.start_listen(modern::listen(request, context)?, sender),
            RequestKind::Modern(method) => {
                self.start(modern::accept(request, method, context)?, sender)
            }
            RequestKind::Legacy => {
                let accepted = match &self.legacy {
                    Some(client) => client.accept(request, context)?,
                    None => legacy::accept_uninitialized(request, context)?,
                };
                self.start(accepted, sender);
            }
        }
        Ok(None)
    }

    fn initialize(&mut self, request: &Request<'_>) -> Result<Vec<u8>, RpcError> {
        let (client, response) =
            legacy::Client::initialize(request, self.context(), self.legacy.as_ref())?;
        if self.notifications.is_none() {
            self.notifications = Some(Notifications::new(
                &self.endpoint,
                &client,
                LogPosition::default(),
            ));
        }
        self.legacy = Some(client);
        Ok(response)
    }

    fn start(&self, accepted: AcceptedRequest, sender: &Sender) {
        let sender = sender.clone();
        let cancellable = accepted.cancellable();
        let mut stream = accepted.into_stream();
        self.endpoint.0.drain.spawn(async move {
            while let Some(item) = stream.next().await {
                let message = item.into_message();
                let cancellable = cancellable.clone();
                if sender
                    .send(OutgoingMessage {
                        message,
                        cancellable,
                    })
                    .await
                    .is_err()
                {
                    return;
                }
            }
        });
    }

    fn start_listen(&self, accepted: modern::AcceptedListen, sender: &Sender) {
        let sender = sender.clone();
        let disconnected = self.disconnected.clone();
        self.endpoint.0.drain.spawn(async move {
            let cancellable = accepted.cancellable();
            tokio::select! {
                () = cancelled(cancellable.as_deref()) => {}
                () = disconnected.cancelled() => {}
                () = send_listen_messages(accepted, &sender) => {}
            }
        });
    }

    /// Starts the requests of a batch. Their responses are sent in one message.
    fn start_batch(&self, batch: Vec<Message<'_>>, sender: &Sender) -> Result<(), RpcError> {
        let client = self
            .legacy
            .as_ref()
            .filter(|_| !legacy::contains_modern(&batch));
        let accepted = client
            .ok_or_else(legacy::not_supported)?
            .accept_batch(batch, self.context())?;
        let sender = sender.clone();
        self.endpoint.0.drain.spawn(async move {
            if let Some(parts) = accepted.respond().await {
                // This fails only when the client is gone.
                let _ = sender
                    .send(OutgoingMessage {
                        message: parts.into(),
                        cancellable: None,
                    })
                    .await;
            }
        });
        Ok(())
    }
}

impl Drop for Client {
    /// This also runs after a failed write, when the client cannot receive the responses any more.
    fn drop(&mut self) {
        self.disconnected.cancel();
        self.requests.cancel_all();
    }
}

async fn cancelled(cancellable: Option<&CancellableRequest>) {
    match cancellable {
        Some(cancellable) => cancellable.cancelled().await,
        None => std::future::pending().await,
    }
}

async fn send_listen_messages(accepted: modern::AcceptedListen, sender: &Sender) {
    let cancellable = accepted.cancellable();
    let mut stream = accepted.begin().await;
    while let Some(messages) = stream.next(std::future::pending()).await {
        for bytes in messages {
            let message = OutgoingMessage {
                message: bytes.into(),
                cancellable: cancellable.clone(),
            };
            if sender.send(message).await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
