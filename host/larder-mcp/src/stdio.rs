//! MCP over stdio: one message per line. Requests run concurrently, and only messages are written to the
//! output.

mod lines;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use self::lines::{Line, Lines};
use super::Endpoint;
use super::cancellation::{CancellableRequest, CancellableRequests};
use super::dispatch::{Peer, error};
use super::era::{LegacyVersion, RequestKind, classify, declares_version};
use super::extension::{ContentUpdates, Subscriptions};
use super::json_writer::array;
use super::listen::{ListenFilter, ListenSubscription, notification};
use super::message::{self, Incoming, Message, Request};
use super::method::{self, Method, ParsedRequest};
use super::progress::{CallStream, StreamItem};
use super::rpc_error::{INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, RpcError};
use larder_core::catalog::Change;

/// Maximum number of requests that run concurrently. Further requests wait.
const MAX_RUNNING: usize = 64;
/// Maximum number of requests that run or wait. Further requests are rejected.
const MAX_REQUESTS: usize = 1024;
/// Capacity of the queue of messages that are not written yet.
const OUTPUT_QUEUE: usize = 16;
/// How long requests may continue after the end of the input.
const EOF_GRACE: Duration = Duration::from_secs(1);

/// A message to be written, unless its request is cancelled first.
struct OutgoingMessage {
    bytes: Vec<u8>,
    handle: Option<Arc<CancellableRequest>>,
}

/// The state of the client. Dropping it cancels the client's requests.
struct Client {
    endpoint: Endpoint,
    version: Option<LegacyVersion>,
    subscriptions: Option<Arc<Subscriptions>>,
    requests: Arc<CancellableRequests>,
    running: Arc<Semaphore>,
    /// The number of changes so far, sent or pending.
    changes: u64,
    disconnected: CancellationToken,
}

impl Endpoint {
    /// Serves one client until its input ends or the server stops.
    pub async fn serve_stdio<R, W>(&self, input: R, mut output: W) -> io::Result<()>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let mut lines = Lines::new(BufReader::new(input), self.0.config.body_limit);
        let mut client = Client::new(self.clone());
        let (sender, mut outgoing) = mpsc::channel(OUTPUT_QUEUE);
        let mut sender = Some(sender);
        let mut content_updates = None;
        let mut grace = pin!(None::<tokio::time::Sleep>);
        loop {
            let open = sender.is_some();
            tokio::select! {
                line = lines.next(), if open => match line? {
                    Line::End => {
                        sender = None;
                        client.disconnected.cancel();
                        grace.set(Some(tokio::time::sleep(EOF_GRACE)));
                    }
                    line => client.handle_line(line, sender.as_ref(), &mut output).await?,
                },
                next = outgoing.recv() => match next {
                    Some(next) => write(&mut output, next).await?,
                    None => return Ok(()),
                },
                changes = next_changes(&client), if open => client.send_changes(changes, &mut content_updates, &mut output).await?,
                bytes = next_content_update(&mut content_updates), if open => write(&mut output, OutgoingMessage { bytes, handle: None }).await?,
                () = self.0.drain.stopping(), if open => sender = None,
                () = grace_expired(grace.as_mut()) => client.requests.cancel_all(),
            }
            if grace.as_ref().as_pin_ref().is_some_and(|grace| grace.is_elapsed()) {
                grace.set(None);
            }
        }
    }
}

async fn grace_expired(grace: std::pin::Pin<&mut Option<tokio::time::Sleep>>) {
    match grace.as_pin_mut() {
        Some(grace) => grace.await,
        None => std::future::pending().await,
    }
}

async fn next_changes(client: &Client) -> Vec<Change> {
    match &client.subscriptions {
        Some(subscriptions) => subscriptions.watch.next().await,
        None => std::future::pending().await,
    }
}

async fn next_content_update(content_updates: &mut Option<ContentUpdates>) -> Vec<u8> {
    match content_updates {
        Some(content_updates) => content_updates.next().await,
        None => std::future::pending().await,
    }
}

async fn write(output: &mut (impl AsyncWrite + Unpin), mut message: OutgoingMessage) -> io::Result<()> {
    if message.handle.as_ref().is_some_and(|handle| handle.is_cancelled()) {
        return Ok(());
    }
    message.bytes.push(b'\n');
    output.write_all(&message.bytes).await?;
    output.flush().await
}

