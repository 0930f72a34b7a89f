//! Tokens of an OAuth issuer (JWTs), each invalid in one way, and the issuer's keys.

use std::fmt::Write as _;
use std::time::Duration;

use expect_test::expect;
use larder_mcp::auth::{Membership, SecureUrl};
use larder_model::name::TeamName;
use larder_runtime::drain::Drain;
use serde_json::{Value, json};

use super::issuer::{Issuer, Pair, base64, from_now, unsigned};
use super::{read_hello, read_with_token, summary, with_issuer};

/// An issuer with a key of each kind.
struct Keys {
    rsa: Pair,
    p256: Pair,
    p384: Pair,
    ed25519: Pair,
}

impl Keys {
    fn new() -> Self {
        Self {
            rsa: Pair::rsa(),
            p256: Pair::p256(),
            p384: Pair::p384(),
            ed25519: Pair::ed25519(),
        }
    }

    fn public(&self) -> Value {
        // Keys that the server does not support must not affect the other keys.
        let unknown = json!({ "kty": "NEW", "kid": "strange" });
        let secret = json!({ "kty": "oct", "kid": "oct", "k": base64(b"secret") });
        let keys = [&self.rsa, &self.p256, &self.p384, &self.ed25519];
        let named = ["rsa", "p256", "p384", "ed"];
        let public = keys
            .into_iter()
            .zip(named)
            .map(|(key, name)| key.public(name));
        Value::Array(
            [unknown, secret, json!(7)]
                .into_iter()
                .chain(public)
                .collect(),
        )
    }
}

#[tokio::test]
async fn verifies_each_signature_algorithm() {
    let (drain, keys) = (Drain::new(), Keys::new());
    let issuer = Issuer::start(&drain, keys.public()).await;
    let http = with_issuer(issuer.oauth_config()).await;
    for (key, algorithm, id) in [
        (&keys.rsa, "RS256", "rsa"),
        (&keys.rsa, "PS256", "rsa"),
        (&keys.p256, "ES256", "p256"),
        (&keys.p384, "ES384", "p384"),
        (&keys.ed25519, "EdDSA", "ed"),
    ] {
        let token = key.token(
            &json!({ "alg": algorithm, "kid": id, "typ": "at+jwt" }),
            &issuer.claims(),
        );
        for _ in 0..2 {
            let answer = read_with_token(&http, &token).await;
            assert!(
                answer.body.contains(&format!(
                    "caller: ann of default with [docs:read], issued by {}",
                    issuer.claims()["iss"].as_str().unwrap()
                )),
                "{algorithm}: {}",
                answer.body
            );
        }
        let mut bytes = token.into_bytes();
        let middle = bytes.len() - 20;
        bytes[middle] = if bytes[middle] == b'A' { b'B' } else { b'A' };
        let broken = String::from_utf8(bytes).unwrap();
        let answer = read_with_token(&http, &broken).await;
        assert!(
            answer.status == 401 && answer.body.contains("signature is invalid"),
            "{}",
            answer.body
        );
    }
}

fn hmac(header: &Value, claims: &Value, secret: &[u8]) -> String {
    let text = unsigned(header, claims);
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
    format!(
        "{text}.{}",
        base64(ring::hmac::sign(&key, text.as_bytes()).as_ref())
    )
}

