//! Behind a reverse proxy, whose address all connections have.

use super::{ADMIN, Api, BEARER, TOKEN};
use crate::support::process::WorkDir;

const STRANGER: (&str, &str) = ("x-forwarded-for", "203.0.113.9");
const OPERATOR: (&str, &str) = ("x-forwarded-for", "198.51.100.7");

/// Starts a server with a token, and with these trusted proxies.
fn start(trusted: &str) -> Api {
    let config = format!("server.trusted_proxies = [{trusted}]\n{ADMIN}{TOKEN}");
    Api::start(WorkDir::with_guests("echo"), &config)
}

/// Sends wrong tokens until no more are accepted.
async fn guess(api: &Api, headers: &[(&str, &str)]) {
    for _ in 0..1_000 {
        if api.log_in("wrong", headers).await.status == 429 {
            return;
        }
    }
    panic!("wrong tokens are not limited");
}

#[tokio::test]
async fn a_client_that_guesses_does_not_lock_others_out() {
    let api = start("\"127.0.0.0/8\"");
    guess(&api, &[STRANGER]).await;
    assert_eq!(
        api.log_in("secret", &[STRANGER]).await.verdict(),
        "429 too-many-attempts"
    );
    assert_eq!(api.log_in("secret", &[OPERATOR]).await.status, 200);
    for path in ["/metrics", "/status", "/api/status"] {
        assert_eq!(
            api.get(path, &[BEARER, OPERATOR]).await.status,
            200,
            "{path}"
        );
    }
    let logins = api.audited("login");
    let peers = |outcome| {
        logins
            .iter()
            .filter(move |line| line["outcome"] == outcome)
            .map(|line| &line["peer"])
    };
    assert!(
        peers("unauthorized").all(|peer| peer == STRANGER.1),
        "{logins:?}"
    );
    assert!(peers("ok").eq([OPERATOR.1]), "{logins:?}");
}

#[tokio::test]
async fn a_header_of_an_untrusted_proxy_gives_no_further_attempts() {
    let api = start("\"10.0.0.0/8\"");
    guess(&api, &[STRANGER]).await;
    assert_eq!(
        api.log_in("wrong", &[OPERATOR]).await.verdict(),
        "429 too-many-attempts"
    );
    assert!(
        api.audited("login")
            .iter()
            .all(|line| line["peer"] == "127.0.0.1")
    );
}
