//! The path `/api/events`: the events on the server.

use std::collections::BTreeMap;
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
            && (self.kinds.is_empty() || self.kinds.contains(&event.kind))
            && self
                .team
                .as_ref()
                .is_none_or(|team| event.team.as_ref().is_some_and(|own| own.as_str() == team))
            && self
                .provider
                .as_ref()
                .is_none_or(|wanted| provider(event).as_ref() == Some(wanted))
            && self.has_text(event)
    }

    fn has_text(&self, event: &Event) -> bool {
        let texts = [Some(&event.text), event.provider.as_ref()]
            .into_iter()
            .flatten();
        self.needle.is_empty()
            || texts
                .chain(event.details.values())
                .any(|text| contains(text, &self.needle))
    }
}

fn kinds(text: &str) -> Result<Vec<EventKind>, ApiError> {
    let labels = || {
        EventKind::ALL
            .iter()
            .map(|kind| kind.label())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let kind = |label: &str| {
        let kind = EventKind::ALL
            .iter()
            .copied()
            .find(|kind| kind.label() == label);
        kind.ok_or_else(|| ApiError::bad_request(format!("`kind` must be one of {}", labels())))
    };
    text.split(',')
        .map(str::trim)
        .filter(|label| !label.is_empty())
        .map(kind)
        .collect()
}
