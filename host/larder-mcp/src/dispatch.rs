//! Runs one operation: calls the gateway and writes its result as a JSON-RPC response in the form of the
//! client's protocol era.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;

use super::Endpoint;
use super::era::{LEGACY, MODERN, declares_version};
use super::escape;
use super::extension;
use super::json_writer::{Object, object, write_objects};
use super::message::{Id, Request};
use super::method::Operation;
use super::progress::CancelOnDrop;
use super::render;
use super::rpc_error::{DispatchError, INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RpcError};
use super::subscriptions::Subscriptions;
use larder_model::resource::{Body, Call, Caller, Completion, Content, Freshness, Page, ReadResult, Scope};
use larder_model::trace::ActiveSpan;
use larder_runtime::metrics::ProtocolEra;

/// JavaScript's largest safe integer: clients that parse numbers as doubles cannot read a larger one exactly.
const MAX_TTL_MS: u64 = (1 << 53) - 1;

/// The client of a request.
#[derive(Clone)]
pub(super) enum Peer {
    Modern,
    /// With its subscriptions.
    Legacy(Arc<Subscriptions>),
    /// A legacy client before `initialize`, which may only ping.
    Uninitialized,
}

impl Peer {
    fn is_modern(&self) -> bool {
        matches!(self, Self::Modern)
    }
}

