//! The operations other than reads, with their lines in the audit log. A read records more, in its own module.

use std::sync::Arc;

use super::audit_record::written;
use super::prompts::charge_completion;
use super::{Error, Filter, Gateway};
use larder_model::resource::{Call, Completion, CompletionRequest, Entry, Page, Template};
use larder_model::uri::Uri;

impl Gateway {
    /// Returns a page of the entries that pass the filter.
    pub async fn list(
        &self,
        call: &Arc<Call>,
        cursor: Option<&str>,
        filter: &Filter,
    ) -> Result<Page<Arc<Entry>>, Error> {
        self.list_at_most(call, cursor, filter, self.page_size().resources)
            .await
    }

    /// Like [`Self::list`], with at most this many entries.
    pub async fn list_at_most(
        &self,
        call: &Arc<Call>,
        cursor: Option<&str>,
        filter: &Filter,
        max: u32,
    ) -> Result<Page<Arc<Entry>>, Error> {
        let record = self.begin_record("list", call, None).await?;
        let page = self.entry_page(call, cursor, filter, max).await;
        let result = page.map(|page| self.with_skill_entries(call, page));
        written(record.end_with_items(&result, |page| page.items.len())).await?;
        result
    }

    /// Returns a page of the templates that pass the filter.
    pub async fn templates(
        &self,
        call: &Arc<Call>,
        cursor: Option<&str>,
        filter: &Filter,
    ) -> Result<Page<Arc<Template>>, Error> {
        self.templates_at_most(call, cursor, filter, self.page_size().templates)
            .await
    }

    /// Like [`Self::templates`], with at most this many.
    pub async fn templates_at_most(
        &self,
        call: &Arc<Call>,
        cursor: Option<&str>,
        filter: &Filter,
        max: u32,
    ) -> Result<Page<Arc<Template>>, Error> {
        let record = self.begin_record("list-templates", call, None).await?;
        let result = self.template_page(call, cursor, filter, max).await;
        written(record.end_with_items(&result, |page| page.items.len())).await?;
        result
    }

    /// Completes a variable of a template.
    pub async fn complete(
        &self,
        call: &Arc<Call>,
        request: CompletionRequest,
    ) -> Result<Completion, Error> {
        let template = self.audit.is_on().then(|| request.template.clone());
        let record = self
            .begin_record("complete", call, template.as_deref())
            .await?;
        let result = self.completion(call, request).await;
        written(record.end_with_items(&result, |completion| completion.values.len())).await?;
        result
    }

    /// Whether this caller can read this URI, and thus may watch it.
    pub async fn is_readable(&self, call: &Arc<Call>, uri: &Uri) -> bool {
        self.check_readable(call, uri).await.is_ok()
    }

    /// Fails if this caller cannot read this URI, and thus may not watch it. The operation in the audit log is a
    /// subscription, because only subscriptions call this.
    pub async fn check_readable(&self, call: &Arc<Call>, uri: &Uri) -> Result<(), Error> {
        let mut record = self
            .begin_record("subscribe", call, Some(uri.as_str()))
            .await?;
        // Boxed: the future of each request would reserve space for it, and few requests subscribe.
        let result = Box::pin(self.find_readable(call, uri, &mut record)).await;
        written(record.end(if result.is_ok() { "ok" } else { "not-found" })).await?;
        result
    }

    async fn completion(
        &self,
        call: &Arc<Call>,
        request: CompletionRequest,
    ) -> Result<Completion, Error> {
        let view = self.view(call);
        let unknown = || {
            let template = request.template.clone();
            view.unknown_uri(&request.template, Error::UnknownTemplate { template })
        };
        let (offer, index) = view.template(&request.template).ok_or_else(unknown)?;
        let permit = offer.permit(call).map_err(|_| unknown())?;
        if !offer.templates[index]
            .uri_template
            .variables()
            .any(|variable| variable == request.variable)
        {
            return Err(Error::UnknownVariable {
                template: request.template,
                variable: request.variable,
            });
        }
        let template = request.template.clone();
        let answer = offer.provider.complete(permit, request).await;
        let answer = answer.map_err(|error| Error::from_call(offer, &template, None, error))?;
        charge_completion(offer, &answer);
        Ok(answer)
    }
}
