//! Loads an artifact as a provider: read, compile, probe. Each load is a task of its own. An artifact that is the
//! revision that is already served costs only the reading.

mod component;
mod definitions;
mod grant_request;
mod optimise;
mod permission;
mod result;
mod signatures;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use tokio::sync::{Notify, Semaphore, SemaphorePermit, mpsc};
use tokio::task::AbortHandle;

use self::component::IdentifiedComponent;
use self::grant_request::GrantDecision;
pub use self::grant_request::MAX_GRANT_REQUEST_SIZE;
pub(super) use self::result::{
    LoadEvent, LoadJob, LoadResult, LoadedProvider, Outcome, PreviousRevisions, Revision,
};
use super::desired_state::DesiredComponent;
use super::phases::PhaseTimer;
use super::{Approvals, ProviderConfig};
use larder_key_value::KeyValueStore;
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::{Grant, GrantRequest, QuotaUsage, ungranted_imports};
use larder_model::signature::Signer;
use larder_runtime::blocking_threads::BlockingThreads;
use larder_runtime::drain::Drain;
use larder_runtime::metrics;
use larder_sandbox::provider::{LoadError, ProbeResult, Provider};
use larder_sandbox::{CompileJob, CompiledComponent, Priority, Rejection, Sandbox, SignalSender};

/// How long the probe of one provider may delay the probes of others.
const MAX_PROBE_PERMIT_TIME: Duration = Duration::from_secs(1);

/// Loads components, with what all loads of a team share.
pub(super) struct Loader {
    pub(super) team: TeamName,
    pub(super) sandbox: Arc<Sandbox>,
    pub(super) metrics: metrics::LoadMetrics,
    pub(super) signals: SignalSender,
    pub(super) drain: Drain,
    /// For the files of the team, which can block a thread forever.
    pub(super) threads: Arc<BlockingThreads>,
    pub(super) base_folder: PathBuf,
    pub(super) parse_grant_request: fn(&str, &Path) -> Result<GrantRequest, String>,
    pub(super) requires_settings: bool,
    pub(super) approvals: Approvals,
    pub(super) quota_usage: Option<Arc<QuotaUsage>>,
    /// For reading and compiling.
    pub(super) load_permits: Semaphore,
    pub(super) probe_permits: Semaphore,
    /// One at a time: reading components again has no urgency.
    pub(super) recheck_permit: Semaphore,
    /// One at a time: nobody waits for optimised code.
    pub(super) optimise_permit: Semaphore,
    pub(super) wake: Arc<Notify>,
    pub(super) load_events: mpsc::UnboundedSender<LoadEvent>,
    /// Empty in a process without a key-value store.
    pub(super) key_value: OnceLock<KeyValueStore>,
}

/// A load in progress.
struct RunningLoad<'a> {
    id: u64,
    /// Returned before the provider is called.
    permit: Option<SemaphorePermit<'a>>,
    /// Set when the component was read.
    has_read: Arc<AtomicBool>,
}

/// What is known about a load when it ends.
struct Report<'a> {
    /// The revision, if it was identified without reading it.
    cached_revision: &'a mut Option<Revision>,
    signers: &'a mut Vec<Signer>,
    timer: &'a mut PhaseTimer,
}

/// What is known about a load, however far it got.
struct Progress<'a> {
    /// The revision, as far as it was determined.
    reached: &'a mut Option<Revision>,
    is_cached: &'a mut bool,
    signers: &'a mut Vec<Signer>,
    timer: &'a mut PhaseTimer,
}

