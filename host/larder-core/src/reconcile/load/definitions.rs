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
use larder_json_schema::pattern;
use larder_model::name::ProviderName;
use larder_model::policy::{ApprovalMode, Grant};
use larder_model::prompt::Prompt;
use larder_model::tool::{Tool, ToolName};
use larder_sandbox::provider::{LoadError, ProbeResult, Provider};

/// Tools by whether clients can use them.
#[derive(Default)]
struct SelectedTools {
    offered: Vec<Tool>,
    /// The tools that wait for approval.
    withheld: Vec<Tool>,
    /// The lines that they wait for.
    lines: BTreeSet<String>,
    /// Those whose definitions an operator rejected, as sentences.
    rejected: Vec<String>,
    /// The names of the tools that were offered before, and are not any more.
    reserved: BTreeSet<String>,
}

impl Loader {
    /// Returns what a probed revision offers.
    pub(super) async fn offer(
        &self,
        mut probed: ProbeResult,
        provider: Arc<Provider>,
        revision: &Revision,
        requests: BTreeSet<String>,
    ) -> Result<Outcome, LoadError> {
        let tools = std::mem::take(&mut probed.tools);
        let prompts = std::mem::take(&mut probed.prompts);
        let SelectedTools {
            offered,
            withheld,
            lines,
            rejected: mut notes,
            reserved,
        } = self.select_tools(provider.name(), tools, revision).await?;
        let grant = revision.config.grant.clone();
        let is_incomplete = !(lines.is_empty() && notes.is_empty());
        let compile = self.threads.run(move || {
            let withheld = withheld
                .into_iter()
                .filter_map(|tool| withheld_tool(tool, &grant))
                .collect();
            let mut definitions = definitions(&grant, offered, prompts, &mut notes);
            let names = reserved
                .iter()
                .map(|name| format!("{}{name}", grant.name_prefix));
            definitions.reserved = names
                .filter_map(|name| ToolName::parse(&name).ok())
                .collect();
            (definitions, withheld, notes)
        });
        let (definitions, tools, notes) = compile
            .await
            .map_err(|error| LoadError::Unreadable(error.to_string()))?;
        probed.omitted.extend(notes);
        let withheld = is_incomplete.then(|| PendingApproval {
            tools,
            ..PendingApproval::new(
                self.team.clone(),
                provider.name().clone(),
                revision.digest,
                lines,
            )
        });
        let revision = revision.clone();
        Ok(Outcome::Offer(Box::new(LoadedProvider {
            provider,
            probed,
            definitions,
            withheld,
            revision,
            requests,
        })))
    }

    /// Selects the tools whose definitions the operator approved, and pins those that are new.
    async fn select_tools(
        &self,
        name: &ProviderName,
        tools: Vec<Tool>,
        revision: &Revision,
    ) -> Result<SelectedTools, LoadError> {
        // That it has no tools is pinned as well, so that a later one is a new one.
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
            let pins = approvals.tool_pins(team, &provider)?;
            let new = new_definitions(&tools, &grant, pins.as_ref());
            let mut changed = changed_lines(&tools, &pins);
            changed.retain(|tool, _| !new.contains_key(tool));
            let lines: BTreeSet<String> = changed.values().cloned().collect();
            let mut lines = approvals.unapproved_for(team, &provider, Some(digest), &lines)?;
            let has_line = |tool: &Tool, lines: &BTreeSet<String>| {
                changed
                    .get(tool.name.as_str())
                    .is_some_and(|line| lines.contains(line))
            };
            let (mut withheld, offered): (Vec<_>, Vec<_>) =
                tools.into_iter().partition(|tool| has_line(tool, &lines));
            let now = offered
                .iter()
                .map(|tool| (tool.name.to_string(), tool_digest(tool).to_string()));
            approvals.pin_tools(team, &provider, &now.collect())?;
            let is_pinned = |name: &str| pins.as_ref().is_some_and(|pins| pins.contains_key(name));
            let reserved = withheld
                .iter()
                .map(|tool| tool.name.to_string())
                .filter(|name| is_pinned(name));
            let reserved = reserved.collect();
            let rejections = approvals.rejections(team, provider.as_str(), digest)?;
            lines.retain(|line| {
                !rejections
                    .iter()
                    .any(|rejection| rejection.record.lines.contains(line))
            });
            let rejected = withheld.extract_if(.., |tool| !has_line(tool, &lines));
            let rejected =
                rejected.map(|tool| format!("the tool `{}`: an operator rejected it", tool.name));
            let rejected = rejected.collect();
            Ok(SelectedTools {
                offered,
                withheld,
                lines,
                rejected,
                reserved,
            })
        })
        .await
    }
}

/// The tools that need no approval although they are not pinned: all, when the provider is first served, and those
/// that the operator names.
fn new_definitions(tools: &[Tool], grant: &Grant, pins: Option<&ToolPins>) -> ToolPins {
    let is_new = |tool: &&Tool| match pins {
        None => true,
        Some(pins) => {
            !pins.contains_key(tool.name.as_str()) && grant.tools.names(tool.name.as_str())
        }
    };
    tools
        .iter()
        .filter(is_new)
        .map(|tool| (tool.name.to_string(), tool_digest(tool).to_string()))
        .collect()
}

/// The lines to approve of the tools whose definition is not the pinned one, by name.
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

/// Returns a tool that waits for approval, as clients would see it. None if no client ever will, because its schema is not
/// valid.
fn withheld_tool(tool: Tool, grant: &Grant) -> Option<WithheldTool> {
    let tool = OfferedTool::new(tool, &grant.name_prefix).ok()?;
    Some(WithheldTool {
        tool: Arc::new(tool),
        before: None,
    })
}

/// Compiles the schemas of all tools. Tools with invalid ones are omitted.
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
