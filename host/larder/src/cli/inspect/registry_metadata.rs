//! What a registry stores in addition to a component: its annotations, its signers, and statements about it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::render::Page;
use crate::cli::table;
use larder_model::signature::Attestation;

/// The annotations that are shown, with their names for people.
const SHOWN: [(&str, &str); 4] = [
    ("version", "version"),
    ("description", "summary"),
    ("licenses", "licences"),
    ("source", "source"),
];

/// What a registry stores in addition to a component.
#[derive(Debug, Clone, Default, Serialize)]
pub(in crate::cli) struct RegistryMetadata {
    /// The reference with the digest of the manifest. Empty for a file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(in crate::cli) image: String,
    pub(in crate::cli) annotations: BTreeMap<String, String>,
    /// The trusted signer of the component.
    pub(in crate::cli) signer: Option<String>,
    /// If the signatures are not sufficient: why the component must not be served.
    pub(in crate::cli) untrusted: Option<String>,
    /// Statements, such as the provenance of the component or the list of its parts.
    pub(in crate::cli) attestations: Vec<Statement>,
}

/// A statement about a component, or another document that is attached to it.
#[derive(Debug, Clone, Serialize)]
pub(in crate::cli) struct Statement {
    /// The type of the statement. The type of an unsigned document may be a media type.
    pub(in crate::cli) predicate_type: String,
    /// The trusted signer of the statement.
    pub(in crate::cli) signer: Option<String>,
    /// Why no trusted signer is known.
    pub(in crate::cli) unverified: Option<String>,
    /// The digest of an unsigned document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) digest: Option<String>,
    /// The size of the statement in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) size: Option<u64>,
}

impl From<Attestation> for Statement {
    fn from(attestation: Attestation) -> Self {
        let (signer, unverified) = match attestation.signer {
            Ok(signer) => (Some(signer.to_string()), None),
            Err(reason) => (None, Some(reason)),
        };
        Self {
            predicate_type: attestation.predicate_type,
            signer,
            unverified,
            digest: None,
            size: None,
        }
    }
}

impl Statement {
    /// Describes the statement on one line.
    fn show(&self) -> String {
        let Self {
            predicate_type,
            signer,
            unverified,
            digest,
            size,
        } = self;
        if let (Some(digest), Some(size)) = (digest, size) {
            return format!(
                "{predicate_type}, unsigned, {}, {digest}",
                table::bytes(*size)
            );
        }
        let by = match (signer, unverified) {
            (Some(signer), _) => format!("signed by {signer}"),
            (None, Some(reason)) => format!("not verified: {reason}"),
            (None, None) => "not verified".into(),
        };
        format!("{predicate_type}, {by}")
    }
}

impl Page {
    pub(super) fn published(&mut self, published: &RegistryMetadata) {
        let RegistryMetadata {
            image,
            annotations,
            signer,
            untrusted,
            attestations,
        } = published;
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
        for statement in attestations {
            self.line("statement", &statement.show());
        }
    }
}
