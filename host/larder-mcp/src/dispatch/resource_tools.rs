//! The calls of the server's own tools. They use the same functions of the gateway as the methods for resources, so the
//! same permissions, limits, quotas, cache and audit log apply.

use std::sync::Arc;

use super::contents::ReadResponse;
use super::search::size_with_excerpts;
use super::{Context, ResultMetadata};
use crate::Endpoint;
use crate::era::method::{Operation, ResourceToolCall};
use crate::outgoing::waiting_bytes::ChargedResponse;
use crate::render::resource_tools as render;
use crate::wire::json_writer::{Object, write_object};
use crate::wire::output::Output;
use crate::wire::rpc_error::{DispatchError, RpcError};
use larder_core::catalog::{ResourceArguments, ResourceTool};
use larder_core::gateway::{Error, Filter};
use larder_model::resource::{Body, Call, ReadResult};
use larder_model::search::SearchQuery;
use larder_model::uri::Uri;

/// The default `limit` of a list.
const LIST_ITEMS: u32 = 50;
/// The default `limit` of a search.
const SEARCH_RESULTS: u32 = 20;

impl Endpoint {
    /// Replaces a call of one of the server's own tools by the operation that the tool does. The client's side of the
    /// call is removed: otherwise the response of a read would depend on the client, and could not be shared.
    pub(super) fn resolve_resource_tool(&self, operation: &mut Operation, call: &mut Arc<Call>) {
        let Operation::CallTool(retried) = operation else {
            return;
        };
        let Some(tool) = self.0.gateway.resource_tool(call, &retried.request.name) else {
            return;
        };
        // The `Arc` has not been cloned yet, so this succeeds.
        if let Some(call) = Arc::get_mut(call) {
            call.interaction = None;
        }
        let arguments = Arc::unwrap_or_clone(std::mem::take(&mut retried.request.arguments));
        *operation = Operation::CallResourceTool(Box::new(ResourceToolCall { tool, arguments }));
    }
}

