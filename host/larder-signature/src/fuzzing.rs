//! The fuzz target for signatures. It exists only in tests and with the feature `fuzzing`.

use std::sync::LazyLock;

use bytes::Bytes;

use crate::{Identity, PublicKey, Rule, Trust, TrustRoot};
use larder_model::signature::{FoundSignature, Signature, SignatureVerifier as _, SimpleSigning};

/// The content whose signature is claimed.
const SUBJECT: &[u8] = b"component";
/// Maximum bytes of an error. An error is one line of the log.
const MAX_ERROR: usize = 8 << 10;
/// A key whose private key does not exist any more.
const KEY: &str = include_str!("../../../fuzz/signature/key.pub");
/// A trust root whose private keys do not exist any more.
const ROOT: &str = include_str!("../../../fuzz/signature/trusted_root.json");

/// Verifies any bytes as a signature in each format. No signature is trusted, because the private keys do not exist any
/// more.
pub fn signature(data: &[u8]) {
    static TRUST: LazyLock<Trust> = LazyLock::new(trust);
    let subject = Bytes::from_static(SUBJECT);
    let data = Bytes::copy_from_slice(data);
    let payload = data.clone();
    let text = String::from_utf8_lossy(&data).into_owned();
    let simple = SimpleSigning {
        payload,
        signature: text,
        certificate: None,
    };
    for signature in [
        Signature::Detached(data.clone()),
        Signature::SimpleSigning(Box::new(simple)),
        Signature::Bundle(data.clone()),
        Signature::Envelope {
            content: data.clone(),
            certificate: None,
        },
    ] {
        let found = FoundSignature {
            origin: "x".into(),
            signature: Ok(signature),
        };
        let error = TRUST
            .verify(&subject, std::slice::from_ref(&found))
            .expect_err("a forged signature");
        check_error(&error.to_string());
        let attestation = TRUST.attestation(&subject, &found);
        assert!(attestation.is_none_or(|attestation| attestation.signer.is_err()));
    }
}

fn check_error(error: &str) {
    let size = error.len();
    assert!(size <= MAX_ERROR, "an error of {size} bytes");
    assert!(
        !error.contains('\n'),
        "the error is not on one line: {error:?}"
    );
}

fn trust() -> Trust {
    let rule = Rule {
        location: "[trust]".into(),
        keys: vec![(
            "key".into(),
            PublicKey::from_pem(KEY).expect("the key is valid"),
        )],
        identities: vec![
            Identity::new("a*", "https://issuer.example.com").expect("the identity is valid"),
        ],
        root: Some(TrustRoot::from_json(ROOT).expect("the root is valid")),
        is_required: true,
    };
    Trust::new([rule])
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_documents_are_not_trusted() {
        let nested = "[".repeat(100_000) + &"]".repeat(100_000);
        for key in [
            "mediaType",
            "verificationMaterial",
            "dsseEnvelope",
            "payload",
            "critical",
            "optional",
        ] {
            signature(format!(r#"{{"{key}":{nested}}}"#).as_bytes());
        }
        signature(nested.as_bytes());
    }

    #[test]
    fn replays_the_corpus_of_signature() {
        replay::replay("signature", signature);
    }
}
