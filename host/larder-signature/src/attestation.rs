//! Attestations: statements about a component, such as its provenance or a list of its parts (SBOM).

use crate::signer::Signer;

/// A statement about a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attestation {
    /// Where it was found, for people.
    pub origin: String,
    /// Its type: a URL such as `https://slsa.dev/provenance/v1`.
    pub predicate_type: String,
    /// Who signed it, or why nobody is known who did.
    pub signer: Result<Signer, String>,
}
