//! The test harness: a server in this process with real components, and functions that wait for conditions.

mod builder;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use larder_core::catalog::{self, Notifier, Reader};
use larder_core::change_detector::{self, ChangeDetector};
use larder_core::gateway::{self, CacheConfig, Error, Filter, Gateway, PageSize, TeamParts};
use larder_core::reconcile::{
    self, Approvals, ProviderConfig, ReconcilePass, Reconciler, ReconcilerParts, StartLimits,
};
use larder_core::replicas::{Single, TeamReplicas};
use larder_core::source::{Folder, Source};
use larder_key_value::{KeyValueStore, database_path};
use larder_model::name::{ProviderName, TeamName, Teams};
use larder_model::policy::{
    ApprovalMode, Bounds, Ceiling, Credential, CredentialStore, Grant, HostRule, Quota, QuotaUsage,
    Secret, SecretHosts, TeamCredentials,
};
use larder_model::resource::{Body, Call, Caller, ReadResult};
use larder_model::uri::Uri;
use larder_provider::{GrantSources, ProviderParts, SignalSender};
use larder_runtime::drain::Drain;
use larder_runtime::health::Health;
use larder_runtime::memory_budget::MemoryBudget;
use larder_runtime::metrics::Metrics;
use larder_sandbox::{self as sandbox, CompilerConfig, Sandbox};
use larder_signature::{Rule, Trust};
use tempfile::TempDir;

/// How long a test waits for a condition. It is long, so that a busy machine does not fail a test.
pub(crate) const SLOW_WAIT: Duration = Duration::from_secs(60);
/// The time between two checks of a condition.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Waits until `condition` holds, and fails after a minute. The failure message contains `what`.
pub(crate) async fn eventually(what: &str, condition: impl AsyncFnMut() -> bool) {
    eventually_within(SLOW_WAIT, what, condition).await;
}

/// Waits until `condition` holds, and fails after `limit`.
pub(crate) async fn eventually_within(
    limit: Duration,
    what: &str,
    mut condition: impl AsyncFnMut() -> bool,
) {
    let checks = async {
        while !condition().await {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    };
    let in_time = tokio::time::timeout(limit, checks).await.is_ok();
    assert!(in_time, "timed out after {limit:?} waiting for: {what}");
}

/// Like `eventually_within`, for tests without an async runtime.
pub(crate) fn eventually_blocking(
    limit: Duration,
    what: &str,
    mut condition: impl FnMut() -> bool,
) {
    let deadline = Instant::now() + limit;
    while !condition() {
        assert!(
            Instant::now() < deadline,
            "timed out after {limit:?} waiting for: {what}"
        );
        std::thread::sleep(CHECK_INTERVAL);
    }
}

/// Waits until a guest is running, that is, until a call is in flight.
pub(crate) async fn call_in_flight(reader: &Reader) {
    let has_guest = async || {
        reader
            .snapshot()
            .offers()
            .iter()
            .any(|offer| offer.provider.metrics().memory() > 0)
    };
    eventually("a call is in flight", has_guest).await;
}

/// The file of a component that `cargo xtask` built: a guest of these tests, or a shipped provider.
pub(crate) fn component_path(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let guest = target.join("guests").join(format!("{name}.wasm"));
    let plugin = target.join("plugins").join(format!("{name}.wasm"));
    let found = [guest, plugin].into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| {
        panic!("there is no {name}.wasm in target/: run `cargo xtask guests plugins` first")
    })
}

/// Configures a `TestServer`.
pub(crate) struct TestServerBuilder {
    team: TeamName,
    folder: TempDir,
    plugins: PathBuf,
    /// The sources of components, instead of the plugins folder.
    sources: Vec<Box<dyn Source>>,
    scan_interval: Duration,
    missing_source_grace: Duration,
    start_limits: Option<StartLimits>,
    providers: BTreeMap<ProviderName, ProviderConfig>,
    page_size: PageSize,
    cache: CacheConfig,
    memory: u64,
    compiler: CompilerConfig,
    quota: Option<Quota>,
    ceiling: Ceiling,
    credentials: TeamCredentials,
    trust: Trust,
    requires_settings: bool,
    resource_tools: bool,
    replicas: Arc<dyn TeamReplicas>,
}

