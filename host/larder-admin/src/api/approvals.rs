//! The paths `/api/approvals`: requests that wait for an operator, and the decision about them.

use std::collections::BTreeSet;

use axum::body::Bytes;
use axum::extract::{Extension, State};
use axum::response::Response;
use http::StatusCode;
use http::header::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::body;
use super::component_view::full_name;
use super::query::{ApiQuery, NameInPath};
use super::response::{ApiError, Page, PageQuery};
use super::session::operator_event;
use super::time::timestamp;
use crate::Admin;
use crate::operator::Operator;
use crate::response::json;
use larder_core::audit::AuditEvent;
use larder_core::catalog::{OfferedTool, PendingApproval, WithheldContent, WithheldTool};
use larder_core::reconcile::{
    ApprovalScope, Approvals, ApprovalsError, PendingApprovalRecord, RejectedRequest,
};
use larder_model::name::TeamName;
use larder_runtime::history::{Event, EventKind};

/// Which requests to list.
#[derive(Deserialize)]
pub(super) struct ListQuery {
    state: Option<RequestState>,
    #[serde(flatten)]
    page: PageQuery,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum RequestState {
    Pending,
    Rejected,
}

/// A request that waits for an operator or was rejected.
#[derive(Debug, Serialize)]
pub(super) struct Request {
    provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<String>,
    digest: String,
    /// Identifies exactly the request that is shown.
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_at: Option<String>,
    changes: Vec<Change>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<ToolChange>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected: Option<Rejection>,
    #[serde(skip)]
    record: PendingApprovalRecord,
}

#[derive(Debug, Serialize)]
struct Change {
    kind: &'static str,
    line: String,
}

#[derive(Debug, Serialize)]
struct ToolChange {
    name: String,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Box<RawValue>>,
}

#[derive(Debug, Serialize)]
struct Rejection {
    at: String,
    by: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Decide {
    decision: Decision,
    digest: String,
    id: String,
    #[serde(default)]
    only_this_digest: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Approve,
    Reject,
}

#[derive(Serialize)]
struct DecisionResponse {
    provider: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<String>,
    digest: String,
    decision: Decision,
}

/// Returns the definition of a tool as MCP clients receive it.
type ToolJson = fn(&OfferedTool) -> &[u8];

pub(super) async fn list(
    State(admin): State<Admin>,
    ApiQuery(query): ApiQuery<ListQuery>,
) -> Result<Response, ApiError> {
    let mut requests = match query.state {
        Some(RequestState::Rejected) => admin.rejected_requests().await?,
        Some(RequestState::Pending) | None => admin.pending_requests(),
    };
    requests.sort_by_cached_key(Request::key);
    let page: Page<Request> = query.page.page(requests, Request::key)?;
    Ok(json(StatusCode::OK, &page))
}

/// Approves or rejects exactly the request that the operator saw: the component and its requests may have been replaced
/// since then.
pub(super) async fn decide(
    State(admin): State<Admin>,
    Extension(operator): Extension<Operator>,
    NameInPath(name): NameInPath,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, ApiError> {
    let decide: Decide = body::parse(&headers, &body)?;
    let request = admin.find_request(&name, &decide).await?;
    let approvals = admin.approvals_of(&request.record.team)?;
    // A decision that cannot be recorded does not take effect.
    admin.audit_decision(&request, &operator, &decide).await?;
    let record = request.record.clone();
    let by = operator.name();
    let scope = decide.scope();
    let change = admin.0.drain.spawn_blocking(move || match decide.decision {
        Decision::Approve => approvals.approve_for(scope, &record, &by),
        Decision::Reject => approvals.reject(&record, &by),
    });
    let changed = change.await.map_err(ApiError::failed)?;
    changed.map_err(ApiError::failed)?;
    let operation = decide.operation();
    tracing::info!(provider = name, operator = %operator.name(), operation, "decided at the admin address");
    admin.record_decision(&request, &operator, &decide);
    let response = DecisionResponse::new(request, decide.decision);
    Ok(json(StatusCode::OK, &response))
}

impl DecisionResponse {
    fn new(request: Request, decision: Decision) -> Self {
        Self {
            provider: request.provider,
            team: request.team,
            digest: request.digest,
            decision,
        }
    }
}

impl Decide {
    fn operation(&self) -> &'static str {
        match self.decision {
            Decision::Approve => "approve",
            Decision::Reject => "reject",
        }
    }

    fn scope(&self) -> ApprovalScope {
        if self.only_this_digest {
            ApprovalScope::Digest
        } else {
            ApprovalScope::Name
        }
    }

    fn is_about(&self, request: &Request) -> bool {
        request.digest == self.digest && request.id == self.id
    }

    /// Returns what the audit log says about the decision.
    fn details(&self, record: &PendingApprovalRecord) -> Vec<String> {
        let mut details: Vec<_> = record.lines.iter().cloned().collect();
        if self.decision == Decision::Approve && self.only_this_digest {
            details.push("only for this digest".to_owned());
        }
        details
    }
}

impl Admin {
    async fn audit_decision(
        &self,
        request: &Request,
        operator: &Operator,
        decide: &Decide,
    ) -> Result<(), ApiError> {
        let record = &request.record;
        let details = decide.details(record);
        let event = AuditEvent {
            team: Some(&record.team),
            provider: Some(&record.provider),
            digest: Some(&record.digest),
            details: &details,
            ..operator_event(decide.operation(), "ok", operator)
        };
        let recorded = self.0.sources.audit.record_first(&event).await;
        recorded.map_err(|error| ApiError::unavailable("not-recorded", error))
    }

