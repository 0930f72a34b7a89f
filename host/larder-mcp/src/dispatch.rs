//! Runs one operation: calls the gateway and writes its result as a JSON-RPC response in the form of the
//! client's protocol era. It charges what it writes to the caller. It uses `era` and the modules that `era` uses, but
//! neither sessions nor transports.

mod charging;
mod contents;
mod definitions;
mod input;
mod resource_tools;
mod results;
mod search;
mod skills;

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt as _;

use self::results::{Context, ResultMetadata};
use crate::Endpoint;
use crate::client_side::call_stream::CancelOnDrop;
use crate::client_side::cancellation::CancellableRequest;
use crate::era::method::{Method, Operation};
use crate::era::peer::{LegacyPeer, Peer};
use crate::era::request_slot::RequestSlot;
use crate::era::{MODERN, declares_version};
use crate::outgoing::waiting_bytes::ChargedResponse;
use crate::wire::error_message::error;
use crate::wire::json_writer::Object;
use crate::wire::message::{Id, Request};
use crate::wire::rpc_error::{
    DispatchError, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY,
    RpcError,
};
use larder_model::interaction::Severity;
use larder_model::prompt::ArgumentQuery;
use larder_model::resource::{Call, Caller};
use larder_model::trace::ActiveSpan;
use larder_model::uri::Uri;
use larder_runtime::metrics::{ProtocolEra, Refusal};

/// Bytes of a response without its content.
pub(super) const ENVELOPE: usize = 512;

/// A request whose parameters were read: what is needed to run it.
pub(super) struct Work {
    pub(super) endpoint: Endpoint,
    pub(super) id: Id,
    pub(super) method: Method,
    pub(super) operation: Operation,
    pub(super) call: Arc<Call>,
    pub(super) peer: Peer,
    pub(super) slot: RequestSlot,
    pub(super) cancellable: Option<Arc<CancellableRequest>>,
}

impl Work {
    /// Runs the request, once it has a permit, and returns its JSON-RPC response, which may be an error. Returns `None`
    /// if the request is cancelled.
    ///
    /// The future and the futures inside it borrow the request: a value that is passed to an `async fn` takes space
    /// twice in its future, and a future is copied when it is passed to another function.
    pub(super) async fn run(&mut self) -> Option<ChargedResponse> {
        let Self {
            endpoint,
            id,
            method,
            operation,
            call,
            peer,
            slot,
            cancellable,
        } = self;
        slot.acquire().await;
        let modern = peer.is_modern();
        endpoint.resolve_resource_tool(operation, call);
        let span = endpoint.span(*method, operation, call, modern);
        let _cancel_on_drop = CancelOnDrop(call.clone());
        endpoint.count_method(method.metric_label(), modern);
        let context = Context {
            endpoint,
            id,
            modern,
            call,
        };
        // A panic fails only this request.
        let running = pin!(AssertUnwindSafe(context.run(operation, peer, slot)).catch_unwind());
        let outcome = match cancellable {
            None => running.await,
            Some(cancellable) => cancellable.until_cancelled(running).await?,
        };
        let failure = match outcome {
            Ok(Ok(response)) => {
                if let Some(span) = span {
                    span.end(None);
                }
                return Some(endpoint.charged(endpoint.caller(call), id, response));
            }
            Ok(Err(error)) => Failure::of(error, modern),
            Err(_) => Failure::of_panic(),
        };
        if let Some(span) = span {
            failure.end(span);
        }
        Some(failure.response(id))
    }
}

impl Endpoint {
    fn count_method(&self, method: &str, modern: bool) {
        let era = if modern {
            ProtocolEra::Modern
        } else {
            ProtocolEra::Legacy
        };
        self.0.metrics.server().request(method, era);
    }

    /// The caller of a request.
    fn caller<'a>(&'a self, call: &'a Call) -> &'a Caller {
        call.caller.as_ref().unwrap_or(&self.0.fixed.caller)
    }

