//! A house with guests: real components in a folder of their own, loaded and ready to be asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use larder_core::catalog::{self, Notifier, Reader};
use larder_core::change_detector::{self, ChangeDetector};
use larder_core::gateway::{self, CacheConfig, Error, Filter, Gateway, PageSize};
use larder_core::reconcile::{self, Approvals, ProviderConfig, ReconcilePass, Reconciler};
use larder_model::name::{ProviderName, TeamName, Teams};
use larder_model::policy::{ApprovalMode, Bounds, Ceiling, Grant, Quota, QuotaUsage};
use larder_model::resource::{Body, Call, Caller, ReadResult};
use larder_runtime::drain::Drain;
use larder_runtime::metrics::Metrics;
use larder_sandbox::{self as sandbox, CompilerConfig, Sandbox};
use tempfile::TempDir;

/// A component that `cargo xtask` built: a guest of the tests, or a provider that we ship.
pub(crate) fn component(name: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let guest = target.join("guests").join(format!("{name}.wasm"));
    let plugin = target.join("plugins").join(format!("{name}.wasm"));
    let found = [guest, plugin].into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| {
        panic!("there is no {name}.wasm in target/: run `cargo xtask guests plugins` first")
    })
}

/// What a house is built from.
pub(crate) struct Plan {
    team: TeamName,
    folder: TempDir,
    plugins: PathBuf,
    terms: BTreeMap<ProviderName, ProviderConfig>,
    page_size: PageSize,
    instructions: Option<String>,
    cache: CacheConfig,
    quota: Option<Quota>,
    ceiling: Ceiling,
}

/// A house with guests in it.
pub(crate) struct House {
    pub(crate) gateway: Gateway,
    pub(crate) reader: Reader,
    pub(crate) round: ReconcilePass,
    pub(crate) metrics: Metrics,
    reconcile: Option<Reconciler>,
    notifier: Notifier,
    pub(crate) signals: sandbox::SignalSender,
    pub(crate) ration: Option<Arc<QuotaUsage>>,
    pub(crate) folder: TempDir,
    /// Where the components are: the folder, or something in it.
    pub(crate) plugins: PathBuf,
    pub(crate) drain: Drain,
}

impl Plan {
    /// Guests by name, separated by spaces; `wiki@echo` is the guest `echo` under the name `wiki`.
    pub(crate) fn of(guests: &str) -> Self {
        let folder = TempDir::new().unwrap();
        for guest in guests.split_whitespace() {
            let (name, guest) = guest.split_once('@').unwrap_or((guest, guest));
            std::fs::copy(component(guest), folder.path().join(format!("{name}.wasm"))).unwrap();
        }
        let plugins = folder.path().to_owned();
        let cache = CacheConfig { bytes: 16 << 20, entries: 1_000 };
        let team = TeamName::default_team();
        Self {
            team,
            folder,
            plugins,
            terms: BTreeMap::new(),
            page_size: both(100),
            instructions: None,
            cache,
            quota: None,
            ceiling: Ceiling::default(),
        }
    }

    /// What its providers may have at most.
    pub(crate) fn ceiling(mut self, bounds: Bounds) -> Self {
        self.ceiling.bounds = Some(bounds);
        self
    }

    /// Whose house it is.
    pub(crate) fn team(mut self, name: &str) -> Self {
        self.team = TeamName::parse(name).unwrap();
        self
    }

    /// What the team may use up in all; without it nothing is counted.
    pub(crate) fn quota(mut self, quota: Quota) -> Self {
        self.quota = Some(quota);
        self
    }

    /// The folder of a house that is closed, with everything that it left there.
    pub(crate) async fn after(house: House) -> Self {
        house.drain.finish(Duration::from_secs(10)).await;
        let House { folder, plugins, .. } = house;
        Self { folder, plugins, ..Self::of("") }
    }

    /// Looks for the components not in the folder, but at this place in it, where nothing is made.
    pub(crate) fn at(mut self, place: &str) -> Self {
        self.plugins = self.folder.path().join(place);
        self
    }

    /// Where the folder is.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Adds a file to the folder.
    pub(crate) fn file(self, name: &str, bytes: &[u8]) -> Self {
        std::fs::write(self.folder.path().join(name), bytes).unwrap();
        self
    }

    /// Changes the terms of one provider.
    pub(crate) fn terms(mut self, name: &str, change: impl FnOnce(&mut Grant, &mut i32)) -> Self {
        let terms = self.terms.entry(ProviderName::parse(name).unwrap()).or_default();
        let mut grant = Grant::clone(&terms.grant);
        change(&mut grant, &mut terms.priority);
        terms.grant = Arc::new(grant);
        self
    }

    /// Says whether one provider has to be approved when it asks for more.
    pub(crate) fn approve(mut self, name: &str, approve: ApprovalMode) -> Self {
        self.terms.entry(ProviderName::parse(name).unwrap()).or_default().approve = approve;
        self
    }

    /// Gives one provider a setting.
    pub(crate) fn setting(self, provider: &str, key: &str, value: &str) -> Self {
        self.terms(provider, |grant, _| {
            grant.settings.insert(key.into(), value.into());
        })
    }

    pub(crate) fn page_size(mut self, size: u32) -> Self {
        self.page_size = both(size);
        self
    }

    /// Pages of their own size for each list.
    pub(crate) fn page_sizes(mut self, resources: u32, templates: u32) -> Self {
        self.page_size = PageSize { resources, templates };
        self
    }

    /// What the operator tells models.
    pub(crate) fn instructions(mut self, words: &str) -> Self {
        self.instructions = Some(words.into());
        self
    }

