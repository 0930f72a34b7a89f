use super::*;
use crate::KeyError;
use crate::testing::Content;
use larder_model::signature::SimpleSigning;

const RSA_KEY: &str = include_str!("rsa.pub");
/// Made by `openssl dgst -sha256 -sign`.
const RSA_SIGNATURE: &str = include_str!("rsa.sig");

#[test]
fn signatures_with_all_kinds_of_keys_are_verified() {
    for signer in [Signer::ecdsa(), Signer::ecdsa_p384(), Signer::ed25519()] {
        let rule = key_rule(&[("other", &Signer::ecdsa()), ("release", &signer)]);
        let accepted = verdict(&rule, &detached(signer.sign(&SUBJECT)));
        assert!(accepted.starts_with("key release (sha256:"), "{accepted}");
        let rejected = verdict(&rule, &detached(signer.sign(b"another component")));
        let expected = "[trust] requires a signature, and no signature is trusted: wiki.wasm.sig: it was made with \
                        none of the keys other, release";
        assert_eq!(rejected, expected);
    }
}

#[test]
fn rsa_signatures_of_openssl_are_verified() {
    let keys = vec![("release".into(), PublicKey::from_pem(RSA_KEY).unwrap())];
    let rule = Rule {
        keys,
        ..key_rule(&[])
    };
    let text = format!("{RSA_SIGNATURE}\n");
    assert!(verdict(&rule, &found(Signature::Detached(text.into()))).starts_with("key release"));
    let other = RSA_SIGNATURE.replacen("KX5u", "KX5v", 1);
    let rejected = verdict(&rule, &found(Signature::Detached(other.into())));
    assert!(
        rejected.ends_with("it was not made with the key release"),
        "{rejected}"
    );
}

#[test]
fn what_is_no_signature_is_reported() {
    let rule = key_rule(&[("release", &Signer::ecdsa())]);
    let huge = vec![b'A'; 20 << 10];
    for text in [&b""[..], b"\xff", b"not base64!", &huge] {
        let rejected = verdict(&rule, &found(Signature::Detached(text.to_vec().into())));
        assert!(
            rejected.ends_with("wiki.wasm.sig: it is not a signature in base64"),
            "{rejected}"
        );
    }
    let unreadable = FoundSignature {
        origin: "x".into(),
        signature: Err("it cannot be read".into()),
    };
    assert!(verdict(&rule, &unreadable).ends_with("x: it cannot be read"));
}

#[test]
fn bundles_with_keys_are_verified_without_a_trust_root() {
    let signer = Signer::ecdsa();
    let rule = key_rule(&[("release", &signer)]);
    for kind in [
        Content::Message,
        Content::Statement("https://sigstore.dev/cosign/sign/v1"),
    ] {
        let made = signer.bundle(&SUBJECT, kind);
        assert!(verdict(&rule, &bundle(&made)).starts_with("key release"));
        let other = verdict(&rule, &bundle(&signer.bundle(b"another component", kind)));
        assert!(
            other.ends_with("it signs other content: the digest differs"),
            "{other}"
        );
        let forged = verdict(&rule, &bundle(&Signer::ecdsa().bundle(&SUBJECT, kind)));
        assert!(
            forged.ends_with("it was not made with the key release"),
            "{forged}"
        );
    }
}

#[test]
fn a_statement_that_is_not_a_signature_does_not_count_as_one() {
    let signer = Signer::ecdsa();
    let rule = key_rule(&[("scanner", &signer)]);
    let made = bundle(&signer.bundle(&SUBJECT, Content::Statement("https://spdx.dev/Document")));
    let rejected = verdict(&rule, &made);
    assert!(
        rejected.ends_with("a statement of the type https://spdx.dev/Document"),
        "{rejected}"
    );
    let attestation = Trust::new([rule]).attestation(&SUBJECT, &made).unwrap();
    assert_eq!(attestation.predicate_type, "https://spdx.dev/Document");
    assert!(
        attestation
            .signer
            .unwrap()
            .to_string()
            .starts_with("key scanner")
    );
    let unknown = Trust::default().attestation(&SUBJECT, &made).unwrap();
    assert_eq!(
        unknown.signer.unwrap_err(),
        "no key and no identity is configured in [trust]"
    );
}

#[test]
fn a_payload_must_name_the_manifest() {
    let signer = Signer::ecdsa();
    let rule = key_rule(&[("release", &signer)]);
    let of_payload = |payload: Bytes| {
        let signature = crate::testing::base64(signer.sign(&payload));
        found(Signature::SimpleSigning(Box::new(SimpleSigning {
            payload,
            signature,
            certificate: None,
        })))
    };
    let digest =
        |content: &[u8]| crate::cryptography::digest_text(&crate::cryptography::sha256(content));
    let payload = |content: &[u8]| {
        crate::simple_signing::payload("registry.example.com/wiki", &digest(content))
    };
    assert!(verdict(&rule, &of_payload(payload(&SUBJECT))).starts_with("key release"));
    let other = verdict(&rule, &of_payload(payload(b"another manifest")));
    assert!(other.contains("it signs sha256:"), "{other}");
    let other = verdict(&rule, &of_payload(Bytes::from_static(b"{}")));
    assert!(
        other.contains("it is not a simple-signing payload"),
        "{other}"
    );
}

#[test]
fn a_key_that_cannot_be_used_is_explained() {
    let private = Signer::ecdsa().private_key();
    let error = PublicKey::from_pem(&private).unwrap_err().to_string();
    assert!(
        error.contains("the private key belongs to the one who signs"),
        "{error}"
    );
    assert!(matches!(
        PublicKey::from_pem("ssh-ed25519 AAAA"),
        Err(KeyError::NotPem)
    ));
    let damaged = Signer::ecdsa().public_key().replace("MFkw", "MFkx");
    assert!(matches!(
        PublicKey::from_pem(&damaged),
        Err(KeyError::Unsupported(_))
    ));
}

#[test]
fn statements_in_the_older_format_are_verified() {
    let signer = Signer::ecdsa();
    let trust = Trust::new([key_rule(&[("builder", &signer)])]);
    let of = |content: &[u8]| {
        let made = signer.bundle(content, Content::Statement("https://spdx.dev/Document"));
        found(Signature::Envelope {
            content: made["dsseEnvelope"].to_string().into(),
            certificate: None,
        })
    };
    let attestation = trust.attestation(&SUBJECT, &of(&SUBJECT)).unwrap();
    assert_eq!(attestation.predicate_type, "https://spdx.dev/Document");
    assert!(
        attestation
            .signer
            .unwrap()
            .to_string()
            .starts_with("key builder")
    );
    let other = trust
        .attestation(&SUBJECT, &of(b"another component"))
        .unwrap();
    assert_eq!(
        other.signer.unwrap_err(),
        "it signs other content: the digest differs"
    );
    assert!(trust.verify(&SUBJECT, &[of(&SUBJECT)]).is_err());
    let rubbish = found(Signature::Envelope {
        content: "{}".into(),
        certificate: None,
    });
    assert_eq!(trust.attestation(&SUBJECT, &rubbish), None);
}
