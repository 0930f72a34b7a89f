//! Skills and pages of apps that wait for an approval.

use std::sync::Arc;

use tempfile::TempDir;

use super::{read, uri};
use crate::catalog::PendingApproval;
use crate::reconcile::{Approvals, PendingApprovalRecord};
use crate::test_team::{TestTeam, config};
use larder_model::name::ProviderName;
use larder_model::policy::{ApprovalMode, Grant, ToolGrant};
use larder_model::resource::{Body, Content, Entry, Freshness, ReadResult};
use larder_provider::Provider;
use larder_provider::fake::{FakeContent, entry};

const PDF: &str = "skill://pdf/SKILL.md";
const PAGE: &str = "ui://chart/page.html";
const PAGE_TYPE: &str = "text/html;profile=mcp-app";

/// A state folder, and providers whose skills and pages need approvals.
struct StateFolder {
    state: TempDir,
}

impl StateFolder {
    fn new() -> Self {
        Self {
            state: TempDir::new().unwrap(),
        }
    }

    fn approvals(&self) -> Approvals {
        Approvals::new(&self.state.path().join("state"), self.state.path())
    }

    /// Starts a server that serves this content.
    async fn start(&self, content: &FakeContent) -> TestTeam {
        let mut team = TestTeam::with_config([], config(10))
            .await
            .with_approvals(ApprovalMode::Ask, self.approvals());
        team.serve([provider(content)]).await;
        team
    }

    /// Approves or rejects what waits, as an operator does.
    async fn decide(
        &self,
        team: &mut TestTeam,
        decide: impl Fn(&Approvals, &PendingApprovalRecord),
    ) {
        for pending in team.pending_contents() {
            let record = PendingApprovalRecord::new(
                &pending.team,
                &pending.provider,
                pending.digest,
                pending.lines.clone(),
            );
            decide(&self.approvals(), &record);
        }
        team.apply_approvals().await;
    }

    async fn approve(&self, team: &mut TestTeam) {
        let approve = |approvals: &Approvals, record: &PendingApprovalRecord| {
            approvals.approve(record, "me").unwrap();
        };
        self.decide(team, approve).await;
    }
}

fn provider(content: &FakeContent) -> Arc<dyn Provider> {
    let grant = Grant {
        skills: true,
        tools: ToolGrant::All,
        ..Grant::default()
    };
    content.provider("wiki", grant)
}

fn wiki() -> ProviderName {
    ProviderName::parse("wiki").unwrap()
}

fn skill_md(name: &str, text: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}\n---\n{text}")
}

fn pdf() -> FakeContent {
    FakeContent::default()
        .with_text(PDF, &skill_md("pdf", "one"))
        .with_text("skill://pdf/fill.py", "print(1)")
}

fn page(uri: &str) -> Entry {
    Entry {
        mime_type: Some(PAGE_TYPE.to_owned()),
        ..entry(uri)
    }
}

fn chart() -> FakeContent {
    FakeContent::default()
        .with_entry(page(PAGE))
        .with_text(PAGE, "<p>one")
        .with_page_tool("chart", PAGE)
}

async fn skills(team: &TestTeam) -> Vec<String> {
    let page = team.gateway.skills(&TestTeam::call(), None).await.unwrap();
    let uris = page.items.iter().map(|skill| skill.uri().to_string());
    uris.collect()
}

/// The JSON of all files with their digests.
fn manifest(team: &TestTeam) -> String {
    let skills = team.reader.skills();
    let skills = skills.of(&wiki()).unwrap().skills().iter();
    let files = skills.flat_map(|skill| &skill.files);
    files
        .map(|file| format!("{} {} {}\n", file.uri, file.digest, file.size))
        .collect()
}

fn lines(team: &TestTeam) -> Vec<String> {
    let pending = team.pending_contents();
    let lines = pending.iter().flat_map(|pending| pending.lines.iter());
    let without_digest = lines.map(|line| line.rsplit_once(' ').unwrap().0.to_owned());
    without_digest.collect()
}

#[tokio::test]
async fn a_changed_skill_is_offered_after_an_approval() {
    let pinned = StateFolder::new();
    let content = pdf();
    let mut team = pinned.start(&content).await;
    assert_eq!(skills(&team).await, [PDF], "the first content is pinned");
    assert_eq!(lines(&team), [""; 0]);

    let _ = content.clone().with_text(PDF, &skill_md("pdf", "two"));
    team.report_change(&wiki()).await;
    assert_eq!(lines(&team), [format!("skill {PDF} with content")]);
    assert_eq!(read(&team, PDF).await, skill_md("pdf", "one"));
    let [pending]: [PendingApproval; 1] = team.pending_contents().try_into().unwrap();
    let [shown] = &pending.contents[..] else {
        panic!("{pending:?}");
    };
    assert!(shown.before.as_ref().unwrap().contains("one"), "{shown:?}");
    assert!(shown.after.contains("two"), "{shown:?}");

    pinned.approve(&mut team).await;
    assert_eq!(read(&team, PDF).await, skill_md("pdf", "two"));
    assert_eq!(lines(&team), [""; 0]);
    // The first content was pinned without an approval, so it waits when it returns.
    let _ = content.clone().with_text(PDF, &skill_md("pdf", "one"));
    team.report_change(&wiki()).await;
    assert_eq!(read(&team, PDF).await, skill_md("pdf", "two"));
}