impl Client {
    fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            version: None,
            subscriptions: None,
            requests: Arc::default(),
            running: Arc::new(Semaphore::new(MAX_RUNNING)),
            changes: 0,
            disconnected: CancellationToken::new(),
        }
    }

    /// Sends notifications of changes. Updates that need a read from a provider are sent later, and delay
    /// nothing else.
    async fn send_changes(
        &mut self,
        changes: Vec<Change>,
        content_updates: &mut Option<ContentUpdates>,
        output: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let Some(subscriptions) = &self.subscriptions else { return Ok(()) };
        let content_updates = content_updates
            .get_or_insert_with(|| ContentUpdates::new(self.endpoint.clone(), subscriptions.clone()));
        let first = self.changes + 1;
        self.changes += changes.len() as u64;
        for (_, change) in content_updates.take((first..).zip(changes)) {
            write(output, OutgoingMessage { bytes: notification(&change, None), handle: None }).await?;
        }
        Ok(())
    }

    /// Handles one line: writes an immediate response, or starts the request.
    async fn handle_line(
        &mut self,
        line: Line,
        sender: Option<&mpsc::Sender<OutgoingMessage>>,
        output: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let bytes = match line {
            Line::Complete(bytes) if bytes.trim_ascii().is_empty() => None,
            Line::Complete(bytes) => sender.and_then(|sender| self.handle_text(&bytes, sender)),
            Line::TooLong => {
                let limit = self.endpoint.0.config.body_limit;
                Some(error(
                    None,
                    &RpcError::new(PARSE_ERROR, format!("the line has more than {limit} bytes")),
                ))
            }
            Line::End => None,
        };
        match bytes {
            Some(bytes) => write(output, OutgoingMessage { bytes, handle: None }).await,
            None => Ok(()),
        }
    }

    fn handle_text(&mut self, bytes: &[u8], sender: &mpsc::Sender<OutgoingMessage>) -> Option<Vec<u8>> {
        match message::read(bytes) {
            Err(rpc_error) => Some(error(None, &rpc_error)),
            Ok(Incoming::One(message)) => self.handle_message(message, sender),
            Ok(Incoming::Batch(batch)) => self.batch(batch, sender),
        }
    }

    fn handle_message(
        &mut self,
        message: Message<'_>,
        sender: &mpsc::Sender<OutgoingMessage>,
    ) -> Option<Vec<u8>> {
        match message {
            Message::Malformed { id, rpc_error } => Some(error(id.as_ref(), &rpc_error)),
            Message::Response => None,
            Message::Notification(notification) => {
                if notification.method == "notifications/cancelled" {
                    self.requests.cancel(&notification.params);
                }
                None
            }
            Message::Request(request) => match self.handle_request(&request, sender) {
                Ok(response) => response,
                Err(rpc_error) => Some(self.error_response(&request, &rpc_error)),
            },
        }
    }

    fn error_response(&self, request: &Request<'_>, rpc_error: &RpcError) -> Vec<u8> {
        self.endpoint.count_unknown_method(request, rpc_error);
        error(Some(&request.id), rpc_error)
    }

    fn handle_request(
        &mut self,
        request: &Request<'_>,
        sender: &mpsc::Sender<OutgoingMessage>,
    ) -> Result<Option<Vec<u8>>, RpcError> {
        match classify(request, None)? {
            RequestKind::Initialize => return self.initialize(request).map(Some),
            RequestKind::Listen => self.listen(request, sender)?,
            RequestKind::Modern(method) => {
                let method = self.endpoint.supported_method(method, request)?;
                let (call, handle) = self.start(request, method, Peer::Modern)?;
                self.send(call, handle, sender);
            }
            RequestKind::Legacy => {
                let (call, handle) = self.start_legacy(request)?;
                self.send(call, handle, sender);
            }
        }
        Ok(None)
    }

    fn initialize(&mut self, request: &Request<'_>) -> Result<Vec<u8>, RpcError> {
        let version = LegacyVersion::from_initialize(request)?;
        let caller = &self.endpoint.0.config.caller;
        let subscriptions =
            || Arc::new(Subscriptions::new(self.endpoint.0.gateway.watch(caller), caller.clone()));
        self.subscriptions.get_or_insert_with(subscriptions).watch.watch_list(true);
        self.version = Some(version);
        Ok(self.endpoint.handshake(request, None, version, caller))
    }

    fn start_legacy(&self, request: &Request<'_>) -> Result<(CallStream, Arc<CancellableRequest>), RpcError> {
        let method = self.endpoint.legacy_method(request)?;
        let caller = &self.endpoint.0.config.caller;
        let peer = match (&self.subscriptions, method) {
            (Some(subscriptions), _) => Peer::Legacy(subscriptions.clone()),
            // A client may ping before it initializes.
            (None, Method::Ping) => Peer::Legacy(Arc::new(Subscriptions::new(
                self.endpoint.0.gateway.watch(caller),
                caller.clone(),
            ))),
            (None, _) => return Err(RpcError::new(INVALID_REQUEST, "call `initialize` first")),
        };
        self.start(request, method, peer)
    }

    fn start(
        &self,
        request: &Request<'_>,
        method: Method,
        peer: Peer,
    ) -> Result<(CallStream, Arc<CancellableRequest>), RpcError> {
        let ParsedRequest { id, operation, call, progress } =
            ParsedRequest::read(request, method, self.endpoint.0.config.caller.clone())?;
        let handle = self.register(request)?;
        let (running, cancellation) = (self.running.clone(), handle.clone());
        // These need no provider, so they do not wait for running requests.
        let is_immediate = matches!(method, Method::Ping | Method::Discover);
        let response = self.endpoint.clone().dispatch(id, operation, call, peer).boxed();
        let response = async move {
            let _permit = if is_immediate { None } else { running.acquire_owned().await.ok() };
            cancellation.until_cancelled(pin!(response)).await
        };
        Ok((CallStream::new(progress, response.boxed()), handle))
    }

    fn register(&self, request: &Request<'_>) -> Result<Arc<CancellableRequest>, RpcError> {
        if self.requests.len() >= MAX_REQUESTS {
            return Err(RpcError::new(
                INTERNAL_ERROR,
                "too many requests are under way: wait for some to end",
            ));
        }
        self.requests.register(&request.id).map(Arc::new).ok_or_else(RpcError::duplicate_id)
    }

    fn send(
        &self,
        mut call: CallStream,
        handle: Arc<CancellableRequest>,
        sender: &mpsc::Sender<OutgoingMessage>,
    ) {
        let sender = sender.clone();
        self.endpoint.0.drain.spawn(async move {
            while let Some(StreamItem::Progress(bytes) | StreamItem::Response(bytes)) = call.next().await {
                let message = OutgoingMessage { bytes, handle: Some(handle.clone()) };
                if sender.send(message).await.is_err() {
                    return;
                }
            }
        });
    }

    fn listen(&self, request: &Request<'_>, sender: &mpsc::Sender<OutgoingMessage>) -> Result<(), RpcError> {
        let filter = ListenFilter::read(&request.params)?;
        let call = method::new_call(&request.params, self.endpoint.0.config.caller.clone())?;
        let team_permit = self
            .endpoint
            .0
            .gateway
            .stream_permit(&self.endpoint.0.config.caller)
            .map_err(RpcError::quota_exceeded)?;
        let server_permit = self.endpoint.0.stream_permits.clone().try_acquire_owned();
        let server_permit = server_permit
            .map_err(|_| RpcError::new(INTERNAL_ERROR, "too many clients are listening: end some first"))?;
        let handle = self.register(request)?;
        let (endpoint, sender, disconnected, id) =
            (self.endpoint.clone(), sender.clone(), self.disconnected.clone(), request.id.clone());
        self.endpoint.0.drain.spawn(async move {
            let listening = async {
                let subscription = ListenSubscription::begin(&endpoint, id, filter, call).await;
                listen(&endpoint, &subscription, &handle, &sender).await;
            };
            tokio::select! {
                () = handle.cancelled() => {}
                () = disconnected.cancelled() => {}
                () = listening => {}
            }
            drop((server_permit, team_permit));
        });
        Ok(())
    }

    /// Starts the requests of a batch. Their responses are written in one line.
    fn batch(&mut self, batch: Vec<Message<'_>>, sender: &mpsc::Sender<OutgoingMessage>) -> Option<Vec<u8>> {
        let is_modern = batch
            .iter()
            .any(|message| matches!(message, Message::Request(request) if declares_version(&request.params)));
        if is_modern || !self.version.is_some_and(LegacyVersion::has_batches) {
            return Some(error(
                None,
                &RpcError::new(INVALID_REQUEST, "this version of the protocol has no batches"),
            ));
        }
        let (mut responses, mut calls) = (vec![], vec![]);
        for message in batch {
            match message {
                Message::Request(request) => match self.start_legacy(&request) {
                    Ok(call) => calls.push(call),
                    Err(rpc_error) => responses.push(self.error_response(&request, &rpc_error)),
                },
                other => responses.extend(self.handle_message(other, sender)),
            }
        }
        let sender = sender.clone();
        self.endpoint.0.drain.spawn(async move {
            for (mut call, _handle) in calls {
                while let Some(item) = call.next().await {
                    if let StreamItem::Response(bytes) = item {
                        responses.push(bytes);
                    }
                }
            }
            if !responses.is_empty() {
                // This fails only when the client is gone.
                let _ = sender.send(OutgoingMessage { bytes: array(&responses), handle: None }).await;
            }
        });
        None
    }
}

impl Drop for Client {
    /// Also runs after a failed write, when nobody can receive the responses.
    fn drop(&mut self) {
        self.disconnected.cancel();
        self.requests.cancel_all();
    }
}

async fn listen(
    endpoint: &Endpoint,
    subscription: &ListenSubscription,
    handle: &Arc<CancellableRequest>,
    sender: &mpsc::Sender<OutgoingMessage>,
) {
    let send = |bytes| sender.send(OutgoingMessage { bytes, handle: Some(handle.clone()) });
    if send(subscription.acknowledgement()).await.is_err() {
        return;
    }
    loop {
        let notifications = tokio::select! {
            () = endpoint.0.drain.stopping() => {
                // This fails only when the client is gone.
                let _ = send(endpoint.listen_result(subscription.id())).await;
                return;
            }
            notifications = subscription.next() => notifications,
        };
        for bytes in notifications {
            if send(bytes).await.is_err() {
                return;
            }
        }
    }
}
