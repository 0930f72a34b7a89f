//! Loads a component file as a provider: read, compile, probe. Each load is a task of its own. A file that
//! holds the revision that is already served costs only the reading.

mod component;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use futures_util::FutureExt as _;
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::task::AbortHandle;

use self::component::IdentifiedComponent;
use super::desired_state::DesiredComponent;
use super::{Approvals, ApprovalsError, ProviderConfig};
use crate::catalog::PendingApproval;
use crate::source::{Fetched, File};
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::{ApprovalMode, Grant, GrantRequest, QuotaUsage, grant_lines, ungranted_imports};
use larder_runtime::drain::Drain;
use larder_runtime::metrics;
use larder_sandbox::provider::{GrantSources, LoadError, ProbeResult, Provider};
use larder_sandbox::{Rejection, Sandbox, SignalSender};

/// Size limit of a component's grant request file in bytes.
pub const MAX_GRANT_REQUEST_SIZE: u64 = 64 << 10;

/// Identifies a revision: the component's digest and its configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Revision {
    pub(super) digest: Digest,
    pub(super) config: ProviderConfig,
}

/// The result of a load or of a list refresh.
pub(super) struct LoadResult {
    pub(super) stem: String,
    pub(super) job: LoadJob,
    pub(super) outcome: Outcome,
    /// Whether the operator still permits everything that the serving revision has.
    pub(super) still_permitted: bool,
    pub(super) duration: Duration,
}

/// What a result belongs to. The numbers are unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadJob {
    /// A component was loaded.
    Load(u64),
    /// A provider's lists were refreshed.
    RefreshList(u64),
    /// A component was identified by its file fingerprint, but its content differs from the cached one.
    Recheck,
}

pub(super) enum Outcome {
    /// The revision is served already, or failed before.
    Unchanged(Revision),
    /// The revision works.
    Offer(Box<LoadedProvider>),
    /// The revision cannot be served.
    Rejected(LoadError, Option<Revision>),
    /// The revision requests more than it may have.
    PendingApproval(PendingApproval),
}

impl Outcome {
    fn metric_label(&self) -> metrics::LoadOutcome {
        match self {
            Self::Unchanged(_) => metrics::LoadOutcome::Unchanged,
            Self::Offer(_) => metrics::LoadOutcome::Served,
            Self::Rejected(..) => metrics::LoadOutcome::Rejected,
            Self::PendingApproval(_) => metrics::LoadOutcome::PendingApproval,
        }
    }
}

/// A revision that works.
pub(super) struct LoadedProvider {
    pub(super) provider: Arc<Provider>,
    pub(super) probed: ProbeResult,
    pub(super) revision: Revision,
    /// The grant request lines and imports beyond the operator's grant.
    pub(super) requests: BTreeSet<String>,
}

/// The revisions that need not be loaded again, and the requests of the serving one.
pub(super) struct PreviousRevisions {
    pub(super) serving: Option<Revision>,
    pub(super) requests: Option<BTreeSet<String>>,
    pub(super) failed: Option<Revision>,
}

impl LoadResult {
    pub(super) fn revision(&self) -> Option<&Revision> {
        match &self.outcome {
            Outcome::Unchanged(revision) => Some(revision),
            Outcome::Offer(loaded) => Some(&loaded.revision),
            Outcome::Rejected(_, revision) => revision.as_ref(),
            Outcome::PendingApproval(_) => None,
        }
    }
}

/// Loads components, with what all loads of a team share.
pub(super) struct Loader {
    pub(super) team: TeamName,
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) metrics: Arc<metrics::LoadMetrics>,
    pub(super) signals: SignalSender,
    pub(super) drain: Drain,
    pub(super) base_folder: PathBuf,
    pub(super) parse_grant_request: fn(&str, &Path) -> Result<GrantRequest, String>,
    pub(super) approvals: Approvals,
    pub(super) quota_usage: Option<Arc<QuotaUsage>>,
    pub(super) load_permits: Semaphore,
    /// One at a time: reading components again has no urgency.
    pub(super) recheck_permit: Semaphore,
    pub(super) wake: Arc<Notify>,
    pub(super) load_results: mpsc::UnboundedSender<LoadResult>,
}

