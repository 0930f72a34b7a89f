//! The floor: an answer that was written before, handed out without a look at the question.

use std::path::PathBuf;

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use axum::routing::post;

/// Serves each file under its name.
pub(crate) fn router(files: &[PathBuf]) -> Result<Router> {
    let mut router = Router::new();
    for file in files {
        let answer = Bytes::from(std::fs::read(file)?);
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let serve =
            move |_question: Bytes| async move { ([(header::CONTENT_TYPE, "application/json")], answer) };
        router = router.route(&format!("/{name}"), post(serve));
    }
    Ok(router)
}
