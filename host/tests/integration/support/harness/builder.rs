//! Configures and starts a test server.

use super::*;

impl TestServerBuilder {
    /// Uses the folder of a server and stops this server, as a restart would. All files that the server wrote stay in
    /// the folder.
    pub(crate) async fn restart(server: TestServer) -> Self {
        server.drain.finish(Duration::from_secs(10)).await;
        let TestServer {
            folder, plugins, ..
        } = server;
        Self {
            folder,
            plugins,
            ..TestServer::builder("")
        }
    }

    /// Sets the upper bound for the grants of all providers.
    pub(crate) fn ceiling(mut self, bounds: Bounds) -> Self {
        self.ceiling.bounds = Some(bounds);
        self
    }

    /// Adds a secret that the host may send to the hosts of these rules.
    pub(crate) fn credential(
        mut self,
        name: &str,
        value: &str,
        rules: impl IntoIterator<Item = HostRule>,
    ) -> Self {
        let hosts = SecretHosts::new(rules);
        let credential = Credential {
            secret: Secret::new(value),
            hosts: hosts.clone(),
        };
        self.ceiling.credentials.insert(name.to_owned(), hosts);
        self.credentials.insert(name.to_owned(), credential);
        self
    }

    /// Sets which signers are trusted.
    pub(crate) fn trust(mut self, rule: Rule) -> Self {
        self.trust = Trust::new([rule]);
        self
    }

    /// Rejects providers without the settings that they require, as a real server does.
    pub(crate) fn requires_settings(mut self) -> Self {
        self.requires_settings = true;
        self
    }

    /// Sets the team of the server.
    pub(crate) fn team(mut self, name: &str) -> Self {
        self.team = TeamName::parse(name).unwrap();
        self
    }

    /// Sets the quota of the team. Without it, there is no quota.
    pub(crate) fn quota(mut self, quota: Quota) -> Self {
        self.quota = Some(quota);
        self
    }

    /// Sets the plugins folder to a path below the temporary folder. The path is not created.
    pub(crate) fn plugins_at(mut self, path: &str) -> Self {
        self.plugins = self.folder.path().join(path);
        self
    }

    /// Adds a source of components, which replaces the plugins folder.
    pub(crate) fn source(mut self, source: impl Source + 'static) -> Self {
        self.sources.push(Box::new(source));
        self
    }

    /// Sets the time between two scans without a trigger.
    pub(crate) fn scan_interval(mut self, interval: Duration) -> Self {
        self.scan_interval = interval;
        self
    }

    /// Sets how long the components of a missing source are served.
    pub(crate) fn missing_source_grace(mut self, grace: Duration) -> Self {
        self.missing_source_grace = grace;
        self
    }

    /// Limits how long the start waits for components to load. Without this limit, the start waits for all components.
    pub(crate) fn start_limits(mut self, limits: StartLimits) -> Self {
        self.start_limits = Some(limits);
        self
    }

    /// The temporary folder.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Adds a file to the temporary folder.
    pub(crate) fn file(self, name: &str, bytes: &[u8]) -> Self {
        std::fs::write(self.folder.path().join(name), bytes).unwrap();
        self
    }

    /// Changes the grant and the priority of one provider.
    pub(crate) fn provider(
        mut self,
        name: &str,
        change: impl FnOnce(&mut Grant, &mut i32),
    ) -> Self {
        let provider = self
            .providers
            .entry(ProviderName::parse(name).unwrap())
            .or_default();
        let mut grant = Grant::clone(&provider.grant);
        change(&mut grant, &mut provider.priority);
        provider.grant = Arc::new(grant);
        self
    }

    /// Sets when the grant requests of one provider need approval.
    pub(crate) fn approve(mut self, name: &str, mode: ApprovalMode) -> Self {
        self.providers
            .entry(ProviderName::parse(name).unwrap())
            .or_default()
            .approval_mode = mode;
        self
    }

    /// Adds a setting of one provider.
    pub(crate) fn setting(self, provider: &str, key: &str, value: &str) -> Self {
        self.provider(provider, |grant, _| {
            grant.settings.insert(key.into(), value.into());
        })
    }

