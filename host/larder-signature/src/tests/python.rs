//! Bundles of the test authority, which the package `sigstore` for Python also verifies. `cargo xtask test signatures`
//! installs it.

use std::process::Command;

use serde_json::json;

use super::certificates::wrong_bundles;
use super::timestamps::stamped;
use super::*;
use crate::testing::{Content, Recipe, TimestampAuthority};

/// Prints one line for each case: its name, and `ok` or the error.
const SCRIPT: &str = include_str!("python.py");

/// The cases that only this crate rejects.
const STRICTER: [&str; 1] = ["logged in the future"];

#[test]
fn sigstore_for_python_comes_to_the_same_result() {
    #[allow(
        clippy::disallowed_methods,
        reason = "the test step says where the package is installed"
    )]
    let Some(python) = std::env::var_os("LARDER_TEST_SIGSTORE_PYTHON") else {
        println!(
            "skipped: `cargo xtask test signatures` installs the package `sigstore` for Python"
        );
        return;
    };
    let authority = Authority::new();
    let statement = Content::Statement("https://slsa.dev/provenance/v1");
    let good = [("message", Content::Message), ("statement", statement)].map(|(name, content)| {
        (
            name,
            authority.sign(
                &SUBJECT,
                &Recipe {
                    content,
                    ..Recipe::default()
                },
            ),
        )
    });
    let wrong = wrong_bundles(&authority)
        .into_iter()
        .map(|wrong| (wrong.name, wrong.bundle));
    let stamps = TimestampAuthority::new(&authority);
    let root = stamps.add_to(&authority.trust_root());
    let stamped = [
        ("valid timestamp", (-300, 300)),
        ("timestamp after expiry", (-600, -300)),
    ]
    .into_iter()
    .filter_map(|(name, valid)| Some((name, stamped(&authority, &stamps, valid)?)));
    let cases: Vec<_> = good.into_iter().chain(wrong).chain(stamped).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cases.json");
    let all: Vec<_> = cases
        .iter()
        .map(|(name, bundle)| json!({ "name": name, "bundle": bundle }))
        .collect();
    let input = json!({
        "root": serde_json::from_str::<Value>(&root).unwrap(),
        "subject": crate::testing::base64(SUBJECT),
        "identity": PERSON,
        "issuer": ISSUER,
        "cases": all,
    });
    std::fs::write(&file, input.to_string()).unwrap();
    let output = Command::new(python)
        .args(["-B", "-c", SCRIPT])
        .arg(&file)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let verdicts: Vec<(String, String)> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(verdicts.len(), cases.len());
    let rule = Rule {
        root: Some(TrustRoot::from_json(&root).unwrap()),
        ..person_rule(&authority)
    };
    for ((name, made), (_, theirs)) in cases.iter().zip(&verdicts) {
        let ours = verdict(&rule, &bundle(made));
        println!("{name}: {ours}; sigstore for Python: {theirs}");
        let is_ours = ours.starts_with(PERSON);
        let is_theirs = theirs == "ok";
        let is_expected = is_ours == is_theirs || (!is_ours && STRICTER.contains(name));
        assert!(is_expected, "{name}: {ours}; sigstore for Python: {theirs}");
    }
}
