//! The path `/api/providers`: all components, served or not.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::component_view::{ComponentState, ComponentView};
use super::problems::{self, Problem};
use super::query::{ApiQuery, contains, lower};
use super::response::{ApiError, PageQuery};
use crate::Admin;
use crate::response::json;
use larder_model::name::Digest;

#[derive(Debug, Deserialize)]
pub(super) struct ProvidersQuery {
    q: Option<String>,
    team: Option<String>,
    state: Option<String>,
    #[serde(flatten)]
    page: PageQuery,
}

/// A component in the list.
#[derive(Debug, Serialize)]
pub(super) struct ProviderItem {
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) team: Option<String>,
    pub(super) state: &'static str,
    /// None if no revision is served.
    pub(super) revision: Option<u64>,
    pub(super) digest: Option<String>,
    pub(super) resources: usize,
    pub(super) templates: usize,
    pub(super) tools: usize,
    pub(super) prompts: usize,
    pub(super) calls: u64,
    pub(super) errors: u64,
    pub(super) p50_seconds: Option<f64>,
    pub(super) p99_seconds: Option<f64>,
    pub(super) problems: Vec<Problem>,
}

impl ProviderItem {
    pub(super) fn of(view: &ComponentView) -> Self {
        let offer = view.offer.as_deref();
        let totals = offer
            .map(|offer| offer.provider.metrics().totals())
            .unwrap_or_default();
        let rejected = || view.rejected.as_ref().and_then(|rejected| rejected.digest);
        let pending = || view.pending.as_ref().map(|pending| pending.digest);
        let digest = offer
            .map(|offer| offer.provider.digest())
            .or_else(pending)
            .or_else(rejected);
        Self {
            name: view.full_name(),
            team: view.team.non_default().map(ToOwned::to_owned),
            state: view.state().label(),
            revision: offer.map(|offer| offer.provider.revision()),
            digest: digest.as_ref().map(Digest::to_string),
            resources: offer.map_or(0, |offer| offer.entries.len()),
            templates: offer.map_or(0, |offer| offer.templates.len()),
            tools: offer.map_or(0, |offer| offer.definitions.tools.len()),
            prompts: offer.map_or(0, |offer| offer.definitions.prompts.len()),
            calls: totals.calls,
            errors: totals.errors,
            p50_seconds: totals.durations.quantile(0.5),
            p99_seconds: totals.durations.quantile(0.99),
            problems: problems::of_component(view),
        }
    }
}

pub(super) async fn get(
    State(admin): State<Admin>,
    ApiQuery(query): ApiQuery<ProvidersQuery>,
) -> Result<Response, ApiError> {
    let teams = admin.0.sources.teams.borrow().clone();
    let page = query.page.page(
        query.select(ComponentView::all(&teams))?,
        ComponentView::full_name,
    )?;
    Ok(json(
        StatusCode::OK,
        &page.map(|view| ProviderItem::of(&view)),
    ))
}

impl ProvidersQuery {
    /// Returns the components that match.
    fn select(&self, views: Vec<ComponentView>) -> Result<Vec<ComponentView>, ApiError> {
        let needle = lower(self.q.as_ref());
        let state = self.state()?;
        let team = self.team.as_deref().filter(|team| !team.is_empty());
        let matches = |view: &ComponentView| {
            contains(&view.full_name(), &needle)
                && team.is_none_or(|team| view.team.as_str() == team)
                && state.is_none_or(|state| view.state() == state)
        };
        Ok(views.into_iter().filter(matches).collect())
    }

    fn state(&self) -> Result<Option<ComponentState>, ApiError> {
        let Some(text) = self.state.as_ref().filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let state = ComponentState::ALL
            .into_iter()
            .find(|state| state.label() == text);
        state.map(Some).ok_or_else(unknown_state)
    }
}

fn unknown_state() -> ApiError {
    let labels = ComponentState::ALL.map(ComponentState::label).join(", ");
    ApiError::bad_request(format!("`state` must be one of {labels}"))
}
