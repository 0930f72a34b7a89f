use std::path::Path;

use larder_provider::fake::{FakeContent, FakeEngine};
use tempfile::TempDir;

use super::*;
use crate::catalog::{Reader, catalog};
use crate::source::MemorySource;
use larder_model::policy::{Ceiling, Grant, GrantRequest, ToolGrant};
use larder_model::signature::NoVerification;
use larder_provider::CallError;
use larder_runtime::history::EventLog;

/// A reconciler of a source in memory.
struct TestReconciler {
    reconciler: Reconciler,
    source: MemorySource,
    reader: Reader,
    _state: TempDir,
}

fn no_grant_request(_: &str, _: &Path) -> Result<GrantRequest, String> {
    Ok(GrantRequest::default())
}

impl TestReconciler {
    fn new(engine: FakeEngine, grant: Grant) -> Self {
        Self::with_providers(engine, grant, [])
    }

    /// Configures these providers in another way than the others.
    fn with_providers(
        engine: FakeEngine,
        grant: Grant,
        providers: impl IntoIterator<Item = (ProviderName, ProviderConfig)>,
    ) -> Self {
        let state = tempfile::tempdir().unwrap();
        let source = MemorySource::default();
        let team = TeamName::default_team();
        let config = Config {
            team: team.clone(),
            providers: providers.into_iter().collect(),
            default: ProviderConfig {
                grant: Arc::new(grant),
                ..ProviderConfig::default()
            },
            ceiling: Arc::new(Ceiling::default()),
            scan_interval: Duration::from_secs(3_600),
            missing_source_grace: Duration::ZERO,
            own_files: Arc::default(),
            parse_grant_request: no_grant_request,
            relative_to: state.path().into(),
            approvals: Approvals::new(state.path(), state.path()),
            trust: Arc::new(NoVerification),
            resource_tools: false,
            requires_settings: true,
        };
        let (writer, reader) = catalog(team, 100, EventLog::default());
        let parts = ReconcilerParts {
            sources: vec![Box::new(source.clone())],
            engine: Arc::new(engine),
            writer,
            quota_usage: None,
            key_value: None,
            drain: Drain::new(),
        };
        Self {
            reconciler: Reconciler::new(config, parts),
            source,
            reader,
            _state: state,
        }
    }

    /// Runs a pass. Returns the URIs that are served after it.
    async fn pass(&mut self) -> Vec<String> {
        self.reconciler.run_pass().await;
        let catalog = self.reader.snapshot();
        let entries = catalog.offers().iter().flat_map(|offer| &offer.entries);
        entries.map(|entry| entry.uri.to_string()).collect()
    }

    /// The owners of all URIs and templates that several providers offer.
    fn owners(&self) -> Vec<String> {
        let catalog = self.reader.snapshot();
        let owners = catalog.collisions().iter().map(|one| one.owner.as_ref());
        owners.map(|owner| owner.unwrap().to_string()).collect()
    }
}

fn with_text(uri: &str) -> FakeContent {
    FakeContent::default().with_text(uri, "text")
}

#[tokio::test]
async fn names_that_differ_only_in_case_are_one_name() {
    let engine = FakeEngine::default()
        .with("one", with_text("x:one"))
        .with("two", with_text("x:two"));
    let mut team = TestReconciler::new(engine, Grant::default());
    team.source.put("Wiki", "one");
    team.source.put("wiki", "two");
    let pass = team.reconciler.run_pass().await;
    let problem = "not used, because its name differs from Wiki only in case (give it another name): memory:wiki";
    assert_eq!(pass.problems, [problem]);
    assert_eq!(team.pass().await, ["x:one"]);
    team.source.remove("Wiki");
    assert_eq!(team.pass().await, ["x:two"]);
}

#[tokio::test]
async fn collisions_are_decided_by_priority_and_then_by_name() {
    let content = with_text("x:one").with_text("x:two", "text");
    let important = ProviderConfig {
        priority: 1,
        ..ProviderConfig::default()
    };
    let name = ProviderName::parse("b").unwrap();
    for (configured, owner) in [(None, "a"), (Some((name, important)), "b")] {
        let engine = FakeEngine::default().with("one", content.clone());
        let grant = Grant::default();
        let mut team = TestReconciler::with_providers(engine, grant, configured);
        team.source.put("b", "one");
        team.source.put("a", "one");
        team.pass().await;
        assert_eq!(team.owners(), [owner, owner]);
        let uri = larder_model::uri::Uri::parse("x:one").unwrap();
        let catalog = team.reader.snapshot();
        assert_eq!(catalog.first_owner(&uri).unwrap().name().as_str(), owner);
    }
}

#[tokio::test]
async fn the_first_owner_keeps_its_uris() {
    let engine = FakeEngine::default().with("one", with_text("x:one"));
    let mut team = TestReconciler::new(engine, Grant::default());
    team.source.put("b", "one");
    team.pass().await;
    team.source.put("a", "one");
    team.pass().await;
    assert_eq!(team.owners(), ["b"]);
}

#[tokio::test]
async fn a_component_is_added_replaced_and_removed() {
    let engine = FakeEngine::default()
        .with("one", with_text("x:one"))
        .with("two", with_text("x:two"));
    let mut team = TestReconciler::new(engine, Grant::default());
    assert!(team.pass().await.is_empty());
    team.source.put("wiki", "one");
    assert_eq!(team.pass().await, ["x:one"]);
    team.source.put("wiki", "two");
    assert_eq!(team.pass().await, ["x:two"]);
    team.source.remove("wiki");
    assert!(team.pass().await.is_empty());
}

#[tokio::test]
async fn the_last_good_revision_is_served_while_the_next_cannot_be_loaded() {
    let failing = with_text("x:failing");
    failing.fail(CallError::Unavailable("no network".into()));
    let engine = FakeEngine::default()
        .with("good", with_text("x:good"))
        .with("failing", failing);
    let mut team = TestReconciler::new(engine, Grant::default());
    team.source.put("wiki", "good");
    assert_eq!(team.pass().await, ["x:good"]);
    for broken in ["not a component", "failing"] {
        team.source.put("wiki", broken);
        assert_eq!(team.pass().await, ["x:good"]);
        assert_eq!(team.reader.snapshot().rejected().len(), 1, "{broken}");
    }
}

#[tokio::test]
async fn only_granted_tools_are_offered() {
    let schema = r#"{"type": "object"}"#;
    let content = with_text("x:a")
        .with_tool("one", schema)
        .with_tool("two", schema);
    let engine = FakeEngine::default().with("tools", content);
    let grant = Grant {
        tools: ToolGrant::Names(["two".to_owned()].into()),
        ..Grant::default()
    };
    let mut team = TestReconciler::new(engine, grant);
    team.source.put("wiki", "tools");
    team.pass().await;
    let catalog = team.reader.snapshot();
    let tools = &catalog.offers()[0].definitions.tools;
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["two"]);
}
