//! Runs one operation: calls the gateway and writes its result as a JSON-RPC response in the form of the
//! client's protocol era.

mod contents;
mod definitions;
mod input;
mod resource_tools;
mod search;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::value::RawValue;

use super::Endpoint;
use super::call_stream::CancelOnDrop;
use super::era::{LEGACY, MODERN, declares_version};
use super::json_writer::{Object, object};
use super::message::{Id, Request};
use super::method::Operation;
use super::output::Output;
use super::peer::Peer;
use super::render;
use super::request_slot::RequestSlot;
use super::rpc_error::{
    DispatchError, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY,
    RpcError,
};
use super::subscriptions::Subscriptions;
use super::waiting_bytes::ChargedResponse;
use larder_model::prompt::ArgumentQuery;
use larder_model::resource::{Call, Caller, Completion, Freshness, Page, ReadResult, Scope};
use larder_model::trace::ActiveSpan;
use larder_runtime::metrics::{ProtocolEra, Refusal};

/// JavaScript's largest safe integer: clients that parse numbers as doubles cannot read a larger one exactly.
const MAX_TTL_MS: u64 = (1 << 53) - 1;

/// Bytes of a response without its content.
pub(super) const ENVELOPE: usize = 512;

/// Returns a JSON-RPC error response.
pub(super) fn error(id: Option<&Id>, rpc_error: &RpcError) -> Vec<u8> {
    object(|o| {
        o.text("jsonrpc", "2.0");
        // `id` is omitted when it could not be read: the schema does not allow null.
        if let Some(id) = id {
            o.json("id", id.json());
        }
        o.object("error", |o| {
            o.signed("code", rpc_error.code);
            o.text("message", &rpc_error.message);
            rpc_error.data.iter().for_each(|data| o.json("data", data));
        });
    })
}

impl Endpoint {
    /// Runs an operation and returns its JSON-RPC response, which may be an error.
    pub(super) async fn dispatch(
        &self,
        id: &Id,
        operation: &mut Operation,
        call: &mut Arc<Call>,
        peer: &Peer,
        slot: &mut RequestSlot,
    ) -> ChargedResponse {
        let modern = peer.is_modern();
        self.resolve_resource_tool(operation, call);
        let span = self.span(operation, call, modern);
        let _cancel_on_drop = CancelOnDrop(call.clone());
        self.0.metrics.server().request(
            operation.method().metric_label(),
            if modern {
                ProtocolEra::Modern
            } else {
                ProtocolEra::Legacy
            },
        );
        // A panic fails this request only.
        let outcome = AssertUnwindSafe(self.run(id, operation, call, peer, slot))
            .catch_unwind()
            .await;
        let (rpc_error, is_server_failure) = match outcome {
            Ok(Ok(response)) => {
                if let Some(span) = span {
                    span.end(None);
                }
                return self.charged(self.caller(call), id, response);
            }
            Ok(Err(DispatchError::Rpc(rpc_error))) => (rpc_error, false),
            Ok(Err(DispatchError::Gateway(error))) => (
                RpcError::from_gateway(&error, modern),
                error.is_server_failure(),
            ),
            Err(_) => (
                RpcError::new(INTERNAL_ERROR, "internal error: see the server's log"),
                true,
            ),
        };
        if let Some(mut span) = span {
            let code = rpc_error.code.to_string();
            span.set_attribute("rpc.response.status_code", code.as_str());
            // Only internal failures mark the span as failed; "not found", for example, is a normal response.
            span.end(is_server_failure.then_some(code));
        }
        let bytes = error(Some(id), &rpc_error);
        // A modern client must learn from the status that it lacks a capability.
        let is_refused = rpc_error.refusal == Some(Refusal::Overloaded)
            || rpc_error.code == MISSING_CLIENT_CAPABILITY;
        ChargedResponse {
            refused: is_refused.then(|| Box::new(rpc_error)),
            ..bytes.into()
        }
    }

    /// The caller of a request.
    fn caller<'a>(&'a self, call: &'a Call) -> &'a Caller {
        call.caller.as_ref().unwrap_or(&self.0.fixed.caller)
    }

