//! Probes a new revision before it is served: gets its description, its entries and its templates.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

use super::Provider;
use larder_model::policy::{Permit, ToolGrant};
use larder_model::prompt::Prompt;
use larder_model::resource::{Entry, Freshness, Scope, Template};
use larder_model::tool::Tool;
use larder_provider::{
    CallError, Fault, FaultKind, ListPage, ListQuery, LoadError, ProbeResult, Provider as _,
    Rejection, fetch_pages,
};

/// Maximum duration of a probe, as a multiple of the maximum duration of one call.
const MAX_CALL_TIMES: u32 = 3;

/// The freshness of a list if its provider does not say how long it may be reused.
pub(super) const NOT_REUSABLE: Freshness = Freshness {
    ttl: Duration::ZERO,
    scope: Scope::Everyone,
};

/// Converts the error of a call of a probe. A provider that breaks the contract is rejected.
fn failed(what: &'static str) -> impl FnOnce(CallError) -> LoadError {
    move |error| match error {
        CallError::Fault(Fault {
            kind: FaultKind::Contract(why),
            ..
        }) => Rejection::Mismatch(why).into(),
        error => LoadError::Probe { what, error },
    }
}

impl Provider {
    /// Gets the description, the first entries and all templates. The total time is bounded.
    pub async fn probe(&self) -> Result<ProbeResult, LoadError> {
        let limits = &self.config.grant.limits;
        let bound = (limits.queue_timeout + limits.timeout) * MAX_CALL_TIMES;
        let too_long = || LoadError::Probe {
            what: "its lists",
            error: CallError::Unavailable(format!("it took longer than {bound:?}")),
        };
        tokio::time::timeout(bound, self.probe_all())
            .await
            .unwrap_or_else(|_| Err(too_long()))
    }

    async fn probe_all(&self) -> Result<ProbeResult, LoadError> {
        let probed_at = Instant::now();
        let described = self.describe(Permit::for_host()).await;
        let (description, omitted) = described.map_err(failed("its description"))?;
        let mut entries = self.first_entries().await.map_err(failed("its list"))?;
        entries.report_unreadable_names();
        let templates = self.all_templates().await;
        let templates = templates.map_err(failed("its templates"))?;
        let tools = self.granted_tools().await.map_err(failed("its tools"))?;
        let prompts = self.granted_prompts().await;
        let prompts = prompts.map_err(failed("its prompts"))?;
        let bytes = entries.bytes + templates.bytes + tools.bytes + prompts.bytes;
        self.charge_lists(bytes).map_err(failed("its lists"))?;
        let settings = self.settings_check().await;
        let omitted = [
            entries.omitted,
            templates.omitted,
            tools.omitted,
            prompts.omitted,
            omitted,
            settings.omitted,
        ];
        Ok(ProbeResult {
            title: description.title,
            version: description.version,
            summary: description.summary,
            instructions: description.instructions,
            claims: description.claims,
            entries: entries.items,
            next_cursor: entries.next,
            templates: templates.items,
            tools: tools.items,
            prompts: prompts.items,
            freshness: entries.freshness.unwrap_or(NOT_REUSABLE),
            probed_at,
            omitted: omitted.concat(),
            setting_problems: settings.problems,
        })
    }

    async fn first_entries(&self) -> Result<ListPage<Entry>, CallError> {
        let max_entries = self.config.grant.limits.catalog_entries;
        fetch_pages(
            max_entries,
            self.config.grant.limits.result,
            |cursor, have| {
                let limit = (max_entries - have).min(self.config.grant.limits.page_entries);
                Box::pin(self.list(
                    Permit::for_host(),
                    ListQuery {
                        cursor,
                        limit,
                        ..ListQuery::default()
                    },
                ))
            },
        )
        .await
    }

    async fn all_templates(&self) -> Result<ListPage<Template>, CallError> {
        let max_entries = self.config.grant.limits.catalog_entries;
        let page =
            |cursor, _| -> BoxFuture<_> { Box::pin(self.templates(Permit::for_host(), cursor)) };
        let mut templates = fetch_pages(max_entries, self.config.grant.limits.result, page).await?;
        if templates.next.take().is_some() {
            templates.omitted.push(format!(
                "templates beyond the first {max_entries} (`limits.catalog_entries`)"
            ));
        }
        Ok(templates)
    }

    /// Returns the tools that the grant allows.
    async fn granted_tools(&self) -> Result<ListPage<Tool>, CallError> {
        let grant = &self.config.grant.tools;
        if grant.is_none() {
            return Ok(ListPage::empty());
        }
        if !self.facts.interfaces.tools {
            return Ok(ListPage::empty().with_note("tools: it implements no `tool-provider`"));
        }
        let mut tools = self.all_tools().await?.without_personal("tools");
        tools.items.retain(|tool| grant.allows(tool.name.as_str()));
        if let ToolGrant::Names(names) = grant {
            let has = |name: &str| tools.items.iter().any(|tool| tool.name.as_str() == name);
            let missing = names.iter().filter(|name| !has(name));
            tools
                .omitted
                .extend(missing.map(|name| format!("the tool {name:?}: it has no such tool")));
        }
        Ok(tools)
    }

    /// Returns the prompts, if they are granted.
    async fn granted_prompts(&self) -> Result<ListPage<Prompt>, CallError> {
        if !self.config.grant.prompts {
            return Ok(ListPage::empty());
        }
        if !self.facts.interfaces.prompts {
            return Ok(ListPage::empty().with_note("prompts: it implements no `prompt-provider`"));
        }
        Ok(self.all_prompts().await?.without_personal("prompts"))
    }
}