impl Loader {
    /// Loads a component in a task, unless it is one of the previous revisions.
    pub(super) fn start(
        self: &Arc<Self>,
        id: u64,
        desired: DesiredComponent,
        previous: PreviousRevisions,
    ) -> AbortHandle {
        let loader = self.clone();
        let task = self.drain.spawn(async move {
            let began = Instant::now();
            let stem = desired.file.stem().to_owned();
            let (file, mut cached_revision) = (desired.file.clone(), None);
            // Cannot fail: the semaphore is never closed.
            let permit = loader.load_permits.acquire().await;
            // A component beyond the quota is not served, even if it was served before.
            let still_permitted = !desired.exceeds_quota && loader.still_permitted(&desired, &previous).await;
            let outcome = catch_panic(loader.load(desired, previous, &mut cached_revision)).await;
            loader.metrics.record(outcome.metric_label());
            loader.metrics.durations.observe(began.elapsed());
            let job = LoadJob::Load(id);
            // Sending fails only at shutdown, when nobody receives.
            let _ = loader.load_results.send(LoadResult {
                stem,
                job,
                outcome,
                still_permitted,
                duration: began.elapsed(),
            });
            drop(permit);
            if let Some(revision) = cached_revision {
                loader.recheck(&file, revision).await;
            }
        });
        task.abort_handle()
    }

    /// Probes a provider again for its lists.
    pub(super) fn refresh_list(
        self: &Arc<Self>,
        id: u64,
        provider: Arc<Provider>,
        revision: Revision,
        requests: BTreeSet<String>,
    ) {
        let loader = self.clone();
        self.drain.spawn(async move {
            let began = Instant::now();
            let stem = provider.name().to_string();
            let probe = async {
                match provider.probe().await {
                    Ok(probed) => {
                        Outcome::Offer(Box::new(LoadedProvider { provider, probed, revision, requests }))
                    }
                    Err(error) => Outcome::Rejected(error, Some(revision)),
                }
            };
            let (outcome, job) = (catch_panic(probe).await, LoadJob::RefreshList(id));
            let _ = loader.load_results.send(LoadResult {
                stem,
                job,
                outcome,
                still_permitted: true,
                duration: began.elapsed(),
            });
        });
    }

    /// Returns whether everything that the serving revision has is still granted or approved. A revocation
    /// takes effect whether or not there is a newer revision to serve.
    async fn still_permitted(&self, desired: &DesiredComponent, previous: &PreviousRevisions) -> bool {
        let (Some(serving), Ok(name)) = (&previous.serving, ProviderName::parse(desired.file.stem())) else {
            return true;
        };
        let current = desired.ceiling.cap_request(GrantRequest::from_grant(&serving.config.grant));
        if !current.denied.is_empty() {
            return false;
        }
        let beyond = current.allowed.lines_beyond(&desired.config.grant);
        // If the approvals cannot be read, nothing is known to be revoked.
        let unapproved = self.unapproved(&name, beyond, desired.config.approve).await;
        unapproved.map_or(true, |unapproved| unapproved.is_empty())
    }

    async fn load(
        &self,
        desired: DesiredComponent,
        previous: PreviousRevisions,
        cached_revision: &mut Option<Revision>,
    ) -> Outcome {
        let (mut reached, mut is_cached) = (None, false);
        let outcome = self.try_load(desired, previous, &mut reached, &mut is_cached).await;
        *cached_revision = reached.clone().filter(|_| is_cached);
        outcome.unwrap_or_else(|error| Outcome::Rejected(error, reached))
    }

    /// Reads, checks the grant request, compiles and probes. After an error, `reached` holds the revision, as
    /// far as it was determined.
    async fn try_load(
        &self,
        desired: DesiredComponent,
        previous: PreviousRevisions,
        reached: &mut Option<Revision>,
        is_cached: &mut bool,
    ) -> Result<Outcome, LoadError> {
        let name = ProviderName::parse(desired.file.stem())?;
        if let (true, Some(quota_usage)) = (desired.exceeds_quota, &self.quota_usage) {
            return Err(LoadError::TooMany(quota_usage.quota().providers));
        }
        let component = self.identify(&desired.file, &desired.config.grant).await?;
        let digest = component.digest();
        *is_cached = matches!(component, IdentifiedComponent::Cached(_));
        let request = self.read_grant_request(desired.request_file).await?;
        let grant_sources =
            GrantSources { requested: request.lines(), allowed: grant_lines(&desired.config.grant) };
        let capped = desired.ceiling.cap_request(request);
        for line in capped.denied {
            tracing::warn!(
                provider = %name,
                line,
                "grant request line refused: beyond the ceiling of the team"
            );
        }
        let request = capped.allowed;
        let mut requests = request.lines_beyond(&desired.config.grant);
        let grant = Arc::new(request.merged_into(&desired.config.grant));
        let revision = Revision { digest, config: ProviderConfig { grant: grant.clone(), ..desired.config } };
        *reached = Some(revision.clone());
        let unapproved = self.unapproved(&name, requests.clone(), revision.config.approve).await?;
        if !unapproved.is_empty() {
            return Ok(self.pending_approval(name, digest, unapproved));
        }
        if previous.serving.as_ref() == Some(&revision) || previous.failed.as_ref() == Some(&revision) {
            return Ok(Outcome::Unchanged(revision));
        }
        let compiled = match component {
            IdentifiedComponent::Cached(cached) => self.sandbox.link(cached)?,
            IdentifiedComponent::Read(hashed) => self.sandbox.compile_hashed(&self.team, hashed).await?,
        };
        let imports = ungranted_imports(&compiled.imports, &grant);
        let before = match previous.requests {
            Some(serving) => Some(serving),
            None => self.last_served_imports(&name).await?,
        };
        // Toolchains import more than is ever called. Only imports that the previous revision did not have
        // need an approval.
        let is_new = |line: &&String| before.as_ref().is_some_and(|before| !before.contains(*line));
        let new_imports: BTreeSet<_> = imports.iter().filter(is_new).cloned().collect();
        let lines = self.unapproved(&name, new_imports, revision.config.approve).await?;
        if !lines.is_empty() {
            return Ok(self.pending_approval(name, digest, lines));
        }
        // Recorded independently of the grant, so that a narrower grant later does not require an approval.
        requests.extend(ungranted_imports(&compiled.imports, &Grant::default()));
        let owner = (name, self.team.clone());
        let provider = Provider::new(
            owner,
            digest,
            compiled,
            grant,
            self.sandbox.clone(),
            self.signals.clone(),
            self.quota_usage.clone(),
        );
        let provider = provider.with_grant_sources(grant_sources);
        let probed = provider.probe().await?;
        let provider = Arc::new(provider);
        Ok(Outcome::Offer(Box::new(LoadedProvider { provider, probed, revision, requests })))
    }

