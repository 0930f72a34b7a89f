//! Examines a component that was pulled from a registry.

use std::path::Path;

use super::registry_metadata::{RegistryMetadata, Statement};
use super::{Findings, examine};
use crate::cli::check::grants::of_copied_file;
use crate::cli::error::CommandError;
use larder_core::reconcile;
use larder_registry::{Document, GRANT_REQUEST_ANNOTATION};

impl From<Document> for Statement {
    fn from(
        Document {
            document_type,
            digest,
            size,
        }: Document,
    ) -> Self {
        Self {
            predicate_type: document_type,
            signer: None,
            unverified: Some("unsigned".into()),
            digest: Some(digest),
            size: Some(size),
        }
    }
}

/// Loads a component from a registry alone, and describes it. `config` determines which requests would be granted.
pub(in crate::cli) async fn examine_published(
    name: &str,
    reference: &str,
    component: &[u8],
    published: RegistryMetadata,
    config: &reconcile::Config,
) -> Result<Findings, CommandError> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(format!("{name}.wasm"));
    let written = |path: &Path, content: &[u8]| {
        std::fs::write(path, content).map_err(CommandError::file(path))
    };
    written(&file, component)?;
    if let Some(request) = published.annotations.get(GRANT_REQUEST_ANNOTATION) {
        written(&file.with_extension("toml"), request.as_bytes())?;
    }
    let grants = of_copied_file(config, &file)?;
    let findings = examine(&file, component, grants).await?;
    Ok(Findings {
        file: reference.to_owned(),
        published: Some(published),
        configured: true,
        ..findings
    })
}
