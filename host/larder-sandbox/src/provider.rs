//! A provider: a loaded component with its name, team and grants, and the calls to it. Calls are made to a
//! guest each. WIT types are converted here to types of the host, which are bounded and parsed.

mod charge;
mod circuit_breaker;
mod concurrency_limit;
mod convert;
mod error;
mod guest_calls;
mod instrument;
mod probe;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use self::circuit_breaker::CircuitBreaker;
use self::concurrency_limit::ConcurrencyLimit;
use self::convert::{Omissions, entry_page, read_result, template_match, template_page, versions};
pub use self::error::CallError;
pub use self::probe::{LoadError, ProbeResult};
use crate::bindings::exports::larder::provider::{completion_provider, resource_provider as wit};
use crate::bindings::larder::provider::provider_types::Error as WitError;
use crate::{
    CompiledComponent, Fault, FaultKind, GuestCall, GuestConfig, Lease, OutgoingHttp, QueueTimer, ReuseKey,
    Sandbox, SignalRateLimit, SignalSender,
};
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::{Grant, GuestLifetime, Permit, QuotaUsage};
use larder_model::resource::{Completion, CompletionRequest, Entry, Freshness, Match, ReadResult, Template};
use larder_model::uri::Uri;
use larder_runtime::metrics::ProviderMetrics;

/// Maximum number of values in one completion.
const MAX_COMPLETIONS: usize = 100;

/// One revision of a provider: a component with its grants and settings.
pub struct Provider {
    /// The configuration of its guests.
    config: Arc<GuestConfig>,
    revision: u64,
    digest: Digest,
    compiled: CompiledComponent,
    sandbox: Arc<Sandbox>,
    concurrency_limit: ConcurrencyLimit,
    breaker: CircuitBreaker,
    since: SystemTime,
    grant_sources: GrantSources,
}

/// Where the grants of a provider come from, as lines for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GrantSources {
    /// Grants that the author requests in the `NAME.toml` file beside the component.
    pub requested: BTreeSet<String>,
    /// Grants that the operator configured, within the ceiling of the team.
    pub allowed: BTreeSet<String>,
}

/// One page of a list of a provider.
#[derive(Debug)]
pub struct ListPage<T> {
    /// The entries or templates.
    pub items: Vec<T>,
    /// The provider's cursor for the next page.
    pub next: Option<String>,
    /// How long the page may be reused; none if the provider did not say.
    pub freshness: Option<Freshness>,
    /// What was omitted or changed, and why.
    pub omitted: Vec<String>,
    /// Bytes of text in the items.
    pub bytes: u64,
}

/// A request for a page of a provider's list.
#[derive(Debug, Clone, Default)]
pub struct ListQuery {
    /// The cursor of the page; none for the first page.
    pub cursor: Option<String>,
    /// The desired number of entries.
    pub limit: u32,
    /// Hint: only entries whose URIs have this prefix are needed.
    pub uri_prefix: Option<String>,
    /// Hint: only entries of this kind are needed.
    pub kind: Option<String>,
}

impl Provider {
    /// Creates a provider. It has to be probed before it is served.
    pub fn new(
        (name, team): (ProviderName, TeamName),
        digest: Digest,
        compiled: CompiledComponent,
        grant: Arc<Grant>,
        sandbox: Arc<Sandbox>,
        signals: SignalSender,
        quota_usage: Option<Arc<QuotaUsage>>,
    ) -> Self {
        static REVISIONS: AtomicU64 = AtomicU64::new(1);
        // Only calls to file systems can block a thread.
        let folder_threads = (!grant.dirs.is_empty()).then(|| sandbox.folder_threads(&team, &name));
        Self {
            since: SystemTime::now(),
            revision: REVISIONS.fetch_add(1, Ordering::Relaxed),
            digest,
            breaker: CircuitBreaker::default(),
            concurrency_limit: ConcurrencyLimit::new(&grant.limits),
            config: Arc::new(GuestConfig {
                metrics: sandbox.metrics().provider(&team, &name),
                outgoing_http: Arc::new(OutgoingHttp::new(&grant)),
                signal_rate_limit: SignalRateLimit::default(),
                provider: name,
                team,
                grant,
                signals,
                folder_threads,
                quota_usage,
            }),
            compiled,
            sandbox,
            grant_sources: GrantSources::default(),
        }
    }

