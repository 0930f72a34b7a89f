//! What a registry has beside a component: its annotations, its signers, and statements about it.

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

/// A statement about a component, or another document that is attached to it.
#[derive(Debug, Clone, Serialize)]
pub(in crate::cli) struct Statement {
    /// Its type. That of a document which is not signed may be a media type.
    pub(in crate::cli) predicate_type: String,
    /// Who signed it and is trusted.
    pub(in crate::cli) signer: Option<String>,
    /// Why nobody is known who signed it.
    pub(in crate::cli) unverified: Option<String>,
    /// The digest of a document that is not signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) digest: Option<String>,
    /// Its size in bytes.
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
    /// Describes it on one line.
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
    pub(super) fn published(&mut self, published: &Published) {
        let Published {
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
