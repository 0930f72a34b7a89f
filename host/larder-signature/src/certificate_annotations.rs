//! The annotations of cosign beside a signature that was made with a certificate instead of a key, in the format before
//! Sigstore bundles. The annotations are converted to a bundle, so that the same verification applies.

use serde::Deserialize;
use serde_json::{Value, json};
use sigstore_verify::types::Bundle;

use crate::bundle::{MAX_ITEMS, parse};
use crate::cryptography::{install, sha256};
use larder_model::signature::CertificateAnnotations;

#[derive(Deserialize)]
struct LogEntry {
    #[serde(rename = "SignedEntryTimestamp")]
    promise: String,
    #[serde(rename = "Payload")]
    payload: LogPayload,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogPayload {
    body: String,
    integrated_time: i64,
    log_index: u64,
    /// In hexadecimal.
    #[serde(rename = "logID")]
    log_id: String,
}

#[derive(Deserialize)]
struct Timestamp {
    #[serde(rename = "SignedRFC3161Timestamp")]
    token: String,
}

/// The kind of an entry of a log.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    kind: String,
    api_version: String,
}

/// Creates the bundle of a signed message.
pub(crate) fn bundle_of_message(
    annotations: &CertificateAnnotations,
    message: &[u8],
    signature: &[u8],
) -> Result<Bundle, String> {
    let digest = json!({ "algorithm": "SHA2_256", "digest": base64(&sha256(message)) });
    bundle(
        annotations,
        "messageSignature",
        json!({ "messageDigest": digest, "signature": base64(signature) }),
    )
}

/// Creates the bundle with this content.
pub(crate) fn bundle(
    annotations: &CertificateAnnotations,
    kind: &str,
    content: Value,
) -> Result<Bundle, String> {
    install();
    let mut material =
        json!({ "x509CertificateChain": { "certificates": certificates(annotations)? } });
    if let Some(text) = &annotations.log_entry {
        material["tlogEntries"] = json!([log_entry(text)?]);
    }
    if let Some(text) = &annotations.timestamp {
        material["timestampVerificationData"] = timestamp(text)?;
    }
    let version = bundle_version(annotations);
    let mut all = json!({
        "mediaType": format!("application/vnd.dev.sigstore.bundle+json;version={version}"),
        "verificationMaterial": material,
    });
    all[kind] = content;
    parse(all.to_string().as_bytes())
}

/// Only the first version of the format may have an entry without an inclusion proof.
fn bundle_version(annotations: &CertificateAnnotations) -> &'static str {
    if annotations.log_entry.is_some() {
        "0.1"
    } else {
        "0.2"
    }
}

fn timestamp(text: &str) -> Result<Value, String> {
    let Timestamp { token } = from_json("timestamp", text.as_bytes())?;
    Ok(json!({ "rfc3161Timestamps": [{ "signedTimestamp": token }] }))
}

/// Returns the certificate of the signer, and then the certificates of its issuers.
fn certificates(annotations: &CertificateAnnotations) -> Result<Vec<Value>, String> {
    let text = format!(
        "{}\n{}",
        annotations.certificate,
        annotations.chain.as_deref().unwrap_or_default()
    );
    let all = pem::parse_many(text).map_err(|_| "its certificate is not in the PEM format")?;
    match all.len() {
        0 => Err("it has no certificate".into()),
        1..=MAX_ITEMS => Ok(all
            .iter()
            .map(|pem| json!({ "rawBytes": base64(pem.contents()) }))
            .collect()),
        _ => Err("it has too many certificates".into()),
    }
}

fn log_entry(text: &str) -> Result<Value, String> {
    let LogEntry { promise, payload } = from_json("log entry", text.as_bytes())?;
    let body = base64_simd::STANDARD.decode_to_vec(&payload.body);
    let Kind { kind, api_version } =
        from_json("log entry", &body.map_err(|_| "its log entry is wrong")?)?;
    Ok(json!({
        "logIndex": payload.log_index.to_string(),
        "logId": { "keyId": base64(&from_hex(&payload.log_id).ok_or("the identifier of its log is wrong")?) },
        "kindVersion": { "kind": kind, "version": api_version },
        "integratedTime": payload.integrated_time.to_string(),
        "inclusionPromise": { "signedEntryTimestamp": promise },
        "canonicalizedBody": payload.body,
    }))
}

fn from_json<'a, T: Deserialize<'a>>(what: &str, text: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| format!("its {what} is wrong: {error}"))
}

fn base64(bytes: &[u8]) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}
