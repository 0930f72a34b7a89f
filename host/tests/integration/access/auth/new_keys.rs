//! Tokens whose key is not in the last fetched set: the issuer may have added the key, or withdrawn it.

use std::time::Duration;

use expect_test::expect;
use larder_runtime::drain::Drain;
use serde_json::json;

use super::issuer::{Issuer, Pair};
use super::{read_with_token, summary, with_issuer};
use crate::support::harness::eventually;

#[tokio::test]
async fn a_token_with_a_new_key_is_never_rejected_for_good() {
    let (drain, old, new) = (Drain::new(), Pair::p256(), Pair::p256());
    let issuer = Issuer::start(&drain, json!([old.public("old")])).await;
    let mut oauth = issuer.oauth_config();
    oauth.min_fetch_interval = Duration::from_secs(3);
    let http = with_issuer(oauth).await;
    let token =
        |key: &Pair, id: &str| key.token(&json!({ "alg": "ES256", "kid": id }), &issuer.claims());
    assert_eq!(
        read_with_token(&http, &token(&old, "old")).await.status,
        200
    );
    issuer.rotate(Some(json!([old.public("old"), new.public("new")])));
    let early = read_with_token(&http, &token(&new, "new")).await;
    expect![[r#"
        503
        -
        the token is signed with a key that this server does not know yet, and the issuer's keys were fetched a moment ago: try again later"#]]
    .assert_eq(&summary(&early));
    assert!(early.headers.contains_key("retry-after"));
    eventually("the token is accepted", async || {
        let status = read_with_token(&http, &token(&new, "new")).await.status;
        assert!(status == 200 || status == 503, "{status}");
        status == 200
    })
    .await;
    assert_eq!(issuer.key_requests(), 2);
}

#[tokio::test]
async fn a_token_with_a_withdrawn_key_is_rejected_soon() {
    let (drain, gone, key) = (Drain::new(), Pair::p256(), Pair::p256());
    let issuer = Issuer::start(&drain, json!([key.public("k")])).await;
    let mut oauth = issuer.oauth_config();
    oauth.min_fetch_interval = Duration::from_secs(1);
    let http = with_issuer(oauth).await;
    let token = gone.token(&json!({ "alg": "ES256", "kid": "gone" }), &issuer.claims());
    for what in [
        "the keys were fetched for the token",
        "the keys were fetched again",
    ] {
        let fetches = issuer.key_requests();
        eventually(what, async || {
            let status = read_with_token(&http, &token).await.status;
            assert!(status == 401 || status == 503, "{status}");
            status == 401 && issuer.key_requests() > fetches
        })
        .await;
    }
    for _ in 0..3 {
        assert_eq!(
            read_with_token(&http, &token).await.status,
            401,
            "it is known to be missing"
        );
    }
}