impl Loader {
    /// Loads a component in a task, unless it is one of the previous revisions.
    pub(super) fn start(
        self: &Arc<Self>,
        id: u64,
        desired: DesiredComponent,
        previous: PreviousRevisions,
        has_read: Arc<AtomicBool>,
    ) -> AbortHandle {
        let loader = self.clone();
        let task = self.drain.spawn(async move {
            let began = Instant::now();
            let artifact = desired.artifact.clone();
            let mut cached_revision = None;
            let mut signers = Vec::new();
            let detection = artifact
                .component
                .detection()
                .filter(|_| !previous.is_retry);
            let mut timer = PhaseTimer::new(detection);
            // Cannot fail: the semaphore is never closed.
            let load = RunningLoad {
                id,
                permit: loader.load_permits.acquire().await.ok(),
                has_read,
            };
            timer.end(|phases| &mut phases.queue);
            // A component beyond the quota is not served, even if it was served before.
            let still_permitted =
                !desired.exceeds_quota && loader.still_permitted(&desired, &previous).await;
            let report = Report {
                cached_revision: &mut cached_revision,
                signers: &mut signers,
                timer: &mut timer,
            };
            let outcome = catch_panic(loader.load(load, desired, previous, report)).await;
            loader.wait_if_replaced(&outcome, &artifact.component).await;
            loader.metrics.record(outcome.metric_label());
            loader.metrics.durations.observe(began.elapsed());
            let name = artifact.name.clone();
            let job = LoadJob::Load(id);
            let duration = began.elapsed();
            let timer = Some(timer);
            let unoptimised = outcome.unoptimised_provider();
            let result = LoadResult {
                name,
                job,
                outcome,
                still_permitted,
                signers,
                duration,
                timer,
            };
            loader.send(LoadEvent::Ended(Box::new(result)));
            // A scan that found another file may have let this load end.
            if !loader.is_unchanged(&artifact.component).await {
                loader.wake.notify_one();
            }
            if let Some(provider) = unoptimised {
                loader.optimise(&artifact.component, provider).await;
            }
            if let Some(revision) = cached_revision {
                loader.recheck(&artifact, revision).await;
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
            let name = provider.name().to_string();
            let probe = async {
                let offered = async {
                    loader
                        .offer(provider.probe().await?, provider, &revision, requests)
                        .await
                };
                offered
                    .await
                    .unwrap_or_else(|error| Outcome::Rejected(error, Some(revision)))
            };
            let outcome = catch_panic(probe).await;
            let job = LoadJob::RefreshList(id);
            let still_permitted = true;
            let signers = Vec::new();
            let duration = began.elapsed();
            let result = LoadResult {
                name,
                job,
                outcome,
                still_permitted,
                signers,
                duration,
                timer: None,
            };
            loader.send(LoadEvent::Ended(Box::new(result)));
        });
    }

    fn send(&self, event: LoadEvent) {
        // Fails only at shutdown, when nobody receives.
        _ = self.load_events.send(event);
    }

    async fn load(
        &self,
        load: RunningLoad<'_>,
        desired: DesiredComponent,
        previous: PreviousRevisions,
        report: Report<'_>,
    ) -> Outcome {
        let mut reached = None;
        let mut is_cached = false;
        let Report {
            cached_revision,
            signers,
            timer,
        } = report;
        let progress = Progress {
            reached: &mut reached,
            is_cached: &mut is_cached,
            signers,
            timer,
        };
        let outcome = self.try_load(load, desired, previous, progress).await;
        *cached_revision = reached.clone().filter(|_| is_cached);
        outcome.unwrap_or_else(|error| Outcome::Rejected(error, reached))
    }

    /// Reads, verifies the signatures, checks the grant request, compiles and probes.
    async fn try_load(
        &self,
        load: RunningLoad<'_>,
        desired: DesiredComponent,
        previous: PreviousRevisions,
        Progress {
            reached,
            is_cached,
            signers,
            timer,
        }: Progress<'_>,
    ) -> Result<Outcome, LoadError> {
        let name = self.check_artifact(&desired)?;
        let component = self.identify(&desired).await?;
        load.has_read.store(true, Relaxed);
        timer.end(|phases| &mut phases.reading);
        *signers = self.verify_signatures(&desired, &component).await?;
        let digest = component.digest();
        *is_cached = matches!(component, IdentifiedComponent::Cached(_));
        let GrantDecision {
            grant,
            mut requests,
            sources,
        } = self.decide_grant(&name, &desired).await?;
        let revision = Revision {
            digest,
            config: ProviderConfig {
                grant: grant.clone(),
                ..desired.config
            },
        };
        *reached = Some(revision.clone());
        let unapproved = self
            .unapproved(
                &name,
                digest,
                requests.clone(),
                revision.config.approval_mode,
            )
            .await?;
        if !unapproved.is_empty() {
            // Its imports are not known yet.
            let is_request = |line: &&String| !line.starts_with("import ");
            let before = previous
                .requests
                .iter()
                .flatten()
                .filter(is_request)
                .cloned()
                .collect();
            return self
                .hold(&name, digest, unapproved, &requests, &before)
                .await;
        }
        let is_serving =
            previous.serving.as_ref() == Some(&revision) && !previous.has_withheld_tools;
        if is_serving || previous.failed.as_ref() == Some(&revision) {
            return Ok(Outcome::Unchanged(revision));
        }
        timer.end(|phases| &mut phases.checking);
        let compiled = self
            .compile(&name, component, previous.priority_of_next(), timer)
            .await?;
        let imports = ungranted_imports(compiled.imports(), &grant);
        // Toolchains import more than is ever called, so only new imports need an approval. The first revision of a
        // provider has no new imports.
        let before = self.requests_before(&name, previous.requests).await?;
        let new_imports = before
            .as_ref()
            .map(|before| &imports - before)
            .unwrap_or_default();
        let lines = self
            .unapproved(&name, digest, new_imports, revision.config.approval_mode)
            .await?;
        // Recorded independently of the grant, so that a narrower grant later does not require an approval.
        requests.extend(ungranted_imports(compiled.imports(), &Grant::default()));
        if !lines.is_empty() {
            return self
                .hold(&name, digest, lines, &requests, &before.unwrap_or_default())
                .await;
        }
        let provider = self
            .provider(name, compiled, grant)
            .with_grant_sources(sources);
        timer.end(|phases| &mut phases.checking);
        let probed = self.probe(load, &provider).await?;
        let offered = self
            .offer(probed, Arc::new(provider), &revision, requests)
            .await;
        timer.end(|phases| &mut phases.probing);
        offered
    }

    /// Compiles and links a component.
    async fn compile(
        &self,
        name: &ProviderName,
        component: IdentifiedComponent,
        priority: Priority,
        timer: &mut PhaseTimer,
    ) -> Result<CompiledComponent, LoadError> {
        let job = CompileJob {
            team: &self.team,
            provider: Some(name),
            priority,
        };
        let cached = match component {
            IdentifiedComponent::Cached(cached) => cached,
            IdentifiedComponent::Read(hashed) => {
                let (cached, phases) = self.sandbox.compile_for(&job, hashed).await?;
                timer.phases.compiling = phases;
                cached
            }
        };
        timer.end(|phases| &mut phases.compiled_in);
        let compiled = self.sandbox.link(cached)?;
        timer.end(|phases| &mut phases.linking);
        Ok(compiled)
    }

    /// Gets the description and the lists of a provider. Its calls can take long, so meanwhile others are loaded, and
    /// after a while others are probed as well.
    async fn probe(
        &self,
        load: RunningLoad<'_>,
        provider: &Provider,
    ) -> Result<ProbeResult, LoadError> {
        drop(load.permit);
        let permit = self.probe_permits.acquire().await;
        self.send(LoadEvent::Probing {
            name: provider.name().to_string(),
            id: load.id,
        });
        let mut probe = pin!(async {
            // Its lists may fail without the setting, with a less helpful error.
            if self.requires_settings {
                provider.require_settings().await?;
            }
            provider.probe().await
        });
        match tokio::time::timeout(MAX_PROBE_PERMIT_TIME, &mut probe).await {
            Ok(probed) => probed,
            Err(_) => {
                drop(permit);
                probe.await
            }
        }
    }

    /// Checks what is known about an artifact before it is read. Returns the name of its provider.
    fn check_artifact(&self, desired: &DesiredComponent) -> Result<ProviderName, LoadError> {
        let provider = ProviderName::parse(&desired.artifact.name)?;
        if let (true, Some(quota_usage)) = (desired.exceeds_quota, &self.quota_usage) {
            return Err(LoadError::TooMany(quota_usage.quota().providers));
        }
        Ok(provider)
    }

    fn provider(
        &self,
        name: ProviderName,
        compiled: CompiledComponent,
        grant: Arc<Grant>,
    ) -> Provider {
        let sandbox = self.sandbox.clone();
        let signals = self.signals.clone();
        let quota_usage = self.quota_usage.clone();
        Provider::new(
            name,
            self.team.clone(),
            compiled,
            grant,
            sandbox,
            signals,
            quota_usage,
        )
        .with_drain(self.drain.clone())
        .with_key_value(self.key_value.get())
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
