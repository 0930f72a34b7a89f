//! The common form of responses: errors, and lists in parts.

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use crate::response::json;

/// Why a request has no result. The kind determines the status of the response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    /// The status.
    pub(crate) status: StatusCode,
    /// A word for programs: `not-found`.
    pub(crate) code: &'static str,
    /// A sentence for people, which tells them what to do.
    pub(crate) message: String,
}

impl ApiError {
    /// Creates an error.
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
        }
    }

    /// The object in the path does not exist.
    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", message)
    }

    /// There is no component of this name.
    pub(crate) fn unknown_provider(name: &str) -> Self {
        let name = cut(name);
        Self::not_found(format!(
            "there is no provider {name:?}: /api/providers lists all of them"
        ))
    }

    /// The server cannot do it now.
    pub(crate) fn unavailable(code: &'static str, error: impl ToString) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, error.to_string())
    }

    /// Something failed that is not the fault of the client.
    pub(crate) fn failed(error: impl ToString) -> Self {
        Self::unavailable("failed", error)
    }

    /// A parameter is not valid.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", message)
    }
}

#[derive(Serialize)]
struct ErrorBody {
    error: ErrorFields,
}

#[derive(Serialize)]
struct ErrorFields {
    code: &'static str,
    message: String,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let error = ErrorFields {
            code: self.code,
            message: self.message,
        };
        json(self.status, &ErrorBody { error })
    }
}

/// The number of items in a part of a list: the default, and the maximum.
const DEFAULT_LIMIT: usize = 100;
const MAX_LIMIT: usize = 500;

/// Maximum length of a text in a list, in bytes.
const MAX_TEXT: usize = 4 << 10;

/// Cuts a text of a list.
pub(crate) fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(MAX_TEXT)].to_owned()
}

/// The common parameters of all lists.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct PageQuery {
    limit: Option<String>,
    cursor: Option<String>,
}

/// A part of a list.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Page<T> {
    /// The items.
    pub(crate) items: Vec<T>,
    /// The cursor of the next part; none at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

impl<T> Page<T> {
    /// Converts the items.
    pub(crate) fn map<U>(self, convert: impl FnMut(T) -> U) -> Page<U> {
        Page {
            items: self.items.into_iter().map(convert).collect(),
            next: self.next,
        }
    }
}

impl PageQuery {
    /// The number of items that the client requests.
    pub(crate) fn limit(&self) -> Result<usize, ApiError> {
        let Some(text) = self.limit.as_ref().filter(|text| !text.is_empty()) else {
            return Ok(DEFAULT_LIMIT);
        };
        let limit = text
            .parse()
            .ok()
            .filter(|limit| (1..=MAX_LIMIT).contains(limit));
        limit.ok_or_else(invalid_limit)
    }

    /// The cursor; none if the request has none.
    pub(crate) fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref().filter(|cursor| !cursor.is_empty())
    }

    /// Returns one part of these items. The order of the items must not depend on the request. `key` returns the
    /// identifier of an item, which is also the cursor: a part begins after the item that the cursor names.
    pub(crate) fn page<T>(
        &self,
        items: impl IntoIterator<Item = T>,
        key: impl Fn(&T) -> String,
    ) -> Result<Page<T>, ApiError> {
        let limit = self.limit()?;
        let after = self.cursor();
        let mut rest = items
            .into_iter()
            .filter(|item| after.is_none_or(|after| *key(item) > *after));
        let items: Vec<T> = rest.by_ref().take(limit).collect();
        let has_more = rest.next().is_some();
        let next = items.last().filter(|_| has_more).map(key);
        Ok(Page { items, next })
    }
}

fn invalid_limit() -> ApiError {
    ApiError::bad_request(format!("`limit` must be a number from 1 to {MAX_LIMIT}"))
}
