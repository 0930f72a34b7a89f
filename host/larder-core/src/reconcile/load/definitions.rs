//! The tools and prompts of a revision that clients can use. The definition of each tool is pinned: if it differs
//! later, or if there is a new tool that the operator did not name, that tool waits for approval, because a changed
//! description can make models do something else.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{LoadedProvider, Loader, Outcome, Revision};
use crate::catalog::{
    Definitions, OfferedPrompt, OfferedTool, PendingApproval, WithheldTool, tool_digest,
};
use crate::reconcile::approvals::{PinCheck, PinDecision, PinKind, Pins};
use larder_json_schema::pattern;
use larder_model::name::ProviderName;
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
    fn new(tools: Vec<Tool>, decision: PinDecision) -> Self {
        let (offered, mut withheld): (Vec<_>, Vec<_>) = tools
            .into_iter()
            .partition(|tool| decision.is_approved(tool.name.as_str()));
        let is_rejected = |tool: &mut Tool| decision.rejected.contains(tool.name.as_str());
        let rejected = withheld.extract_if(.., is_rejected);
        let rejected =
            rejected.map(|tool| format!("the tool `{}`: an operator rejected it", tool.name));
        Self {
            rejected: rejected.collect(),
            offered,
            withheld,
            lines: decision.waiting.into_values().collect(),
            reserved: decision.changed.into_keys().collect(),
        }
    }

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
        let component = revision.digest;
        self.with_approvals(move |approvals, team| {
            let check = PinCheck {
                approvals,
                kind: PinKind::Tool,
                team,
                provider: &provider,
                component,
            };
            let decision = check.decide(&pins_of(&tools), |tool| grant.tools.names(tool))?;
            Ok(SelectedTools::new(tools, decision))
        })
        .await
    }
}

fn pins_of(tools: &[Tool]) -> Pins {
    let pin = |tool: &Tool| (tool.name.to_string(), tool_digest(tool).to_string());
    tools.iter().map(pin).collect()
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
