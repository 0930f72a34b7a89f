//! The search method of this server, which `larder search` uses. The protocol does not define it.

use super::{Context, ResultMetadata};
use crate::outgoing::waiting_bytes::ChargedResponse;
use crate::render;
use crate::wire::rpc_error::DispatchError;
use larder_core::gateway::SearchPage;
use larder_model::search::SearchQuery;

impl Context<'_> {
    pub(super) async fn search(
        self,
        query: &SearchQuery,
        cursor: Option<&str>,
    ) -> Result<ChargedResponse, DispatchError> {
        let page = self.gateway().search(self.call, query, cursor).await?;
        self.search_result(&page)
    }

    /// Writes a page of results: entries in the form of lists, with excerpts.
    fn search_result(self, page: &SearchPage) -> Result<ChargedResponse, DispatchError> {
        let metadata = ResultMetadata {
            incomplete: &page.incomplete,
            ..ResultMetadata::default()
        };
        let out = self.output(size_with_excerpts(page))?;
        Ok(self.result_in(out, metadata, |o| {
            o.objects("results", &page.results, |o, found| {
                render::entry(o, &found.entry);
                o.optional_text("excerpt", found.excerpt.as_deref());
            });
            o.optional_text("nextCursor", page.next.as_deref());
        })?)
    }
}

/// Estimates how many bytes the results take, with their excerpts.
pub(super) fn size_with_excerpts(page: &SearchPage) -> usize {
    let sizes = page
        .results
        .iter()
        .map(|found| found.entry.wire_size() + found.excerpt.as_deref().map_or(0, str::len));
    sizes.sum()
}
