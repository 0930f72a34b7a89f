//! Requests that another web page makes the browser of an operator send.

use serde_json::json;

use super::{ADMIN, Api, BEARER};
use crate::support::process::WorkDir;

#[tokio::test]
async fn pages_of_other_origins_can_do_nothing() {
    let api = Api::with_token(WorkDir::with_guests("echo"));
    let (cookie, csrf) = api.log_in("secret", &[]).await.session();
    let (cookie, csrf) = (
        ("cookie", cookie.as_str()),
        ("x-larder-csrf", csrf.as_str()),
    );
    let read = json!({ "uri": "echo://hello" });
    let own = api.url();
    let own = [("origin", own.as_str()), ("sec-fetch-site", "same-origin")];
    let all = |more: &[(&'static str, &'static str)]| [&[cookie, csrf][..], more].concat();
    assert_eq!(
        api.post("/api/read", &[&[cookie, csrf][..], &own].concat(), &read)
            .await
            .status,
        200
    );
    assert_eq!(
        api.post("/api/read", &[&[cookie][..], &own].concat(), &read)
            .await
            .verdict(),
        "403 csrf"
    );
    let wrong = ("x-larder-csrf", "0123");
    assert_eq!(
        api.post("/api/read", &[cookie, wrong], &read)
            .await
            .verdict(),
        "403 csrf"
    );
    for (more, verdict) in [
        (vec![("origin", "http://evil.example")], "403 host"),
        (vec![("origin", "null")], "403 host"),
        // A page on another port of this machine. Browsers send it the same cookies.
        (vec![("origin", "http://localhost:3000")], "403 cross-site"),
        (
            vec![
                ("origin", "http://127.0.0.1:1"),
                ("sec-fetch-site", "same-site"),
            ],
            "403 cross-site",
        ),
        (vec![("sec-fetch-site", "same-site")], "403 cross-site"),
        (vec![("sec-fetch-site", "cross-site")], "403 cross-site"),
        // DNS rebinding.
        (vec![("host", "evil.example")], "403 host"),
        (
            vec![("host", "evil.example"), ("origin", "http://evil.example")],
            "403 host",
        ),
    ] {
        assert_eq!(
            api.post("/api/read", &all(&more), &read).await.verdict(),
            verdict,
            "POST {more:?}"
        );
        assert_eq!(
            api.get("/api/session", &all(&more)).await.verdict(),
            verdict,
            "GET {more:?}"
        );
        let login = api.log_in("secret", &more).await;
        assert_eq!(
            (login.verdict().as_str(), login.header("set-cookie")),
            (verdict, ""),
            "login {more:?}"
        );
    }
    assert_eq!(
        api.audited("read").len(),
        1,
        "only the request of the page itself"
    );
}

#[tokio::test]
async fn a_form_cannot_send_what_the_api_takes() {
    let api = Api::with_token(WorkDir::with_guests("echo"));
    let body = || Some(json!({ "uri": "echo://hello" }).to_string());
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
    ] {
        let reply = api
            .send(
                "POST",
                "/api/read",
                &[BEARER, ("content-type", kind)],
                body(),
            )
            .await;
        assert_eq!(reply.status, 415, "{kind}: {}", reply.body);
    }
    let kind = ("content-type", "Application/JSON; charset=utf-8");
    assert_eq!(
        api.send("POST", "/api/read", &[BEARER, kind], body())
            .await
            .status,
        200
    );
    for bad in [
        "",
        "{}",
        "[]",
        "{\"uri\": 1}",
        "{\"uri\": \"echo://hello\", \"colour\": 1}",
    ] {
        let reply = api
            .send("POST", "/api/read", &[BEARER, kind], Some(bad.to_owned()))
            .await;
        assert_eq!(reply.verdict(), "400 bad-request", "{bad}");
    }
    let large = format!("{{\"uri\": \"{}\"}}", "x".repeat(100_000));
    assert_eq!(
        api.send("POST", "/api/read", &[BEARER, kind], Some(large))
            .await
            .status,
        413
    );
}

#[tokio::test]
async fn another_page_cannot_make_the_server_reload() {
    let api = Api::start(WorkDir::with_guests("echo"), ADMIN);
    for header in [
        ("origin", "http://localhost:3000"),
        ("sec-fetch-site", "same-site"),
    ] {
        assert_eq!(
            api.send("POST", "/reload", &[header], None).await.status,
            403,
            "{header:?}"
        );
        let forget = "/forget?team=default&provider=echo";
        assert_eq!(
            api.send("POST", forget, &[header], None).await.status,
            403,
            "{header:?}"
        );
    }
    assert_eq!(api.send("POST", "/reload", &[], None).await.status, 200);
}
