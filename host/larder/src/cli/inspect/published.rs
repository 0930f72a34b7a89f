//! What a registry has beside a component: its annotations, its signers, and statements about it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::render::Page;
use super::{Findings, examine};
use crate::cli::check::grants::of_copied_file;
use crate::cli::error::CommandError;
use larder_core::reconcile;
use larder_registry::GRANT_REQUEST_ANNOTATION;
use larder_signature::Attestation;

/// The annotations that are shown, with their names for people.
const SHOWN: [(&str, &str); 4] =
    [("version", "version"), ("description", "summary"), ("licenses", "licences"), ("source", "source")];

/// What a registry has beside a component.
#[derive(Debug, Clone, Default, Serialize)]
pub(in crate::cli) struct Published {
    /// The reference with the digest of the manifest. Empty for a file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(in crate::cli) image: String,
    pub(in crate::cli) annotations: BTreeMap<String, String>,
    /// Who signed it and is trusted.
    pub(in crate::cli) signer: Option<String>,
    /// Why it must not be served, if its signatures are not sufficient.
    pub(in crate::cli) untrusted: Option<String>,
    /// Statements such as its provenance, or the list of its parts.
    pub(in crate::cli) attestations: Vec<Statement>,
}

/// A statement about a component.
#[derive(Debug, Clone, Serialize)]
pub(in crate::cli) struct Statement {
    /// Its type.
    pub(in crate::cli) predicate_type: String,
    /// Who signed it and is trusted.
    pub(in crate::cli) signer: Option<String>,
    /// Why nobody is known who signed it.
    pub(in crate::cli) unverified: Option<String>,
}

impl From<Attestation> for Statement {
    fn from(attestation: Attestation) -> Self {
        let (signer, unverified) = match attestation.signer {
            Ok(signer) => (Some(signer.to_string()), None),
            Err(reason) => (None, Some(reason)),
        };
        Self { predicate_type: attestation.predicate_type, signer, unverified }
    }
}

/// Loads a component from a registry alone, and describes it. `config` determines what it would be granted.
pub(in crate::cli) async fn examine_published(
    (name, reference): (&str, &str),
    component: &[u8],
    published: Published,
    config: &reconcile::Config,
) -> Result<Findings, CommandError> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(format!("{name}.wasm"));
    let written = |path: &Path, content: &[u8]| {
        std::fs::write(path, content).map_err(|error| CommandError::File { path: path.to_owned(), error })
    };
    written(&file, component)?;
    if let Some(request) = published.annotations.get(GRANT_REQUEST_ANNOTATION) {
        written(&file.with_extension("toml"), request.as_bytes())?;
    }
    let grants = of_copied_file(config, &file)?;
    let findings = examine(&file, component, grants).await?;
    Ok(Findings { file: reference.to_owned(), published: Some(published), configured: true, ..findings })
}

impl Page {
    pub(super) fn published(&mut self, published: &Published) {
        let Published { image, annotations, signer, untrusted, attestations } = published;
        if !image.is_empty() {
            self.line("image", image);
        }
        for (key, name) in SHOWN {
            if let Some(text) = annotations.get(&format!("org.opencontainers.image.{key}")) {
                self.line(name, text);
            }
        }
        match (signer, untrusted) {
            (_, Some(reason)) => self.line("untrusted", reason),
            (Some(signer), None) => self.line("signed by", signer),
            (None, None) => self.line("signed by", "nobody who is trusted"),
        }
        for Statement { predicate_type, signer, unverified } in attestations {
            let by = match (signer, unverified) {
                (Some(signer), _) => format!("signed by {signer}"),
                (None, Some(reason)) => format!("not verified: {reason}"),
                (None, None) => "not verified".into(),
            };
            self.line("statement", &format!("{predicate_type}, {by}"));
        }
    }
}
