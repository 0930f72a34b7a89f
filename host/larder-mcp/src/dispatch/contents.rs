//! Writes the contents that reads return into responses.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;

use super::{Context, ResultMetadata};
use crate::era::extension;
use crate::outgoing::waiting_bytes::ChargedResponse;
use crate::render;
use crate::wire::escape;
use crate::wire::held_contents::{self, HeldContents};
use crate::wire::json_writer::write_objects;
use crate::wire::output::Output;
use crate::wire::rpc_error::RpcError;
use larder_model::resource::{Body, Content, Contents, ReadResult};
use larder_model::uri::Uri;

/// A larger response is written on a thread of lower priority.
const LARGE: usize = 1 << 20;
/// If a response is even larger than this, its large contents are encoded when they are sent.
const DEFERRED: usize = 4 << 20;

/// A read result that is written into a response.
#[derive(Clone, Copy)]
pub(super) struct ReadResponse<'a> {
    pub(super) result: &'a ReadResult,
    /// Set if the large contents are encoded when they are sent.
    pub(super) held: Option<&'a Arc<HeldContents>>,
}

impl Context<'_> {
    /// Writes the response to `resources/read`.
    pub(super) async fn read_result(
        self,
        reading: ReadResult,
    ) -> Result<ChargedResponse, RpcError> {
        self.write_contents(reading, |context, reading| {
            context.write_read_result(reading)
        })
        .await
    }

    /// Writes the response to `resources/get`.
    pub(super) async fn get_result(
        self,
        uri: &Uri,
        reading: ReadResult,
    ) -> Result<ChargedResponse, RpcError> {
        let entry = self.gateway().listed_entry(self.call, uri);
        let uri = uri.clone();
        self.write_contents(reading, move |context, reading| {
            let out = context.contents_output(reading, 1)?;
            context.result_in(out, ResultMetadata::of(reading.result), |o| {
                extension::write_get_result(o, &uri, entry.as_deref(), reading.result);
            })
        })
        .await
    }

    /// Writes a response with these contents, on a thread of lower priority if they are large.
    pub(super) async fn write_contents<E: From<RpcError> + Send + 'static>(
        self,
        mut reading: ReadResult,
        write: impl FnOnce(Context<'_>, ReadResponse<'_>) -> Result<ChargedResponse, E> + Send + 'static,
    ) -> Result<ChargedResponse, E> {
        let size = estimated_size(&reading.contents);
        if size <= LARGE {
            let reading = ReadResponse {
                result: &reading,
                held: None,
            };
            return write(self, reading);
        }
        let endpoint = self.endpoint.clone();
        let id = self.id.clone();
        let modern = self.modern;
        let call = self.call.clone();
        // The contents are dropped on that thread too, because dropping takes as long as a part of the writing.
        let work = move || {
            let held = (size > DEFERRED)
                .then(|| endpoint.hold(&call, &mut reading))
                .transpose()?;
            let context = Context {
                endpoint: &endpoint,
                id: &id,
                modern,
                call: &call,
            };
            let reading = ReadResponse {
                result: &reading,
                held: held.as_ref(),
            };
            write(context, reading)
        };
        let threads = &self.endpoint.0.low_priority_threads;
        threads.run(work).boxed().await
    }

    /// Creates a buffer for a response that contains these contents `times` times.
    pub(super) fn contents_output(
        self,
        ReadResponse { result, held }: ReadResponse<'_>,
        times: usize,
    ) -> Result<Output, RpcError> {
        let size = match held {
            None => estimated_size(&result.contents),
            Some(_) => escape::WINDOW_CAPACITY + sizes(&result.contents, written_size),
        };
        let out = self.output(times * size)?;
        Ok(match held {
            None => out,
            Some(held) => out.with_places_for(held),
        })
    }

    fn write_read_result(self, reading: ReadResponse<'_>) -> Result<ChargedResponse, RpcError> {
        let metadata = ResultMetadata::of(reading.result);
        let contents = &reading.result.contents;
        if reading.is_json_shared() {
            let json = self.shared_contents_json(contents)?;
            let out = self.output(json.len())?;
            return self.result_in(out, metadata, |o| o.json_bytes("contents", json));
        }
        let out = self.contents_output(reading, 1)?;
        self.result_in(out, metadata, |o| {
            o.objects("contents", contents.iter(), render::content)
        })
    }

    /// Returns the contents as a JSON array, which all responses with these contents share.
    pub(super) fn shared_contents_json(self, contents: &Contents) -> Result<&Bytes, RpcError> {
        contents
            .rendered
            .get_or_try_render(|| self.contents_json(contents))
    }

    /// Returns the contents as a JSON array. The array is kept together with the contents.
    fn contents_json(self, contents: &[Content]) -> Result<Bytes, RpcError> {
        let endpoint = self.endpoint;
        let mut out = endpoint.kept_output(self.call, estimated_size(contents))?;
        write_objects(&mut out, contents, render::content);
        let mut response = endpoint.finished(out)?;
        response.shrink();
        Ok(response.into_bytes())
    }
}

impl ReadResponse<'_> {
    /// Whether the JSON of the contents is kept for other responses. The JSON of very large contents is not kept.
    pub(super) fn is_json_shared(self) -> bool {
        self.result.shared && self.held.is_none()
    }
}

/// Estimates how many bytes the contents take as JSON.
pub(super) fn estimated_size(contents: &[Content]) -> usize {
    escape::WINDOW_CAPACITY + sizes(contents, body_size)
}

fn sizes(contents: &[Content], body_size: impl Fn(&Body) -> usize) -> usize {
    let size = |content: &Content| {
        let metadata = content
            .metadata
            .iter()
            .map(|(key, json)| key.len() + json.get().len() + 8);
        256 + content.uri.as_str().len() + body_size(&content.body) + metadata.sum::<usize>()
    };
    contents.iter().map(size).sum()
}

fn body_size(body: &Body) -> usize {
    match body {
        Body::Text(text) => text.len() + text.len() / 8,
        Body::Blob(bytes) => bytes.len().div_ceil(3) * 4,
    }
}

/// Like [`body_size`], but zero for a large body, which is encoded when it is sent.
fn written_size(body: &Body) -> usize {
    if held_contents::is_large(body) {
        0
    } else {
        body_size(body)
    }
}
