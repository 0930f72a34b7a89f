//! Tokens of the OAuth issuer with the scope of operators.

use larder_runtime::drain::Drain;
use serde_json::{Value, json};

use super::{ADMIN, Api};
use crate::access::auth::issuer::{AUDIENCE, Issuer, Pair, from_now};
use crate::support::harness::{SLOW_WAIT, eventually_within};
use crate::support::process::WorkDir;

/// A server that accepts tokens of this issuer, whose subjects are in no team.
fn start(issuer: &Issuer) -> Api {
    let oauth = format!(
        "scope = \"larder:admin\"\n[auth.oauth]\nissuer = \"{}\"\naudience = \"{AUDIENCE}\"\nteam_claim = \"groups\"\n\
         teams = {{ \"readers\" = \"default\" }}\nscopes = [\"docs:read\"]\n",
        issuer.url
    );
    Api::start(WorkDir::with_guests("echo"), &format!("{ADMIN}{oauth}"))
}

fn token(issuer: &Issuer, key: &Pair, change: &Value) -> String {
    let mut claims = issuer.claims();
    claims["scope"] = json!("openid larder:admin");
    claims["jti"] = json!("token-7");
    claims
        .as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    key.token(&json!({ "alg": "EdDSA", "kid": "ed" }), &claims)
}

#[tokio::test]
async fn a_token_with_the_scope_is_that_of_an_operator() {
    let (drain, key) = (Drain::new(), Pair::ed25519());
    let issuer = Issuer::start(&drain, json!([key.public("ed")])).await;
    let api = start(&issuer);
    let bearer = |change: Value| format!("Bearer {}", token(&issuer, &key, &change));
    let right = bearer(json!({}));
    let session = api
        .get("/api/session", &[("authorization", &right)])
        .await
        .json();
    assert_eq!(
        [&session["subject"], &session["issuer"], &session["via"]],
        ["ann", issuer.url.as_str(), "oauth"]
    );
    assert_eq!(
        [&session["may_approve"], &session["may_read"]],
        [true, true]
    );
    assert_eq!(
        api.get("/status", &[("authorization", &right)])
            .await
            .status,
        200
    );
    for (change, verdict) in [
        (json!({ "scope": "docs:read" }), "403 forbidden"),
        (json!({ "scope": "larder:admin:x larder" }), "403 forbidden"),
        (json!({ "scope": null }), "403 forbidden"),
        (
            json!({ "aud": "https://other.example/mcp" }),
            "401 unauthorized",
        ),
        (json!({ "iss": "https://id.example" }), "401 unauthorized"),
        (json!({ "exp": from_now(-120) }), "401 unauthorized"),
    ] {
        let wrong = bearer(change.clone());
        assert_eq!(
            api.get("/api/session", &[("authorization", &wrong)])
                .await
                .verdict(),
            verdict,
            "{change}"
        );
    }
    let other = token(&issuer, &Pair::ed25519(), &json!({}));
    assert_eq!(api.log_in(&other, &[]).await.verdict(), "401 unauthorized");
    let refused = api.get("/api/session", &[]).await;
    assert_eq!(refused.json()["login"], json!(["oauth"]));
    assert_eq!(api.get("/metrics", &[]).await.status, 401);
}

#[tokio::test]
async fn a_session_ends_with_its_token_and_with_the_key_of_the_issuer() {
    let (drain, key) = (Drain::new(), Pair::ed25519());
    let issuer = Issuer::start(&drain, json!([key.public("ed")])).await;
    let api = start(&issuer);
    let expires = from_now(300);
    let login = api
        .log_in(&token(&issuer, &key, &json!({ "exp": expires })), &[])
        .await;
    let (cookie, _) = login.session();
    let shown = login.json()["expires"].as_str().unwrap().to_owned();
    let shown = humantime::parse_rfc3339(&shown)
        .unwrap()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    // The clocks may differ by a minute.
    assert_eq!(i64::try_from(shown).unwrap(), expires + 60);
    assert_eq!(api.audited("login")[0]["token"], "token-7");
    assert_eq!(
        api.get("/api/session", &[("cookie", &cookie)]).await.status,
        200
    );

    let next = Pair::ed25519();
    issuer.rotate(Some(json!([next.public("next")])));
    let token = next.token(&json!({ "alg": "EdDSA", "kid": "next" }), &issuer.claims());
    eventually_within(SLOW_WAIT, "the server fetches the new keys", async || {
        let bearer = format!("Bearer {token}");
        // The token does not have the scope of operators, but its key is searched for.
        api.get("/api/session", &[("authorization", &bearer)])
            .await
            .status
            == 403
    })
    .await;
    assert_eq!(
        api.get("/api/session", &[("cookie", &cookie)])
            .await
            .verdict(),
        "401 unauthorized"
    );
}
