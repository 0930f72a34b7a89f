//! Writes results as JSON-RPC responses in the form of the client's protocol era.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use super::{ENVELOPE, write_capabilities};
use crate::Endpoint;
use crate::era::{LEGACY, MODERN};
use crate::outgoing::waiting_bytes::ChargedResponse;
use crate::render;
use crate::wire::json_writer::{Object, write_object};
use crate::wire::message::Id;
use crate::wire::output::Output;
use crate::wire::rpc_error::RpcError;
use larder_core::gateway::Gateway;
use larder_model::resource::{
    Call, Completion, Entry, Freshness, Page, ReadResult, Scope, Template,
};

/// JavaScript's largest safe integer: clients that parse numbers as doubles cannot read a larger number exactly.
const MAX_TTL_MS: u64 = (1 << 53) - 1;
/// Maximum number of values in a completion.
const MAX_VALUES: usize = 100;

/// A request, and the endpoint that answers it.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) id: &'a Id,
    pub(super) modern: bool,
    pub(super) call: &'a Arc<Call>,
}

impl<'a> Context<'a> {
    pub(super) fn gateway(self) -> &'a Gateway {
        &self.endpoint.0.gateway
    }
}

impl Context<'_> {
    pub(super) fn discover(self) -> ChargedResponse {
        let caller = self.endpoint.caller(self.call);
        let server = self.gateway().instructions(caller);
        let metadata = ResultMetadata {
            freshness: Some(server.freshness),
            ..ResultMetadata::default()
        };
        self.result(metadata, |o| {
            o.texts("supportedVersions", std::iter::once(MODERN).chain(LEGACY));
            write_capabilities(o, server.has_apps);
            o.optional_text("instructions", server.instructions.as_deref());
        })
    }

    pub(super) fn empty_result(self) -> ChargedResponse {
        self.result(ResultMetadata::default(), |_| {})
    }

    pub(super) fn entry_page(self, page: &Page<Arc<Entry>>) -> Result<ChargedResponse, RpcError> {
        let items = page.items.iter().map(|entry| render::entry_json(entry));
        self.page(page, "resources", items)
    }

    pub(super) fn template_page(
        self,
        page: &Page<Arc<Template>>,
    ) -> Result<ChargedResponse, RpcError> {
        let items = page.items.iter().map(|item| render::template_json(item));
        self.page(page, "resourceTemplates", items)
    }

    pub(super) fn page<'i, T>(
        self,
        page: &Page<T>,
        key: &'static str,
        items: impl Iterator<Item = &'i [u8]>,
    ) -> Result<ChargedResponse, RpcError> {
        let items: Vec<_> = items.collect();
        let size = items.iter().map(|item| item.len() + 1).sum::<usize>();
        let metadata = ResultMetadata {
            freshness: Some(page.freshness),
            incomplete: &page.incomplete,
            ..ResultMetadata::default()
        };
        self.result_in(self.output(size)?, metadata, |o| {
            o.json_array(key, items.iter().copied());
            o.optional_text("nextCursor", page.next.as_deref());
        })
    }

    pub(super) fn completion(self, completion: &Completion) -> ChargedResponse {
        let values = &completion.values;
        let shown = values.iter().take(MAX_VALUES).map(String::as_str);
        self.result(ResultMetadata::default(), |o| {
            o.object("completion", |o| {
                o.texts("values", shown);
                if let Some(total) = completion.total {
                    o.integer("total", total);
                }
                o.flag("hasMore", completion.has_more || values.len() > MAX_VALUES);
            });
        })
    }

    /// Creates a buffer for a response whose content has about this size.
    pub(super) fn output(self, size: usize) -> Result<Output, RpcError> {
        self.endpoint.output(self.call, size)
    }

    pub(super) fn result(
        self,
        metadata: ResultMetadata<'_>,
        fill: impl FnOnce(&mut Object<'_>),
    ) -> ChargedResponse {
        let mut out = Output::with_capacity(ENVELOPE);
        self.write_result(&mut out, metadata, fill);
        std::mem::take(&mut *out).into()
    }

    /// Writes a result that can be large into this buffer.
    pub(super) fn result_in(
        self,
        mut out: Output,
        metadata: ResultMetadata<'_>,
        fill: impl FnOnce(&mut Object<'_>),
    ) -> Result<ChargedResponse, RpcError> {
        self.write_result(&mut out, metadata, fill);
        self.endpoint.finished(out)
    }

    fn write_result(
        self,
        out: &mut Output,
        metadata: ResultMetadata<'_>,
        fill: impl FnOnce(&mut Object<'_>),
    ) {
        let inner = &self.endpoint.0;
        // Responses that require a credential must not be stored in a shared cache.
        let metadata = if inner.authenticator.allows_anonymous() {
            metadata
        } else {
            metadata.private()
        };
        write_object(out, |o| {
            o.text("jsonrpc", "2.0");
            o.json("id", self.id.json());
            o.object("result", |o| {
                if self.modern {
                    o.text("resultType", "complete");
                }
                fill(o);
                metadata.write(o, self.modern, &inner.settings.load().server_info);
            });
        });
    }
}

/// Metadata of a result: how long it may be cached, and the version of the resource.
#[derive(Default)]
pub(super) struct ResultMetadata<'a> {
    pub(super) freshness: Option<Freshness>,
    pub(super) version: Option<&'a str>,
    /// The providers whose entries are missing in a list.
    pub(super) incomplete: &'a [String],
    /// Metadata from the provider.
    pub(super) of_provider: &'a [(String, Box<RawValue>)],
}

impl<'a> ResultMetadata<'a> {
    pub(super) fn of(reading: &'a ReadResult) -> Self {
        Self {
            freshness: Some(reading.freshness),
            version: reading.version.as_deref(),
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
            write_freshness(o, freshness);
        }
        if modern || self.has_metadata() {
            o.object("_meta", |o| {
                self.write_metadata(o, modern.then_some(server))
            });
        }
    }

    fn has_metadata(&self) -> bool {
        self.version.is_some() || !self.incomplete.is_empty() || !self.of_provider.is_empty()
    }

    fn write_metadata(&self, o: &mut Object<'_>, server: Option<&str>) {
        if let Some(server) = server {
            o.json("io.modelcontextprotocol/serverInfo", server);
        }
        o.optional_text(render::VERSION_KEY, self.version);
        render::write_provider_metadata(o, self.of_provider);
        if !self.incomplete.is_empty() {
            let incomplete = self.incomplete.iter().map(String::as_str);
            o.texts(render::INCOMPLETE_KEY, incomplete);
        }
    }
}

fn write_freshness(o: &mut Object<'_>, freshness: Freshness) {
    let scope = match freshness.scope {
        Scope::Everyone => "public",
        Scope::Caller => "private",
    };
    o.integer("ttlMs", milliseconds(freshness.ttl));
    o.text("cacheScope", scope);
}

fn milliseconds(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).map_or(MAX_TTL_MS, |ttl| ttl.min(MAX_TTL_MS))
}
