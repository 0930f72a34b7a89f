//! Parameters of requests.

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequestParts, Path, Query};
use http::request::Parts;
use serde::de::DeserializeOwned;

use super::response::ApiError;

/// The parameters in the query of the URL.
pub(super) struct ApiQuery<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for ApiQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Query(query) = Query::try_from_uri(&parts.uri)?;
        Ok(Self(query))
    }
}

impl From<QueryRejection> for ApiError {
    fn from(error: QueryRejection) -> Self {
        Self::bad_request(error.body_text())
    }
}

/// The name in the path: the name of a provider. If there are teams, the name of its team precedes it.
pub(super) struct NameInPath(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for NameInPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(name) = Path::from_request_parts(parts, state).await?;
        Ok(Self(name))
    }
}

impl From<PathRejection> for ApiError {
    fn from(error: PathRejection) -> Self {
        Self::bad_request(error.body_text())
    }
}

/// Parses an optional number of an item.
pub(super) fn id(name: &str, text: Option<&str>) -> Result<Option<u64>, ApiError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let bad = |_| ApiError::bad_request(format!("`{name}` must be the id of an item"));
    text.parse().map(Some).map_err(bad)
}

/// Whether a text contains another text. The case of letters is ignored. `needle` is in lower case.
pub(super) fn contains(text: &str, needle: &str) -> bool {
    needle.is_empty() || text.to_lowercase().contains(needle)
}

/// Returns a parameter in lower case; empty if it is missing.
pub(super) fn lower(text: Option<&String>) -> String {
    text.map(|text| text.to_lowercase()).unwrap_or_default()
}
