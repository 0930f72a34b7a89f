//! The tools and prompts of a revision that clients can use. The definition of each tool is pinned: if it differs
//! later, or if there is a new tool that the operator did not name, that tool waits for approval, because a changed
//! description can make models do something else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{LoadedProvider, Loader, Outcome, Revision};
use crate::catalog::{
    Definitions, OfferedPrompt, OfferedTool, PendingApproval, WithheldTool, tool_digest,
};
use crate::reconcile::approvals::ToolPins;
use crate::reconcile::{Approvals, ApprovalsError};
use larder_json_schema::pattern;
use larder_model::name::{Digest, ProviderName, TeamName};
use larder_model::policy::{ApprovalMode, Grant};
use larder_model::prompt::Prompt;
use larder_model::tool::{Tool, ToolName};
use larder_provider::{LoadError, ProbeResult, Provider};

/// Tools, divided into those that clients can use and others.
#[derive(Default)]
struct SelectedTools {
    offered: Vec<Tool>,
    /// The tools that wait for approval.
    withheld: Vec<Tool>,
    /// The lines whose approval they need.
    lines: BTreeSet<String>,
    /// The tools whose definitions an operator rejected, as sentences.
    rejected: Vec<String>,
    /// The names of the tools that were offered before and are not offered any more.
    reserved: BTreeSet<String>,
}

impl SelectedTools {
    /// Whether a tool of the revision cannot be used.
    fn is_incomplete(&self) -> bool {
        !(self.lines.is_empty() && self.rejected.is_empty())
    }
}

/// The definitions that clients can use, and those that they cannot use.
struct CompiledDefinitions {
    offered: Definitions,
    withheld: Vec<WithheldTool>,
    /// What was omitted, and why.
    notes: Vec<String>,
}

impl CompiledDefinitions {
    fn new(selected: SelectedTools, prompts: Vec<Prompt>, grant: &Grant) -> Self {
        let withheld = selected.withheld.into_iter();
        let mut notes = selected.rejected;
        let mut offered = definitions(grant, selected.offered, prompts, &mut notes);
        let reserved = selected.reserved.iter();
        offered.reserved = reserved
            .filter_map(|name| ToolName::parse(&format!("{}{name}", grant.name_prefix)).ok())
            .collect();
        Self {
            offered,
            withheld: withheld
                .filter_map(|tool| withheld_tool(tool, grant))
                .collect(),
            notes,
        }
    }
}

impl Loader {
    /// Returns what a probed revision offers.
    pub(super) async fn offer(
        &self,
        mut probed: ProbeResult,
        provider: Arc<dyn Provider>,
        revision: &Revision,
        requests: BTreeSet<String>,
    ) -> Result<Outcome, LoadError> {
        let grant = revision.config.grant.clone();
        let mut tools = std::mem::take(&mut probed.tools);
        tools.retain(|tool| grant.tools.allows(tool.name.as_str()));
        let mut prompts = std::mem::take(&mut probed.prompts);
        if !grant.prompts {
            prompts.clear();
        }
        let mut selected = self.select_tools(provider.name(), tools, revision).await?;
        let is_incomplete = selected.is_incomplete();
        let lines = std::mem::take(&mut selected.lines);
        let compile = move || CompiledDefinitions::new(selected, prompts, &grant);
        let compiled = self.threads.run(compile).await;
        let compiled = compiled.map_err(|error| LoadError::Unreadable(error.to_string()))?;
        probed.omitted.extend(compiled.notes);
        let pending = |lines| {
            let name = provider.name().clone();
            PendingApproval::new(self.team.clone(), name, revision.digest, lines)
        };
        let withheld = is_incomplete.then(|| PendingApproval {
            tools: compiled.withheld,
            ..pending(lines)
        });
        Ok(Outcome::Offer(Box::new(LoadedProvider {
            provider,
            probed,
            definitions: compiled.offered,
            withheld,
            revision: revision.clone(),
            requests,
        })))
    }

    /// Selects the tools whose definitions the operator approved, and pins the definitions that are new.
    async fn select_tools(
        &self,
        name: &ProviderName,
        tools: Vec<Tool>,
        revision: &Revision,
    ) -> Result<SelectedTools, LoadError> {
        // A provider without tools is pinned as such, so that a later tool counts as new.
        let has_none = tools.is_empty() && revision.config.grant.tools.is_none();
        if has_none || revision.config.approval_mode == ApprovalMode::Always {
            return Ok(SelectedTools {
                offered: tools,
                ..SelectedTools::default()
            });
        }
        let provider = name.clone();
        let grant = revision.config.grant.clone();
        let digest = revision.digest;
        self.with_approvals(move |approvals, team| {
            let tool_approvals = ToolApprovals {
                approvals,
                team,
                provider: &provider,
                digest,
                grant: &grant,
                pins: approvals.tool_pins(team, &provider)?,
            };
            tool_approvals.select(tools)
        })
        .await
    }
}

/// What is approved of the tools of one revision.
struct ToolApprovals<'a> {
    approvals: &'a Approvals,
    team: &'a TeamName,
    provider: &'a ProviderName,
    digest: Digest,
    grant: &'a Grant,
    pins: Option<ToolPins>,
}

