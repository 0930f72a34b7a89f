//! A certificate authority with its logs, which makes bundles.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use serde_json::{Value, json};

use super::certificate::issue;
use super::log::Log;
use super::recipe::{Content, Recipe};
use super::{Signer, base64, certificate_pem, now};
use crate::cryptography::sha256;

/// A certificate authority, a log of its certificates, and a log of signatures.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    key: Vec<u8>,
    certificate: Vec<u8>,
    certificates: Log,
    signatures: Log,
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Authority {
    pub fn new() -> Self {
        let pair = Signer::ecdsa();
        let key = pair.public_key_der();
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::OrganizationName, "Example");
        params
            .distinguished_name
            .push(DnType::CommonName, "Example authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let time = |seconds| std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
        let now = u64::try_from(now()).unwrap();
        params.not_before = time(now - 1000 * 24 * 3600).into();
        params.not_after = time(now + 1000 * 24 * 3600).into();
        let certificate = params.self_signed(&pair.0).unwrap().der().to_vec();
        let issuer = Issuer::new(params, pair.0);
        Self {
            issuer,
            key,
            certificate,
            certificates: Log::new(),
            signatures: Log::new(),
        }
    }

    pub(super) fn issuer(&self) -> &Issuer<'static, KeyPair> {
        &self.issuer
    }

    pub(super) fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Returns `trusted_root.json`.
    pub fn trust_root(&self) -> String {
        json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [self.signatures.description("https://log.example.com")],
            "certificateAuthorities": [{
                "subject": { "organization": "Example", "commonName": "Example authority" },
                "uri": "https://authority.example.com",
                "certChain": { "certificates": [{ "rawBytes": base64(&self.certificate) }] },
                "validFor": { "start": "2021-01-01T00:00:00Z" },
            }],
            "ctlogs": [self.certificates.description("https://certificates.example.com")],
            "timestampAuthorities": [],
        })
        .to_string()
    }

    /// Signs content with a new key, issues a certificate for the key, and logs the signature. Returns the bundle.
    pub fn sign(&self, content: &[u8], recipe: &Recipe) -> Value {
        let signer = Signer::ecdsa();
        let certificate = issue(&self.issuer, &self.key, &self.certificates, &signer, recipe);
        let pem = certificate_pem(&certificate);
        let mut bundle = json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": { "certificate": { "rawBytes": base64(&certificate) } },
        });
        let entry = match recipe.content {
            Content::Message => {
                let signature = base64(signer.sign(content));
                let digest = base64(sha256(content));
                bundle["messageSignature"] = json!({
                    "messageDigest": { "algorithm": "SHA2_256", "digest": digest },
                    "signature": signature,
                });
                let body = hashed_record(content, &signature, &pem);
                self.signatures
                    .entry(("hashedrekord", "0.0.1"), &body, recipe.logged)
            }
            Content::Statement(kind) => {
                let envelope = envelope(&signer, content, kind);
                let body = envelope_record(&envelope, &pem);
                bundle["dsseEnvelope"] = envelope;
                self.signatures
                    .entry(("dsse", "0.0.1"), &body, recipe.logged)
            }
        };
        bundle["verificationMaterial"]["tlogEntries"] = json!([entry]);
        bundle
    }
}

impl Signer {
    /// Makes a bundle with the key, without a certificate and without a log.
    pub fn bundle(&self, content: &[u8], kind: Content) -> Value {
        let mut bundle = json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": { "publicKey": { "hint": "a" } },
        });
        match kind {
            Content::Message => {
                bundle["messageSignature"] = json!({
                    "messageDigest": { "algorithm": "SHA2_256", "digest": base64(sha256(content)) },
                    "signature": base64(self.sign(content)),
                });
            }
            Content::Statement(kind) => bundle["dsseEnvelope"] = envelope(self, content, kind),
        }
        bundle
    }
}

fn envelope(signer: &Signer, content: &[u8], kind: &str) -> Value {
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": "component", "digest": { "sha256": hex(&sha256(content)) } }],
        "predicateType": kind,
        "predicate": {},
    });
    let payload = statement.to_string();
    let kind = "application/vnd.in-toto+json";
    let signed = format!("DSSEv1 {} {kind} {} {payload}", kind.len(), payload.len());
    json!({
        "payload": base64(&payload),
        "payloadType": kind,
        "signatures": [{ "sig": base64(signer.sign(signed.as_bytes())) }],
    })
}

fn hashed_record(content: &[u8], signature: &str, certificate: &str) -> Value {
    json!({
        "apiVersion": "0.0.1",
        "kind": "hashedrekord",
        "spec": {
            "data": { "hash": { "algorithm": "sha256", "value": hex(&sha256(content)) } },
            "signature": { "content": signature, "publicKey": { "content": base64(certificate) } },
        },
    })
}

fn envelope_record(envelope: &Value, certificate: &str) -> Value {
    let payload = base64_simd::STANDARD
        .decode_to_vec(envelope["payload"].as_str().unwrap())
        .unwrap();
    let hash = |content: &[u8]| json!({ "algorithm": "sha256", "value": hex(&sha256(content)) });
    json!({
        "apiVersion": "0.0.1",
        "kind": "dsse",
        "spec": {
            "envelopeHash": hash(envelope.to_string().as_bytes()),
            "payloadHash": hash(&payload),
            "signatures": [{ "signature": envelope["signatures"][0]["sig"], "verifier": base64(certificate) }],
        },
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