#[tokio::test]
async fn a_new_skill_waits_and_others_are_offered() {
    let pinned = StateFolder::new();
    let content = pdf();
    let mut team = pinned.start(&content).await;
    let new = "skill://new/SKILL.md";
    let more = content.with_text(new, &skill_md("new", ""));
    team.serve([provider(&more)]).await;
    assert_eq!(skills(&team).await, [PDF]);
    assert_eq!(lines(&team), [format!("skill {new} with content")]);
    pinned.approve(&mut team).await;
    assert_eq!(skills(&team).await, [new, PDF]);
}

#[tokio::test]
async fn the_approved_content_is_offered_after_a_restart() {
    let pinned = StateFolder::new();
    let content = pdf().with_text("skill://doc/SKILL.md", &skill_md("doc", ""));
    let team = pinned.start(&content).await;
    let listed = manifest(&team);
    drop(team);
    let _ = content.clone().with_text(PDF, &skill_md("pdf", "two"));
    let mut team = pinned.start(&content).await;
    assert_eq!(skills(&team).await, ["skill://doc/SKILL.md", PDF]);
    assert_eq!(read(&team, PDF).await, skill_md("pdf", "one"));
    assert_eq!(manifest(&team), listed);
    assert_eq!(lines(&team), [format!("skill {PDF} with content")]);
    pinned.approve(&mut team).await;
    assert_eq!(read(&team, PDF).await, skill_md("pdf", "two"));
}

#[tokio::test]
async fn stored_content_with_another_digest_is_not_offered() {
    for damage in ["{", "[]", "change"] {
        let pinned = StateFolder::new();
        let content = pdf();
        drop(pinned.start(&content).await);
        let folder = pinned.state.path().join("state/snapshots/default");
        let files: Vec<_> = std::fs::read_dir(&folder).unwrap().collect();
        assert_eq!(files.len(), 1);
        let file = files[0].as_ref().unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        let damaged = match damage {
            "change" => text.replace("print(1)", "print(2)"),
            text => text.to_owned(),
        };
        assert_ne!(damaged, text);
        std::fs::write(&file, damaged).unwrap();
        let _ = content.clone().with_text(PDF, &skill_md("pdf", "two"));
        let mut team = pinned.start(&content).await;
        assert_eq!(skills(&team).await, [""; 0], "{damage}");
        pinned.approve(&mut team).await;
        assert_eq!(skills(&team).await, [PDF]);
    }
}

#[tokio::test]
async fn skills_inside_each_other_are_not_mixed_after_a_restart() {
    let pinned = StateFolder::new();
    let inner = "skill://pdf/inner/SKILL.md";
    let content = pdf().with_text(inner, &skill_md("inner", "one"));
    let mut team = pinned.start(&content).await;
    let _ = content.clone().with_text(inner, &skill_md("inner", "two"));
    team.report_change(&wiki()).await;
    // Only the inner skill is approved. The approved outer skill has its old file.
    let approve_inner = |approvals: &Approvals, record: &PendingApprovalRecord| {
        let mut record = record.clone();
        record
            .lines
            .retain(|line| line.starts_with(&format!("skill {inner}")));
        approvals.approve(&record, "me").unwrap();
    };
    pinned.decide(&mut team, approve_inner).await;
    assert_eq!(read(&team, inner).await, skill_md("inner", "one"));
    let mut team = pinned.start(&content).await;
    assert_eq!(skills(&team).await, [PDF]);
    assert_eq!(read(&team, inner).await, skill_md("inner", "one"));
    pinned.approve(&mut team).await;
    assert_eq!(skills(&team).await, [PDF, inner]);
    assert_eq!(read(&team, inner).await, skill_md("inner", "two"));
}

#[tokio::test]
async fn a_rejected_skill_is_reported_and_not_offered() {
    let pinned = StateFolder::new();
    let content = pdf();
    let mut team = pinned.start(&content).await;
    let _ = content.clone().with_text(PDF, &skill_md("pdf", "two"));
    team.report_change(&wiki()).await;
    let reject = |approvals: &Approvals, record: &PendingApprovalRecord| {
        approvals.reject(record, "me").unwrap();
    };
    pinned.decide(&mut team, reject).await;
    assert_eq!(lines(&team), [""; 0]);
    assert_eq!(read(&team, PDF).await, skill_md("pdf", "one"));
    let skills = team.reader.skills();
    let problems = skills.of(&wiki()).unwrap().problems();
    assert_eq!(
        problems[0].to_string(),
        format!("{PDF} is not a skill: an operator rejected its content")
    );
}

