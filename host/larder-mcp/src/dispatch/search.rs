//! The search method of this server, which `larder search` uses. It is not a part of the protocol.

use super::ResultMetadata;
use crate::Endpoint;
use crate::message::Id;
use crate::render;
use crate::rpc_error::DispatchError;
use crate::waiting_bytes::ChargedResponse;
use larder_core::gateway::SearchPage;
use larder_model::resource::Call;

impl Endpoint {
    /// Writes a page of results: the entries, as lists have them, with excerpts.
    pub(super) fn search_result(
        &self,
        id: &Id,
        modern: bool,
        call: &Call,
        page: &SearchPage,
    ) -> Result<ChargedResponse, DispatchError> {
        let sizes = page
            .results
            .iter()
            .map(|found| found.entry.wire_size() + found.excerpt.as_deref().map_or(0, str::len));
        let out = self.output(call, sizes.sum())?;
        let metadata = ResultMetadata {
            incomplete: &page.incomplete,
            ..ResultMetadata::default()
        };
        Ok(self.result_in(out, id, modern, metadata, |o| {
            o.objects("results", &page.results, |o, found| {
                render::entry(o, &found.entry);
                o.optional_text("excerpt", found.excerpt.as_deref());
            });
            o.optional_text("nextCursor", page.next.as_deref());
        })?)
    }
}
