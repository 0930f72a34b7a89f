//! Tokens of an issuer, each wrong in one way, and the keys that they are checked with.

use std::fmt::Write as _;
use std::time::Duration;

use expect_test::expect;
use larder_mcp::auth::{Membership, SecureUrl};
use larder_model::name::TeamName;
use larder_runtime::drain::Drain;
use serde_json::{Value, json};

use super::issuer::{Issuer, Pair, base64, from_now, unsigned};
use super::{ask, ask_with, shown, with_issuer};

/// An issuer with a key of each kind.
struct Keys {
    rsa: Pair,
    p256: Pair,
    p384: Pair,
    ed25519: Pair,
}

impl Keys {
    fn new() -> Self {
        Self { rsa: Pair::rsa(), p256: Pair::p256(), p384: Pair::p384(), ed25519: Pair::ed25519() }
    }

    fn public(&self) -> Value {
        // What one cannot read must not spoil the rest.
        let strange = json!({ "kty": "NEW", "kid": "strange" });
        let secret = json!({ "kty": "oct", "kid": "oct", "k": base64(b"secret") });
        let keys = [&self.rsa, &self.p256, &self.p384, &self.ed25519];
        let named = ["rsa", "p256", "p384", "ed"];
        let public = keys.into_iter().zip(named).map(|(key, name)| key.public(name));
        Value::Array([strange, secret, json!(7)].into_iter().chain(public).collect())
    }
}

#[tokio::test]
async fn each_kind_of_signature_is_checked() {
    let (drain, keys) = (Drain::new(), Keys::new());
    let issuer = Issuer::of(&drain, keys.public()).await;
    let wire = with_issuer(issuer.believed()).await;
    for (key, algorithm, id) in [
        (&keys.rsa, "RS256", "rsa"),
        (&keys.rsa, "PS256", "rsa"),
        (&keys.p256, "ES256", "p256"),
        (&keys.p384, "ES384", "p384"),
        (&keys.ed25519, "EdDSA", "ed"),
    ] {
        let token = key.token(&json!({ "alg": algorithm, "kid": id, "typ": "at+jwt" }), &issuer.claims());
        for _ in 0..2 {
            let answer = ask_with(&wire, &token).await;
            assert!(
                answer.body.contains("caller: ann of default with [docs:read]"),
                "{algorithm}: {}",
                answer.body
            );
        }
        let mut bytes = token.into_bytes();
        let middle = bytes.len() - 20;
        bytes[middle] = if bytes[middle] == b'A' { b'B' } else { b'A' };
        let broken = String::from_utf8(bytes).unwrap();
        let answer = ask_with(&wire, &broken).await;
        assert!(answer.status == 401 && answer.body.contains("signature is invalid"), "{}", answer.body);
    }
}

fn hmac(head: &Value, claims: &Value, secret: &[u8]) -> String {
    let text = unsigned(head, claims);
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
    format!("{text}.{}", base64(ring::hmac::sign(&key, text.as_bytes()).as_ref()))
}

