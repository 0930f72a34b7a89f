//! The path `/api/teams`: the quotas of each team, their use, and the callers of the team.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::query::ApiQuery;
use super::response::{ApiError, PageQuery, cut};
use crate::response::json;
use crate::{Admin, TeamView};
use larder_model::name::TeamName;
use larder_model::policy::QuotaUse;
use larder_runtime::history::VolumeReport;
use larder_runtime::metrics::Metrics;

/// Maximum number of callers of a team: the callers with the most requests.
const MAX_CALLERS: usize = 50;

#[derive(Debug, Deserialize)]
pub(super) struct TeamsQuery {
    #[serde(flatten)]
    page: PageQuery,
}

#[derive(Debug, Serialize)]
struct Team {
    name: String,
    providers: usize,
    /// Empty if the configuration has no teams, because then there are no quotas.
    quotas: Vec<Quota>,
    /// The callers with the most requests since the server started, largest first. A caller of several teams is listed
    /// in each team, with all of its requests.
    callers: Vec<Caller>,
}

#[derive(Debug, Serialize)]
struct Quota {
    name: &'static str,
    used: f64,
    limit: f64,
    #[serde(skip_serializing_if = "str::is_empty")]
    unit: &'static str,
}

#[derive(Debug, Serialize)]
struct Caller {
    /// None for requests without a credential.
    subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issuer: Option<String>,
    calls: u64,
    bytes: u64,
}

pub(super) async fn get(
    State(admin): State<Admin>,
    ApiQuery(query): ApiQuery<TeamsQuery>,
) -> Result<Response, ApiError> {
    let mut teams = admin.0.sources.teams.borrow().clone();
    teams.sort_by(|one, other| one.catalog.team().cmp(other.catalog.team()));
    let page = query
        .page
        .page(teams, |team| team.catalog.team().to_string())?;
    Ok(json(
        StatusCode::OK,
        &page.map(|team| Team::of(&team, &admin.0.sources.metrics)),
    ))
}

impl Team {
    fn of(view: &TeamView, metrics: &Metrics) -> Self {
        let name = view.catalog.team();
        let providers = view.catalog.snapshot().offers().len();
        let quotas = view.quota_usage.as_ref().map(|usage| {
            let uses = usage.uses().into_iter().map(Quota::of);
            let limit = usage.quota().providers;
            uses.chain([Quota::of_providers(providers, limit)])
                .collect()
        });
        Self {
            name: name.to_string(),
            providers,
            quotas: quotas.unwrap_or_default(),
            callers: Caller::largest(metrics, name),
        }
    }
}

impl Quota {
    fn of_providers(count: usize, limit: u32) -> Self {
        Self {
            name: "providers",
            used: count as f64,
            limit: limit.into(),
            unit: "",
        }
    }
    fn of(
        QuotaUse {
            name,
            used,
            limit,
            unit,
        }: QuotaUse,
    ) -> Self {
        Self {
            name,
            used,
            limit,
            unit,
        }
    }
}

impl Caller {
    fn largest(metrics: &Metrics, team: &TeamName) -> Vec<Self> {
        let callers = metrics.callers().largest(team, MAX_CALLERS);
        callers.into_iter().map(Self::of).collect()
    }

    fn of(volume: VolumeReport) -> Self {
        Self {
            subject: volume.subject.as_deref().map(cut),
            issuer: volume.issuer.as_deref().map(cut),
            calls: volume.requests,
            bytes: volume.bytes,
        }
    }
}
