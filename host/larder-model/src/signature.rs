//! Signatures of components as they were found, the signers, and the operator's trust in signers. This module does not
//! verify signatures: an implementation of [`SignatureVerifier`] verifies them.

mod reason;
mod signer;
mod verifier;

use bytes::Bytes;

pub use self::reason::Reason;
pub use self::signer::Signer;
pub use self::verifier::{NoVerification, SignatureRejection, SignatureVerifier};

/// The maximum size of a file or layer with a signature that is read.
pub const MAX_SIGNATURE_SIZE: u64 = 1 << 20;
/// The suffix of the file name of a detached signature, after the name of the component.
pub const DETACHED_EXTENSION: &str = ".sig";
/// The suffix of the file name of a bundle, after the name of the component.
pub const BUNDLE_EXTENSION: &str = ".sigstore.json";

/// A signature, before it is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signature {
    /// The signature of a file in base64, as `cosign sign-blob` prints it: `NAME.wasm.sig`.
    Detached(Bytes),
    /// A layer below the tag `sha256-….sig`: the signature of a text that contains the digest of a manifest.
    SimpleSigning(Box<SimpleSigning>),
    /// A Sigstore bundle: `NAME.wasm.sigstore.json`, or a referrer of a manifest.
    Bundle(Bytes),
    /// A layer below the tag `sha256-….att`: a statement about a manifest, in the format that cosign used before there
    /// were bundles.
    Envelope {
        /// The envelope (DSSE): the content of the layer.
        content: Bytes,
        /// The certificate of the signer, if the signer has no key.
        certificate: Option<Box<CertificateAnnotations>>,
    },
}

/// A signature, and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSignature {
    /// The origin of the signature, for people: a file name, or a digest in a registry.
    pub origin: String,
    /// The signature, or why it cannot be read.
    pub signature: Result<Signature, Reason>,
}

/// A statement about a component, such as its provenance or a list of its parts (SBOM).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attestation {
    /// The origin of the statement, for people.
    pub origin: String,
    /// The type of the statement: a URL such as `https://slsa.dev/provenance/v1`.
    pub predicate_type: String,
    /// The signer, or why no signer is known.
    pub signer: Result<Signer, String>,
}

/// A layer of the manifest at the tag `sha256-….sig`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimpleSigning {
    /// The signed text: the content of the layer.
    pub payload: Bytes,
    /// The signature of the text in base64: the annotation `dev.cosignproject.cosign/signature`.
    pub signature: String,
    /// The certificate of the signer, if the signer has no key.
    pub certificate: Option<CertificateAnnotations>,
}

/// The annotations that belong to a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateAnnotations {
    /// `dev.sigstore.cosign/certificate`: the certificate in PEM.
    pub certificate: String,
    /// `dev.sigstore.cosign/chain`: the certificates of its issuers in PEM.
    pub chain: Option<String>,
    /// `dev.sigstore.cosign/bundle`: the entry of the log in JSON.
    pub log_entry: Option<String>,
    /// `dev.sigstore.cosign/rfc3161timestamp`: the timestamp in JSON.
    pub timestamp: Option<String>,
}