    /// How much is kept of answers.
    pub(crate) fn cache(mut self, bytes: usize, entries: usize) -> Self {
        self.cache = CacheConfig { bytes, entries };
        self
    }

    /// Loads everything.
    pub(crate) async fn open(self) -> House {
        let drain = Drain::new();
        let sandbox = Arc::new(Sandbox::new(&sandbox(), &drain).unwrap());
        let metrics = sandbox.metrics().clone();
        let (writer, reader) = catalog::catalog(self.team.clone(), 100);
        let config = reconcile::Config {
            plugins: self.plugins.clone(),
            team: self.team,
            providers: self.terms,
            default: ProviderConfig::default(),
            ceiling: Arc::new(self.ceiling),
            scan_interval: Duration::from_secs(2),
            parse_grant_request: larder::config::parse_grant_request,
            relative_to: self.plugins.clone(),
            approvals: Approvals::new(&self.folder.path().join(".state"), self.folder.path()),
        };
        let notifier = writer.notifier();
        let ration = self.quota.map(|quota| Arc::new(QuotaUsage::new(quota)));
        let mut reconcile = Reconciler::new(config, sandbox, writer, ration.clone(), drain.clone());
        let signals = reconcile.signals();
        let round = reconcile.run_pass().await;
        let config = gateway::Config {
            page_size: self.page_size,
            instructions: self.instructions,
            cache: self.cache,
            private: false,
        };
        let rations = ration.clone().into_iter().map(|ration| (reader.team().clone(), ration));
        let gateway = Gateway::new(config, [(reader.clone(), signals.clone())]).with_quotas(rations);
        let (folder, plugins) = (self.folder, self.plugins);
        let reconcile = Some(reconcile);
        House {
            gateway,
            reader,
            round,
            metrics,
            reconcile,
            notifier,
            signals,
            ration,
            folder,
            plugins,
            drain,
        }
    }
}

fn both(size: u32) -> PageSize {
    PageSize { resources: size, templates: size }
}

/// The sandbox of these tests. What was compiled is kept for the next run.
pub(crate) fn sandbox() -> sandbox::Config {
    let location = sandbox::CacheLocation::Configured(Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    let compiler = CompilerConfig {
        program: env!("CARGO_BIN_EXE_larder").into(),
        cache: sandbox::CacheConfig { location, size: 1 << 30, age: Duration::from_secs(24 * 3600) },
        memory: 2 << 30,
        cpu_time: Duration::from_secs(120),
        timeout: Duration::from_secs(300),
        code: 512 << 20,
    };
    sandbox::Config { slots: 16, compiler }
}

/// One gateway to the houses of several teams, as `app` makes it.
pub(crate) fn gateway(houses: &[&House], page_size: u32) -> Gateway {
    let cache = CacheConfig { bytes: 16 << 20, entries: 1_000 };
    let config = gateway::Config { page_size: both(page_size), instructions: None, cache, private: true };
    let rations =
        houses.iter().filter_map(|house| Some((house.reader.team().clone(), house.ration.clone()?)));
    Gateway::new(config, houses.iter().map(|house| (house.reader.clone(), house.signals.clone())))
        .with_quotas(rations)
}

/// Somebody of the only team.
pub(crate) fn someone() -> Arc<Call> {
    Arc::new(Call::from_caller(Caller {
        subject: None,
        issuer: None,
        teams: Teams::default_team(),
        scopes: vec![],
    }))
}

impl House {
    /// What loads, for a round by hand.
    pub(crate) fn reconcile(&mut self) -> &mut Reconciler {
        self.reconcile.as_mut().expect("it runs by itself")
    }

    /// Watches the folder and works off what providers say.
    pub(crate) fn run(&mut self) {
        let reconcile = self.reconcile.take().expect("it runs by itself");
        self.drain.spawn(reconcile.run());
    }

    /// Begins to look out. Says of how many watched URIs it knows what they hold.
    pub(crate) fn look_out(&self, config: change_detector::Config) -> tokio::sync::watch::Receiver<usize> {
        let (reader, notifier, signals) = (self.reader.clone(), self.notifier.clone(), self.signals.clone());
        let change_detector = ChangeDetector::new(config, reader, notifier, signals, self.drain.clone());
        let known = change_detector.known_count();
        self.drain.spawn(change_detector.run());
        known
    }

    pub(crate) async fn read(&self, uri: &str) -> Result<ReadResult, Error> {
        // Longer than any limit of these tests: a house that never answers is a failure, not a hang.
        let call = someone();
        let answer = tokio::time::timeout(Duration::from_secs(60), self.gateway.read(&call, uri, None));
        answer.await.expect("no answer within a minute")
    }

    /// The text of a read, or the error as text.
    pub(crate) async fn text(&self, uri: &str) -> String {
        match self.read(uri).await {
            Ok(reading) => match &reading.contents[0].body {
                Body::Text(text) => text.clone(),
                Body::Blob(blob) => format!("{blob:?}"),
            },
            Err(error) => format!("error: {error}"),
        }
    }

    /// All URIs, page after page.
    pub(crate) async fn uris(&self) -> Vec<String> {
        let mut uris = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let page = self.gateway.list(&someone(), cursor.as_deref(), &Filter::default()).await.unwrap();
            uris.extend(page.items.iter().map(|entry| entry.uri.to_string()));
            match page.next {
                Some(next) => assert_ne!(cursor.replace(next), cursor, "the cursor does not move"),
                None => return uris,
            }
        }
    }

    /// Why this file was not taken.
    pub(crate) fn rejected(&self, file: &str) -> String {
        let catalog = self.reader.snapshot();
        let line = catalog.rejected().iter().find(|line| line.file == file);
        line.map_or_else(|| format!("{file} was not rejected"), |line| line.reason.clone())
    }
}
