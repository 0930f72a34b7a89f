//! The contents of readings in responses.

use bytes::Bytes;

use super::ResultMetadata;
use crate::json_writer::write_objects;
use crate::message::Id;
use crate::rpc_error::RpcError;
use crate::waiting_bytes::ChargedResponse;
use crate::{Endpoint, escape, render};
use larder_model::resource::{Body, Call, Content, ReadResult};

impl Endpoint {
    pub(super) fn read_result(
        &self,
        id: &Id,
        modern: bool,
        call: &Call,
        reading: &ReadResult,
    ) -> Result<ChargedResponse, RpcError> {
        let metadata = ResultMetadata::of(reading);
        if reading.shared {
            let contents = &reading.contents;
            let json = contents.rendered.get_or_try_render(|| self.contents_json(call, contents))?;
            let out = self.output(call, json.len())?;
            return self.result_in(out, id, modern, metadata, |o| o.json_bytes("contents", json));
        }
        let out = self.output(call, estimated_size(&reading.contents))?;
        self.result_in(out, id, modern, metadata, |o| {
            o.objects("contents", reading.contents.iter(), render::content)
        })
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