    /// Sets the page size of both lists.
    pub(crate) fn page_size(mut self, size: u32) -> Self {
        self.page_size = same_page_size(size);
        self
    }

    /// Sets the limits of the response cache.
    pub(crate) fn cache(mut self, bytes: usize, entries: usize) -> Self {
        self.cache = CacheConfig { bytes, entries };
        self
    }

    /// Sets the program that compiles components, and its cache.
    pub(crate) fn compiler(mut self, program: PathBuf, cache: PathBuf) -> Self {
        self.compiler.program = program;
        self.compiler.cache.location = sandbox::CacheLocation::Configured(cache);
        self
    }

    /// Sets the size of the memory budget.
    pub(crate) fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Offers the server's own tools, which read resources.
    pub(crate) fn resource_tools(mut self) -> Self {
        self.resource_tools = true;
        self
    }

    /// Connects the server with other servers of the same team.
    pub(crate) fn replicas(mut self, replicas: Arc<dyn TeamReplicas>) -> Self {
        self.replicas = replicas;
        self
    }

    /// Loads the components, and returns the server.
    pub(crate) async fn start(self) -> TestServer {
        let drain = Drain::new();
        let sandbox_config = sandbox::Config {
            memory: self.memory,
            compiler: self.compiler,
            ..sandbox_config()
        };
        let sandbox = Arc::new(Sandbox::new(&sandbox_config, &drain).unwrap());
        let credentials = sandbox.credentials().clone();
        credentials.set([(self.team.clone(), self.credentials)].into());
        let (metrics, memory) = (sandbox.metrics().clone(), sandbox.memory_budget().clone());
        let (writer, reader) = catalog::catalog(self.team.clone(), 100, metrics.events().clone());
        let name = self.team.clone();
        let values = database_path(&self.folder.path().join(".state"), &self.plugins, &name);
        let config = reconcile::Config {
            team: self.team,
            providers: self.providers,
            default: ProviderConfig::default(),
            ceiling: Arc::new(self.ceiling),
            scan_interval: self.scan_interval,
            missing_source_grace: self.missing_source_grace,
            own_files: Arc::default(),
            parse_grant_request: larder_config::parse_grant_request,
            requires_settings: self.requires_settings,
            relative_to: self.plugins.clone(),
            trust: Arc::new(self.trust),
            approvals: Approvals::new(&self.folder.path().join(".state"), self.folder.path()),
            resource_tools: self.resource_tools,
        };
        let notifier = writer.notifier();
        let quota_usage = self.quota.map(|quota| Arc::new(QuotaUsage::new(quota)));
        let mut sources = self.sources;
        if sources.is_empty() {
            sources.push(Box::new(Folder::new(self.plugins.clone())));
        }
        let health = Health::default();
        let key_value = KeyValueStore::new(values, &name, health.clone(), &drain);
        let parts = ReconcilerParts {
            sources,
            engine: sandbox,
            writer,
            quota_usage: quota_usage.clone(),
            key_value: Some(key_value.clone()),
            drain: drain.clone(),
        };
        let mut reconciler = Reconciler::new(config, parts)
            .with_health(health.clone())
            .with_replicas(self.replicas.clone());
        let signals = reconciler.signals();
        let first_pass = match self.start_limits {
            Some(limits) => reconciler.run_first_pass(limits).await,
            None => reconciler.run_pass().await,
        };
        let config = gateway::Config {
            page_size: self.page_size,
            instructions: None,
            cache: self.cache,
            private: false,
            shared_teams: Vec::new(),
            search_timeout: std::time::Duration::from_secs(1),
        };
        let team = TeamParts {
            quota_usage: quota_usage.clone(),
            ..TeamParts::new(reader.clone(), signals.clone())
        };
        let gateway = Gateway::new(config, [team], memory);
        let (folder, plugins) = (self.folder, self.plugins);
        let reconciler = Some(reconciler);
        TestServer {
            gateway,
            reader,
            first_pass,
            metrics,
            health,
            key_value,
            reconciler,
            notifier,
            replicas: self.replicas,
            signals,
            quota_usage,
            folder,
            plugins,
            drain,
            credentials,
        }
    }
}