    /// Sets where its grants come from.
    pub fn with_grant_sources(mut self, grant_sources: GrantSources) -> Self {
        self.grant_sources = grant_sources;
        self
    }

    /// Where its grants come from.
    pub fn grant_sources(&self) -> &GrantSources {
        &self.grant_sources
    }

    /// Its name.
    pub fn name(&self) -> &ProviderName {
        &self.config.provider
    }

    /// Its team.
    pub fn team(&self) -> &TeamName {
        &self.config.team
    }

    /// A number that is unique among all revisions of all providers in this process. The same component with
    /// other grants is another revision.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The digest of its component.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// When this revision was created.
    pub fn since(&self) -> SystemTime {
        self.since
    }

    /// Its metrics, which all of its current revisions share.
    pub fn metrics(&self) -> &ProviderMetrics {
        &self.config.metrics
    }

    /// How long its circuit breaker is still open after repeated faults; none if it is not.
    pub fn circuit_open_for(&self) -> Option<Duration> {
        self.breaker.circuit_open_for()
    }

    /// What it may access, and its limits.
    pub fn grant(&self) -> &Arc<Grant> {
        &self.config.grant
    }

    /// The names of what its component imports.
    pub fn imports(&self) -> &[String] {
        &self.compiled.imports
    }

    /// The names of what its component exports.
    pub fn exports(&self) -> &[String] {
        &self.compiled.exports
    }

    /// Whether it implements `version-provider`, so that versions are known without a read.
    pub fn supports_versions(&self) -> bool {
        self.compiled.versions.is_some()
    }

    /// Waits for permits of the provider and its team, and makes a call to a guest.
    async fn call<W: GuestCall>(&self, permit: Permit, guest_call: &W) -> Result<W::Output, CallError> {
        let queue_timer =
            QueueTimer::new(self.config.metrics.clone(), self.config.grant.limits.queue_timeout);
        let Some(_concurrency_permit) = self.concurrency_limit.acquire(&queue_timer).await else {
            return Err(CallError::Busy);
        };
        let _team_permit = match &self.config.quota_usage {
            Some(quota_usage) => Some(
                quota_usage.call_permit(queue_timer.remaining()).await.map_err(CallError::QuotaExceeded)?,
            ),
            None => None,
        };
        let lease = Lease { config: self.config.clone(), permit };
        let reuse_key = (self.config.grant.guests == GuestLifetime::Reused)
            .then(|| ReuseKey { revision: self.revision, caller: lease.permit.caller().cloned() });
        // Boxed because this future is large: each future that awaits it would contain it, and moving them
        // would overflow the stack of a thread.
        let response = Box::pin(self.sandbox.run(&self.compiled, lease, queue_timer, reuse_key, guest_call));
        response.await.map_err(|fault| self.log_fault(fault))
    }

    /// Logs a fault with all details, and converts it to an error, of which the caller sees only the kind.
    fn log_fault(&self, fault: Fault) -> CallError {
        if fault.kind == FaultKind::NoCapacity {
            return CallError::Busy;
        }
        let (team, provider, digest) =
            (self.config.team.non_default(), self.config.provider.as_str(), self.digest.short());
        let Fault { kind, detail, stderr } = &fault;
        tracing::warn!(team, provider, digest, fault = kind.as_str(), %kind, ?detail, ?stderr, "the provider failed");
        CallError::Fault(fault)
    }

    /// Counts a call that was rejected because of too many other calls, and logs rejected calls in intervals.
    pub fn log_rejected_calls(&self, error: &CallError) {
        if let Some(calls) = self.concurrency_limit.count_rejected() {
            let (team, provider) = (self.config.team.non_default(), self.config.provider.as_str());
            tracing::warn!(team, provider, calls, %error, "rejected calls: too many at the same time");
        }
    }

    async fn describe_once(&self, permit: Permit) -> Result<wit::Description, CallError> {
        self.call(permit, &guest_calls::Describe(&self.compiled)).await
    }

