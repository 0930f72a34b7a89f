use super::*;
use crate::cryptography::{digest_text, sha256};
use crate::{PrivateKey, SigningError, layer};
use larder_model::signature::SimpleSigning;

#[test]
fn signatures_of_files_are_verified() {
    for signer in [Signer::ecdsa(), Signer::ed25519()] {
        let key = PrivateKey::from_pem(&signer.private_key()).unwrap();
        let text = key.sign_blob(&SUBJECT).unwrap();
        let rule = key_rule(&[("release", &signer)]);
        let verdict = verdict(&rule, &found(Signature::Detached(text.into())));
        assert!(verdict.starts_with("key release"), "{verdict}");
    }
}

/// The signatures in a manifest, whose blobs these are.
fn signatures(manifest: &[u8], blobs: &[(String, Bytes)]) -> Vec<FoundSignature> {
    let manifest: Value = serde_json::from_slice(manifest).unwrap();
    let layers = manifest["layers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|descriptor| {
            assert!(layer::is_signature(
                descriptor["mediaType"].as_str().unwrap()
            ));
            let (_, payload) = blobs
                .iter()
                .find(|(digest, _)| descriptor["digest"] == **digest)
                .unwrap();
            assert_eq!(descriptor["size"], payload.len());
            let signature = descriptor["annotations"][layer::SIGNATURE]
                .as_str()
                .unwrap()
                .to_owned();
            let simple = SimpleSigning {
                payload: payload.clone(),
                signature,
                certificate: None,
            };
            found(Signature::SimpleSigning(Box::new(simple)))
        });
    layers.collect()
}

#[test]
fn signatures_of_manifests_are_verified_and_earlier_ones_are_kept() {
    let first = Signer::ecdsa();
    let second = Signer::ed25519();
    let digest = digest_text(&sha256(&SUBJECT));
    let sign = |signer: &Signer, existing: Option<&[u8]>| {
        let key = PrivateKey::from_pem(&signer.private_key()).unwrap();
        key.sign_manifest("registry.example.com/wiki", &digest, existing)
    };
    let one = sign(&first, None).unwrap();
    assert_eq!(
        one.tag,
        format!("sha256-{}.sig", digest.strip_prefix("sha256:").unwrap())
    );
    let both = sign(&second, Some(&one.manifest)).unwrap();
    let blobs = [one.blobs, both.blobs.clone()].concat();
    let found = signatures(&both.manifest, &blobs);
    for (name, signer) in [("first", &first), ("second", &second)] {
        let signers = Trust::new([key_rule(&[(name, signer)])])
            .verify(&SUBJECT, &found)
            .unwrap();
        assert!(signers[0].to_string().starts_with(&format!("key {name}")));
    }
    let config: Value = serde_json::from_slice(&both.blobs[1].1).unwrap();
    assert_eq!(config["rootfs"]["diff_ids"].as_array().unwrap().len(), 2);
    for bad in [&b"no manifest"[..], b"{}"] {
        assert!(matches!(
            sign(&first, Some(bad)),
            Err(SigningError::Manifest(_))
        ));
    }
}

#[test]
fn a_private_key_that_cannot_be_used_is_explained() {
    let error = |text: &str| PrivateKey::from_pem(text).unwrap_err().to_string();
    let pem = |tag: &str| pem::encode(&pem::Pem::new(tag, b"x".to_vec()));
    assert!(error("no key").contains("-----BEGIN PRIVATE KEY-----"));
    for tag in [
        "ENCRYPTED COSIGN PRIVATE KEY",
        "ENCRYPTED SIGSTORE PRIVATE KEY",
    ] {
        assert!(error(&pem(tag)).contains("sign with `cosign sign --key`"));
    }
    for tag in ["EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PUBLIC KEY"] {
        let text = error(&pem(tag));
        assert!(
            text.contains(tag) && text.contains("openssl pkcs8 -topk8 -nocrypt"),
            "{text}"
        );
    }
    assert!(error(&Signer::ecdsa_p384().private_key()).contains("ECDSA P-256 and Ed25519 only"));
}