    /// Starts the span of a request, if tracing is on, with the attributes of OpenTelemetry's conventions for
    /// MCP.
    fn span(
        &self,
        method: Method,
        operation: &Operation,
        call: &mut Arc<Call>,
        modern: bool,
    ) -> Option<ActiveSpan> {
        // The `Arc` has not been cloned yet, so this succeeds.
        let mut span = self
            .0
            .telemetry
            .start_request(Arc::get_mut(call)?, method.name())?;
        if modern {
            span.set_attribute("mcp.protocol.version", MODERN);
        }
        if let Some(uri) = operation.uri() {
            span.set_attribute("mcp.resource.uri", uri);
        }
        Some(span)
    }

    /// Counts a request with an unknown method.
    pub(super) fn count_unknown_method(&self, request: &Request<'_>, rpc_error: &RpcError) {
        if rpc_error.code == METHOD_NOT_FOUND {
            self.count_method("other", declares_version(&request.params));
        }
    }
}

impl Context<'_> {
    async fn run(
        self,
        operation: &mut Operation,
        peer: &Peer,
        slot: &mut RequestSlot,
    ) -> Result<ChargedResponse, DispatchError> {
        let call = self.call;
        let gateway = self.gateway();
        Ok(match operation {
            Operation::Discover => self.discover(),
            Operation::Ping => self.empty_result(),
            Operation::List { cursor, filter } => {
                self.entry_page(&gateway.list(call, cursor.as_deref(), filter).await?)?
            }
            Operation::Templates { cursor, filter } => {
                self.template_page(&gateway.templates(call, cursor.as_deref(), filter).await?)?
            }
            Operation::Read { uri, known_version } => {
                let reading = gateway.read(call, uri, known_version.as_deref()).await?;
                self.read_result(reading).await?
            }
            Operation::Get { uri, known_version } => {
                let reading = gateway.read(call, uri, known_version.as_deref()).await?;
                self.get_result(uri, reading).boxed().await?
            }
            Operation::Complete(request) => {
                self.completion(&gateway.complete(call, taken(request)?).await?)
            }
            // Boxed: the futures of all requests would contain these futures, and most requests are reads.
            Operation::CompleteArgument(query) => self.complete_argument(query).boxed().await?,
            Operation::Tools { cursor, for_apps } => {
                self.tools(cursor.as_deref(), *for_apps).boxed().await?
            }
            Operation::CallTool(request) => self.call_tool(request, peer, slot).boxed().await?,
            Operation::CallResourceTool(request) => {
                self.call_resource_tool(request).boxed().await?
            }
            Operation::Skills { cursor } => self.skills(cursor.as_deref()).boxed().await?,
            Operation::GetSkill { uri } => self.skill(uri).boxed().await?,
            Operation::Directory { uri, cursor } => {
                self.directory(uri, cursor.as_deref()).boxed().await?
            }
            Operation::Search { query, cursor } => {
                self.search(query, cursor.as_deref()).boxed().await?
            }
            Operation::Prompts { cursor } => self.prompts(cursor.as_deref()).boxed().await?,
            Operation::GetPrompt(request) => self.get_prompt(request, peer, slot).boxed().await?,
            Operation::SetLogLevel(level) => self.set_log_level(peer, *level),
            Operation::Subscribe { uris, with_content } => {
                self.subscribe(peer, uris, *with_content).boxed().await?
            }
            Operation::Unsubscribe { uris } => self.unsubscribe(peer, uris).boxed().await?,
            Operation::InvalidUri { is_read, invalid } => {
                if *is_read {
                    gateway.record_bad_uri(call, &invalid.text).await?;
                }
                return Err(RpcError::new(INVALID_PARAMS, invalid.error.to_string()).into());
            }
        })
    }

    async fn complete_argument(
        self,
        query: &ArgumentQuery,
    ) -> Result<ChargedResponse, DispatchError> {
        let gateway = self.gateway();
        let completion = gateway.complete_argument(self.call, query.clone()).await?;
        Ok(self.completion(&completion))
    }

    fn set_log_level(self, peer: &Peer, level: Severity) -> ChargedResponse {
        if let Peer::Legacy(client) = peer {
            client.side.set_log_level(level);
        }
        self.empty_result()
    }

    async fn subscribe(
        self,
        peer: &Peer,
        uris: &[Uri],
        with_content: bool,
    ) -> Result<ChargedResponse, DispatchError> {
        let client = legacy_client(peer)?;
        self.endpoint
            .subscribe(&client.subscriptions, self.call, uris, with_content)
            .await?;
        Ok(self.saved(client).await)
    }

    async fn unsubscribe(
        self,
        peer: &Peer,
        uris: &[String],
    ) -> Result<ChargedResponse, DispatchError> {
        let client = legacy_client(peer)?;
        client.subscriptions.unsubscribe(uris);
        Ok(self.saved(client).await)
    }

    /// Stores changed subscriptions before the client is told that they changed.
    async fn saved(self, client: &LegacyPeer) -> ChargedResponse {
        client.subscriptions.save(client.storage.as_ref()).await;
        self.empty_result()
    }
}