    fn pending_requests(&self) -> Vec<Request> {
        let json = self.0.sources.catalog_json.tool;
        let mut requests = Vec::new();
        for team in self.0.sources.teams.borrow().iter() {
            let catalog = team.catalog.snapshot();
            let pending = catalog.pending_approvals().iter();
            requests.extend(pending.map(|pending| Request::pending(pending, json)));
        }
        requests
    }

    async fn rejected_requests(&self) -> Result<Vec<Request>, ApiError> {
        let all = self.approvals_by_team();
        let read = self.0.drain.spawn_blocking(move || {
            let mut requests = Vec::new();
            for (team, approvals) in all {
                let rejected = approvals.rejected()?.into_iter();
                requests.extend(
                    rejected
                        .filter(|one| one.record.team == team.as_str())
                        .map(Request::rejected),
                );
            }
            Ok::<_, ApprovalsError>(requests)
        });
        let read = read.await.map_err(ApiError::failed)?;
        read.map_err(ApiError::failed)
    }

    fn approvals_by_team(&self) -> Vec<(TeamName, Approvals)> {
        let teams = self.0.sources.teams.borrow();
        teams
            .iter()
            .map(|team| (team.catalog.team().clone(), team.approvals.clone()))
            .collect()
    }

    /// Finds the request about which the operator decides.
    async fn find_request(&self, name: &str, decide: &Decide) -> Result<Request, ApiError> {
        let mut of_provider = self.pending_requests();
        if decide.decision == Decision::Approve {
            of_provider.extend(self.rejected_requests().await?);
        }
        of_provider.retain(|request| request.provider == name);
        if of_provider.is_empty() {
            let message = format!("nothing is pending approval for {name:?}");
            return Err(ApiError::not_found(message));
        }
        let mut of_provider = of_provider.into_iter();
        let found = of_provider.find(|request| decide.is_about(request));
        found.ok_or_else(replaced_request)
    }