impl ToolApprovals<'_> {
    /// Selects the tools whose definitions are approved, and pins these definitions.
    fn select(&self, tools: Vec<Tool>) -> Result<SelectedTools, ApprovalsError> {
        let changed = self.changed_lines(&tools);
        let has_line = |tool: &Tool, lines: &BTreeSet<String>| {
            let line = changed.get(tool.name.as_str());
            line.is_some_and(|line| lines.contains(line))
        };
        let mut lines = self.unapproved(&changed)?;
        let (mut withheld, offered): (Vec<_>, Vec<_>) =
            tools.into_iter().partition(|tool| has_line(tool, &lines));
        self.approvals
            .pin_tools(self.team, self.provider, &pins_of(&offered))?;
        let reserved = self.pinned_names(&withheld);
        self.remove_rejected(&mut lines)?;
        let rejected = withheld.extract_if(.., |tool| !has_line(tool, &lines));
        let rejected =
            rejected.map(|tool| format!("the tool `{}`: an operator rejected it", tool.name));
        Ok(SelectedTools {
            rejected: rejected.collect(),
            offered,
            withheld,
            lines,
            reserved,
        })
    }

    /// The lines to approve, by the name of the tool.
    fn changed_lines(&self, tools: &[Tool]) -> BTreeMap<String, String> {
        let new = new_definitions(tools, self.grant, self.pins.as_ref());
        let mut changed = changed_lines(tools, &self.pins);
        changed.retain(|tool, _| !new.contains_key(tool));
        changed
    }

    fn unapproved(
        &self,
        changed: &BTreeMap<String, String>,
    ) -> Result<BTreeSet<String>, ApprovalsError> {
        let lines = changed.values().cloned().collect();
        self.approvals
            .unapproved_for(self.team, self.provider, Some(self.digest), &lines)
    }

    /// The names of those of these tools that were offered before.
    fn pinned_names(&self, tools: &[Tool]) -> BTreeSet<String> {
        let names = tools.iter().map(|tool| tool.name.to_string());
        let is_pinned = |name: &String| {
            self.pins
                .as_ref()
                .is_some_and(|pins| pins.contains_key(name))
        };
        names.filter(is_pinned).collect()
    }

    fn remove_rejected(&self, lines: &mut BTreeSet<String>) -> Result<(), ApprovalsError> {
        let rejections =
            self.approvals
                .rejections(self.team, self.provider.as_str(), self.digest)?;
        lines.retain(|line| {
            !rejections
                .iter()
                .any(|rejection| rejection.record.lines.contains(line))
        });
        Ok(())
    }
}

fn pins_of<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> ToolPins {
    let pin = |tool: &Tool| (tool.name.to_string(), tool_digest(tool).to_string());
    tools.into_iter().map(pin).collect()
}

/// The tools that need no approval although they are not pinned: all tools when the provider is first served, and the
/// tools that the operator names.
fn new_definitions(tools: &[Tool], grant: &Grant, pins: Option<&ToolPins>) -> ToolPins {
    let is_new = |tool: &&Tool| match pins {
        None => true,
        Some(pins) => {
            !pins.contains_key(tool.name.as_str()) && grant.tools.names(tool.name.as_str())
        }
    };
    pins_of(tools.iter().filter(is_new))
}

/// The lines to approve, by the name of the tool, of all tools whose definition differs from the pinned one.
fn changed_lines(tools: &[Tool], pins: &Option<ToolPins>) -> BTreeMap<String, String> {
    let line = |tool: &Tool| {
        let name = tool.name.to_string();
        let digest = tool_digest(tool).to_string();
        let is_pinned = pins.as_ref().and_then(|pins| pins.get(&name)) == Some(&digest);
        (!is_pinned).then(|| {
            (
                name.clone(),
                format!("tool {name} with definition {digest}"),
            )
        })
    };
    tools.iter().filter_map(line).collect()
}

/// Returns a tool that waits for approval, as clients would see it. None if its schema is invalid, because clients then
/// never see the tool.
fn withheld_tool(tool: Tool, grant: &Grant) -> Option<WithheldTool> {
    let tool = OfferedTool::new(tool, &grant.name_prefix).ok()?;
    Some(WithheldTool {
        tool: Arc::new(tool),
        before: None,
    })
}

/// Compiles the schemas of all tools. Tools with invalid schemas are omitted.
fn definitions(
    grant: &Grant,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    notes: &mut Vec<String>,
) -> Definitions {
    // The regular expressions of all tools share one limit.
    let patterns = tools
        .iter()
        .flat_map(|tool| [Some(&tool.input_schema), tool.output_schema.as_ref()])
        .flatten();
    let patterns = patterns.filter_map(|schema| serde_json::from_str(schema.get()).ok());
    let pattern_size = pattern::size_limit(patterns.map(|schema| pattern::count(&schema)).sum());
    let compile = |tool: Tool| {
        let name = tool.name.clone();
        let compiled = OfferedTool::with_pattern_size(tool, &grant.name_prefix, pattern_size);
        compiled
            .map_err(|why| notes.push(format!("the tool `{name}`: {why}")))
            .ok()
    };
    let tools = tools.into_iter().filter_map(compile).collect();
    let prompts = prompts
        .into_iter()
        .map(|prompt| OfferedPrompt::new(prompt, &grant.name_prefix))
        .collect();
    Definitions::new(tools, prompts)
}
