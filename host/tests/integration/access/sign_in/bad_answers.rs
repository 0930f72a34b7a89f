//! Answers of servers that must not be used. Each has an error that says why, and nothing is stored.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::servers::{RawAnswer, Servers, Settings, User};

const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
const METADATA: &str = "/.well-known/oauth-authorization-server/as";

/// Signs in, and compares the error. Returns the servers.
async fn check(settings: Settings, user: &User, expected: &str) -> Servers {
    let servers = Servers::start(settings);
    let error = user.log_in(&servers).await.unwrap_err().to_string();
    assert!(error.contains(expected), "{error}\nexpected: {expected}");
    let clean = error.chars().all(|c| !c.is_control());
    assert!(clean && error.len() < 1_000, "{error:?}");
    let stored = user.sign_in.store.contains(&servers.url);
    assert!(!stored, "{error}");
    servers
}

async fn check_raw(path: &str, answer: RawAnswer, expected: &str) {
    let settings = Settings {
        raw: BTreeMap::from([(path.to_owned(), answer)]),
        ..Settings::default()
    };
    check(settings, &User::new(), expected).await;
}

fn answer(status: u16, body: impl Into<String>) -> RawAnswer {
    RawAnswer {
        status,
        body: body.into(),
        ..RawAnswer::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_and_errors() {
    let content = "unexpected content";
    for (path, reason) in [
        (RESOURCE, content),
        (METADATA, content),
        ("/as/register", content),
        ("/as/token", "its response is not the JSON of a token"),
    ] {
        let expected = format!("{path}: {reason}");
        check_raw(path, answer(200, "<html>\u{1b}[2J"), &expected).await;
        let nested = "[".repeat(100_000);
        check_raw(path, answer(200, nested), &expected).await;
    }
    check_raw(RESOURCE, answer(503, ""), "does not say where to sign in").await;
    check_raw(METADATA, answer(404, ""), "has no metadata").await;
    check_raw("/as/register", answer(500, "x"), "answers HTTP 500").await;
    check_raw("/as/token", answer(502, "x"), "answers HTTP 502").await;
    let error = json!({ "error": "invalid_redirect_uri", "error_description": "no \u{1b}[2J" });
    check_raw(
        "/as/register",
        answer(400, error.to_string()),
        r"refused the registration of this program: no \u{1b}[2J (invalid_redirect_uri)",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn huge_documents() {
    for path in [RESOURCE, METADATA, "/as/register", "/as/token"] {
        let huge = format!("{{\"x\": \"{}\"", "x".repeat(1 << 20));
        check_raw(path, answer(200, huge), "is larger than 256 KiB").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects() {
    for path in [RESOURCE, METADATA, "/as/register", "/as/token"] {
        for status in [302, 307] {
            let redirect = RawAnswer {
                status,
                location: Some("https://evil.example/".into()),
                ..RawAnswer::default()
            };
            let expected = "redirects to https://evil.example/, which is not followed";
            check_raw(path, redirect, expected).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_servers() {
    for path in [RESOURCE, METADATA, "/as/register", "/as/token"] {
        let slow = RawAnswer {
            delay: Duration::from_secs(300),
            ..answer(200, "{}")
        };
        let mut user = User::new();
        user.sign_in.timeout = Duration::from_millis(500);
        let settings = Settings {
            raw: BTreeMap::from([(path.to_owned(), slow)]),
            ..Settings::default()
        };
        let start = Instant::now();
        check(settings, &user, "no answer in time").await;
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_of_others() {
    let user = User::new();
    for resource in ["https://evil.example/mcp", "http://127.0.0.1:1/mcp", "x"] {
        let settings = Settings {
            resource_metadata: json!({ "resource": resource }),
            ..Settings::default()
        };
        let servers = check(settings, &user, &format!("is the metadata of `{resource}`")).await;
        assert_eq!(servers.paths(), [RESOURCE]);
    }
    for issuer in ["https://evil.example", "http://127.0.0.1/as/"] {
        let settings = Settings {
            server_metadata: json!({ "issuer": issuer }),
            ..Settings::default()
        };
        let expected = format!("is the metadata of the authorization server `{issuer}`");
        let servers = check(settings, &user, &expected).await;
        assert_eq!(servers.paths(), [RESOURCE, METADATA]);
    }
    let none = Settings {
        resource_metadata: json!({ "authorization_servers": [] }),
        ..Settings::default()
    };
    check(none, &user, "only of these: ").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn authorization_servers_that_lack_something() {
    let cases: [(Value, &str); 5] = [
        (
            json!({ "code_challenge_methods_supported": ["plain"] }),
            "does not support PKCE with S256",
        ),
        (
            json!({ "code_challenge_methods_supported": null }),
            "does not support PKCE with S256",
        ),
        (
            json!({ "authorization_endpoint": null }),
            "use `larder login --device`",
        ),
        (
            json!({ "registration_endpoint": null }),
            "give it with --client-id",
        ),
        (
            json!({ "token_endpoint_auth_methods_supported": ["private_key_jwt"] }),
            "a way to authenticate clients",
        ),
    ];
    for (server_metadata, expected) in cases {
        let settings = Settings {
            server_metadata,
            ..Settings::default()
        };
        let servers = check(settings, &User::new(), expected).await;
        assert_eq!(servers.requests("/as/authorize").len(), 0);
    }
    let mut user = User::new();
    user.sign_in.with_device_code = true;
    let settings = Settings {
        server_metadata: json!({ "device_authorization_endpoint": null }),
        ..Settings::default()
    };
    check(settings, &user, "does not support device codes").await;
}

/// The code is not sent to any token endpoint.
#[tokio::test(flavor = "multi_thread")]
async fn answers_in_the_browser_to_another_request_or_from_another_server() {
    let cases: [(Value, &str); 6] = [
        (json!({ "state": "other" }), "its `state` is not the one"),
        (json!({ "state": null }), "its `state` is not the one"),
        (
            json!({ "iss": "https://evil.example" }),
            "another authorization server",
        ),
        (
            json!({ "iss": null }),
            "does not name the authorization server",
        ),
        (json!({ "code": null }), "contains no code"),
        (
            json!({ "code": null, "error": "access_denied" }),
            "refused the sign-in: access_denied",
        ),
    ];
    for (redirect, expected) in cases {
        let settings = Settings {
            redirect,
            ..Settings::default()
        };
        let servers = check(settings, &User::new(), expected).await;
        assert_eq!(servers.requests("/as/token").len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_that_were_used_before() {
    let settings = Settings {
        redirect: json!({ "code": "used" }),
        ..Settings::default()
    };
    let expected = r"refused the code: a\u{1b}[2Jb (invalid_grant)";
    check(settings, &User::new(), expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_cannot_be_used() {
    let cases: [(Value, &str); 6] = [
        (
            json!({ "expires_in": -1 }),
            "the lifetime of its token is \"-1\"",
        ),
        (
            json!({ "expires_in": "\u{7}" }),
            "the lifetime of its token is",
        ),
        (
            json!({ "token_type": "mac" }),
            "the type of its token is \"mac\"",
        ),
        (
            json!({ "access_token": "a\nb" }),
            "cannot be sent in a header",
        ),
        (json!({ "access_token": "" }), "cannot be sent in a header"),
        (
            json!({ "access_token": null }),
            "its response is not the JSON of a token",
        ),
    ];
    for (tokens, expected) in cases {
        let settings = Settings {
            tokens,
            ..Settings::default()
        };
        check(settings, &User::new(), expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn device_codes_that_end() {
    let mut user = User::new();
    user.sign_in.with_device_code = true;
    let settings = Settings {
        device: json!({ "expires_in": 2, "interval": 0 }),
        pending_polls: usize::MAX,
        ..Settings::default()
    };
    check(settings, &user, "nobody signed in in time").await;
    for url in [
        "javascript:alert(1)",
        "http://evil.example/",
        "file:///etc/passwd",
    ] {
        let settings = Settings {
            device: json!({ "verification_uri": url }),
            ..Settings::default()
        };
        check(settings, &user, "it must begin with https://").await;
    }
}

/// 127.0.0.2 counts as public here, and every other address of this machine as private.
fn is_second_address(address: IpAddr) -> bool {
    address == IpAddr::from([127, 0, 0, 2])
}

#[tokio::test(flavor = "multi_thread")]
async fn private_addresses_behind_a_public_server() {
    let inside = Servers::start(Settings {
        host: Some("localhost"),
        ..Settings::default()
    });
    let port = inside.issuer.trim_start_matches("http://localhost:");
    let port = port.trim_end_matches("/as");
    let address = format!("http://127.0.0.1:{port}");
    let expected = "its address is in a private network";
    let origins: [String; 5] = [
        format!("http://127.0.0.1:{port}"),
        format!("http://[::1]:{port}"),
        "https://169.254.169.254".into(),
        "https://[::ffff:10.0.0.1]".into(),
        format!("http://localhost:{port}"),
    ];
    let public = |resource_metadata: Value, server_metadata: Value| Settings {
        host: Some("127.0.0.2"),
        resource_metadata,
        server_metadata,
        ..Settings::default()
    };
    let user = User::new().with_public(is_second_address);
    for origin in &origins {
        let issuer = json!({ "authorization_servers": [format!("{origin}/as")] });
        check(public(issuer, Value::Null), &user, expected).await;
        for endpoint in ["token_endpoint", "registration_endpoint"] {
            let server_metadata = json!({ endpoint: format!("{origin}/as/token") });
            check(public(Value::Null, server_metadata), &user, expected).await;
        }
    }
    let page = json!({ "authorization_endpoint": format!("{address}/as/authorize") });
    check(public(Value::Null, page), &user, expected).await;
    assert_eq!(inside.paths(), Vec::<String>::new());

    // A server inside the network may name URLs inside it.
    let user = User::new();
    user.log_in(&inside).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn urls_without_encryption_or_of_other_schemes() {
    for url in [
        "http://as.example/x",
        "ftp://127.0.0.1/x",
        "javascript:alert(1)",
    ] {
        for endpoint in [
            "token_endpoint",
            "authorization_endpoint",
            "registration_endpoint",
        ] {
            let settings = Settings {
                server_metadata: json!({ endpoint: url }),
                ..Settings::default()
            };
            check(settings, &User::new(), "it must begin with https://").await;
        }
    }
    for url in ["https://user@as.example/x", "https://as.example/x#y"] {
        let settings = Settings {
            server_metadata: json!({ "authorization_endpoint": url }),
            ..Settings::default()
        };
        check(
            settings,
            &User::new(),
            "must not contain a user or a fragment",
        )
        .await;
    }
}