    fn record_decision(&self, request: &Request, operator: &Operator, decide: &Decide) {
        let done = decide.decision.past_tense();
        let lines = request
            .record
            .lines
            .iter()
            .cloned()
            .collect::<Vec<_>>()
            .join("\n");
        let text = format!(
            "{} {done} what {} requests",
            operator.name(),
            request.provider
        );
        let mut event = Event::new(EventKind::Approval, text).of_provider(&request.record.provider);
        event.team = TeamName::parse(&request.record.team).ok();
        self.0
            .sources
            .metrics
            .events()
            .record(event.with("digest", &*request.digest).with("lines", lines));
    }

    fn approvals_of(&self, team: &str) -> Result<Approvals, ApiError> {
        let unknown = || ApiError::not_found(format!("there is no team {team:?}"));
        Ok(self.team(team).ok_or_else(unknown)?.approvals)
    }
}

fn replaced_request() -> ApiError {
    let message =
        "the component or what it requests was replaced since you saw it: look at it again";
    ApiError::new(StatusCode::CONFLICT, "conflict", message)
}

impl Decision {
    fn past_tense(self) -> &'static str {
        match self {
            Self::Approve => "approved",
            Self::Reject => "rejected",
        }
    }
}

impl Request {
    fn pending(pending: &PendingApproval, json: ToolJson) -> Self {
        let PendingApproval {
            team,
            provider,
            digest,
            lines,
            unchanged,
            dropped,
            tools,
            contents,
            since,
        } = pending;
        let record = PendingApprovalRecord::new(team, provider, *digest, lines.clone());
        let added = Change::of_lines("added", lines);
        let removed = Change::of_lines("removed", dropped);
        let same = Change::of_lines("same", unchanged);
        Self {
            provider: full_name(team, provider.as_str()),
            team: team.non_default().map(ToOwned::to_owned),
            digest: digest.to_string(),
            id: record.id().to_string(),
            requested_at: Some(timestamp(*since)),
            changes: added.chain(removed).chain(same).collect(),
            tools: ToolChange::all(tools, contents, json),
            rejected: None,
            record,
        }
    }

    fn rejected(rejected: RejectedRequest) -> Self {
        let RejectedRequest { record, at, by } = rejected;
        let team = TeamName::parse(&record.team).unwrap_or_else(|_| TeamName::default_team());
        Self {
            provider: full_name(&team, &record.provider),
            team: team.non_default().map(ToOwned::to_owned),
            digest: record.digest.clone(),
            id: record.id().to_string(),
            requested_at: None,
            changes: Change::of_lines("added", &record.lines).collect(),
            tools: Vec::new(),
            rejected: Some(Rejection { at, by }),
            record,
        }
    }

    /// The key by which the list is ordered.
    fn key(&self) -> String {
        format!("{} {}", self.provider, self.id)
    }
}

impl Change {
    fn of_lines(kind: &'static str, lines: &BTreeSet<String>) -> impl Iterator<Item = Self> {
        lines.iter().cloned().map(move |line| Self { kind, line })
    }
}

impl ToolChange {
    fn all(tools: &[WithheldTool], contents: &[WithheldContent], json: ToolJson) -> Vec<Self> {
        let tools = tools.iter().map(|tool| Self::of(tool, json));
        tools.chain(contents.iter().map(Self::of_content)).collect()
    }

    fn of_content(withheld: &WithheldContent) -> Self {
        let files = |json: &String| serde_json::from_str(json).ok();
        let before = withheld.before.as_ref().and_then(files);
        Self {
            name: withheld.name.clone(),
            change: Self::kind(before.is_some()),
            before,
            after: files(&withheld.after),
        }
    }

    fn of(withheld: &WithheldTool, json: ToolJson) -> Self {
        let definition = |tool: &OfferedTool| serde_json::from_slice(json(tool)).ok();
        Self {
            name: withheld.tool.name.to_string(),
            change: Self::kind(withheld.before.is_some()),
            before: withheld.before.as_ref().and_then(|tool| definition(tool)),
            after: definition(&withheld.tool),
        }
    }

    fn kind(is_known: bool) -> &'static str {
        if is_known { "changed" } else { "added" }
    }
}
