//! The path `/api/openapi.json`: the description of the API.

use axum::response::{IntoResponse as _, Response};
use http::header::CONTENT_TYPE;

/// The description, in the OpenAPI format.
const DOCUMENT: &str = include_str!("openapi.json");

pub(super) async fn get() -> Response {
    ([(CONTENT_TYPE, "application/json")], DOCUMENT).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::STREAM;
    use super::*;

    #[test]
    fn describes_every_route() {
        let source = include_str!("../api.rs");
        let routes = source
            .match_indices(".route(")
            .map(|(at, found)| source[at + found.len()..].trim_start());
        let path = |rest: &'static str| match rest.strip_prefix('"') {
            Some(literal) => literal.split('"').next().unwrap(),
            None => STREAM,
        };
        let routes: BTreeSet<_> = routes
            .map(path)
            .filter(|path| !path.contains('*'))
            .collect();
        let document: serde_json::Value = serde_json::from_str(DOCUMENT).unwrap();
        let described: BTreeSet<_> = document["paths"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(routes, described);
    }
}