#[tokio::test]
async fn skills_inside_each_other_are_never_mixed() {
    let pinned = StateFolder::new();
    let inner = "skill://pdf/inner/SKILL.md";
    let content = pdf().with_text(inner, &skill_md("inner", "one"));
    let mut team = pinned.start(&content).await;
    // The outer skill changed. The file of the inner skill is also a file of the outer skill.
    let _ = content.clone().with_text(PDF, &skill_md("pdf", "two"));
    team.report_change(&wiki()).await;
    assert_eq!(lines(&team), [format!("skill {PDF} with content")]);
    assert_eq!(skills(&team).await, [PDF, inner]);
    // Both changed: both have a line of their own.
    let _ = content.clone().with_text(inner, &skill_md("inner", "two"));
    team.report_change(&wiki()).await;
    assert_eq!(
        lines(&team),
        [
            format!("skill {PDF} with content"),
            format!("skill {inner} with content")
        ]
    );
    assert_eq!(read(&team, inner).await, skill_md("inner", "one"));
    // Only the inner skill is approved: the outer one still has the old file.
    let approve_inner = |approvals: &Approvals, record: &PendingApprovalRecord| {
        let mut record = record.clone();
        record.lines.retain(|line| line.contains("inner"));
        approvals.approve(&record, "me").unwrap();
    };
    pinned.decide(&mut team, approve_inner).await;
    assert_eq!(lines(&team), [format!("skill {PDF} with content")]);
    assert_eq!(read(&team, inner).await, skill_md("inner", "one"));
    pinned.approve(&mut team).await;
    assert_eq!(read(&team, inner).await, skill_md("inner", "two"));
    assert_eq!(read(&team, PDF).await, skill_md("pdf", "two"));
}

#[tokio::test]
async fn approvals_that_cannot_be_read_approve_nothing() {
    let pinned = StateFolder::new();
    let content = pdf();
    let mut team = pinned.start(&content).await;
    std::fs::write(pinned.state.path().join("state/skills.json"), "{").unwrap();
    let _ = content.clone().with_text(PDF, &skill_md("pdf", "two"));
    team.report_change(&wiki()).await;
    assert_eq!(read(&team, PDF).await, skill_md("pdf", "one"));
    let team = pinned.start(&content).await;
    assert_eq!(skills(&team).await, [""; 0]);
}

#[tokio::test]
async fn a_changed_page_is_shown_after_an_approval() {
    let pinned = StateFolder::new();
    let content = chart();
    let mut team = pinned.start(&content).await;
    assert_eq!(read(&team, PAGE).await, "<p>one");
    let _ = content.clone().with_text(PAGE, "<p>two");
    team.report_update(&uri(PAGE));
    team.report_change(&wiki()).await;
    assert_eq!(read(&team, PAGE).await, "<p>one");
    assert_eq!(lines(&team), [format!("page {PAGE} with content")]);
    pinned.approve(&mut team).await;
    assert_eq!(read(&team, PAGE).await, "<p>two");

    let _ = content.clone().with_text(PAGE, "<p>three");
    let team = pinned.start(&content).await;
    assert_eq!(read(&team, PAGE).await, "<p>two", "after a restart");

    // Without an approved snapshot, the page is not shown at all.
    std::fs::remove_dir_all(pinned.state.path().join("state/snapshots")).unwrap();
    let team = pinned.start(&content).await;
    let refused = read(&team, PAGE).await;
    assert!(refused.contains("larder approve"), "{refused}");
}

#[tokio::test]
async fn content_that_is_shown_as_a_page_needs_an_approval() {
    let pinned = StateFolder::new();
    let hidden = "x:hidden";
    // The list says that the content is text, and a read returns a page.
    let content = FakeContent::default()
        .with_text(hidden, "")
        .with_reader(|read| {
            let content = Content {
                uri: read.uri.clone(),
                mime_type: Some("Text/HTML; profile=\"MCP-App\"".into()),
                body: Body::Text("<p>".into()),
                metadata: vec![],
            };
            Ok(ReadResult {
                contents: Arc::new([content].into_iter().collect()),
                version: None,
                freshness: Freshness::UNKNOWN,
                shared: false,
            })
        });
    let team = pinned.start(&content).await;
    let refused = read(&team, hidden).await;
    assert!(refused.contains("must be listed"), "{refused}");
    // In the other mode, nothing needs an approval.
    let team = TestTeam::new([provider(&content)], 10).await;
    assert_eq!(read(&team, hidden).await, "<p>");
}

#[tokio::test]
async fn a_tool_with_a_page_of_another_provider_is_not_offered() {
    let own = FakeContent::default()
        .with_page_tool("bars", PAGE)
        .with_page_tool("lines", "ui://other/lines.html");
    let mut team = TestTeam::new([provider(&chart())], 10).await;
    let grant = Grant {
        tools: ToolGrant::All,
        ..Grant::default()
    };
    team.serve([provider(&chart()), own.provider("zoo", grant)])
        .await;
    let tools = team.gateway.tools(&TestTeam::call(), None).await.unwrap();
    let names: Vec<_> = tools.items.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["chart", "lines"]);
    assert_eq!(
        team.collisions(),
        ["`tool bars` of `zoo` is not offered: its page is a resource of `wiki`"]
    );
}
