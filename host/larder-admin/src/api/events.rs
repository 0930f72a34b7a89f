//! The path `/api/events`: the events on the server.

use std::collections::BTreeMap;
use std::iter::once;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::component_view::full_name;
use super::query::{self, ApiQuery, contains, lower};
use super::response::{ApiError, Page, PageQuery};
use super::time::timestamp;
use crate::Admin;
use crate::response::json;
use larder_model::name::TeamName;
use larder_runtime::history::{Event, EventKind};

#[derive(Debug, Deserialize)]
pub(super) struct EventsQuery {
    after: Option<String>,
    /// One kind, or several kinds separated by commas.
    kind: Option<String>,
    team: Option<String>,
    provider: Option<String>,
    q: Option<String>,
    #[serde(flatten)]
    page: PageQuery,
}

/// An event.
#[derive(Debug, Serialize)]
pub(super) struct EventItem {
    id: u64,
    at: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<String>,
    text: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    details: BTreeMap<&'static str, String>,
}

impl EventItem {
    pub(super) fn of(id: u64, event: &Event) -> Self {
        Self {
            id,
            at: timestamp(event.at),
            kind: event.kind.label(),
            team: event
                .team
                .as_ref()
                .and_then(TeamName::non_default)
                .map(ToOwned::to_owned),
            provider: provider(event),
            text: event.text.clone(),
            details: event.details.clone(),
        }
    }
}

fn provider(event: &Event) -> Option<String> {
    let name = event.provider.as_ref()?;
    Some(
        event
            .team
            .as_ref()
            .map_or_else(|| name.clone(), |team| full_name(team, name)),
    )
}

/// Returns the newest events that match, newest first. The cursor is the id of the last event.
pub(super) async fn get(
    State(admin): State<Admin>,
    ApiQuery(query): ApiQuery<EventsQuery>,
) -> Result<Response, ApiError> {
    let limit = query.page.limit()?;
    let filter = Filter::of(&query)?;
    let events = admin.0.sources.metrics.events();
    let mut found = events.newest(limit + 1, |id, event| filter.matches(id, event));
    let has_more = found.len() > limit;
    found.truncate(limit);
    let next = found
        .last()
        .filter(|_| has_more)
        .map(|(id, _)| id.to_string());
    let items = found
        .iter()
        .map(|(id, event): &(u64, Arc<Event>)| EventItem::of(*id, event))
        .collect();
    Ok(json(StatusCode::OK, &Page { items, next }))
}

/// Which events are returned.
struct Filter {
    after: u64,
    before: u64,
    /// Empty for all kinds.
    kinds: Vec<EventKind>,
    team: Option<String>,
    provider: Option<String>,
    needle: String,
}

impl Filter {
    fn of(query: &EventsQuery) -> Result<Self, ApiError> {
        let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        Ok(Self {
            after: query::id("after", query.after.as_deref())?.unwrap_or(0),
            before: query::id("cursor", query.page.cursor())?.unwrap_or(u64::MAX),
            kinds: kinds(query.kind.as_deref().unwrap_or_default())?,
            team: some(&query.team),
            provider: some(&query.provider),
            needle: lower(query.q.as_ref()),
        })
    }

    fn matches(&self, id: u64, event: &Event) -> bool {
        self.after < id
            && id < self.before
            && self.has_kind(event)
            && self.is_of_team(event)
            && self.is_of_provider(event)
            && self.has_text(event)
    }

    fn has_kind(&self, event: &Event) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&event.kind)
    }

    fn is_of_team(&self, event: &Event) -> bool {
        let team = event.team.as_ref().map(TeamName::as_str);
        self.team.is_none() || self.team.as_deref() == team
    }

    fn is_of_provider(&self, event: &Event) -> bool {
        self.provider.is_none() || self.provider == provider(event)
    }

    fn has_text(&self, event: &Event) -> bool {
        let texts = once(&event.text).chain(&event.provider);
        let mut texts = texts.chain(event.details.values());
        texts.any(|text| contains(text, &self.needle))
    }
}

fn kinds(text: &str) -> Result<Vec<EventKind>, ApiError> {
    text.split(',')
        .map(str::trim)
        .filter(|label| !label.is_empty())
        .map(parse_kind)
        .collect()
}

fn parse_kind(label: &str) -> Result<EventKind, ApiError> {
    let mut kinds = EventKind::ALL.iter().copied();
    let kind = kinds.find(|kind| kind.label() == label);
    kind.ok_or_else(unknown_kind)
}

fn unknown_kind() -> ApiError {
    let labels: Vec<_> = EventKind::ALL.iter().map(|kind| kind.label()).collect();
    ApiError::bad_request(format!("`kind` must be one of {}", labels.join(", ")))
}