/// Claims that differ from those that hold: null takes one out.
fn but(issuer: &Issuer, change: Value) -> Value {
    let mut claims = issuer.claims();
    for (name, value) in change.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

#[tokio::test]
async fn a_token_that_is_wrong_in_one_way_is_refused() {
    let (drain, keys) = (Drain::new(), Keys::new());
    let issuer = Issuer::of(&drain, keys.public()).await;
    let wire = with_issuer(issuer.believed()).await;
    let es = json!({ "alg": "ES256", "kid": "p256" });
    let good = issuer.claims();
    let claim = |change: Value| keys.p256.token(&es, &but(&issuer, change));
    let head = |change: Value| {
        let mut head = es.clone();
        head.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        keys.p256.token(&head, &good)
    };
    let none = |name: &str| format!("{}.", unsigned(&json!({ "alg": name }), &good));
    let hs = json!({ "alg": "HS256", "kid": "rsa" });
    let modulus =
        base64_simd::URL_SAFE_NO_PAD.decode_to_vec(keys.rsa.public("x")["n"].as_str().unwrap()).unwrap();
    let mut seen = String::new();
    for (name, token) in [
        ("good", claim(json!({}))),
        (
            "good, one audience of two",
            claim(json!({ "aud": ["https://other.example", super::issuer::AUDIENCE] })),
        ),
        ("good, expired within the leeway", claim(json!({ "exp": from_now(-20) }))),
        ("good, not yet valid within the leeway", claim(json!({ "nbf": from_now(20) }))),
        ("another server's", claim(json!({ "aud": "https://other.example/mcp" }))),
        ("with a slash more", claim(json!({ "aud": format!("{}/", super::issuer::AUDIENCE) }))),
        ("nobody's", claim(json!({ "aud": null }))),
        ("for a list of nobody", claim(json!({ "aud": [] }))),
        ("another issuer's", claim(json!({ "iss": "https://id.example" }))),
        ("no issuer's", claim(json!({ "iss": null }))),
        ("expired", claim(json!({ "exp": from_now(-120) }))),
        ("without an end", claim(json!({ "exp": null }))),
        ("ends at a text", claim(json!({ "exp": "2099-01-01" }))),
        ("not yet valid", claim(json!({ "nbf": from_now(120) }))),
        ("valid from a text", claim(json!({ "nbf": "never" }))),
        ("without a subject", claim(json!({ "sub": null }))),
        ("with an empty subject", claim(json!({ "sub": "" }))),
        ("subject is a number", claim(json!({ "sub": 7 }))),
        ("unknown key", head(json!({ "kid": "gone" }))),
        ("key of another kind", head(json!({ "kid": "rsa" }))),
        ("key that is a secret", head(json!({ "kid": "oct" }))),
        ("for a proof", head(json!({ "typ": "dpop+jwt" }))),
        ("with demands", head(json!({ "crit": ["b64"], "b64": false }))),
        ("signed by somebody else", Pair::p256().token(&es, &good)),
        (
            "brings its own key",
            Pair::p256()
                .token(&json!({ "alg": "ES256", "jwk": Pair::p256().public("p256"), "kid": "p256" }), &good),
        ),
        ("alg: none", none("none")),
        ("alg: None", none("None")),
        ("alg: nOnE", none("nOnE")),
        ("without a signature", format!("{}.", unsigned(&es, &good))),
        ("HMAC with the public key", hmac(&hs, &good, &modulus)),
        ("HMAC with the shown secret", hmac(&json!({ "alg": "HS256", "kid": "oct" }), &good, b"secret")),
        (
            "an algorithm that is not among ours",
            keys.rsa.token(&json!({ "alg": "RS512", "kid": "rsa" }), &good),
        ),
        ("four parts", format!("{}.x", claim(json!({})))),
        ("no parts", "x".into()),
        ("empty parts", "..".into()),
        ("too long", format!("{}{}", claim(json!({})), "A".repeat(20_000))),
    ] {
        let answer = ask_with(&wire, &token).await;
        let why = answer.json()["error"]["message"].as_str().unwrap_or("ok").to_owned();
        writeln!(seen, "{name}: {} {why}", answer.status).unwrap();
        assert!(
            !answer
                .body
                .contains(token.split('.').next_back().filter(|end| end.len() > 8).unwrap_or("\u{0}"))
        );
    }
    expect![[r#"
        good: 200 ok
        good, one audience of two: 200 ok
        good, expired within the leeway: 200 ok
        good, not yet valid within the leeway: 200 ok
        another server's: 401 the token is for another audience (aud)
        with a slash more: 401 the token is for another audience (aud)
        nobody's: 401 the claim `aud` of the token is missing or invalid
        for a list of nobody: 401 the token is for another audience (aud)
        another issuer's: 401 the token is from another issuer (iss)
        no issuer's: 401 the claim `iss` of the token is missing or invalid
        expired: 401 the token has expired
        without an end: 401 the claim `exp` of the token is missing or invalid
        ends at a text: 401 the claim `exp` of the token is missing or invalid
        not yet valid: 401 the token is not valid yet
        valid from a text: 401 the claim `nbf` of the token has an invalid format
        without a subject: 401 the claim `sub` of the token is missing or invalid
        with an empty subject: 401 the token's subject is empty or too long (sub)
        subject is a number: 401 the claim `sub` of the token is missing or invalid
        unknown key: 401 the token is signed with a key that the issuer does not have
        key of another kind: 401 the token is signed with a key that the issuer does not have
        key that is a secret: 401 the token is signed with a key that the issuer does not have
        for a proof: 401 the token is not an access token
        with demands: 401 the token has critical header parameters (crit)
        signed by somebody else: 401 the token's signature is invalid
        brings its own key: 401 the token's signature is invalid
        alg: none: 401 the token's signature algorithm is not accepted
        alg: None: 401 the token's signature algorithm is not accepted
        alg: nOnE: 401 the token's signature algorithm is not accepted
        without a signature: 401 the token's signature is invalid
        HMAC with the public key: 401 the token's signature algorithm is not accepted
        HMAC with the shown secret: 401 the token's signature algorithm is not accepted
        an algorithm that is not among ours: 401 the token's signature algorithm is not accepted
        four parts: 401 the token is neither one of this server's tokens nor a JWT
        no parts: 401 the token is unknown to this server
        empty parts: 401 the token's signature algorithm is not accepted
        too long: 401 the token is too long
    "#]]
    .assert_eq(&seen);
}

#[tokio::test]
async fn the_challenge_says_where_to_get_a_token_and_with_which_scopes() {
    let (drain, key) = (Drain::new(), Pair::ed25519());
    let issuer = Issuer::of(&drain, json!([key.public("k")])).await;
    let mut oauth = issuer.believed();
    oauth.scopes = vec!["docs:read".into(), "docs:watch".into()];
    let wire = with_issuer(oauth).await;
    expect![[r#"
        401
        Bearer resource_metadata="https://docs.example.com/.well-known/oauth-protected-resource/mcp", scope="docs:read docs:watch"
        a token is required: send it as `Authorization: Bearer …`"#]].assert_eq(&shown(&ask(&wire, &[]).await));
    let head = json!({ "alg": "EdDSA", "kid": "k" });
    let expired = key.token(&head, &but(&issuer, json!({ "exp": from_now(-600) })));
    expect![[r#"
        401
        Bearer error="invalid_token", error_description="the token has expired", resource_metadata="https://docs.example.com/.well-known/oauth-protected-resource/mcp", scope="docs:read docs:watch"
        the token has expired"#]].assert_eq(&shown(&ask_with(&wire, &expired).await));
    expect![[r#"
        403
        Bearer error="insufficient_scope", error_description="the token does not have the required scopes", resource_metadata="https://docs.example.com/.well-known/oauth-protected-resource/mcp", scope="docs:read docs:watch"
        the token does not have the required scopes"#]].assert_eq(&shown(&ask_with(&wire, &key.token(&head, &issuer.claims())).await));
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {} });
    let token = key.token(&head, &issuer.claims());
    expect![[r#"
        403
        Bearer error="insufficient_scope", error_description="the token does not have the required scopes", resource_metadata="https://docs.example.com/.well-known/oauth-protected-resource/mcp", scope="docs:read docs:watch"
        the token does not have the required scopes"#]].assert_eq(&shown(&super::legacy(&wire, &token, None, &initialize).await));
    let enough = but(&issuer, json!({ "scope": "other docs:watch docs:read" }));
    assert_eq!(ask_with(&wire, &key.token(&head, &enough)).await.status, 200);
}

#[tokio::test]
async fn the_metadata_is_for_everybody() {
    let drain = Drain::new();
    let issuer = Issuer::of(&drain, json!([])).await;
    let mut oauth = issuer.believed();
    oauth.scopes = vec!["docs:read".into()];
    let wire = with_issuer(oauth).await;
    let base = wire.url.trim_end_matches("/mcp");
    for path in ["", "/mcp"] {
        let request = wire.client.get(format!("{base}/.well-known/oauth-protected-resource{path}"));
        let answer = wire.send(request.header("origin", "https://anywhere.example")).await;
        assert_eq!(
            (answer.status, &answer.headers["access-control-allow-origin"]),
            (200, &"*".parse().unwrap())
        );
        assert_eq!(answer.headers["content-type"], "application/json");
        expect![[r#"{"resource":"https://docs.example.com/mcp","authorization_servers":["ISSUER"],"scopes_supported":["docs:read"],"bearer_methods_supported":["header"],"resource_name":"Test"}"#]].assert_eq(&answer.body.replace(&issuer.url, "ISSUER"));
    }
    let other = wire.client.get(format!("{base}/.well-known/oauth-protected-resource/other"));
    assert_eq!(wire.send(other).await.status, 404);
    let post = wire.client.post(format!("{base}/.well-known/oauth-protected-resource"));
    assert_eq!(wire.send(post).await.status, 405);
    let evil = wire
        .client
        .get(format!("{base}/.well-known/oauth-protected-resource"))
        .header("host", "evil.example");
    assert_eq!(wire.send(evil).await.status, 403);
    let plain = super::with_tokens(&[("ann", "a")]).await;
    let none = format!("{}/.well-known/oauth-protected-resource", plain.url.trim_end_matches("/mcp"));
    assert_eq!(plain.send(plain.client.get(none)).await.status, 404);
}

#[tokio::test]
async fn a_claim_names_the_teams() {
    let (drain, key) = (Drain::new(), Pair::ed25519());
    let issuer = Issuer::of(&drain, json!([key.public("k")])).await;
    let mut oauth = issuer.believed();
    let teams = [("readers".to_owned(), TeamName::default_team())].into();
    oauth.membership = Membership::Claim { claim: "groups".into(), teams };
    let wire = with_issuer(oauth).await;
    let head = json!({ "alg": "EdDSA", "kid": "k" });
    for groups in [json!("readers"), json!(["others", "readers"])] {
        let token = key.token(&head, &but(&issuer, json!({ "groups": groups })));
        assert_eq!(ask_with(&wire, &token).await.status, 200, "{groups}");
    }
    for groups in [json!(null), json!("default"), json!([]), json!({ "readers": true })] {
        let token = key.token(&head, &but(&issuer, json!({ "groups": groups })));
        expect![[r#"
            403
            -
            the token maps to no team of this server"#]]
        .assert_eq(&shown(&ask_with(&wire, &token).await));
    }
}

#[tokio::test]
async fn keys_are_fetched_anew_when_a_token_names_another_one() {
    let (drain, old, new) = (Drain::new(), Pair::p256(), Pair::p256());
    let issuer = Issuer::of(&drain, json!([old.public("old")])).await;
    let wire = with_issuer(issuer.believed()).await;
    let token = |key: &Pair, id: Option<&str>| {
        let head = id.map_or(json!({ "alg": "ES256" }), |id| json!({ "alg": "ES256", "kid": id }));
        key.token(&head, &issuer.claims())
    };
    assert_eq!(ask_with(&wire, &token(&old, Some("old"))).await.status, 200);
    assert_eq!(ask_with(&wire, &token(&old, None)).await.status, 200, "there is only one that it can mean");
    issuer.rotate(Some(json!([old.public("old"), new.public("new")])));
    assert_eq!(ask_with(&wire, &token(&new, Some("new"))).await.status, 200);
    assert_eq!(ask_with(&wire, &token(&old, Some("old"))).await.status, 200);
    assert_eq!(ask_with(&wire, &token(&old, None)).await.status, 401, "it could mean both");
    issuer.rotate(None);
    assert_eq!(ask_with(&wire, &token(&new, Some("other"))).await.status, 401);
    assert_eq!(ask_with(&wire, &token(&new, Some("new"))).await.status, 200, "what was there stays");
}

#[tokio::test]
async fn an_issuer_is_not_asked_again_and_again() {
    let (drain, key) = (Drain::new(), Pair::p256());
    let issuer = Issuer::of(&drain, json!([key.public("k")])).await;
    let mut oauth = issuer.believed();
    oauth.min_fetch_interval = Duration::from_secs(3600);
    let wire = with_issuer(oauth).await;
    let good = key.token(&json!({ "alg": "ES256", "kid": "k" }), &issuer.claims());
    let all = futures_util::future::join_all((0..16).map(|_| ask_with(&wire, &good))).await;
    assert!(all.iter().all(|answer| answer.status == 200));
    for n in 0..5 {
        let strange = key.token(&json!({ "alg": "ES256", "kid": format!("k{n}") }), &issuer.claims());
        assert_eq!(ask_with(&wire, &strange).await.status, 401);
    }
    assert_eq!(issuer.asked(), 1);
}

#[tokio::test]
async fn without_keys_nobody_is_told_that_his_token_is_wrong() {
    let (drain, key) = (Drain::new(), Pair::p256());
    let issuer = Issuer::of(&drain, json!([])).await;
    issuer.rotate(None);
    let wire = with_issuer(issuer.believed()).await;
    let token = key.token(&json!({ "alg": "ES256", "kid": "k" }), &issuer.claims());
    let answer = ask_with(&wire, &token).await;
    expect![[r#"
        503
        -
        the issuer's keys are not available: try again later"#]]
    .assert_eq(&shown(&answer));
    assert_eq!(answer.headers["retry-after"], "10");
    issuer.rotate(Some(json!([key.public("k")])));
    assert_eq!(ask_with(&wire, &token).await.status, 200);
}

#[tokio::test]
async fn keys_of_another_issuer_are_not_taken() {
    let (drain, key) = (Drain::new(), Pair::p256());
    let issuer = Issuer::of(&drain, json!([key.public("k")])).await;
    let mut oauth = issuer.believed();
    // The same server, which says of itself that it is called otherwise.
    oauth.issuer = SecureUrl::parse(&format!("{}/", issuer.url)).unwrap();
    let wire = with_issuer(oauth.clone()).await;
    let claims = but(&issuer, json!({ "iss": oauth.issuer.as_str() }));
    let token = key.token(&json!({ "alg": "ES256", "kid": "k" }), &claims);
    assert_eq!(ask_with(&wire, &token).await.status, 503);
    // Its keys can be named instead.
    oauth.jwks = Some(SecureUrl::parse(&format!("{}/keys", issuer.url)).unwrap());
    let wire = with_issuer(oauth).await;
    assert_eq!(ask_with(&wire, &token).await.status, 200);
}