    /// Starts the span of a request, if tracing is on, with the attributes of OpenTelemetry's conventions for
    /// MCP.
    fn span(
        &self,
        operation: &Operation,
        call: &mut Arc<Call>,
        modern: bool,
    ) -> Option<ActiveSpan> {
        // The `Arc` has not been cloned yet, so this succeeds.
        let mut span = self
            .0
            .telemetry
            .start_request(Arc::get_mut(call)?, operation.method().name())?;
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
            let era = if declares_version(&request.params) {
                ProtocolEra::Modern
            } else {
                ProtocolEra::Legacy
            };
            self.0.metrics.server().request("other", era);
        }
    }

    async fn run(
        &self,
        id: &Id,
        operation: &mut Operation,
        call: &Arc<Call>,
        peer: &Peer,
        slot: &mut RequestSlot,
    ) -> Result<ChargedResponse, DispatchError> {
        let modern = peer.is_modern();
        let gateway = &self.0.gateway;
        Ok(match operation {
            Operation::Discover => self.discover(id, self.caller(call)),
            Operation::Ping => self.result(id, modern, ResultMetadata::default(), |_| {}),
            Operation::List { cursor, filter } => {
                let page = gateway.list(call, cursor.as_deref(), filter).await?;
                let items: Vec<_> = page
                    .items
                    .iter()
                    .map(|entry| render::entry_json(entry))
                    .collect();
                self.page(id, modern, call, &page, "resources", &items)?
            }
            Operation::Templates { cursor, filter } => {
                let page = gateway.templates(call, cursor.as_deref(), filter).await?;
                let items: Vec<_> = page
                    .items
                    .iter()
                    .map(|item| render::template_json(item))
                    .collect();
                self.page(id, modern, call, &page, "resourceTemplates", &items)?
            }
            Operation::Read { uri, known_version } => {
                let reading = gateway.read(call, uri, known_version.as_deref()).await?;
                self.read_result(id, modern, call, reading).await?
            }
            Operation::Complete(request) => {
                self.completion(id, modern, &gateway.complete(call, taken(request)?).await?)
            }
            Operation::CompleteArgument(query) => {
                let completion = gateway.complete_argument(call, ArgumentQuery::clone(query));
                self.completion(id, modern, &completion.boxed().await?)
            }
            // Boxed: the futures of all requests would have room for them, and most requests are reads.
            Operation::Tools { cursor } => {
                self.tools(id, modern, call, cursor.as_deref())
                    .boxed()
                    .await?
            }
            Operation::CallTool(request) => {
                self.call_tool(id, call, request, peer, slot)
                    .boxed()
                    .await?
            }
            Operation::CallResourceTool(request) => {
                self.call_resource_tool(id, modern, call, request)
                    .boxed()
                    .await?
            }
            Operation::Search { query, cursor } => {
                let page = gateway
                    .search(call, query, cursor.as_deref())
                    .boxed()
                    .await?;
                self.search_result(id, modern, call, &page)?
            }
            Operation::Prompts { cursor } => {
                self.prompts(id, modern, call, cursor.as_deref())
                    .boxed()
                    .await?
            }
            Operation::GetPrompt(request) => {
                self.get_prompt(id, call, request, peer, slot)
                    .boxed()
                    .await?
            }
            Operation::Subscribe { uri } => {
                self.subscribe(subscriptions(peer)?, call, uri.clone())
                    .await?;
                self.result(id, modern, ResultMetadata::default(), |_| {})
            }
            Operation::SetLogLevel(level) => {
                if let Peer::Legacy(client) = peer {
                    client.side.set_log_level(*level);
                    // Other replicas have to know it.
                    client.subscriptions.save().boxed().await;
                }
                self.result(id, modern, ResultMetadata::default(), |_| {})
            }
            Operation::Unsubscribe { uri } => {
                subscriptions(peer)?.unsubscribe([&*uri]).await;
                self.result(id, modern, ResultMetadata::default(), |_| {})
            }
            Operation::Get { uri, known_version } => {
                let reading = gateway.read(call, uri, known_version.as_deref()).await?;
                self.get_result(id, modern, call, uri, reading)
                    .boxed()
                    .await?
            }
            Operation::SubscribeAll { uris } => {
                self.subscribe_all(subscriptions(peer)?, call, uris).await?;
                self.result(id, modern, ResultMetadata::default(), |_| {})
            }
            Operation::UnsubscribeAll { uris } => {
                subscriptions(peer)?.unsubscribe(&*uris).await;
                self.result(id, modern, ResultMetadata::default(), |_| {})
            }
            Operation::InvalidUri { method, invalid } => {
                if method.is_read() {
                    gateway.record_bad_uri(call, &invalid.text).await?;
                }
                return Err(RpcError::new(INVALID_PARAMS, invalid.error.to_string()).into());
            }
        })
    }

    fn discover(&self, id: &Id, caller: &Caller) -> ChargedResponse {
        let server = self.0.gateway.instructions(caller);
        self.result(
            id,
            true,
            ResultMetadata {
                freshness: Some(server.freshness),
                ..ResultMetadata::default()
            },
            |o| {
                o.texts("supportedVersions", std::iter::once(MODERN).chain(LEGACY));
                write_capabilities(o);
                o.optional_text("instructions", server.instructions.as_deref());
            },
        )
    }

    fn page<T>(
        &self,
        id: &Id,
        modern: bool,
        call: &Call,
        page: &Page<T>,
        key: &'static str,
        items: &[&[u8]],
    ) -> Result<ChargedResponse, RpcError> {
        let size = items.iter().map(|item| item.len() + 1).sum::<usize>();
        let incomplete = &page.incomplete[..];
        let metadata = ResultMetadata {
            freshness: Some(page.freshness),
            incomplete,
            ..ResultMetadata::default()
        };
        self.result_in(self.output(call, size)?, id, modern, metadata, |o| {
            o.json_array(key, items.iter().copied());
            o.optional_text("nextCursor", page.next.as_deref());
        })
    }

    fn completion(&self, id: &Id, modern: bool, completion: &Completion) -> ChargedResponse {
        self.result(id, modern, ResultMetadata::default(), |o| {
            o.object("completion", |o| {
                o.texts(
                    "values",
                    completion.values.iter().take(100).map(String::as_str),
                );
                if let Some(total) = completion.total {
                    o.integer("total", total);
                }
                o.flag(
                    "hasMore",
                    completion.has_more || completion.values.len() > 100,
                );
            });
        })
    }

    fn result(
        &self,
        id: &Id,
        modern: bool,
        metadata: ResultMetadata<'_>,
        fill: impl FnOnce(&mut Object<'_>),
    ) -> ChargedResponse {
        let mut out = Output::with_capacity(ENVELOPE);
        self.write_result(&mut out, id, modern, metadata, fill);
        std::mem::take(&mut *out).into()
    }

    /// Writes a result that can be large into this buffer.
    fn result_in(
        &self,
        mut out: Output,
        id: &Id,
        modern: bool,
        metadata: ResultMetadata<'_>,
        fill: impl FnOnce(&mut Object<'_>),
    ) -> Result<ChargedResponse, RpcError> {
        self.write_result(&mut out, id, modern, metadata, fill);
        self.finished(out)
    }

    fn write_result(
        &self,
        out: &mut Output,
        id: &Id,
        modern: bool,
        metadata: ResultMetadata<'_>,
        fill: impl FnOnce(&mut Object<'_>),
    ) {
        // Responses that require a credential must not be stored in a shared cache.
        let metadata = if self.0.authenticator.allows_anonymous() {
            metadata
        } else {
            metadata.private()
        };
        super::json_writer::write_object(out, |o| {
            o.text("jsonrpc", "2.0");
            o.json("id", id.json());
            o.object("result", |o| {
                if modern {
                    o.text("resultType", "complete");
                }
                fill(o);
                metadata.write(o, modern, &self.0.settings.load().server_info);
            });
        });
    }
}

fn subscriptions(peer: &Peer) -> Result<&Subscriptions, RpcError> {
    match peer {
        Peer::Legacy(client) => Ok(&client.subscriptions),
        Peer::Modern | Peer::Uninitialized => Err(RpcError::unknown_method("resources/subscribe")),
    }
}

/// Takes the parameters of an operation, which runs once.
fn taken<T>(parameters: &mut Option<T>) -> Result<T, RpcError> {
    parameters
        .take()
        .ok_or_else(|| RpcError::new(INTERNAL_ERROR, "the request has run already"))
}

/// Writes the capabilities of the server. Tools and prompts are among them although there may be none: agent
/// frameworks list both in any case, and fail on an error.
pub(super) fn write_capabilities(o: &mut Object<'_>) {
    let lists = r#""resources":{"subscribe":true,"listChanged":true},"tools":{"listChanged":true},"prompts":{"listChanged":true}"#;
    o.json(
        "capabilities",
        &format!(r#"{{{lists},"completions":{{}},"logging":{{}}}}"#),
    );
}

/// Metadata of a result: how long it may be cached, and the version of the resource.
#[derive(Default)]
struct ResultMetadata<'a> {
    freshness: Option<Freshness>,
    version: Option<&'a str>,
    /// The providers whose entries are missing in a list.
    incomplete: &'a [String],
    /// Metadata from the provider.
    of_provider: &'a [(String, Box<RawValue>)],
}

impl<'a> ResultMetadata<'a> {
    fn of(reading: &'a ReadResult) -> Self {
        let version = reading.version.as_deref();
        Self {
            freshness: Some(reading.freshness),
            version,
            ..Self::default()
        }
    }
}

impl ResultMetadata<'_> {
    fn private(mut self) -> Self {
        if let Some(freshness) = &mut self.freshness {
            freshness.scope = Scope::Caller;
        }
        self
    }

    fn write(&self, o: &mut Object<'_>, modern: bool, server: &str) {
        if let (true, Some(freshness)) = (modern, self.freshness) {
            o.integer("ttlMs", milliseconds(freshness.ttl));
            o.text(
                "cacheScope",
                match freshness.scope {
                    Scope::Everyone => "public",
                    Scope::Caller => "private",
                },
            );
        }
        if !modern
            && self.version.is_none()
            && self.incomplete.is_empty()
            && self.of_provider.is_empty()
        {
            return;
        }
        o.object("_meta", |o| {
            if modern {
                o.json("io.modelcontextprotocol/serverInfo", server);
            }
            o.optional_text(render::VERSION_KEY, self.version);
            render::write_provider_metadata(o, self.of_provider);
            if !self.incomplete.is_empty() {
                o.texts(
                    render::INCOMPLETE_KEY,
                    self.incomplete.iter().map(String::as_str),
                );
            }
        });
    }
}

fn milliseconds(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).map_or(MAX_TTL_MS, |ttl| ttl.min(MAX_TTL_MS))
}
