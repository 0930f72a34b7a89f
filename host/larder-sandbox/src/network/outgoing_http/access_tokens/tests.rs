use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use http::StatusCode;
use larder_model::policy::CredentialPlacement;

use super::*;

/// An authorization server that counts its requests.
#[derive(Default)]
struct Issuer {
    requests: AtomicUsize,
}

impl Issuer {
    async fn issue(&self, lifetime: u64) -> Result<IssuedToken, RequestError> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let body = format!(
            r#"{{"access_token":"token-{number}-x","token_type":"Bearer","expires_in":{lifetime}}}"#
        );
        Ok(IssuedToken::from_response(StatusCode::OK, body.as_bytes()).unwrap())
    }

    async fn fail(&self) -> Result<IssuedToken, RequestError> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        Err(RequestError::Unreachable("down".into()))
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

fn secret() -> Secret {
    Secret::new("hush-hush")
}

fn text(token: Result<Secret, RequestError>) -> String {
    token.unwrap().reveal().to_owned()
}

async fn advance(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn requests_at_the_same_time_share_one_token() {
    let slot = TokenSlot::default();
    let issuer = Issuer::default();
    let secret = secret();
    let calls = (0..10).map(|_| slot.token(&secret, issuer.issue(3_600)));
    for token in join_all(calls).await {
        assert_eq!(text(token), "token-0-x");
    }
    assert_eq!(issuer.requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_token_is_renewed_before_it_ends_and_nobody_waits() {
    let slot = TokenSlot::default();
    let issuer = Issuer::default();
    let secret = secret();
    slot.token(&secret, issuer.issue(3_600)).await.unwrap();
    advance(3_550).await;
    let calls = (0..2).map(|_| slot.token(&secret, issuer.issue(3_600)));
    let mut tokens: Vec<_> = join_all(calls).await.into_iter().map(text).collect();
    tokens.sort();
    assert_eq!(tokens, ["token-0-x", "token-1-x"]);
    assert_eq!(issuer.requests(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_renewal_is_an_error_when_the_token_has_ended() {
    let slot = TokenSlot::default();
    let issuer = Issuer::default();
    let secret = secret();
    slot.token(&secret, issuer.issue(3_600)).await.unwrap();
    advance(3_550).await;
    assert_eq!(text(slot.token(&secret, issuer.fail()).await), "token-0-x");
    advance(60).await;
    let failed = slot.token(&secret, issuer.fail()).await;
    assert_eq!(failed, Err(RequestError::Unreachable("down".into())));
    let count = issuer.requests();
    assert!(slot.token(&secret, issuer.issue(60)).await.is_err());
    assert_eq!(issuer.requests(), count, "it is not asked again at once");
    advance(6).await;
    assert_eq!(
        text(slot.token(&secret, issuer.issue(60)).await),
        "token-3-x"
    );
}

#[tokio::test(start_paused = true)]
async fn another_secret_needs_another_token() {
    let slot = TokenSlot::default();
    let issuer = Issuer::default();
    slot.token(&secret(), issuer.issue(3_600)).await.unwrap();
    let rotated = Secret::new("another-secret");
    let token = slot.token(&rotated, issuer.issue(3_600)).await;
    assert_eq!(text(token), "token-1-x");
}

#[tokio::test(start_paused = true)]
async fn a_refused_token_is_replaced_unless_it_is_new() {
    let tokens = AccessTokens::default();
    let issuer = Issuer::default();
    let auth = HostAuth {
        secret: "s".into(),
        placement: CredentialPlacement::Bearer,
        certificate: None,
        plain_http: false,
    };
    let secret = secret();
    let slot = tokens.slot(&auth);
    slot.token(&secret, issuer.issue(3_600)).await.unwrap();
    tokens.discard(&auth);
    let token = tokens.slot(&auth).token(&secret, issuer.issue(60)).await;
    assert_eq!(text(token), "token-0-x");
    advance(11).await;
    tokens.discard(&auth);
    let token = slot.token(&secret, issuer.issue(60)).await;
    assert_eq!(text(token), "token-1-x");
}
