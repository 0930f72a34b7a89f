//! The baseline: an axum server that returns a prepared response without parsing the request.

use std::path::PathBuf;

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use axum::routing::post;

/// Serves each file at `/NAME`.
pub(crate) fn router(files: &[PathBuf]) -> Result<Router> {
    let mut router = Router::new();
    for file in files {
        let response = Bytes::from(std::fs::read(file)?);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let serve = move |_request: Bytes| async move {
            ([(header::CONTENT_TYPE, "application/json")], response)
        };
        router = router.route(&format!("/{name}"), post(serve));
    }
    Ok(router)
}
