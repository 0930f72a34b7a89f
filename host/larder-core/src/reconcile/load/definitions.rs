//! The tools and prompts of a revision that clients can use. The definition of each tool is pinned: if it differs
//! later, or if there is a new tool that the operator did not name, that tool waits for approval, because a changed
//! description can make models do something else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

use super::{LoadedProvider, Loader, Outcome, Revision};
use crate::catalog::{Definitions, OfferedPrompt, OfferedTool, PendingApproval, tool_digest};
use crate::json_schema::pattern;
use crate::reconcile::approvals::ToolPins;
use larder_model::name::ProviderName;
use larder_model::policy::{ApprovalMode, Grant};
use larder_model::prompt::Prompt;
use larder_model::tool::Tool;
use larder_sandbox::provider::{LoadError, ProbeResult, Provider};

/// Tools by whether clients can use them.
struct SelectedTools {
    offered: Vec<Tool>,
    /// The lines that the other tools wait for.
    withheld: BTreeSet<String>,
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
        let (tools, prompts) = (std::mem::take(&mut probed.tools), std::mem::take(&mut probed.prompts));
        let SelectedTools { offered, withheld } = self.select_tools(provider.name(), tools, revision).await?;
        let (grant, mut notes) = (revision.config.grant.clone(), Vec::new());
        let compile = self.threads.run(move || {
            let definitions = definitions(&grant, offered, prompts, &mut notes);
            (definitions, notes)
        });
        let (definitions, notes) = compile.await.map_err(|error| LoadError::Unreadable(error.to_string()))?;
        probed.omitted.extend(notes);
        let withheld = (!withheld.is_empty()).then(|| PendingApproval {
            team: self.team.clone(),
            provider: provider.name().clone(),
            digest: revision.digest,
            lines: withheld,
            since: SystemTime::now(),
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
        if tools.is_empty() || revision.config.approval_mode == ApprovalMode::Always {
            return Ok(SelectedTools { offered: tools, withheld: BTreeSet::new() });
        }
        let (provider, grant, digest) = (name.clone(), revision.config.grant.clone(), revision.digest);
        self.with_approvals(move |approvals, team| {
            let pins = approvals.tool_pins(team, &provider)?;
            let (new, mut changed) =
                (new_definitions(&tools, &grant, pins.as_ref()), changed_lines(&tools, &pins));
            changed.retain(|tool, _| !new.contains_key(tool));
            let lines: BTreeSet<String> = changed.values().cloned().collect();
            let withheld = approvals.unapproved_for((team, &provider, Some(digest)), &lines)?;
            let is_withheld =
                |tool: &Tool| changed.get(tool.name.as_str()).is_some_and(|line| withheld.contains(line));
            let (held, offered): (Vec<_>, Vec<_>) = tools.into_iter().partition(is_withheld);
            drop(held);
            let now = offered.iter().map(|tool| (tool.name.to_string(), tool_digest(tool).to_string()));
            approvals.pin_tools(team, &provider, &now.collect())?;
            Ok(SelectedTools { offered, withheld })
        })
        .await
    }
}

/// The tools that need no approval although they are not pinned: all, when the provider is first served, and those
/// that the operator names.
fn new_definitions(tools: &[Tool], grant: &Grant, pins: Option<&ToolPins>) -> ToolPins {
    let is_new = |tool: &&Tool| match pins {
        None => true,
        Some(pins) => !pins.contains_key(tool.name.as_str()) && grant.tools.names(tool.name.as_str()),
    };
    tools.iter().filter(is_new).map(|tool| (tool.name.to_string(), tool_digest(tool).to_string())).collect()
}

/// The lines to approve of the tools whose definition is not the pinned one, by name.
fn changed_lines(tools: &[Tool], pins: &Option<ToolPins>) -> BTreeMap<String, String> {
    let line = |tool: &Tool| {
        let (name, digest) = (tool.name.to_string(), tool_digest(tool).to_string());
        let is_pinned = pins.as_ref().and_then(|pins| pins.get(&name)) == Some(&digest);
        (!is_pinned).then(|| (name.clone(), format!("tool {name} with definition {digest}")))
    };
    tools.iter().filter_map(line).collect()
}

/// Compiles the schemas of all tools. Tools with invalid ones are omitted.
fn definitions(
    grant: &Grant,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    notes: &mut Vec<String>,
) -> Definitions {
    // The regular expressions of all tools share one limit.
    let patterns =
        tools.iter().flat_map(|tool| [Some(&tool.input_schema), tool.output_schema.as_ref()]).flatten();
    let patterns = patterns.filter_map(|schema| serde_json::from_str(schema.get()).ok());
    let pattern_size = pattern::size_limit(patterns.map(|schema| pattern::count(&schema)).sum());
    let compile = |tool: Tool| {
        let name = tool.name.clone();
        let compiled = OfferedTool::with_pattern_size(tool, &grant.name_prefix, pattern_size);
        compiled.map_err(|why| notes.push(format!("the tool `{name}`: {why}"))).ok()
    };
    let tools = tools.into_iter().filter_map(compile).collect();
    let prompts = prompts.into_iter().map(|prompt| OfferedPrompt::new(prompt, &grant.name_prefix)).collect();
    Definitions::new(tools, prompts)
}
