use serde_json::json;

use super::*;
use crate::testing::{Content, Recipe, now};

const SIGNATURE: Content = Content::Statement("https://sigstore.dev/cosign/sign/v1");
const PROVENANCE: Content = Content::Statement("https://slsa.dev/provenance/v1");

/// A bundle with one error, and the text of the rejection.
pub(super) struct Wrong {
    pub(super) name: &'static str,
    pub(super) bundle: Value,
    pub(super) reason: &'static str,
}

/// Bundles with one error each. Unless the name says otherwise, the certificate authority is the trusted one.
pub(super) fn wrong_bundles(authority: &Authority) -> Vec<Wrong> {
    let recipe = Recipe::default();
    let sign = |content: &[u8], recipe: &Recipe| authority.sign(content, recipe);
    let with = |change: &dyn Fn(&mut Recipe)| {
        let mut recipe = recipe.clone();
        change(&mut recipe);
        sign(&SUBJECT, &recipe)
    };
    let edited = |edit: &dyn Fn(&mut Value)| {
        let mut bundle = sign(&SUBJECT, &recipe);
        edit(&mut bundle["verificationMaterial"]["tlogEntries"][0]);
        bundle
    };
    let mut of_other_content = sign(&SUBJECT, &recipe);
    of_other_content["verificationMaterial"] =
        sign(b"another", &recipe)["verificationMaterial"].clone();
    let mut entry_of_other_content = sign(&SUBJECT, &recipe);
    entry_of_other_content["verificationMaterial"]["tlogEntries"] =
        sign(b"another", &recipe)["verificationMaterial"]["tlogEntries"].clone();
    let mut unlogged = sign(&SUBJECT, &recipe);
    unlogged["verificationMaterial"]["tlogEntries"] = json!([]);
    let stranger = Authority::new();
    let mut unknown_log = sign(&SUBJECT, &recipe);
    unknown_log["verificationMaterial"]["tlogEntries"][0]["logId"] =
        stranger.sign(&SUBJECT, &recipe)["verificationMaterial"]["tlogEntries"][0]["logId"].clone();
    let expired = with(&|recipe| recipe.logged = recipe.valid.1 + 60);
    let early = with(&|recipe| recipe.logged = recipe.valid.0 - 60);
    let future = with(&|recipe| {
        recipe.valid = (now() + 600, now() + 1200);
        recipe.logged = now() + 660;
    });
    let wrong = |name, bundle, reason| Wrong {
        name,
        bundle,
        reason,
    };
    vec![
        wrong(
            "other content",
            sign(b"another", &recipe),
            "it signs other content",
        ),
        wrong("certificate of other content", of_other_content, ""),
        wrong("log entry of other content", entry_of_other_content, ""),
        wrong(
            "logged after the certificate expired",
            expired,
            "certificate",
        ),
        wrong(
            "logged before the certificate was valid",
            early,
            "certificate",
        ),
        wrong("logged in the future", future, "in the future"),
        wrong("not logged", unlogged, "must have an inclusion proof"),
        wrong(
            "no promise and no timestamp",
            edited(&|entry| entry["inclusionPromise"] = Value::Null),
            "",
        ),
        wrong(
            "no proof",
            edited(&|entry| entry["inclusionProof"] = Value::Null),
            "must have an inclusion proof",
        ),
        wrong(
            "time changed",
            edited(&|entry| entry["integratedTime"] = json!((recipe.logged + 1).to_string())),
            "inclusion promise",
        ),
        wrong(
            "promise changed",
            edited(&|entry| change_base64(&mut entry["inclusionPromise"]["signedEntryTimestamp"])),
            "inclusion promise",
        ),
        wrong(
            "checkpoint changed",
            edited(&|entry| change_note(&mut entry["inclusionProof"]["checkpoint"]["envelope"])),
            "checkpoint",
        ),
        wrong(
            "proof changed",
            edited(&|entry| change_base64(&mut entry["inclusionProof"]["hashes"][0])),
            "inclusion proof",
        ),
        wrong("log unknown", unknown_log, ""),
        wrong("authority unknown", stranger.sign(&SUBJECT, &recipe), ""),
        wrong(
            "other person",
            with(&|recipe| recipe.identity = "mallory@example.com".into()),
            "it was made by mallory@example.com",
        ),
        wrong(
            "other issuer",
            with(&|recipe| recipe.issuer = "https://evil.example.com".into()),
            "confirmed by https://evil.example.com",
        ),
    ]
}

/// Changes one byte in the middle of the text.
fn change_base64(text: &mut Value) {
    let mut bytes = base64_simd::STANDARD
        .decode_to_vec(text.as_str().unwrap())
        .unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    *text = json!(crate::testing::base64(bytes));
}

/// Replaces the name of the log in a checkpoint, which is signed.
fn change_note(text: &mut Value) {
    *text = json!(text.as_str().unwrap().replacen(
        "log.example.com - 1\n",
        "log.example.com - 2\n",
        1
    ));
}

#[test]
fn bundles_of_the_trusted_person_are_accepted() {
    let authority = Authority::new();
    let rule = person_rule(&authority);
    for content in [Content::Message, SIGNATURE, PROVENANCE] {
        let made = authority.sign(
            &SUBJECT,
            &Recipe {
                content,
                ..Recipe::default()
            },
        );
        assert_eq!(
            verdict(&rule, &bundle(&made)),
            format!("{PERSON}, confirmed by {ISSUER}")
        );
    }
}

