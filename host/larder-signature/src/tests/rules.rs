use super::*;
use crate::testing::Recipe;
use larder_model::signature::Reason;

#[test]
fn a_signature_is_required_only_if_a_rule_says_so() {
    let signer = Signer::ecdsa();
    let required = key_rule(&[("release", &signer)]);
    let optional = Rule {
        is_required: false,
        ..required.clone()
    };
    let verify =
        |rule: &Rule, found: &[FoundSignature]| Trust::new([rule.clone()]).verify(&SUBJECT, found);
    let unsigned = verify(&required, &[]).unwrap_err().to_string();
    assert_eq!(
        unsigned,
        "it is not signed, and [trust] requires a signature"
    );
    assert_eq!(verify(&optional, &[]), Ok(vec![]));
    assert_eq!(
        verify(&optional, &[detached(Signer::ecdsa().sign(&SUBJECT))]),
        Ok(vec![])
    );
    let signed = [detached(b"rubbish"), detached(signer.sign(&SUBJECT))];
    assert_eq!(verify(&optional, &signed).unwrap().len(), 1);
    assert_eq!(verify(&required, &signed), verify(&optional, &signed));
    assert!(Trust::default().is_empty() && Trust::new([Rule::default()]).is_empty());
    assert!(!Trust::new([optional]).is_empty());
}

#[test]
fn a_team_cannot_weaken_the_rule_of_the_server() {
    let company = Signer::ecdsa();
    let team = Signer::ed25519();
    let of = |location: &str, rule: Rule| Rule {
        location: location.into(),
        ..rule
    };
    let server = key_rule(&[("company", &company)]);
    let by_company = detached(company.sign(&SUBJECT));
    let by_team = detached(team.sign(&SUBJECT));
    let verify = |rules: [&Rule; 2], found: &[FoundSignature]| {
        Trust::new(rules.map(Clone::clone))
            .verify(&SUBJECT, found)
            .map_err(|error| error.to_string())
    };
    // The team's own key does not replace the key of the server.
    let own = of("[team.wiki.trust]", key_rule(&[("team", &team)]));
    let error = verify([&server, &own], std::slice::from_ref(&by_team)).unwrap_err();
    assert!(error.starts_with("[trust] requires a signature"), "{error}");
    let error = verify([&server, &own], std::slice::from_ref(&by_company)).unwrap_err();
    assert!(
        error.starts_with("[team.wiki.trust] requires a signature"),
        "{error}"
    );
    assert_eq!(
        verify([&server, &own], &[by_company.clone(), by_team.clone()])
            .unwrap()
            .len(),
        2
    );
    // A rule that requires nothing does not replace the server's rule either.
    let lax = Rule {
        is_required: false,
        ..own
    };
    assert!(verify([&server, &lax], std::slice::from_ref(&by_team)).is_err());
    assert!(verify([&server, &lax], std::slice::from_ref(&by_company)).is_ok());
    // A team can require a signer that the server only trusts.
    let optional = Rule {
        is_required: false,
        ..server
    };
    let strict = of(
        "[team.wiki.trust]",
        Rule {
            is_required: true,
            ..Rule::default()
        },
    );
    assert!(verify([&optional, &strict], &[]).is_err());
    assert!(verify([&optional, &strict], std::slice::from_ref(&by_team)).is_err());
    assert!(verify([&optional, &strict], std::slice::from_ref(&by_company)).is_ok());
}

#[test]
fn a_removed_key_or_identity_or_root_is_not_trusted_any_more() {
    let old = Signer::ecdsa();
    let new = Signer::ecdsa();
    let authority = Authority::new();
    let with_keys = |keys: &[(&str, &Signer)]| {
        Trust::new([Rule {
            keys: key_rule(keys).keys,
            ..person_rule(&authority)
        }])
    };
    let both = with_keys(&[("old", &old), ("new", &new)]);
    let by_old = both
        .verify(&SUBJECT, &[detached(old.sign(&SUBJECT))])
        .unwrap();
    assert!(both.still_trusts(&by_old) && with_keys(&[("renamed", &old)]).still_trusts(&by_old));
    assert!(!with_keys(&[("old", &new)]).still_trusts(&by_old));
    assert!(!both.still_trusts(&[]));
    assert!(Trust::default().still_trusts(&[]));

    let made = bundle(&authority.sign(&SUBJECT, &Recipe::default()));
    let by_person = both.verify(&SUBJECT, &[made]).unwrap();
    assert!(both.still_trusts(&by_person));
    assert!(!Trust::new([person_rule(&Authority::new())]).still_trusts(&by_person));
    let other = vec![Identity::new("other@example.com", ISSUER).unwrap()];
    assert!(
        !Trust::new([Rule {
            identities: other,
            ..person_rule(&authority)
        }])
        .still_trusts(&by_person)
    );
}

#[test]
fn a_rejection_is_temporary_if_one_of_its_reasons_is() {
    let trust = Trust::new([key_rule(&[("release", &Signer::ecdsa())])]);
    let is_temporary =
        |found: &[FoundSignature]| trust.verify(&SUBJECT, found).unwrap_err().is_temporary();
    let signature = Err(Reason::temporary("it cannot be read"));
    let unreadable = FoundSignature {
        origin: "x".into(),
        signature,
    };
    assert!(!is_temporary(&[]) && !is_temporary(&[detached(b"rubbish")]));
    assert!(is_temporary(&[detached(b"rubbish"), unreadable]));
}

#[test]
fn the_number_of_signatures_is_limited() {
    let signer = Signer::ecdsa();
    let trust = Trust::new([key_rule(&[("release", &signer)])]);
    let mut found = vec![detached(b"rubbish"); 64];
    found.push(detached(signer.sign(&SUBJECT)));
    assert!(trust.verify(&SUBJECT, &found).is_err());
    assert!(trust.verify(&SUBJECT, &found[1..]).is_ok());
}

#[test]
fn a_reason_is_one_short_line() {
    let rule = key_rule(&[("release", &Signer::ecdsa())]);
    let text = format!("{{\"mediaType\": \"line\\nline{}\"}}", "x".repeat(10_000));
    let rejected = verdict(&rule, &found(Signature::Bundle(text.into())));
    assert!(
        rejected.len() < 700 && !rejected.contains('\n'),
        "{rejected:?}"
    );
}
