use serde_json::json;

use super::*;
use crate::testing::Recipe;
use larder_model::signature::{CertificateAnnotations, SimpleSigning};

/// Converts a bundle to the format that cosign stored in a registry before there were bundles.
fn annotations(payload: Bytes, bundle: &Value) -> SimpleSigning {
    let material = &bundle["verificationMaterial"];
    let der = |text: &Value| {
        base64_simd::STANDARD
            .decode_to_vec(text.as_str().unwrap())
            .unwrap()
    };
    let certificate = pem::encode(&pem::Pem::new(
        "CERTIFICATE",
        der(&material["certificate"]["rawBytes"]),
    ));
    let entry = &material["tlogEntries"][0];
    let number = |value: &Value| value.as_str().unwrap().parse::<i64>().unwrap();
    let id: String = der(&entry["logId"]["keyId"])
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let log_entry = json!({
        "SignedEntryTimestamp": entry["inclusionPromise"]["signedEntryTimestamp"],
        "Payload": {
            "body": entry["canonicalizedBody"],
            "integratedTime": number(&entry["integratedTime"]),
            "logIndex": number(&entry["logIndex"]),
            "logID": id,
        },
    });
    SimpleSigning {
        payload,
        signature: bundle["messageSignature"]["signature"]
            .as_str()
            .unwrap()
            .into(),
        certificate: Some(CertificateAnnotations {
            certificate,
            chain: None,
            log_entry: Some(log_entry.to_string()),
            timestamp: None,
        }),
    }
}

fn verdict_of(rule: &Rule, simple: SimpleSigning) -> String {
    verdict(rule, &found(Signature::SimpleSigning(Box::new(simple))))
}

#[test]
fn certificates_in_annotations_are_verified() {
    let authority = Authority::new();
    let rule = person_rule(&authority);
    let digest = crate::cryptography::digest_text(&crate::cryptography::sha256(&SUBJECT));
    let payload = crate::simple_signing::payload("registry.example.com/wiki", &digest);
    let made = authority.sign(&payload, &Recipe::default());
    let simple = annotations(payload.clone(), &made);
    assert!(verdict_of(&rule, simple.clone()).starts_with(PERSON));

    let edit = |edit: &dyn Fn(&mut CertificateAnnotations)| {
        let mut simple = simple.clone();
        edit(simple.certificate.as_mut().unwrap());
        verdict_of(&rule, simple)
    };
    let unlogged = edit(&|certificate| certificate.log_entry = None);
    assert!(unlogged.contains("no signature is trusted"), "{unlogged}");
    let later = edit(&|certificate| {
        let entry = certificate.log_entry.as_mut().unwrap();
        *entry = entry.replace("\"integratedTime\":1", "\"integratedTime\":2");
    });
    assert!(later.contains("inclusion promise"), "{later}");
    for rubbish in [
        "",
        "{}",
        "[1]",
        "{\"SignedEntryTimestamp\":\"\",\"Payload\":1}",
    ] {
        let rejected = edit(&|certificate| certificate.log_entry = Some(rubbish.into()));
        assert!(rejected.contains("its log entry is wrong"), "{rejected}");
    }
    let none = edit(&|certificate| certificate.certificate = "no certificate".into());
    assert!(none.contains("certificate"), "{none}");
    let other = annotations(
        payload,
        &authority.sign(b"another payload", &Recipe::default()),
    );
    assert!(verdict_of(&rule, other).contains("no signature is trusted"));
}