#[test]
fn builds_are_trusted_by_the_start_of_their_url() {
    let authority = Authority::new();
    let url = "https://github.com/acme/wiki/.github/workflows/release.yml@refs/tags/";
    let identities = vec![Identity::new(&format!("{url}*"), ISSUER).unwrap()];
    let rule = Rule {
        identities,
        ..person_rule(&authority)
    };
    let of_build = |identity: &str| {
        let recipe = Recipe {
            identity: identity.into(),
            ..Recipe::default()
        };
        verdict(&rule, &bundle(&authority.sign(&SUBJECT, &recipe)))
    };
    assert_eq!(
        of_build(&format!("{url}v1")),
        format!("{url}v1, confirmed by {ISSUER}")
    );
    let other =
        of_build("https://github.com/acme/wiki/.github/workflows/release.yml@refs/heads/main");
    assert!(
        other.ends_with("whom `identities` does not contain"),
        "{other}"
    );
}

#[test]
fn a_bundle_that_is_wrong_in_one_way_is_rejected() {
    let authority = Authority::new();
    let rule = person_rule(&authority);
    for Wrong {
        name,
        bundle: made,
        reason,
    } in wrong_bundles(&authority)
    {
        let rejected = verdict(&rule, &bundle(&made));
        let is_rejected =
            rejected.starts_with("[trust] requires a signature, and no signature is trusted: ");
        assert!(
            is_rejected && rejected.contains(reason),
            "{name}: {rejected}"
        );
        println!("{name}: {rejected}");
    }
}

#[test]
fn only_what_was_logged_in_the_future_may_be_accepted_later() {
    let authority = Authority::new();
    let trust = Trust::new([person_rule(&authority)]);
    for Wrong {
        name, bundle: made, ..
    } in wrong_bundles(&authority)
    {
        let found = [bundle(&made)];
        let error = trust.verify(&SUBJECT, &found).unwrap_err();
        assert_eq!(
            error.is_temporary(),
            name == "logged in the future",
            "{name}: {error}"
        );
        // The same text is logged once.
        assert_eq!(trust.verify(&SUBJECT, &found), Err(error), "{name}");
    }
}

#[test]
fn older_versions_of_bundles_are_accepted() {
    let authority = Authority::new();
    let rule = person_rule(&authority);
    for version in ["0.1", "0.2"] {
        let mut made = authority.sign(&SUBJECT, &Recipe::default());
        made["mediaType"] = json!(format!(
            "application/vnd.dev.sigstore.bundle+json;version={version}"
        ));
        let material = made["verificationMaterial"].as_object_mut().unwrap();
        let certificate = material.remove("certificate").unwrap();
        material.insert(
            "x509CertificateChain".into(),
            json!({ "certificates": [certificate] }),
        );
        assert!(
            verdict(&rule, &bundle(&made)).starts_with(PERSON),
            "{version}"
        );
    }
}

#[test]
fn bundles_are_limited() {
    let authority = Authority::new();
    let rule = person_rule(&authority);
    let mut made = authority.sign(&SUBJECT, &Recipe::default());
    let entry = made["verificationMaterial"]["tlogEntries"][0].clone();
    made["verificationMaterial"]["tlogEntries"] = vec![entry; 9].into();
    assert!(
        verdict(&rule, &bundle(&made))
            .contains("more than 8 certificates, log entries or timestamps")
    );
    let large = format!("{}{made}", " ".repeat(1 << 20));
    let rejected = verdict(&rule, &found(Signature::Bundle(large.into())));
    assert!(
        rejected.ends_with("it is larger than 1048576 bytes"),
        "{rejected}"
    );
}

#[test]
fn a_certificate_without_a_trust_root_is_rejected() {
    let authority = Authority::new();
    let made = bundle(&authority.sign(&SUBJECT, &Recipe::default()));
    let rule = key_rule(&[("release", &Signer::ecdsa())]);
    assert!(
        verdict(&rule, &made).ends_with("it was made with a certificate, but `root` is not set")
    );
}

#[test]
fn a_trust_root_that_cannot_be_used_is_explained() {
    let mut root: Value = serde_json::from_str(&Authority::new().trust_root()).unwrap();
    let error = |root: &Value| {
        TrustRoot::from_json(&root.to_string())
            .unwrap_err()
            .to_string()
    };
    assert!(error(&json!([])).contains("it is not a trust root of Sigstore"));
    root["tlogs"] = json!([]);
    assert!(error(&root).contains("neither a transparency log nor a timestamp authority"));
    root["certificateAuthorities"] = json!([]);
    assert_eq!(error(&root), "it contains no certificate authority");
}

#[test]
fn damaged_bundles_are_rejected_or_have_the_same_signer() {
    let authority = Authority::new();
    let rule = person_rule(&authority);
    for content in [Content::Message, SIGNATURE] {
        let made = authority
            .sign(
                &SUBJECT,
                &Recipe {
                    content,
                    ..Recipe::default()
                },
            )
            .to_string();
        for at in (0..made.len()).step_by(5) {
            let mut damaged = made.clone().into_bytes();
            damaged[at] = if damaged[at] == b'A' { b'B' } else { b'A' };
            let verdict = verdict(&rule, &found(Signature::Bundle(damaged.into())));
            let is_same = verdict.starts_with(PERSON);
            assert!(
                is_same || verdict.contains("no signature is trusted"),
                "at {at}: {verdict}"
            );
        }
    }
}
