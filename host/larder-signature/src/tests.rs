//! Tests with a certificate authority, logs and keys of their own.

mod annotations;
mod certificates;
mod keys;
mod python;
mod rules;
mod signing;
mod timestamps;

use bytes::Bytes;
use serde_json::Value;

use crate::testing::{Authority, Signer};
use crate::{Identity, PublicKey, Rule, Trust, TrustRoot};
use larder_model::signature::{FoundSignature, Signature, SignatureVerifier as _};

const SUBJECT: Bytes = Bytes::from_static(b"component");
const PERSON: &str = "release@example.com";
const ISSUER: &str = "https://issuer.example.com";

fn found(signature: Signature) -> FoundSignature {
    FoundSignature {
        origin: "wiki.wasm.sig".into(),
        signature: Ok(signature),
    }
}

fn detached(signature: impl AsRef<[u8]>) -> FoundSignature {
    found(Signature::Detached(
        crate::testing::base64(signature).into(),
    ))
}

fn bundle(json: &Value) -> FoundSignature {
    found(Signature::Bundle(json.to_string().into()))
}

/// A rule that requires a signature of this person.
fn person_rule(authority: &Authority) -> Rule {
    Rule {
        location: "[trust]".into(),
        identities: vec![Identity::new(PERSON, ISSUER).unwrap()],
        root: Some(TrustRoot::from_json(&authority.trust_root()).unwrap()),
        is_required: true,
        ..Rule::default()
    }
}

/// A rule that requires a signature with one of these keys.
fn key_rule(keys: &[(&str, &Signer)]) -> Rule {
    let keys = keys.iter().map(|(name, signer)| {
        (
            (*name).to_owned(),
            PublicKey::from_pem(&signer.public_key()).unwrap(),
        )
    });
    Rule {
        location: "[trust]".into(),
        keys: keys.collect(),
        is_required: true,
        ..Rule::default()
    }
}

/// Verifies a signature of the subject. Returns the signers, or the reason of the rejection.
fn verdict(rule: &Rule, signature: &FoundSignature) -> String {
    let result = Trust::new([rule.clone()]).verify(&SUBJECT, std::slice::from_ref(signature));
    match result {
        Ok(signers) => signers
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", "),
        Err(error) => error.to_string(),
    }
}
