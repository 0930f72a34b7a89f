use serde_json::json;

use super::*;
use crate::testing::{Content, Recipe, TimestampAuthority, now};

/// A bundle whose time is only in its timestamp. Its certificate is valid between these two times, relative to now.
pub(super) fn stamped(
    authority: &Authority,
    stamps: &TimestampAuthority,
    valid: (i64, i64),
) -> Option<Value> {
    let valid = (now() + valid.0, now() + valid.1);
    let recipe = Recipe {
        valid,
        logged: valid.0 + 1,
        content: Content::Message,
        ..Recipe::default()
    };
    let mut made = authority.sign(&SUBJECT, &recipe);
    let entry = &mut made["verificationMaterial"]["tlogEntries"][0];
    let entry = entry.as_object_mut().unwrap();
    entry.remove("inclusionPromise");
    entry.insert("integratedTime".into(), json!("0"));
    stamps.stamp(&mut made)?;
    Some(made)
}

#[test]
fn a_timestamp_decides_whether_the_certificate_was_valid() {
    let authority = Authority::new();
    let stranger = Authority::new();
    let stamps = TimestampAuthority::new(&authority);
    let root = TrustRoot::from_json(&stamps.add_to(&authority.trust_root())).unwrap();
    let rule = Rule {
        root: Some(root),
        ..person_rule(&authority)
    };
    let Some(made) = stamped(&authority, &stamps, (-300, 300)) else {
        println!("skipped: there is no openssl");
        return;
    };
    assert!(
        verdict(&rule, &bundle(&made)).starts_with(PERSON),
        "{}",
        verdict(&rule, &bundle(&made))
    );
    let expired = stamped(&authority, &stamps, (-600, -300)).unwrap();
    assert!(
        verdict(&rule, &bundle(&expired)).contains("certificate"),
        "{}",
        verdict(&rule, &bundle(&expired))
    );
    // The timestamp authority is not in the root.
    let unknown = verdict(&person_rule(&authority), &bundle(&made));
    assert!(unknown.contains("timestamp"), "{unknown}");
    let other = stamped(&authority, &TimestampAuthority::new(&stranger), (-300, 300)).unwrap();
    let rejected = verdict(&rule, &bundle(&other));
    assert!(rejected.contains("timestamp"), "{rejected}");
    // The timestamp is for another signature.
    let mut moved = stamped(&authority, &stamps, (-300, 300)).unwrap();
    moved["verificationMaterial"]["timestampVerificationData"] =
        made["verificationMaterial"]["timestampVerificationData"].clone();
    let rejected = verdict(&rule, &bundle(&moved));
    assert!(rejected.contains("timestamp"), "{rejected}");
}
