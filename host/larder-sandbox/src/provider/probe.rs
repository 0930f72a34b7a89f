//! Probes a new revision before it is served: gets its description, its entries and its templates.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

use super::pages::fetch_pages;
use super::{CallError, ListPage, ListQuery, Provider};
use crate::Rejection;
use crate::fault::{Fault, FaultKind};
use larder_model::policy::{Permit, ToolGrant};
use larder_model::prompt::Prompt;
use larder_model::resource::{Entry, Freshness, Scope, Template};
use larder_model::settings::Problem;
use larder_model::size;
use larder_model::tool::Tool;

/// Maximum duration of a probe, as a multiple of the maximum duration of one call.
const MAX_CALL_TIMES: u32 = 3;

/// The freshness of a list if its provider does not say how long it may be reused.
const NOT_REUSABLE: Freshness = Freshness {
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

/// The results of a probe.
#[derive(Debug, Clone)]
pub struct ProbeResult {
    /// The display name of the provider.
    pub title: Option<String>,
    /// The version that the provider declares for itself.
    pub version: Option<String>,
    /// The summary of the provider, for the reader of the catalog.
    pub summary: Option<String>,
    /// The instructions of the provider for models.
    pub instructions: Option<String>,
    /// URI prefixes of the provider's resources that are not in its list.
    pub claims: Vec<String>,
    /// The first entries of its list, in the order of the list.
    pub entries: Vec<Entry>,
    /// The cursor of the first page that was not requested; none if `entries` is the whole list.
    pub next_cursor: Option<String>,
    /// All templates of the provider.
    pub templates: Vec<Template>,
    /// The tools of the provider that are granted.
    pub tools: Vec<Tool>,
    /// The prompts of the provider, if they are granted.
    pub prompts: Vec<Prompt>,
    /// How long the list of the provider may be reused.
    pub freshness: Freshness,
    /// When the probe started.
    pub probed_at: Instant,
    /// What was omitted from the lists or changed in them, and why.
    pub omitted: Vec<String>,
    /// Differences between the configured settings and the settings that the provider declares.
    pub setting_problems: Vec<Problem>,
}

/// Why a component was not loaded as a provider.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The file could not be read.
    #[error("cannot read the file: {0}")]
    Unreadable(String),
    /// The publisher of the component could not be verified.
    #[error("verification failed: {reason}")]
    Verification {
        /// Why.
        reason: String,
        /// Whether a later attempt may succeed although no file or setting changes.
        is_temporary: bool,
    },
    /// The name of the file is not a valid provider name.
    #[error(transparent)]
    BadName(#[from] larder_model::name::BadName),
    /// The file exceeds the size limit.
    #[error(
        "it has {}; the limit for components is {} (`limits.component_size`)",
        size::show(*size),
        size::show(*limit)
    )]
    TooLarge {
        /// The size of the file.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The team already has the maximum number of providers.
    #[error(
        "the team may have {0} providers, and that many come before it by name (`quota.providers`)"
    )]
    TooMany(u32),
    /// The sandbox does not accept the component.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The `NAME.toml` file beside the component is invalid.
    #[error("the `.toml` file beside it is invalid: {0}")]
    GrantRequestFile(String),
    /// The approvals of the operator could not be read.
    #[error("cannot read the approvals: {0}")]
    Approvals(String),
    /// An operator rejected the requests of the component.
    #[error("{0}")]
    NotApproved(String),
    /// A required setting is missing. Contains all problems of the provider's settings.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Settings(Vec<Problem>),
    /// A call of the probe failed.
    #[error("cannot get {what}: {error}")]
    Probe {
        /// The purpose of the call.
        what: &'static str,
        /// The error of the call.
        error: CallError,
    },
}

impl LoadError {
    /// The end of the stderr of a guest that misbehaved, without secrets. Empty for other errors.
    pub fn guest_stderr(&self) -> &str {
        match self {
            Self::Probe { error, .. } => error.guest_stderr(),
            _ => "",
        }
    }

    /// Whether another attempt may succeed with the same component and the same configuration. An invalid component
    /// stays invalid. A failed probe may succeed when the services that the component needs are available, and a
    /// compiler process may fail for external reasons. A rejected signature is verified again only if it may be trusted
    /// later.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Probe { .. }
            | Self::Unreadable(_)
            | Self::Approvals(_)
            | Self::GrantRequestFile(_)
            | Self::Rejected(Rejection::Compiler(_) | Rejection::NoRoom(_)) => true,
            Self::Rejected(_)
            | Self::BadName(_)
            | Self::Settings(_)
            | Self::NotApproved(_)
            | Self::TooLarge { .. }
            | Self::TooMany(_) => false,
            Self::Verification { is_temporary, .. } => *is_temporary,
        }
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
        if !self.supports_tools() {
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
        if !self.supports_prompts() {
            return Ok(ListPage::empty().with_note("prompts: it implements no `prompt-provider`"));
        }
        Ok(self.all_prompts().await?.without_personal("prompts"))
    }
}
