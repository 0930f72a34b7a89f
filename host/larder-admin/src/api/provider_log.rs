//! The path `/api/providers/NAME/log`: the last log lines of a provider.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::component_view::ComponentView;
use super::query::{self, ApiQuery, NameInPath, contains, lower};
use super::response::{ApiError, Page, PageQuery, cut};
use super::time::timestamp;
use crate::Admin;
use crate::response::json;
use larder_runtime::history::LogLine;

#[derive(Debug, Deserialize)]
pub(super) struct LogQuery {
    after: Option<String>,
    q: Option<String>,
    #[serde(flatten)]
    page: PageQuery,
}

#[derive(Debug, Serialize)]
struct LogItem {
    id: u64,
    at: String,
    level: &'static str,
    text: String,
}

/// Returns the newest lines that match, in the order in which they were logged.
pub(super) async fn get(
    State(admin): State<Admin>,
    NameInPath(name): NameInPath,
    ApiQuery(query): ApiQuery<LogQuery>,
) -> Result<Response, ApiError> {
    let after = query::id("after", query.after.as_deref())?;
    let limit = query.page.limit()?;
    let needle = lower(query.q.as_ref());
    let view = ComponentView::find(&admin.0.sources.teams.borrow(), &name);
    let view = view.ok_or_else(|| ApiError::unknown_provider(&name))?;
    let matches =
        |id, line: &LogLine| after.is_none_or(|after| id > after) && contains(&line.text, &needle);
    let lines = view
        .offer
        .map(|offer| offer.provider.metrics().history.log(limit, matches));
    let lines = lines.into_iter().flatten();
    let items = lines.map(|(id, line)| LogItem::of(id, line)).collect();
    Ok(json(StatusCode::OK, &Page { items, next: None }))
}

impl LogItem {
    fn of(id: u64, line: LogLine) -> Self {
        Self {
            id,
            at: timestamp(line.at),
            level: line.level,
            text: cut(&line.text),
        }
    }
}
