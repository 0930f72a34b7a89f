//! Loads an artifact as a provider: read, compile, probe. Each load is a task of its own. If the artifact turns out to
//! be the revision that is already served, it is only read.

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
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use tokio::sync::{Notify, Semaphore, SemaphorePermit, mpsc};
use tokio::task::AbortHandle;

use self::component::IdentifiedComponent;
pub use self::grant_request::MAX_GRANT_REQUEST_SIZE;
pub(super) use self::result::{
    LoadEvent, LoadJob, LoadResult, LoadedProvider, Outcome, PreviousRevisions, Revision,
};
use super::desired_state::DesiredComponent;
use super::phases::PhaseTimer;
use super::{
    Approvals, Config, MAX_CONCURRENT_LOADS, MAX_CONCURRENT_PROBES, MAX_FILE_THREADS,
    ProviderConfig,
};
use crate::source::Blob;
use larder_key_value::KeyValueStore;
use larder_model::name::{ProviderName, TeamName};
use larder_model::policy::{Grant, GrantRequest, QuotaUsage, ungranted_imports};
use larder_model::signature::Signer;
use larder_provider::{
    CompileJob, CompiledComponent, Engine, GrantSources, LoadError, Priority, ProbeResult,
    Provider, ProviderParts, Rejection, SignalSender,
};
use larder_runtime::blocking_threads::BlockingThreads;
use larder_runtime::drain::Drain;
use larder_runtime::metrics;

/// How long the probe of one provider may delay the probes of others.
const MAX_PROBE_PERMIT_TIME: Duration = Duration::from_secs(1);

/// Loads components, with what all loads of a team share.
pub(super) struct Loader {
    pub(super) team: TeamName,
    pub(super) engine: Arc<dyn Engine>,
    pub(super) metrics: metrics::LoadMetrics,
    pub(super) signals: SignalSender,
    pub(super) drain: Drain,
    /// Threads for the files of the team. A file can block a thread forever.
    pub(super) threads: Arc<BlockingThreads>,
    pub(super) base_folder: PathBuf,
    pub(super) parse_grant_request: fn(&str, &Path) -> Result<GrantRequest, String>,
    pub(super) requires_settings: bool,
    pub(super) approvals: Approvals,
    pub(super) quota_usage: Option<Arc<QuotaUsage>>,
    /// For reading and compiling.
    pub(super) load_permits: Semaphore,
    pub(super) probe_permits: Semaphore,
    /// One at a time, because reading components again is not urgent.
    pub(super) recheck_permit: Semaphore,
    /// One at a time, because no client waits for optimised code.
    pub(super) optimise_permit: Semaphore,
    pub(super) wake: Arc<Notify>,
    pub(super) load_events: mpsc::UnboundedSender<LoadEvent>,
    /// None in a process without a key-value store.
    pub(super) key_value: Option<KeyValueStore>,
}

/// A load in progress.
struct RunningLoad<'a> {
    id: u64,
    /// Returned before the provider is called.
    permit: Option<SemaphorePermit<'a>>,
    /// Set when the component was read.
    has_read: Arc<AtomicBool>,
}

/// What is known about a load so far.
struct Progress {
    /// The revision, if the load has determined it.
    reached: Option<Revision>,
    /// Whether the revision was identified without reading it.
    is_cached: bool,
    /// The same revision, if the load ended without a panic.
    cached_revision: Option<Revision>,
    signers: Vec<Signer>,
    /// The requested lines that are refused, if the request was read.
    denied: Option<BTreeSet<String>>,
    timer: PhaseTimer,
}

impl Progress {
    fn new(desired: &DesiredComponent, previous: &PreviousRevisions) -> Self {
        let detection = desired.artifact.component.detection();
        Self {
            reached: None,
            is_cached: false,
            cached_revision: None,
            signers: Vec::new(),
            denied: None,
            timer: PhaseTimer::new(detection.filter(|_| !previous.is_retry)),
        }
    }
}

/// What a loader uses of its team, and where it reports what it finds out.
pub(super) struct LoaderParts {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) quota_usage: Option<Arc<QuotaUsage>>,
    pub(super) key_value: Option<KeyValueStore>,
    pub(super) drain: Drain,
    pub(super) signals: SignalSender,
    pub(super) load_events: mpsc::UnboundedSender<LoadEvent>,
    pub(super) wake: Arc<Notify>,
}