/// Valid claims with these changes: null removes a claim.
fn claims_with(issuer: &Issuer, change: Value) -> Value {
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
async fn refuses_a_token_that_is_invalid_in_one_way() {
    let (drain, keys) = (Drain::new(), Keys::new());
    let issuer = Issuer::start(&drain, keys.public()).await;
    let http = with_issuer(issuer.oauth_config()).await;
    let es = json!({ "alg": "ES256", "kid": "p256" });
    let good = issuer.claims();
    let claim = |change: Value| keys.p256.token(&es, &claims_with(&issuer, change));
    let header = |change: Value| {
        let mut header = es.clone();
        header
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        keys.p256.token(&header, &good)
    };
    let none = |name: &str| format!("{}.", unsigned(&json!({ "alg": name }), &good));
    let hs = json!({ "alg": "HS256", "kid": "rsa" });
    let modulus = base64_simd::URL_SAFE_NO_PAD
        .decode_to_vec(keys.rsa.public("x")["n"].as_str().unwrap())
        .unwrap();
    let mut seen = String::new();
    for (case, token) in [
        ("good", claim(json!({}))),
        (
            "good, one audience of two",
            claim(json!({ "aud": ["https://other.example", super::issuer::AUDIENCE] })),
        ),
        (
            "good, expired within the leeway",
            claim(json!({ "exp": from_now(-20) })),
        ),
        (
            "good, not yet valid within the leeway",
            claim(json!({ "nbf": from_now(20) })),
        ),
        (
            "for another server",
            claim(json!({ "aud": "https://other.example/mcp" })),
        ),
        (
            "with an additional slash",
            claim(json!({ "aud": format!("{}/", super::issuer::AUDIENCE) })),
        ),
        ("without an audience", claim(json!({ "aud": null }))),
        (
            "with an empty list of audiences",
            claim(json!({ "aud": [] })),
        ),
        (
            "from another issuer",
            claim(json!({ "iss": "https://id.example" })),
        ),
        ("without an issuer", claim(json!({ "iss": null }))),
        ("expired", claim(json!({ "exp": from_now(-120) }))),
        ("without exp", claim(json!({ "exp": null }))),
        ("exp is a text", claim(json!({ "exp": "2099-01-01" }))),
        ("not yet valid", claim(json!({ "nbf": from_now(120) }))),
        ("nbf is a text", claim(json!({ "nbf": "never" }))),
        ("without a subject", claim(json!({ "sub": null }))),
        ("with an empty subject", claim(json!({ "sub": "" }))),
        ("subject is a number", claim(json!({ "sub": 7 }))),
        ("unknown key", header(json!({ "kid": "gone" }))),
        ("key of another kind", header(json!({ "kid": "rsa" }))),
        ("a symmetric key", header(json!({ "kid": "oct" }))),
        ("a DPoP proof", header(json!({ "typ": "dpop+jwt" }))),
        (
            "with critical header parameters",
            header(json!({ "crit": ["b64"], "b64": false })),
        ),
        ("signed with another key", Pair::p256().token(&es, &good)),
        (
            "brings its own key",
            Pair::p256().token(
                &json!({ "alg": "ES256", "jwk": Pair::p256().public("p256"), "kid": "p256" }),
                &good,
            ),
        ),
        ("alg: none", none("none")),
        ("alg: None", none("None")),
        ("alg: nOnE", none("nOnE")),
        ("without a signature", format!("{}.", unsigned(&es, &good))),
        ("HMAC with the public key", hmac(&hs, &good, &modulus)),
        (
            "HMAC with the published secret",
            hmac(&json!({ "alg": "HS256", "kid": "oct" }), &good, b"secret"),
        ),
        (
            "an algorithm that is not accepted",
            keys.rsa
                .token(&json!({ "alg": "RS512", "kid": "rsa" }), &good),
        ),
        ("four parts", format!("{}.x", claim(json!({})))),
        ("no parts", "x".into()),
        ("empty parts", "..".into()),
        (
            "too long",
            format!("{}{}", claim(json!({})), "A".repeat(20_000)),
        ),
    ] {
        let answer = read_with_token(&http, &token).await;
        let why = answer.json()["error"]["message"]
            .as_str()
            .unwrap_or("ok")
            .to_owned();
        writeln!(seen, "{case}: {} {why}", answer.status).unwrap();
        assert!(
            !answer.body.contains(
                token
                    .split('.')
                    .next_back()
                    .filter(|end| end.len() > 8)
                    .unwrap_or("\u{0}")
            )
        );
    }
    expect![[r#"
        good: 200 ok
        good, one audience of two: 200 ok
        good, expired within the leeway: 200 ok
        good, not yet valid within the leeway: 200 ok
        for another server: 401 the token is for another audience (aud)
        with an additional slash: 401 the token is for another audience (aud)
        without an audience: 401 the claim `aud` of the token is missing or invalid
        with an empty list of audiences: 401 the token is for another audience (aud)
        from another issuer: 401 the token is from another issuer (iss)
        without an issuer: 401 the claim `iss` of the token is missing or invalid
        expired: 401 the token has expired
        without exp: 401 the claim `exp` of the token is missing or invalid
        exp is a text: 401 the claim `exp` of the token is missing or invalid
        not yet valid: 401 the token is not valid yet
        nbf is a text: 401 the claim `nbf` of the token has an invalid format
        without a subject: 401 the claim `sub` of the token is missing or invalid
        with an empty subject: 401 the token's subject is empty or too long (sub)
        subject is a number: 401 the claim `sub` of the token is missing or invalid
        unknown key: 401 the token is signed with a key that the issuer does not have
        key of another kind: 401 the token is signed with a key that the issuer does not have
        a symmetric key: 401 the token is signed with a key that the issuer does not have
        a DPoP proof: 401 the token is not an access token
        with critical header parameters: 401 the token has critical header parameters (crit)
        signed with another key: 401 the token's signature is invalid
        brings its own key: 401 the token's signature is invalid
        alg: none: 401 the token's signature algorithm is not accepted
        alg: None: 401 the token's signature algorithm is not accepted
        alg: nOnE: 401 the token's signature algorithm is not accepted
        without a signature: 401 the token's signature is invalid
        HMAC with the public key: 401 the token's signature algorithm is not accepted
        HMAC with the published secret: 401 the token's signature algorithm is not accepted
        an algorithm that is not accepted: 401 the token's signature algorithm is not accepted
        four parts: 401 the token is neither one of this server's tokens nor a JWT
        no parts: 401 the token is unknown to this server
        empty parts: 401 the token's signature algorithm is not accepted
        too long: 401 the token is too long
    "#]]
    .assert_eq(&seen);
}

#[tokio::test]
async fn the_challenge_names_the_metadata_and_the_scopes() {
    let (drain, key) = (Drain::new(), Pair::ed25519());
    let issuer = Issuer::start(&drain, json!([key.public("k")])).await;
    let mut oauth = issuer.oauth_config();
    oauth.scopes = vec!["docs:read".into(), "docs:watch".into()];
    let http = with_issuer(oauth).await;
    expect![[r#"
        401
        Bearer resource_metadata="https://docs.example.com/.well-known/oauth-protected-resource/mcp", scope="docs:read docs:watch"
        a token is required: send it as `Authorization: Bearer …`"#]].assert_eq(&summary(&read_hello(&http, &[]).await));
    let header = json!({ "alg": "EdDSA", "kid": "k" });
    let expired = key.token(
        &header,
        &claims_with(&issuer, json!({ "exp": from_now(-600) })),
    );
    expect![[r#"
        401
        Bearer error="invalid_token", error_description="the token has expired", resource_metadata="https://docs.example.com/.well-known/oauth-protected-resource/mcp", scope="docs:read docs:watch"
        the token has expired"#]].assert_eq(&summary(&read_with_token(&http, &expired).await));
    expect![[r#"
        403
        Bearer error="insufficient_scope", error_description="the token does not have the required scopes", resource_metadata="https://docs.example.com/.well-known/oauth-protected-resource/mcp", scope="docs:read docs:watch"
        the token does not have the required scopes"#]].assert_eq(&summary(&read_with_token(&http, &key.token(&header, &issuer.claims())).await));
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {} });
    let token = key.token(&header, &issuer.claims());
    expect![[r#"
        403
        Bearer error="insufficient_scope", error_description="the token does not have the required scopes", resource_metadata="https://docs.example.com/.well-known/oauth-protected-resource/mcp", scope="docs:read docs:watch"
        the token does not have the required scopes"#]].assert_eq(&summary(&super::legacy(&http, &token, None, &initialize).await));
    let enough = claims_with(&issuer, json!({ "scope": "other docs:watch docs:read" }));
    assert_eq!(
        read_with_token(&http, &key.token(&header, &enough))
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn serves_the_resource_metadata_to_any_origin() {
    let drain = Drain::new();
    let issuer = Issuer::start(&drain, json!([])).await;
    let mut oauth = issuer.oauth_config();
    oauth.scopes = vec!["docs:read".into()];
    let http = with_issuer(oauth).await;
    let base = http.url.trim_end_matches("/mcp");
    for path in ["", "/mcp"] {
        let request = http
            .client
            .get(format!("{base}/.well-known/oauth-protected-resource{path}"));
        let answer = http
            .send(request.header("origin", "https://anywhere.example"))
            .await;
        assert_eq!(
            (
                answer.status,
                &answer.headers["access-control-allow-origin"]
            ),
            (200, &"*".parse().unwrap())
        );
        assert_eq!(answer.headers["content-type"], "application/json");
        expect![[r#"{"resource":"https://docs.example.com/mcp","authorization_servers":["ISSUER"],"scopes_supported":["docs:read"],"bearer_methods_supported":["header"],"resource_name":"Test"}"#]].assert_eq(&answer.body.replace(&issuer.url, "ISSUER"));
    }
    let other = http
        .client
        .get(format!("{base}/.well-known/oauth-protected-resource/other"));
    assert_eq!(http.send(other).await.status, 404);
    let post = http
        .client
        .post(format!("{base}/.well-known/oauth-protected-resource"));
    assert_eq!(http.send(post).await.status, 405);
    let evil = http
        .client
        .get(format!("{base}/.well-known/oauth-protected-resource"))
        .header("host", "evil.example");
    assert_eq!(http.send(evil).await.status, 403);
    let plain = super::with_tokens(&[("ann", "a")]).await;
    let none = format!(
        "{}/.well-known/oauth-protected-resource",
        plain.url.trim_end_matches("/mcp")
    );
    assert_eq!(plain.send(plain.client.get(none)).await.status, 404);
}

#[tokio::test]
async fn maps_a_claim_to_teams() {
    let (drain, key) = (Drain::new(), Pair::ed25519());
    let issuer = Issuer::start(&drain, json!([key.public("k")])).await;
    let mut oauth = issuer.oauth_config();
    let teams = [("readers".to_owned(), TeamName::default_team())].into();
    oauth.membership = Membership::Claim {
        claim: "groups".into(),
        teams,
    };
    let http = with_issuer(oauth).await;
    let header = json!({ "alg": "EdDSA", "kid": "k" });
    for groups in [json!("readers"), json!(["others", "readers"])] {
        let token = key.token(&header, &claims_with(&issuer, json!({ "groups": groups })));
        assert_eq!(read_with_token(&http, &token).await.status, 200, "{groups}");
    }
    for groups in [
        json!(null),
        json!("default"),
        json!([]),
        json!({ "readers": true }),
    ] {
        let token = key.token(&header, &claims_with(&issuer, json!({ "groups": groups })));
        expect![[r#"
            403
            -
            the token maps to no team of this server"#]]
        .assert_eq(&summary(&read_with_token(&http, &token).await));
    }
}

#[tokio::test]
async fn fetches_the_keys_again_for_an_unknown_key_id() {
    let (drain, old, new) = (Drain::new(), Pair::p256(), Pair::p256());
    let issuer = Issuer::start(&drain, json!([old.public("old")])).await;
    let http = with_issuer(issuer.oauth_config()).await;
    let token = |key: &Pair, id: Option<&str>| {
        let header = id.map_or(
            json!({ "alg": "ES256" }),
            |id| json!({ "alg": "ES256", "kid": id }),
        );
        key.token(&header, &issuer.claims())
    };
    assert_eq!(
        read_with_token(&http, &token(&old, Some("old")))
            .await
            .status,
        200
    );
    assert_eq!(
        read_with_token(&http, &token(&old, None)).await.status,
        200,
        "there is only one key"
    );
    issuer.rotate(Some(json!([old.public("old"), new.public("new")])));
    assert_eq!(
        read_with_token(&http, &token(&new, Some("new")))
            .await
            .status,
        200
    );
    assert_eq!(
        read_with_token(&http, &token(&old, Some("old")))
            .await
            .status,
        200
    );
    assert_eq!(
        read_with_token(&http, &token(&old, None)).await.status,
        401,
        "the key is ambiguous"
    );
    issuer.rotate(None);
    let other = read_with_token(&http, &token(&new, Some("other"))).await;
    assert_eq!(
        other.status, 503,
        "whether the issuer has the key is not known"
    );
    assert_eq!(
        read_with_token(&http, &token(&new, Some("new")))
            .await
            .status,
        200,
        "the known keys stay"
    );
}

#[tokio::test]
async fn limits_how_often_the_keys_are_fetched() {
    let (drain, key) = (Drain::new(), Pair::p256());
    let issuer = Issuer::start(&drain, json!([key.public("k")])).await;
    let mut oauth = issuer.oauth_config();
    oauth.min_fetch_interval = Duration::from_secs(3600);
    let http = with_issuer(oauth).await;
    let good = key.token(&json!({ "alg": "ES256", "kid": "k" }), &issuer.claims());
    let all = futures_util::future::join_all((0..16).map(|_| read_with_token(&http, &good))).await;
    assert!(all.iter().all(|answer| answer.status == 200));
    for n in 0..5 {
        let unknown = key.token(
            &json!({ "alg": "ES256", "kid": format!("k{n}") }),
            &issuer.claims(),
        );
        let answer = read_with_token(&http, &unknown).await;
        let retry: u64 = answer.headers["retry-after"]
            .to_str()
            .unwrap()
            .parse()
            .unwrap();
        assert!(
            answer.status == 503 && (3_000..=3_601).contains(&retry),
            "{} {retry}",
            answer.status
        );
    }
    assert_eq!(issuer.key_requests(), 1);
}

#[tokio::test]
async fn answers_503_and_not_401_while_there_are_no_keys() {
    let (drain, key) = (Drain::new(), Pair::p256());
    let issuer = Issuer::start(&drain, json!([])).await;
    issuer.rotate(None);
    let http = with_issuer(issuer.oauth_config()).await;
    let token = key.token(&json!({ "alg": "ES256", "kid": "k" }), &issuer.claims());
    let answer = read_with_token(&http, &token).await;
    expect![[r#"
        503
        -
        the issuer's keys are not available: try again later"#]]
    .assert_eq(&summary(&answer));
    assert_eq!(answer.headers["retry-after"], "10");
    issuer.rotate(Some(json!([key.public("k")])));
    assert_eq!(read_with_token(&http, &token).await.status, 200);
}

#[tokio::test]
async fn does_not_use_keys_of_another_issuer() {
    let (drain, key) = (Drain::new(), Pair::p256());
    let issuer = Issuer::start(&drain, json!([key.public("k")])).await;
    let mut oauth = issuer.oauth_config();
    // The same server. Its metadata state another issuer URL.
    oauth.issuer = SecureUrl::parse(&format!("{}/", issuer.url)).unwrap();
    let http = with_issuer(oauth.clone()).await;
    let claims = claims_with(&issuer, json!({ "iss": oauth.issuer.as_str() }));
    let token = key.token(&json!({ "alg": "ES256", "kid": "k" }), &claims);
    assert_eq!(read_with_token(&http, &token).await.status, 503);
    // Instead, the URL of its keys can be configured.
    oauth.jwks = Some(SecureUrl::parse(&format!("{}/keys", issuer.url)).unwrap());
    let http = with_issuer(oauth).await;
    assert_eq!(read_with_token(&http, &token).await.status, 200);
}
