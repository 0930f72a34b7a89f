//! Sigstore bundles: the signed content of a bundle, and its comparison with a subject.

use bytes::Bytes;
use serde_json::{Value, json};
use sigstore_verify::types::bundle::VerificationMaterialContent;
use sigstore_verify::types::{Bundle, DsseEnvelope, Sha256Hash, SignatureContent, Statement};

use crate::cryptography::{install, sha256};
use crate::evidence::Evidence;
use larder_model::signature::MAX_SIGNATURE_SIZE;

/// Maximum number of certificates, of log entries and of timestamps in one bundle. Each of them needs a verification.
pub(crate) const MAX_ITEMS: usize = 8;

/// The payload type of statements about artifacts.
const STATEMENT: &str = "application/vnd.in-toto+json";

/// The predicates of statements that count as signatures: they say that the signer made or published the subject. Other
/// predicates, such as an SBOM or the result of a scan, do not say that.
const SIGNING_PREDICATES: &[&str] = &[
    "https://sigstore.dev/cosign/sign/v1",
    "https://slsa.dev/provenance/v0.2",
    "https://slsa.dev/provenance/v1",
];

/// Parses a bundle whose size is limited.
pub(crate) fn parse(json: &[u8]) -> Result<Bundle, String> {
    install();
    if json.len() as u64 > MAX_SIGNATURE_SIZE {
        return Err(format!("it is larger than {MAX_SIGNATURE_SIZE} bytes"));
    }
    let text = std::str::from_utf8(json).map_err(|_| "it is not UTF-8")?;
    let bundle =
        Bundle::from_json(text).map_err(|error| format!("it is not a Sigstore bundle: {error}"))?;
    let material = &bundle.verification_material;
    let certificates = count_certificates(&material.content);
    let timestamps = material
        .timestamp_verification_data
        .rfc3161_timestamps
        .len();
    if certificates
        .max(timestamps)
        .max(material.tlog_entries.len())
        > MAX_ITEMS
    {
        return Err(format!(
            "it has more than {MAX_ITEMS} certificates, log entries or timestamps"
        ));
    }
    Ok(bundle)
}

fn count_certificates(content: &VerificationMaterialContent) -> usize {
    match content {
        VerificationMaterialContent::X509CertificateChain { certificates } => certificates.len(),
        _ => 1,
    }
}

/// Creates the bundle of an envelope that was signed with a key.
pub(crate) fn of_key(envelope: Value) -> Result<Bundle, String> {
    let bundle = json!({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": { "publicKey": { "hint": "" } },
        "dsseEnvelope": envelope,
    });
    parse(bundle.to_string().as_bytes())
}

/// Returns the type of the statement in a bundle, if it contains one.
pub(crate) fn predicate_type(bundle: &Bundle) -> Option<String> {
    match &bundle.content {
        SignatureContent::DsseEnvelope(envelope) => Some(statement(envelope).ok()?.predicate_type),
        _ => None,
    }
}

/// Requires that the bundle is a signature of the subject instead of another statement about it.
pub(crate) fn check_is_signature(bundle: &Bundle) -> Result<(), String> {
    match &bundle.content {
        SignatureContent::DsseEnvelope(envelope) => {
            let kind = statement(envelope)?.predicate_type;
            if SIGNING_PREDICATES.contains(&kind.as_str()) {
                Ok(())
            } else {
                Err(format!(
                    "it is not a signature, but a statement of the type {kind:.200}"
                ))
            }
        }
        _ => Ok(()),
    }
}

/// Returns the evidence that has to be verified.
pub(crate) fn evidence(bundle: Bundle, subject: &Bytes) -> Result<Evidence, String> {
    check_subject(&bundle, subject)?;
    if !matches!(
        bundle.verification_material.content,
        VerificationMaterialContent::PublicKey(_)
    ) {
        return Ok(Evidence::Certificate(subject.clone(), Box::new(bundle)));
    }
    let (message, signature) = match &bundle.content {
        SignatureContent::MessageSignature(content) => (subject.clone(), &content.signature),
        SignatureContent::DsseEnvelope(envelope) => {
            (envelope.pae().into(), &envelope.signature.sig)
        }
        _ => return Err("its content is not supported".into()),
    };
    Ok(Evidence::of_key(message, signature.as_bytes().to_vec()))
}

/// Requires that the bundle refers to the subject.
fn check_subject(bundle: &Bundle, subject: &[u8]) -> Result<(), String> {
    let digest = Sha256Hash::new(sha256(subject));
    let is_same = match &bundle.content {
        SignatureContent::MessageSignature(content) => {
            let declared = content.message_digest.as_ref();
            declared.is_none_or(|declared| {
                declared.algorithm != sigstore_verify::types::HashAlgorithm::Sha2256
                    || declared.digest.as_bytes() == digest.as_bytes()
            })
        }
        SignatureContent::DsseEnvelope(envelope) => statement(envelope)?.matches_sha256(&digest),
        _ => false,
    };
    if is_same {
        Ok(())
    } else {
        Err("it signs other content: the digest differs".into())
    }
}

fn statement(envelope: &DsseEnvelope) -> Result<Statement, String> {
    if envelope.payload_type != STATEMENT {
        return Err(format!("its payload is not a statement ({STATEMENT})"));
    }
    serde_json::from_slice(envelope.payload.as_bytes())
        .map_err(|error| format!("its statement is wrong: {error}"))
}