/// Returns a JSON-RPC error response.
pub(super) fn error(id: Option<&Id>, rpc_error: &RpcError) -> Vec<u8> {
    object(|o| {
        o.text("jsonrpc", "2.0");
        // `id` is omitted when it could not be read: the schema does not allow null.
        id.into_iter().for_each(|id| o.json("id", id.json()));
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
    ) -> Vec<u8> {
        let modern = peer.is_modern();
        let span = self.span(operation, call, modern);
        let _cancel_on_drop = CancelOnDrop(call.clone());
        self.0.metrics.server().request(
            operation.method().metric_label(),
            if modern { ProtocolEra::Modern } else { ProtocolEra::Legacy },
        );
        // A panic fails this request only.
        let outcome = AssertUnwindSafe(self.run(id, operation, call, peer)).catch_unwind().await;
        let (rpc_error, is_server_failure) = match outcome {
            Ok(Ok(bytes)) => {
                span.into_iter().for_each(|span| span.end(None));
                return bytes;
            }
            Ok(Err(DispatchError::Rpc(rpc_error))) => (rpc_error, false),
            Ok(Err(DispatchError::Gateway(error))) => {
                (RpcError::from_gateway(&error, modern), error.is_server_failure())
            }
            Err(_) => (RpcError::new(INTERNAL_ERROR, "internal error: see the server's log"), true),
        };
        if let Some(mut span) = span {
            let code = rpc_error.code.to_string();
            span.set_attribute("rpc.response.status_code", code.as_str());
            // Only internal failures mark the span as failed; "not found", for example, is a normal response.
            span.end(is_server_failure.then_some(code));
        }
        error(Some(id), &rpc_error)
    }

    /// Starts the span of a request, if tracing is on, with the attributes of OpenTelemetry's conventions for
    /// MCP.
    fn span(&self, operation: &Operation, call: &mut Arc<Call>, modern: bool) -> Option<ActiveSpan> {
        // The `Arc` has not been cloned yet, so this succeeds.
        let mut span = self.0.telemetry.start_request(Arc::get_mut(call)?, operation.method().name())?;
        if modern {
            span.set_attribute("mcp.protocol.version", MODERN);
        }
        operation.uri().into_iter().for_each(|uri| span.set_attribute("mcp.resource.uri", uri));
        Some(span)
    }

    /// Counts a request with an unknown method.
    pub(super) fn count_unknown_method(&self, request: &Request<'_>, rpc_error: &RpcError) {
        if rpc_error.code == METHOD_NOT_FOUND {
            let era =
                if declares_version(&request.params) { ProtocolEra::Modern } else { ProtocolEra::Legacy };
            self.0.metrics.server().request("other", era);
        }
    }

    async fn run(
        &self,
        id: &Id,
        operation: &mut Operation,
        call: &Arc<Call>,
        peer: &Peer,
    ) -> Result<Vec<u8>, DispatchError> {
        let modern = peer.is_modern();
        let gateway = &self.0.gateway;
        Ok(match operation {
            Operation::Discover => self.discover(id, call.caller.as_ref().unwrap_or(&self.0.config.caller)),
            Operation::Ping => self.result(id, modern, ResultMetadata::default(), |_| {}),
            Operation::List { cursor, filter } => {
                let page = gateway.list(call, cursor.as_deref(), filter).await?;
                let items: Vec<_> = page.items.iter().map(|entry| render::entry_json(entry)).collect();
                self.page(id, modern, &page, "resources", &items)
            }
            Operation::Templates { cursor, filter } => {
                let page = gateway.templates(call, cursor.as_deref(), filter).await?;
                let items: Vec<_> = page.items.iter().map(|item| render::template_json(item)).collect();
                self.page(id, modern, &page, "resourceTemplates", &items)
            }
            Operation::Read { uri, known_version } => {
                let reading = gateway.read(call, uri, known_version.as_deref()).await?;
                self.read_result(id, modern, &reading)
            }
            Operation::Complete(request) => match request.take() {
                None => self.completion(id, modern, &Completion::default()),
                Some(request) => self.completion(id, modern, &gateway.complete(call, request).await?),
            },
            Operation::Subscribe { uri } => {
                self.subscribe(subscriptions(peer)?, call, uri.clone()).await?;
                self.result(id, modern, ResultMetadata::default(), |_| {})
            }
            Operation::Unsubscribe { uri } => {
                subscriptions(peer)?.remove(uri);
                self.result(id, modern, ResultMetadata::default(), |_| {})
            }
            Operation::Get { uri, known_version } => {
                let reading = gateway.read(call, uri, known_version.as_deref()).await?;
                let entry = gateway.listed_entry(call, uri);
                self.result(id, modern, ResultMetadata::of(&reading), |o| {
                    extension::write_get_result(o, uri, entry.as_deref(), &reading);
                })
            }
            Operation::SubscribeAll { uris } => {
                self.subscribe_all(subscriptions(peer)?, call, uris).await?;
                self.result(id, modern, ResultMetadata::default(), |_| {})
            }
            Operation::UnsubscribeAll { uris } => {
                let subscriptions = subscriptions(peer)?;
                uris.iter().for_each(|uri| subscriptions.remove(uri));
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

    fn discover(&self, id: &Id, caller: &Caller) -> Vec<u8> {
        let server = self.0.gateway.instructions(caller);
        self.result(
            id,
            true,
            ResultMetadata { freshness: Some(server.freshness), ..ResultMetadata::default() },
            |o| {
                o.texts("supportedVersions", std::iter::once(MODERN).chain(LEGACY));
                write_capabilities(o);
                o.optional_text("instructions", server.instructions.as_deref());
            },
        )
    }

    fn page<T>(&self, id: &Id, modern: bool, page: &Page<T>, key: &'static str, items: &[&[u8]]) -> Vec<u8> {
        let capacity = 512 + items.iter().map(|item| item.len() + 1).sum::<usize>();
        let incomplete = &page.incomplete[..];
        let metadata = ResultMetadata { freshness: Some(page.freshness), incomplete, version: None };
        self.sized_result(capacity, id, modern, metadata, |o| {
            o.json_array(key, items.iter().copied());
            o.optional_text("nextCursor", page.next.as_deref());
        })
    }

    fn read_result(&self, id: &Id, modern: bool, reading: &ReadResult) -> Vec<u8> {
        let metadata = ResultMetadata::of(reading);
        if reading.shared {
            let json = reading.contents.rendered.get_or_render(|| contents_json(&reading.contents));
            return self
                .sized_result(512 + json.len(), id, modern, metadata, |o| o.json_bytes("contents", json));
        }
        self.sized_result(512 + estimated_size(&reading.contents), id, modern, metadata, |o| {
            o.objects("contents", reading.contents.iter(), render::content)
        })
    }

    fn completion(&self, id: &Id, modern: bool, completion: &Completion) -> Vec<u8> {
        self.result(id, modern, ResultMetadata::default(), |o| {
            o.object("completion", |o| {
                o.texts("values", completion.values.iter().take(100).map(String::as_str));
                completion.total.into_iter().for_each(|total| o.integer("total", total));
                o.flag("hasMore", completion.has_more || completion.values.len() > 100);
            });
        })
    }

    fn result(
        &self,
        id: &Id,
        modern: bool,
        metadata: ResultMetadata<'_>,
        fill: impl FnOnce(&mut Object<'_>),
    ) -> Vec<u8> {
        self.sized_result(512, id, modern, metadata, fill)
    }

    fn sized_result(
        &self,
        capacity: usize,
        id: &Id,
        modern: bool,
        metadata: ResultMetadata<'_>,
        fill: impl FnOnce(&mut Object<'_>),
    ) -> Vec<u8> {
        // Responses that require a credential must not be stored in a shared cache.
        let metadata = if self.0.authenticator.allows_anonymous() { metadata } else { metadata.private() };
        let mut out = Vec::with_capacity(capacity);
        super::json_writer::write_object(&mut out, |o| {
            o.text("jsonrpc", "2.0");
            o.json("id", id.json());
            o.object("result", |o| {
                if modern {
                    o.text("resultType", "complete");
                }
                fill(o);
                metadata.write(o, modern, &self.0.server_info);
            });
        });
        out
    }
}

fn subscriptions(peer: &Peer) -> Result<&Subscriptions, RpcError> {
    match peer {
        Peer::Legacy(subscriptions) => Ok(subscriptions),
        Peer::Modern | Peer::Uninitialized => Err(RpcError::unknown_method("resources/subscribe")),
    }
}

/// Writes the capabilities of the server.
pub(super) fn write_capabilities(o: &mut Object<'_>) {
    o.json("capabilities", r#"{"resources":{"subscribe":true,"listChanged":true},"completions":{}}"#);
}

/// Metadata of a result: how long it may be cached, and the version of the resource.
#[derive(Default)]
struct ResultMetadata<'a> {
    freshness: Option<Freshness>,
    version: Option<&'a str>,
    /// The providers whose entries are missing in a list.
    incomplete: &'a [String],
}

impl<'a> ResultMetadata<'a> {
    fn of(reading: &'a ReadResult) -> Self {
        let version = reading.version.as_deref();
        Self { freshness: Some(reading.freshness), version, ..Self::default() }
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
        if !modern && self.version.is_none() && self.incomplete.is_empty() {
            return;
        }
        o.object("_meta", |o| {
            if modern {
                o.json("io.modelcontextprotocol/serverInfo", server);
            }
            o.optional_text(render::VERSION_KEY, self.version);
            if !self.incomplete.is_empty() {
                o.texts(render::INCOMPLETE_KEY, self.incomplete.iter().map(String::as_str));
            }
        });
    }
}

/// Returns the contents as a JSON array.
fn contents_json(contents: &[Content]) -> Vec<u8> {
    let mut out = Vec::with_capacity(estimated_size(contents));
    write_objects(&mut out, contents, render::content);
    out
}

/// Estimates how many bytes the contents take as JSON.
fn estimated_size(contents: &[Content]) -> usize {
    let sizes = contents.iter().map(|content| match &content.body {
        Body::Text(text) => text.len() + text.len() / 8,
        Body::Blob(bytes) => bytes.len().div_ceil(3) * 4,
    });
    escape::WINDOW_CAPACITY + sizes.map(|size| size + 256).sum::<usize>()
}

fn milliseconds(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).map_or(MAX_TTL_MS, |ttl| ttl.min(MAX_TTL_MS))
}
