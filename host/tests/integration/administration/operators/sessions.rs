//! Logging in with the token: the cookie, its end, and wrong tokens.

use std::time::{Duration, SystemTime};

use serde_json::json;

use super::{ADMIN, Api, BEARER, TOKEN};
use crate::support::harness::{SLOW_WAIT, eventually_within};
use crate::support::process::WorkDir;

#[tokio::test]
async fn a_login_opens_a_session_until_logout() {
    let api = Api::with_token(WorkDir::with_guests("echo"));
    let refused = api.get("/api/session", &[]).await;
    assert_eq!(
        (
            refused.verdict().as_str(),
            refused.header("www-authenticate")
        ),
        ("401 unauthorized", "Bearer")
    );
    assert_eq!(refused.json()["login"], json!(["token"]));
    assert_eq!(api.log_in("wrong", &[]).await.verdict(), "401 unauthorized");

    let login = api.log_in("secret", &[]).await;
    let (cookie, csrf) = login.session();
    let id = cookie.strip_prefix("larder_admin=").unwrap();
    assert_eq!(
        login.header("set-cookie"),
        format!("{cookie}; Path=/api; Max-Age=28800; HttpOnly; SameSite=Strict")
    );
    assert!(
        id.len() == 64 && csrf.len() == 64 && id != csrf,
        "{cookie} {csrf}"
    );
    let session = login.json();
    assert_eq!(
        [&session["subject"], &session["via"]],
        ["admin.token", "token"]
    );
    assert_eq!(
        [&session["may_approve"], &session["may_read"]],
        [true, true]
    );
    let expires = humantime::parse_rfc3339(session["expires"].as_str().unwrap()).unwrap();
    let left = expires.duration_since(SystemTime::now()).unwrap();
    assert!(
        (Duration::from_secs(7 * 3600)..=Duration::from_secs(8 * 3600)).contains(&left),
        "{left:?}"
    );

    let cookie = ("cookie", cookie.as_str());
    let session = api.get("/api/session", &[cookie]).await.json();
    assert_eq!(
        (&session["via"], &session["csrf"]),
        (&json!("token"), &json!(null)),
        "other ports get the cookie too"
    );
    assert_eq!(
        api.get("/api/session", &[("cookie", "other=1; larder_admin=x")])
            .await
            .status,
        401
    );
    let both = format!("larder_admin=of-another-port; {}", cookie.1);
    assert_eq!(
        api.get("/api/session", &[("cookie", &both)]).await.status,
        200
    );
    assert_eq!(
        api.get("/status", &[cookie]).await.status,
        401,
        "the cookie is for the API only"
    );
    assert_eq!(
        api.get("/api/session", &[BEARER]).await.json()["expires"],
        json!(null)
    );

    assert_eq!(
        api.post("/api/logout", &[cookie], &json!({}))
            .await
            .verdict(),
        "403 csrf"
    );
    assert_eq!(api.get("/api/session", &[cookie]).await.status, 200);
    let logout = api
        .post(
            "/api/logout",
            &[cookie, ("x-larder-csrf", &csrf)],
            &json!({}),
        )
        .await;
    assert_eq!(logout.status, 204);
    assert!(
        logout
            .header("set-cookie")
            .starts_with("larder_admin=; Path=/api; Max-Age=0;")
    );
    assert_eq!(api.get("/api/session", &[cookie]).await.status, 401);

    let logins: Vec<_> = api
        .audited("login")
        .iter()
        .map(|line| [&line["outcome"], &line["subject"]].map(Clone::clone))
        .collect();
    assert_eq!(
        logins,
        [
            [json!("unauthorized"), json!(null)],
            [json!("ok"), json!("admin.token")]
        ]
    );
    assert_eq!(api.audited("logout")[0]["peer"], "127.0.0.1");
    let audit = std::fs::read_to_string(api.work_dir.path("audit.log")).unwrap();
    assert!(
        !audit.contains("secret") && !audit.contains(id) && !audit.contains(&csrf),
        "{audit}"
    );
}

#[tokio::test]
async fn behind_a_proxy_the_cookie_is_for_tls_only() {
    let config = format!("{ADMIN}{TOKEN}hosts = [\"admin.example\"]\n");
    let api = Api::start(WorkDir::with_guests("echo"), &config);
    let login = api
        .log_in(
            "secret",
            &[
                ("origin", "https://admin.example"),
                ("host", "admin.example"),
            ],
        )
        .await;
    assert!(
        login
            .header("set-cookie")
            .ends_with("; HttpOnly; SameSite=Strict; Secure"),
        "{}",
        login.body
    );
    let login = api
        .log_in("secret", &[("origin", "https://admin.example")])
        .await;
    assert_eq!(
        login.status, 200,
        "the proxy replaced the host: {}",
        login.body
    );
}

#[tokio::test]
async fn wrong_tokens_are_limited_and_sessions_continue() {
    let api = Api::with_token(WorkDir::with_guests("echo"));
    let (cookie, _) = api.log_in("secret", &[]).await.session();
    let mut refused = api.log_in("guess", &[]).await;
    let mut guesses = 0;
    while refused.status == 401 && guesses < 1_000 {
        guesses += 1;
        refused = api
            .get("/api/session", &[("authorization", "Bearer guess")])
            .await;
    }
    assert_eq!(refused.verdict(), "429 too-many-attempts");
    assert!((9..1_000).contains(&guesses), "{guesses}");
    let seconds: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=30).contains(&seconds), "{seconds}");
    assert_eq!(
        api.get("/api/session", &[("cookie", &cookie)]).await.status,
        200
    );
    assert_eq!(api.get("/livez", &[]).await.status, 200);
    eventually_within(SLOW_WAIT, "an attempt is possible again", async || {
        api.log_in("secret", &[]).await.status == 200
    })
    .await;
}

#[tokio::test]
async fn a_stream_ends_with_its_session() {
    let api = Api::with_token(WorkDir::with_guests("echo"));
    let (cookie, csrf) = api.log_in("secret", &[]).await.session();
    let url = format!("{}/api/events/stream", api.url());
    let mut stream = api
        .client
        .get(url)
        .header("cookie", &cookie)
        .send()
        .await
        .unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    assert!(stream.chunk().await.unwrap().is_some());
    let headers = [("cookie", cookie.as_str()), ("x-larder-csrf", &csrf)];
    assert_eq!(
        api.post("/api/logout", &headers, &json!({})).await.status,
        204
    );
    let rest = async { while let Ok(Some(_)) = stream.chunk().await {} };
    tokio::time::timeout(SLOW_WAIT, rest)
        .await
        .expect("the stream ends");
}

#[tokio::test]
async fn all_responses_restrict_what_browsers_do() {
    let api = Api::with_token(WorkDir::with_guests("echo"));
    for path in [
        "/livez",
        "/status",
        "/api/session",
        "/api/openapi.json",
        "/nothing",
        "/api/nothing",
    ] {
        for headers in [&[BEARER][..], &[], &[BEARER, ("host", "evil.example")]] {
            let reply = api.get(path, headers).await;
            let policy = reply.header("content-security-policy");
            assert!(
                policy.starts_with("default-src 'none'; script-src 'self';"),
                "{path}: {policy}"
            );
            assert!(
                !policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"),
                "{path}: {policy}"
            );
            assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
            assert_eq!(reply.header("referrer-policy"), "no-referrer", "{path}");
            assert_eq!(reply.header("cache-control"), "no-store", "{path}");
            assert_eq!(reply.header("access-control-allow-origin"), "", "{path}");
        }
    }
}
