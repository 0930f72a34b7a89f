//! The contents of readings in responses.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;

use super::ResultMetadata;
use crate::json_writer::write_objects;
use crate::message::Id;
use crate::rpc_error::RpcError;
use crate::waiting_bytes::ChargedResponse;
use crate::{Endpoint, escape, render};
use larder_model::resource::{Body, Call, Content, Contents, ReadResult};

/// A larger response is written on a thread of lower priority.
const LARGE: usize = 1 << 20;

impl Endpoint {
    /// Writes the response to `resources/read`.
    pub(super) async fn read_result(
        &self,
        id: &Id,
        modern: bool,
        call: &Arc<Call>,
        reading: ReadResult,
    ) -> Result<ChargedResponse, RpcError> {
        self.write_contents(id, call, reading, move |endpoint, id, call, reading| {
            endpoint.write_read_result(id, modern, call, reading)
        })
        .await
    }

    /// Writes a response with these contents, on a thread of lower priority if they are large.
    pub(super) async fn write_contents<R: Send + 'static>(
        &self,
        id: &Id,
        call: &Arc<Call>,
        reading: ReadResult,
        write: impl FnOnce(&Self, &Id, &Arc<Call>, &ReadResult) -> R + Send + 'static,
    ) -> R {
        if estimated_size(&reading.contents) <= LARGE {
            return write(self, id, call, &reading);
        }
        let (endpoint, id, call) = (self.clone(), id.clone(), call.clone());
        // The contents are dropped there too, which takes as long as a part of the writing.
        let work = move || write(&endpoint, &id, &call, &reading);
        self.0.low_priority_threads.run(work).boxed().await
    }

    fn write_read_result(
        &self,
        id: &Id,
        modern: bool,
        call: &Call,
        reading: &ReadResult,
    ) -> Result<ChargedResponse, RpcError> {
        let metadata = ResultMetadata::of(reading);
        if reading.shared {
            let contents = &reading.contents;
            let json = self.shared_contents_json(call, contents)?;
            let out = self.output(call, json.len())?;
            return self.result_in(out, id, modern, metadata, |o| o.json_bytes("contents", json));
        }
        let out = self.output(call, estimated_size(&reading.contents))?;
        self.result_in(out, id, modern, metadata, |o| {
            o.objects("contents", reading.contents.iter(), render::content)
        })
    }

    /// Returns the contents as a JSON array, which all responses with them share.
    pub(super) fn shared_contents_json<'a>(
        &self,
        call: &Call,
        contents: &'a Contents,
    ) -> Result<&'a Bytes, RpcError> {
        contents.rendered.get_or_try_render(|| self.contents_json(call, contents))
    }

    /// Returns the contents as a JSON array, which is kept with them.
    fn contents_json(&self, call: &Call, contents: &[Content]) -> Result<Bytes, RpcError> {
        let mut out = self.kept_output(call, estimated_size(contents))?;
        write_objects(&mut out, contents, render::content);
        let mut response = self.finished(out)?;
        response.shrink();
        Ok(response.into_bytes())
    }
}

/// Estimates how many bytes the contents take as JSON.
pub(super) fn estimated_size(contents: &[Content]) -> usize {
    let sizes = contents.iter().map(|content| {
        let body = match &content.body {
            Body::Text(text) => text.len() + text.len() / 8,
            Body::Blob(bytes) => bytes.len().div_ceil(3) * 4,
        };
        let metadata = content.metadata.iter().map(|(key, json)| key.len() + json.get().len() + 8);
        256 + content.uri.as_str().len() + body + metadata.sum::<usize>()
    });
    escape::WINDOW_CAPACITY + sizes.sum::<usize>()
}