impl Loader {
    pub(super) fn new(config: &Config, parts: LoaderParts) -> Self {
        Self {
            team: config.team.clone(),
            metrics: parts.engine.metrics().load_metrics(&config.team),
            engine: parts.engine,
            signals: parts.signals,
            drain: parts.drain,
            threads: Arc::new(BlockingThreads::new(MAX_FILE_THREADS)),
            base_folder: config.relative_to.clone(),
            parse_grant_request: config.parse_grant_request,
            requires_settings: config.requires_settings,
            approvals: config.approvals.clone(),
            load_permits: Semaphore::new(MAX_CONCURRENT_LOADS),
            probe_permits: Semaphore::new(MAX_CONCURRENT_PROBES),
            recheck_permit: Semaphore::new(1),
            optimise_permit: Semaphore::new(1),
            wake: parts.wake,
            quota_usage: parts.quota_usage,
            load_events: parts.load_events,
            key_value: parts.key_value,
        }
    }

    /// Loads a component in a task, unless it is one of the previous revisions.
    pub(super) fn start(
        self: &Arc<Self>,
        id: u64,
        desired: DesiredComponent,
        previous: PreviousRevisions,
        has_read: Arc<AtomicBool>,
    ) -> AbortHandle {
        let loader = self.clone();
        let task = self
            .drain
            .spawn(async move { loader.run(id, desired, previous, has_read).await });
        task.abort_handle()
    }

    /// Loads a component, reports the result, and does what can be done after that.
    async fn run(
        &self,
        id: u64,
        desired: DesiredComponent,
        previous: PreviousRevisions,
        has_read: Arc<AtomicBool>,
    ) {
        let began = Instant::now();
        let artifact = desired.artifact.clone();
        let mut progress = Progress::new(&desired, &previous);
        // Cannot fail: the semaphore is never closed.
        let permit = self.load_permits.acquire().await.ok();
        let load = RunningLoad {
            id,
            permit,
            has_read,
        };
        progress.timer.end(|phases| &mut phases.queue);
        // A component beyond the quota is not served, even if it was served before.
        let still_permitted =
            !desired.exceeds_quota && self.still_permitted(&desired, &previous).await;
        let outcome = catch_panic(self.load(load, desired, previous, &mut progress)).await;
        self.wait_if_replaced(&outcome, &artifact.component).await;
        self.metrics.record(outcome.metric_label());
        self.metrics.durations.observe(began.elapsed());
        let unoptimised = outcome.unoptimised_provider();
        self.send_result(LoadResult {
            still_permitted,
            signers: progress.signers,
            denied: progress.denied,
            timer: Some(progress.timer),
            ..LoadResult::new(&artifact.name, LoadJob::Load(id), outcome, began)
        });
        self.wake_if_changed(&artifact.component).await;
        if let Some(provider) = unoptimised {
            self.optimise(&artifact.component, provider).await;
        }
        if let Some(revision) = progress.cached_revision {
            self.recheck(&artifact, revision).await;
        }
    }

    /// Starts another scan if the component was replaced while it was loaded: a scan that found another file may have let
    /// this load end.
    async fn wake_if_changed(&self, component: &Blob) {
        if !self.is_unchanged(component).await {
            self.wake.notify_one();
        }
    }

    /// Probes a provider again for its lists.
    pub(super) fn refresh_list(
        self: &Arc<Self>,
        id: u64,
        provider: Arc<dyn Provider>,
        revision: Revision,
        requests: BTreeSet<String>,
    ) {
        let loader = self.clone();
        self.drain.spawn(async move {
            let began = Instant::now();
            let name = provider.name().clone();
            let outcome = catch_panic(loader.probe_again(provider, revision, requests)).await;
            let job = LoadJob::RefreshList(id);
            loader.send_result(LoadResult::new(name.as_str(), job, outcome, began));
        });
    }

    async fn probe_again(
        &self,
        provider: Arc<dyn Provider>,
        revision: Revision,
        requests: BTreeSet<String>,
    ) -> Outcome {
        let offered = match provider.probe().await {
            Ok(probed) => self.offer(probed, provider, &revision, requests).await,
            Err(error) => Err(error),
        };
        offered.unwrap_or_else(|error| Outcome::Rejected(error, Some(revision)))
    }

    fn send_result(&self, result: LoadResult) {
        self.send(LoadEvent::Ended(Box::new(result)));
    }

    fn send(&self, event: LoadEvent) {
        // Fails only at shutdown, when the receiver is gone.
        _ = self.load_events.send(event);
    }

    async fn load(
        &self,
        load: RunningLoad<'_>,
        desired: DesiredComponent,
        previous: PreviousRevisions,
        progress: &mut Progress,
    ) -> Outcome {
        let outcome = self.try_load(load, desired, previous, progress).await;
        let reached = progress.reached.take();
        if progress.is_cached {
            progress.cached_revision.clone_from(&reached);
        }
        outcome.unwrap_or_else(|error| Outcome::Rejected(error, reached))
    }

