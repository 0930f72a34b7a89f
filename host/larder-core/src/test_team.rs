//! A team of providers that a test creates, without sources and without an engine.

use std::sync::Arc;

use crate::catalog::{
    self, Catalog, Definitions, Offer, OfferedTool, PendingApproval, Reader, Writer,
};
use crate::gateway::{CacheConfig, Config, Gateway, PageSize, TeamParts};
use crate::reconcile::Approvals;
use crate::search_index::IndexProgress;
use crate::skill_snapshots::SkillFollower;
use larder_model::name::{ProviderName, TeamName, Teams};
use larder_model::policy::ApprovalMode;
use larder_model::resource::{Call, Caller, Details, RenderCache, Template};
use larder_model::uri::Uri;
use larder_provider::{Provider, SignalReceiver, signal_channel};
use larder_runtime::drain::Drain;
use larder_runtime::history::EventLog;
use larder_runtime::memory_budget::MemoryBudget;
use larder_uri_template::UriTemplate;

/// A team, and a gateway that serves it.
pub struct TestTeam {
    /// The gateway.
    pub gateway: Gateway,
    /// Reads the catalog of the team.
    pub reader: Reader,
    /// Receives requests of the gateway to refresh lists.
    pub signals: SignalReceiver,
    /// The progress of the full-text index, which the team does not have.
    pub index: IndexProgress,
    writer: Writer,
    skills: SkillFollower,
    approval_mode: ApprovalMode,
}

impl TestTeam {
    /// Serves the lists that these providers return now, with pages of this size.
    ///
    /// # Panics
    ///
    /// If a provider cannot be probed, or if the schema of a tool is invalid.
    pub async fn new(
        providers: impl IntoIterator<Item = Arc<dyn Provider>>,
        page_size: u32,
    ) -> Self {
        Self::with_config(providers, config(page_size)).await
    }

    /// Serves the lists that these providers return now, with this configuration of the gateway.
    ///
    /// # Panics
    ///
    /// If a provider cannot be probed, or if the schema of a tool is invalid.
    pub async fn with_config(
        providers: impl IntoIterator<Item = Arc<dyn Provider>>,
        config: Config,
    ) -> Self {
        let (writer, reader) = catalog::catalog(TeamName::default_team(), 100, EventLog::default());
        let (sender, signals) = signal_channel();
        let skill_writer = writer.skill_writer();
        let skills = SkillFollower::new(&reader, skill_writer, &sender, &Drain::new());
        let parts = TeamParts::new(reader.clone(), sender);
        let mut team = Self {
            index: parts.index.clone(),
            gateway: Gateway::new(config, [parts], MemoryBudget::unlimited()),
            reader,
            signals,
            writer,
            skills,
            approval_mode: ApprovalMode::Always,
        };
        team.serve(providers).await;
        team
    }

    /// Serves the lists that these providers return now, and builds their skills.
    ///
    /// # Panics
    ///
    /// If a provider cannot be probed, or if the schema of a tool is invalid.
    pub async fn serve(&mut self, providers: impl IntoIterator<Item = Arc<dyn Provider>>) {
        let mut offers = Vec::new();
        for provider in providers {
            let offer = offer(provider).await;
            offers.push(Arc::new(offer.with_approval_mode(self.approval_mode)));
        }
        self.writer.publish(Catalog::new(offers, vec![], vec![]));
        self.skills.build_once().await;
    }

    /// From now on, offers the server's own tools.
    pub fn offer_resource_tools(&mut self) {
        let offers = self.reader.snapshot().offers().to_vec();
        let catalog = Catalog::new(offers, vec![], vec![]);
        self.writer.publish(catalog.with_resource_tools());
    }

    /// From now on, changed skills and pages need an approval in the mode `Ask`.
    #[must_use]
    pub fn with_approvals(self, approval_mode: ApprovalMode, approvals: Approvals) -> Self {
        Self {
            approval_mode,
            skills: self.skills.with_approvals(approvals),
            ..self
        }
    }

    /// The skills and pages that wait for approval, by provider.
    pub fn pending_contents(&self) -> Vec<PendingApproval> {
        self.writer.pending_contents().values().cloned().collect()
    }

    /// What is not served because another provider has it, in the words of the log.
    pub fn collisions(&self) -> Vec<String> {
        let catalog = self.reader.snapshot();
        let collisions = catalog.collisions().iter();
        collisions.map(ToString::to_string).collect()
    }

    /// Reads the approvals again.
    pub async fn apply_approvals(&mut self) {
        self.skills.decide_again();
        self.skills.update().await;
    }

    /// Reports that any content of this provider may have changed, and builds the skills.
    pub async fn report_change(&mut self, provider: &ProviderName) {
        self.writer.may_have_changed(provider);
        self.skills.take_all_hints();
        self.skills.update().await;
    }

    /// Reports a change of the content of this URI.
    pub fn report_update(&self, uri: &Uri) {
        self.writer.updated(uri);
    }

    /// A caller of the team without a name.
    pub fn caller() -> Caller {
        Caller {
            subject: None,
            issuer: None,
            teams: Teams::default_team(),
            scopes: vec![],
        }
    }

    /// A call by [`Self::caller`].
    pub fn call() -> Arc<Call> {
        Arc::new(Call::from_caller(Self::caller()))
    }
}

/// A template without attributes.
///
/// # Panics
///
/// If the template is invalid.
pub fn template(text: &str) -> Template {
    Template {
        uri_template: UriTemplate::parse(text).expect("a template"),
        name: text.to_owned(),
        title: None,
        description: None,
        mime_type: None,
        details: Details::default(),
        rendered: RenderCache::default(),
    }
}

/// The configuration of a gateway with pages of this size.
pub fn config(page_size: u32) -> Config {
    Config {
        page_size: PageSize {
            resources: page_size,
            templates: page_size,
        },
        instructions: None,
        cache: CacheConfig {
            bytes: 1 << 20,
            entries: 100,
        },
        private: false,
        shared_teams: vec![],
        search_timeout: std::time::Duration::from_secs(1),
    }
}

pub(crate) async fn offer(provider: Arc<dyn Provider>) -> Offer {
    let mut probed = provider.probe().await.expect("the lists of a provider");
    let tools = std::mem::take(&mut probed.tools).into_iter();
    let tools = tools.map(|tool| OfferedTool::new(tool, "").expect("a valid schema"));
    let definitions = Definitions::new(tools.collect(), vec![]);
    Offer::new(provider, probed, definitions, 1, 0)
}