/// A server without an endpoint: a gateway for one team, with the components of a temporary folder.
pub(crate) struct TestServer {
    pub(crate) gateway: Gateway,
    pub(crate) reader: Reader,
    /// The result of the pass that loaded the components at the start.
    pub(crate) first_pass: ReconcilePass,
    pub(crate) metrics: Metrics,
    pub(crate) health: Health,
    pub(crate) key_value: KeyValueStore,
    /// `None` after `run_reconciler` has moved it to a task.
    reconciler: Option<Reconciler>,
    notifier: Notifier,
    replicas: Arc<dyn TeamReplicas>,
    pub(crate) signals: SignalSender,
    pub(crate) quota_usage: Option<Arc<QuotaUsage>>,
    pub(crate) folder: TempDir,
    /// The plugins folder: `folder` itself, or a path in it.
    pub(crate) plugins: PathBuf,
    pub(crate) drain: Drain,
    /// The secrets that the host adds to requests.
    pub(crate) credentials: CredentialStore,
}

fn same_page_size(size: u32) -> PageSize {
    PageSize {
        resources: size,
        templates: size,
    }
}

/// The sandbox configuration of these tests. All tests and runs share the cache of compiled components.
pub(crate) fn sandbox_config() -> sandbox::Config {
    let location =
        sandbox::CacheLocation::Configured(Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    let compiler = CompilerConfig {
        program: env!("CARGO_BIN_EXE_larder").into(),
        cache: sandbox::CacheConfig {
            location,
            size: 1 << 30,
            age: Duration::from_secs(24 * 3600),
        },
        memory: 2 << 30,
        cpu_time: Duration::from_secs(120),
        timeout: Duration::from_secs(300),
        code: 512 << 20,
    };
    sandbox::Config {
        slots: 16,
        memory: 8 << 30,
        log: 1 << 20,
        log_each_fault: false,
        compiler,
    }
}

/// Returns one gateway for the servers of several teams, built in the same way as in `app`.
pub(crate) fn shared_gateway(servers: &[&TestServer], page_size: u32) -> Gateway {
    gateway_of(
        servers.iter().map(|server| server.gateway_parts()),
        page_size,
    )
}

/// Returns a gateway for these teams.
pub(crate) fn gateway_of(teams: impl IntoIterator<Item = TeamParts>, page_size: u32) -> Gateway {
    let cache = CacheConfig {
        bytes: 16 << 20,
        entries: 1_000,
    };
    let page_size = same_page_size(page_size);
    let config = gateway::Config {
        page_size,
        instructions: None,
        cache,
        private: true,
        shared_teams: vec![],
        search_timeout: std::time::Duration::from_secs(1),
    };
    Gateway::new(config, teams, MemoryBudget::unlimited())
}

/// Parses a URI of a test.
pub(crate) fn parse_uri(text: &str) -> Uri {
    Uri::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

/// What a provider of the default team has beside its component, without the services of a server.
pub(crate) fn provider_parts(
    name: &str,
    grant: Grant,
    signals: SignalSender,
    drain: &Drain,
) -> ProviderParts {
    ProviderParts {
        name: ProviderName::parse(name).unwrap(),
        team: TeamName::default_team(),
        grant: Arc::new(grant),
        grant_sources: GrantSources::default(),
        signals,
        quota_usage: None,
        key_value: None,
        drain: drain.clone(),
    }
}

/// A call by a caller of the default team without a name.
pub(crate) fn anonymous_call() -> Arc<Call> {
    call_of(Teams::default_team())
}

/// A call by a caller of these teams without a name.
pub(crate) fn call_of(teams: Teams) -> Arc<Call> {
    Arc::new(Call::from_caller(Caller {
        subject: None,
        issuer: None,
        teams,
        scopes: vec![],
    }))
}

impl TestServer {
    /// Configures a server with these guests, whose names are separated by spaces.
    /// `wiki@echo` is the guest `echo` under the provider name `wiki`.
    pub(crate) fn builder(guests: &str) -> TestServerBuilder {
        let folder = TempDir::new().unwrap();
        for guest in guests.split_whitespace() {
            let (name, guest) = guest.split_once('@').unwrap_or((guest, guest));
            std::fs::copy(
                component_path(guest),
                folder.path().join(format!("{name}.wasm")),
            )
            .unwrap();
        }
        let plugins = folder.path().to_owned();
        TestServerBuilder {
            team: TeamName::default_team(),
            folder,
            plugins,
            sources: Vec::new(),
            scan_interval: Duration::from_secs(2),
            missing_source_grace: Duration::from_secs(30),
            start_limits: None,
            providers: BTreeMap::new(),
            page_size: same_page_size(100),
            cache: CacheConfig {
                bytes: 16 << 20,
                entries: 1_000,
            },
            memory: sandbox_config().memory,
            compiler: sandbox_config().compiler,
            quota: None,
            ceiling: Ceiling::default(),
            credentials: TeamCredentials::new(),
            trust: Trust::default(),
            requires_settings: false,
            resource_tools: false,
            replicas: Arc::new(Single),
        }
    }

    /// What a gateway uses of the team.
    pub(crate) fn gateway_parts(&self) -> TeamParts {
        TeamParts {
            quota_usage: self.quota_usage.clone(),
            ..TeamParts::new(self.reader.clone(), self.signals.clone())
        }
    }

    /// The reconciler, for tests that run its passes themselves.
    pub(crate) fn reconciler(&mut self) -> &mut Reconciler {
        self.reconciler
            .as_mut()
            .expect("the reconciler runs in a task")
    }

    /// Starts the task that watches the folder and handles the signals of providers.
    pub(crate) fn run_reconciler(&mut self) {
        let reconciler = self
            .reconciler
            .take()
            .expect("the reconciler runs in a task already");
        self.drain.spawn(reconciler.run());
    }

    /// Starts the change detector. Returns the number of watched URIs whose content is known.
    pub(crate) fn start_change_detector(
        &self,
        config: change_detector::Config,
    ) -> tokio::sync::watch::Receiver<usize> {
        let (reader, notifier, signals) = (
            self.reader.clone(),
            self.notifier.clone(),
            self.signals.clone(),
        );
        let (replicas, drain) = (self.replicas.clone(), self.drain.clone());
        let change_detector =
            ChangeDetector::new(config, reader, notifier, signals, replicas, drain);
        let change_detector = change_detector.with_health(self.health.clone());
        let known_count = change_detector.known_count();
        self.drain.spawn(change_detector.run());
        known_count
    }

    /// Reads a URI as an anonymous caller.
    pub(crate) async fn read(&self, uri: &str) -> Result<ReadResult, Error> {
        // The time is longer than every limit in these tests, so that a server that does not answer fails the test.
        let (call, uri) = (anonymous_call(), parse_uri(uri));
        let result = tokio::time::timeout(
            Duration::from_secs(60),
            self.gateway.read(&call, &uri, None),
        );
        result.await.expect("no answer within a minute")
    }

    /// Reads a URI, and returns the text of the first content, or the error as text.
    pub(crate) async fn text(&self, uri: &str) -> String {
        match self.read(uri).await {
            Ok(result) => match &result.contents[0].body {
                Body::Text(text) => text.clone(),
                Body::Blob(blob) => format!("{blob:?}"),
            },
            Err(error) => format!("error: {error}"),
        }
    }

    /// Lists the URIs of all pages.
    pub(crate) async fn uris(&self) -> Vec<String> {
        let mut uris = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let call = anonymous_call();
            let page = self
                .gateway
                .list(&call, cursor.as_deref(), &Filter::default())
                .await
                .unwrap();
            uris.extend(page.items.iter().map(|entry| entry.uri.to_string()));
            match page.next {
                Some(next) => {
                    assert_ne!(cursor.replace(next), cursor, "the cursor does not change")
                }
                None => return uris,
            }
        }
    }

    /// Returns why this file was rejected.
    pub(crate) fn rejection_reason(&self, file: &str) -> String {
        let catalog = self.reader.snapshot();
        let rejected = catalog
            .rejected()
            .iter()
            .find(|rejected| rejected.origin == file);
        rejected.map_or_else(
            || format!("{file} was not rejected"),
            |rejected| rejected.reason.clone(),
        )
    }
}