    /// Reads, verifies the signatures, checks the grant request, compiles and probes.
    async fn try_load(
        &self,
        load: RunningLoad<'_>,
        desired: DesiredComponent,
        previous: PreviousRevisions,
        progress: &mut Progress,
    ) -> Result<Outcome, LoadError> {
        let name = self.check_artifact(&desired)?;
        let component = self.identify(&desired).await?;
        load.has_read.store(true, Relaxed);
        progress.timer.end(|phases| &mut phases.reading);
        progress.signers = self.verify_signatures(&desired, &component).await?;
        progress.is_cached = matches!(component, IdentifiedComponent::Cached(_));
        let decision = self.decide_grant(&desired).await?;
        progress.denied = Some(decision.denied);
        let mut requests = decision.requests;
        let revision = Revision {
            digest: component.digest(),
            config: ProviderConfig {
                grant: decision.grant.clone(),
                ..desired.config
            },
        };
        progress.reached = Some(revision.clone());
        let held = self.hold_for_requests(&name, &revision, &requests, &previous);
        if let Some(held) = held.await? {
            return Ok(held);
        }
        if previous.has(&revision) {
            return Ok(Outcome::Unchanged(revision));
        }
        let timer = &mut progress.timer;
        timer.end(|phases| &mut phases.checking);
        let priority = previous.priority_of_next();
        let compiled = self.compile(&name, component, priority, timer).await?;
        let imports = ungranted_imports(compiled.imports(), &decision.grant);
        // The imports are recorded independently of the grant, so that a narrower grant later does not require an
        // approval.
        requests.extend(ungranted_imports(compiled.imports(), &Grant::default()));
        let before = self.requests_before(&name, previous.requests).await?;
        let held = self.hold_for_imports(&name, &revision, imports, &requests, before);
        if let Some(held) = held.await? {
            return Ok(held);
        }
        let provider = compiled.into_provider(self.parts(name, decision.grant, decision.sources));
        timer.end(|phases| &mut phases.checking);
        let probed = self.probe(load, &*provider).await?;
        let offered = self.offer(probed, provider, &revision, requests).await;
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
    ) -> Result<Box<dyn CompiledComponent>, LoadError> {
        let job = CompileJob {
            team: &self.team,
            provider: Some(name),
            priority,
        };
        let cached = match component {
            IdentifiedComponent::Cached(cached) => cached,
            IdentifiedComponent::Read(hashed) => {
                let compilation = self.engine.clone().compile(job, hashed).await?;
                timer.phases.compiling = compilation.phases;
                compilation.component
            }
        };
        timer.end(|phases| &mut phases.compiled_in);
        let compiled = cached.link()?;
        timer.end(|phases| &mut phases.linking);
        Ok(compiled)
    }

    /// Gets the description and the lists of a provider. The calls of the provider can take long. So other components
    /// are loaded in the meantime, and after a while other providers are probed as well.
    async fn probe(
        &self,
        load: RunningLoad<'_>,
        provider: &dyn Provider,
    ) -> Result<ProbeResult, LoadError> {
        drop(load.permit);
        let permit = self.probe_permits.acquire().await;
        self.send(LoadEvent::Probing {
            name: provider.name().to_string(),
            id: load.id,
        });
        let mut probe = pin!(async {
            // Without the setting, the lists of the provider may fail with a less helpful error.
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

    /// Checks what is known about an artifact before it is read. Returns the name of the provider.
    fn check_artifact(&self, desired: &DesiredComponent) -> Result<ProviderName, LoadError> {
        let provider = ProviderName::parse(&desired.artifact.name)?;
        if let (true, Some(quota_usage)) = (desired.exceeds_quota, &self.quota_usage) {
            return Err(LoadError::TooMany(quota_usage.quota().providers));
        }
        Ok(provider)
    }

    fn parts(
        &self,
        name: ProviderName,
        grant: Arc<Grant>,
        grant_sources: GrantSources,
    ) -> ProviderParts {
        ProviderParts {
            name,
            team: self.team.clone(),
            grant,
            grant_sources,
            signals: self.signals.clone(),
            quota_usage: self.quota_usage.clone(),
            key_value: self.key_value.clone(),
            drain: self.drain.clone(),
        }
    }
}

/// Converts a panic in the engine to a rejected component, so that the load still ends with a result.
async fn catch_panic(work: impl Future<Output = Outcome>) -> Outcome {
    let ended = std::panic::AssertUnwindSafe(work).catch_unwind().await;
    ended.unwrap_or_else(|_| {
        let error = Rejection::Compiler("the engine panicked; see the log".into());
        Outcome::Rejected(LoadError::Rejected(error), None)
    })
}