impl Context<'_> {
    /// Calls one of the server's own tools. Most errors become results that a model can read.
    pub(super) async fn call_resource_tool(
        self,
        request: &ResourceToolCall,
    ) -> Result<ChargedResponse, DispatchError> {
        let arguments = match request.tool.arguments(&request.arguments) {
            Ok(arguments) => arguments,
            Err(why) => {
                let message =
                    format!("The arguments do not match the input schema of the tool: {why}");
                return Ok(self.failed(&message));
            }
        };
        let result = match request.tool {
            ResourceTool::ListResources => self.list(arguments).await,
            ResourceTool::ListResourceTemplates => self.templates(arguments).await,
            ResourceTool::ReadResource => self.read(&arguments).await,
            ResourceTool::SearchResources => self.search_resources(arguments).await,
            ResourceTool::Search => self.search_documents(arguments).await,
            ResourceTool::Fetch => self.fetch(&arguments).await,
        };
        match result {
            Err(DispatchError::Gateway(error)) => match message_for_model(&error, self.modern) {
                Some(message) => Ok(self.failed(&message)),
                None => Err(error.into()),
            },
            result => result,
        }
    }

    async fn list(self, arguments: ResourceArguments) -> Result<ChargedResponse, DispatchError> {
        let limit = arguments.limit.unwrap_or(LIST_ITEMS);
        let cursor = arguments.cursor.clone();
        let filter = filter_of(arguments);
        let page = self
            .gateway()
            .list_at_most(self.call, cursor.as_deref(), &filter, limit)
            .await?;
        let size = page.items.iter().map(|entry| entry.wire_size()).sum();
        self.structured(size, &page.incomplete, |o| {
            o.objects("resources", &page.items, |o, entry| {
                render::summary(o, entry)
            });
            render::end_of_page(o, page.next.as_deref(), &page.incomplete);
        })
    }

    async fn templates(
        self,
        arguments: ResourceArguments,
    ) -> Result<ChargedResponse, DispatchError> {
        let limit = arguments.limit.unwrap_or(LIST_ITEMS);
        let cursor = arguments.cursor.clone();
        let filter = filter_of(arguments);
        let page = self
            .gateway()
            .templates_at_most(self.call, cursor.as_deref(), &filter, limit)
            .await?;
        let size = page.items.iter().map(|template| template.wire_size()).sum();
        self.structured(size, &page.incomplete, |o| {
            o.objects("resourceTemplates", &page.items, |o, template| {
                render::template_summary(o, template)
            });
            render::end_of_page(o, page.next.as_deref(), &page.incomplete);
        })
    }

    /// Reads a resource, in the same way as `resources/read`.
    async fn read_uri(
        self,
        text: &str,
    ) -> Result<Result<(Uri, ReadResult), String>, DispatchError> {
        match Uri::parse(text) {
            Ok(uri) => {
                let reading = self.gateway().read(self.call, &uri, None).await?;
                Ok(Ok((uri, reading)))
            }
            Err(error) => {
                self.gateway().record_bad_uri(self.call, text).await?;
                Ok(Err(error.to_string()))
            }
        }
    }

    async fn read(self, arguments: &ResourceArguments) -> Result<ChargedResponse, DispatchError> {
        let reading = match self.read_uri(&arguments.uri).await? {
            Ok((_, reading)) => reading,
            Err(message) => return Ok(self.failed(&message)),
        };
        self.write_contents(reading, |context, reading| context.write_reading(reading))
            .await
    }

    fn write_reading(self, reading: ReadResponse<'_>) -> Result<ChargedResponse, DispatchError> {
        let contents = &reading.result.contents;
        // If the contents have only texts: the JSON that responses to `resources/read` share.
        let has_texts_only = || contents.iter().all(|one| matches!(one.body, Body::Text(_)));
        let json = if reading.is_json_shared() && has_texts_only() {
            Some(self.shared_contents_json(contents)?)
        } else {
            None
        };
        let version = reading.result.version.as_deref();
        let metadata = ResultMetadata {
            version,
            ..ResultMetadata::default()
        };
        let out = self.contents_output(reading, 2)?;
        Ok(self.result_in(out, metadata, |o| {
            render::contents(o, contents, json.map(|json| &json[..]));
        })?)
    }

    async fn search_resources(
        self,
        arguments: ResourceArguments,
    ) -> Result<ChargedResponse, DispatchError> {
        let limit = arguments.limit.unwrap_or(SEARCH_RESULTS);
        let cursor = arguments.cursor.clone();
        let query = query_of(arguments, limit);
        let page = self
            .gateway()
            .search(self.call, &query, cursor.as_deref())
            .await?;
        self.structured(size_with_excerpts(&page), &page.incomplete, |o| {
            o.objects("results", &page.results, |o, found| {
                render::summary(o, &found.entry);
                o.optional_text("excerpt", found.excerpt.as_deref());
            });
            render::end_of_page(o, page.next.as_deref(), &page.incomplete);
        })
    }

    async fn search_documents(
        self,
        arguments: ResourceArguments,
    ) -> Result<ChargedResponse, DispatchError> {
        let query = query_of(arguments, SEARCH_RESULTS);
        let page = self.gateway().search(self.call, &query, None).await?;
        let size = page
            .results
            .iter()
            .map(|found| found.entry.wire_size())
            .sum();
        self.structured(size, &page.incomplete, |o| {
            o.objects("results", &page.results, |o, found| {
                render::document_link(o, &found.entry)
            });
        })
    }

    async fn fetch(self, arguments: &ResourceArguments) -> Result<ChargedResponse, DispatchError> {
        let (uri, reading) = match self.read_uri(&arguments.uri).await? {
            Ok(found) => found,
            Err(message) => return Ok(self.failed(&message)),
        };
        if !reading
            .contents
            .iter()
            .any(|content| matches!(content.body, Body::Text(_)))
        {
            let kind = reading
                .contents
                .first()
                .and_then(|content| content.mime_type.as_deref());
            let kind = kind.unwrap_or("of an unknown type");
            return Ok(self.failed(&format!("`{uri}` has no text: its content is {kind}")));
        }
        let entry = self.gateway().listed_entry(self.call, &uri);
        self.write_contents(reading, move |context, reading| {
            let out = context.contents_output(reading, 1)?;
            context.structured_in(out, &[], |o| {
                render::document(o, &uri, entry.as_deref(), reading.result);
            })
        })
        .await
    }

    /// Writes a structured result, and the same JSON as text for clients that do not support structured results.
    fn structured(
        self,
        size: usize,
        incomplete: &[String],
        fill: impl FnOnce(&mut Object<'_>),
    ) -> Result<ChargedResponse, DispatchError> {
        self.structured_in(self.output(size)?, incomplete, fill)
    }

    /// Like [`Self::structured`], with this buffer for the structured result.
    fn structured_in(
        self,
        mut out: Output,
        incomplete: &[String],
        fill: impl FnOnce(&mut Object<'_>),
    ) -> Result<ChargedResponse, DispatchError> {
        write_object(&mut out, fill);
        // The JSON is charged until the result is written.
        let json = self.endpoint.written(out)?;
        let metadata = ResultMetadata {
            incomplete,
            ..ResultMetadata::default()
        };
        let mut out = self.output(2 * json.bytes.len() + json.bytes.len() / 4)?;
        if let Some(places) = &json.places {
            out = out.with_places_for(&places.held);
        }
        Ok(self.result_in(out, metadata, |o| render::structured(o, &json))?)
    }

    /// A result that tells the model what went wrong.
    fn failed(self, message: &str) -> ChargedResponse {
        self.result(ResultMetadata::default(), |o| render::failed(o, message))
    }
}

fn filter_of(arguments: ResourceArguments) -> Filter {
    Filter {
        text: arguments.query,
        uri_prefix: arguments.uri_prefix,
        kind: arguments.kind,
        ..Filter::default()
    }
}

fn query_of(arguments: ResourceArguments, limit: u32) -> SearchQuery {
    SearchQuery {
        text: arguments.query.unwrap_or_default(),
        limit,
        uri_prefix: arguments.uri_prefix,
        kind: arguments.kind,
    }
}

/// Returns the text about an error that a model receives. `None` if the request itself is refused, as a read would be
/// refused.
fn message_for_model(error: &Error, modern: bool) -> Option<String> {
    match error {
        Error::QuotaExceeded(_) | Error::NoMemory { .. } | Error::AuditClosed(_) => None,
        Error::NotFound { uri } => Some(format!(
            "There is no resource `{uri}`. Find the URIs of resources with search_resources or list_resources."
        )),
        other => Some(RpcError::from_gateway(other, modern).message.into_owned()),
    }
}