    fn pending_approval(&self, provider: ProviderName, digest: Digest, lines: BTreeSet<String>) -> Outcome {
        let (team, since) = (self.team.clone(), SystemTime::now());
        Outcome::PendingApproval(PendingApproval { team, provider, digest, lines, since })
    }

    /// Returns the requested lines that are not approved.
    async fn unapproved(
        &self,
        name: &ProviderName,
        lines: BTreeSet<String>,
        approve: ApprovalMode,
    ) -> Result<BTreeSet<String>, LoadError> {
        if approve == ApprovalMode::Always || lines.is_empty() {
            return Ok(BTreeSet::new());
        }
        let name = name.clone();
        self.with_approvals(move |approvals, team| approvals.unapproved(team, &name, &lines)).await
    }

    /// Returns the imports of the revision that was served last, before a restart or before its file was
    /// missing.
    async fn last_served_imports(&self, name: &ProviderName) -> Result<Option<BTreeSet<String>>, LoadError> {
        let name = name.clone();
        self.with_approvals(move |approvals, team| approvals.last_served(team, &name)).await
    }

    /// Reads the approval files on a blocking thread.
    async fn with_approvals<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Approvals, &TeamName) -> Result<T, ApprovalsError> + Send + 'static,
    ) -> Result<T, LoadError> {
        let (approvals, team) = (self.approvals.clone(), self.team.clone());
        let result = self.drain.spawn_blocking(move || read(&approvals, &team)).await;
        let result = result.map_err(|error| LoadError::Approvals(error.to_string()))?;
        result.map_err(|error| LoadError::Approvals(error.to_string()))
    }

    /// Reads and parses the grant request file of a component.
    async fn read_grant_request(&self, request_file: Option<File>) -> Result<GrantRequest, LoadError> {
        let Some(file) = request_file else { return Ok(GrantRequest::default()) };
        let (parse_grant_request, folder) = (self.parse_grant_request, self.base_folder.clone());
        let work = self.drain.spawn_blocking(move || match file.fetch(MAX_GRANT_REQUEST_SIZE) {
            Ok(Fetched::Bytes(bytes)) => {
                let text = std::str::from_utf8(&bytes)
                    .map_err(|error| LoadError::GrantRequestFile(error.to_string()))?;
                parse_grant_request(text, &folder).map_err(LoadError::GrantRequestFile)
            }
            Ok(Fetched::TooLarge(size)) => Err(LoadError::GrantRequestFile(format!(
                "the file has {size} bytes, the limit is {MAX_GRANT_REQUEST_SIZE}"
            ))),
            Err(error) => Err(LoadError::Unreadable(error.to_string())),
        });
        work.await.unwrap_or_else(|error| Err(LoadError::Unreadable(error.to_string())))
    }
}

/// Turns a panic in the engine into one rejected component, so that the load still ends with a result.
async fn catch_panic(work: impl Future<Output = Outcome>) -> Outcome {
    let ended = std::panic::AssertUnwindSafe(work).catch_unwind().await;
    ended.unwrap_or_else(|_| {
        let error = Rejection::Compiler("the engine panicked; see the log".into());
        Outcome::Rejected(LoadError::Rejected(error), None)
    })
}