/// Why a request failed.
struct Failure {
    rpc_error: RpcError,
    /// Only internal failures mark the span as failed; "not found", for example, is a normal response.
    is_server_failure: bool,
}

impl Failure {
    fn of(error: DispatchError, modern: bool) -> Self {
        match error {
            DispatchError::Rpc(rpc_error) => Self {
                rpc_error,
                is_server_failure: false,
            },
            DispatchError::Gateway(error) => Self {
                rpc_error: RpcError::from_gateway(&error, modern),
                is_server_failure: error.is_server_failure(),
            },
        }
    }

    fn of_panic() -> Self {
        Self {
            rpc_error: RpcError::new(INTERNAL_ERROR, "internal error: see the server's log"),
            is_server_failure: true,
        }
    }

    fn end(&self, mut span: ActiveSpan) {
        let code = self.rpc_error.code.to_string();
        span.set_attribute("rpc.response.status_code", code.as_str());
        span.end(self.is_server_failure.then_some(code));
    }

    fn response(self, id: &Id) -> ChargedResponse {
        let bytes = error(Some(id), &self.rpc_error);
        // The status must tell a modern client that it lacks a capability.
        let is_refused = self.rpc_error.refusal == Some(Refusal::Overloaded)
            || self.rpc_error.code == MISSING_CLIENT_CAPABILITY;
        ChargedResponse {
            refused: is_refused.then(|| Box::new(self.rpc_error)),
            ..bytes.into()
        }
    }
}

fn legacy_client(peer: &Peer) -> Result<&LegacyPeer, RpcError> {
    match peer {
        Peer::Legacy(client) => Ok(client),
        Peer::Modern | Peer::Uninitialized => Err(RpcError::unknown_method("resources/subscribe")),
    }
}

/// Takes the parameters of an operation, which runs once.
fn taken<T>(parameters: &mut Option<T>) -> Result<T, RpcError> {
    parameters
        .take()
        .ok_or_else(|| RpcError::new(INTERNAL_ERROR, "the request has run already"))
}

/// Writes the capabilities of the server. Tools and prompts are declared also if there are none: agent frameworks list
/// both in any case, and an error makes them fail. The skills extension is declared also if there are no skills, because
/// folders can be listed. The apps extension is declared if a tool has a page.
pub(super) fn write_capabilities(o: &mut Object<'_>, has_apps: bool) {
    let lists = r#""resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true},"prompts":{"listChanged":true}"#;
    let skills = r#""io.modelcontextprotocol/skills":{"directoryRead":true}"#;
    let apps = if has_apps {
        r#","io.modelcontextprotocol/ui":{}"#
    } else {
        ""
    };
    o.json(
        "capabilities",
        &format!(
            r#"{{{lists},"completions":{{}},"logging":{{}},"extensions":{{{skills}{apps}}}}}"#
        ),
    );
}