    async fn list_once(&self, permit: Permit, query: ListQuery) -> Result<ListPage<Entry>, CallError> {
        let ListQuery { cursor, limit, uri_prefix, kind } = query;
        let query = wit::ListQuery { cursor, limit, uri_prefix, kind };
        let page = self.call(permit, &guest_calls::List(&self.compiled, query)).await?;
        let page = page.map_err(|error| self.redacted_error(error))?;
        entry_page(page, self.config.grant.limits.page_entries, &self.config.grant.secrets)
    }

    async fn templates_once(
        &self,
        permit: Permit,
        cursor: Option<String>,
    ) -> Result<ListPage<Template>, CallError> {
        let page = self.call(permit, &guest_calls::Templates(&self.compiled, cursor)).await?;
        let page = page.map_err(|error| self.redacted_error(error))?;
        template_page(page, self.config.grant.limits.page_entries, &self.config.grant.secrets)
    }

    async fn match_once(&self, permit: Permit, uri: &Uri) -> Result<Option<Match>, CallError> {
        let found = self.call(permit, &guest_calls::Matching(&self.compiled, uri.as_str())).await?;
        Ok(found.map(template_match))
    }

    async fn read_once(
        &self,
        permit: Permit,
        uri: &Uri,
        matched: Option<Match>,
        known_version: Option<String>,
    ) -> Result<ReadResult, CallError> {
        let has_version = known_version.is_some();
        let request = wit::ReadRequest {
            uri: uri.to_string(),
            matched: matched
                .map(|found| wit::TemplateMatch { uri_template: found.template, variables: found.values }),
            known_version,
        };
        let response = self.call(permit, &guest_calls::Read(&self.compiled, request)).await?;
        let mut omissions = Omissions::new(&self.config.grant.secrets);
        let response = response.map_err(|error| match error {
            WitError::NotModified if has_version => CallError::NotModified,
            error => self.redacted_error(error),
        });
        let result = read_result(response?, uri, &mut omissions);
        self.log_omissions(&omissions);
        result
    }

    async fn complete_once(
        &self,
        permit: Permit,
        request: CompletionRequest,
    ) -> Result<Completion, CallError> {
        let Some(functions) = &self.compiled.completion else {
            return Ok(Completion::default());
        };
        let wit_request = completion_provider::CompletionRequest {
            uri_template: request.template,
            variable: request.variable,
            prefix: request.prefix,
            filled: request.filled,
        };
        let response = self.call(permit, &guest_calls::Complete(functions, wit_request)).await?;
        let mut response = response.map_err(|error| self.redacted_error(error))?;
        let has_more = response.more || response.values.len() > MAX_COMPLETIONS;
        response.values.truncate(MAX_COMPLETIONS);
        Ok(Completion { values: response.values, total: response.total, has_more })
    }

    async fn versions_once(&self, permit: Permit, uris: &[Uri]) -> Result<Vec<Option<String>>, CallError> {
        let Some(functions) = &self.compiled.versions else {
            return Err(CallError::Failed("it does not implement `version-provider`".into()));
        };
        let uri_strings: Vec<String> = uris.iter().map(ToString::to_string).collect();
        let response = self.call(permit, &guest_calls::Versions(functions, uri_strings)).await?;
        versions(response.map_err(|error| self.redacted_error(error))?, uris.len())
    }

    /// Converts an error of the provider, and removes secrets from its text.
    fn redacted_error(&self, error: WitError) -> CallError {
        let clean = |why: String| self.config.grant.secrets.redact(&why).into_owned();
        CallError::from(match error {
            WitError::NotFound => error,
            // No version was passed, so the caller has nothing that could be unmodified.
            WitError::NotModified => {
                WitError::Failed("it returned `not-modified`, but no known version was passed".into())
            }
            WitError::Invalid(why) => WitError::Invalid(clean(why)),
            WitError::Denied(why) => WitError::Denied(clean(why)),
            WitError::Unavailable(why) => WitError::Unavailable(clean(why)),
            WitError::Failed(why) => WitError::Failed(clean(why)),
        })
    }

    fn log_omissions(&self, omissions: &Omissions<'_>) {
        let (team, provider) = (self.config.team.non_default(), self.config.provider.as_str());
        for note in omissions.summary() {
            tracing::warn!(team, provider, %note, "omitted or changed part of a response");
        }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.sandbox.discard_idle_guests(self.revision);
    }
}

impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.config.provider)
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}
