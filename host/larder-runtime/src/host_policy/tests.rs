use super::*;

fn policy() -> HostPolicy {
    HostPolicy::new(
        &["Larder.example".into(), "other.example:8443".into()],
        &[
            "https://app.example".into(),
            "https://slash.example/".into(),
        ],
    )
}

fn accepts(policy: &HostPolicy, uri: &str, headers: &[(&str, &str)]) -> bool {
    let mut request = http::Request::builder().uri(uri);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(()).unwrap();
    policy.check(request.uri(), request.headers()).is_ok()
}

#[test]
fn accepts_only_own_hosts() {
    let accepts = |uri: &str, headers: &[(&str, &str)]| accepts(&policy(), uri, headers);
    for good in [
        "localhost",
        "LOCALHOST:1",
        "127.0.0.1:7878",
        "[::1]:80",
        "larder.example",
        "larder.example:443",
        "other.example:8443",
    ] {
        assert!(accepts("/mcp", &[("host", good)]), "{good}");
    }
    for bad in [
        "",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:80",
        "10.1.2.3",
        "evil@localhost",
        "[::1",
        "[::1]evil",
        "localhost:x",
        "other.example",
        "ü",
    ] {
        assert!(!accepts("/mcp", &[("host", bad)]), "{bad}");
    }
    assert!(!accepts("/mcp", &[]), "no host at all");
    assert!(
        !accepts("/mcp", &[("host", "localhost"), ("host", "localhost")]),
        "a repeated host"
    );
    assert!(
        !accepts("http://evil.example/mcp", &[("host", "localhost")]),
        "the request line takes precedence"
    );
}

#[test]
fn accepts_every_address_only_where_it_may() {
    let policy = policy().with_addresses();
    for good in [
        "10.1.2.3:7879",
        "[2001:db8::1]:80",
        "larder.example",
        "localhost",
    ] {
        assert!(accepts(&policy, "/", &[("host", good)]), "{good}");
    }
    for bad in [
        "evil.example",
        "10.1.2.3.evil.example",
        "10.1.2.3@evil.example",
        "10.1.2",
        "",
    ] {
        assert!(!accepts(&policy, "/", &[("host", bad)]), "{bad}");
    }
    assert!(!accepts(
        &policy,
        "/",
        &[("host", "10.1.2.3"), ("origin", "http://10.1.2.3")]
    ));
}

#[test]
fn only_the_host_can_be_empty() {
    let optional = policy().with_empty_host();
    for (headers, good) in [
        (&[][..], false),
        (&[("host", "")], true),
        (&[("host", "localhost")], true),
        (&[("host", "evil.example")], false),
        (&[("host", "ü")], false),
        (&[("host", ""), ("host", "")], false),
        (&[("host", ""), ("origin", "https://app.example")], true),
        (&[("host", ""), ("origin", "https://evil.example")], false),
    ] {
        assert_eq!(accepts(&optional, "/mcp", headers), good, "{headers:?}");
    }
    assert!(!accepts(&optional, "http://evil.example/mcp", &[]));
    assert!(!accepts(&policy(), "/mcp", &[]));
}

#[test]
fn accepts_only_local_and_configured_origins() {
    let accepts = |origin: &str| {
        accepts(
            &policy(),
            "/mcp",
            &[("host", "localhost"), ("origin", origin)],
        )
    };
    for good in [
        "http://localhost:3000",
        "https://127.0.0.1",
        "http://[::1]:1",
        "https://app.example",
        "https://slash.example",
    ] {
        assert!(accepts(good), "{good}");
    }
    for bad in [
        "null",
        "",
        "http://evil.example",
        "http://app.example",
        "http://larder.example",
        "https://app.example:444",
        "http://localhost/x",
        "ftp://localhost",
        "http://localhost.evil.example",
        "file://",
    ] {
        assert!(!accepts(bad), "{bad}");
    }
}

#[test]
fn says_what_is_refused() {
    let headers = |name: HeaderName, values: &[&str]| {
        values
            .iter()
            .map(|value| (name.clone(), HeaderValue::from_str(value).unwrap()))
            .collect::<HeaderMap>()
    };
    let uri = Uri::from_static("/mcp");
    let policy = policy();
    let none = HeaderMap::new();
    let two = headers(HOST, &["localhost", "localhost"]);
    assert_eq!(policy.check(&uri, &none), Err(Forbidden::NoHost));
    assert_eq!(
        policy.check(&uri, &headers(HOST, &["evil.example"])),
        Err(Forbidden::Host("evil.example"))
    );
    assert_eq!(policy.check(&uri, &two), Err(Forbidden::RepeatedHost));
    let mut origins = headers(ORIGIN, &["null"]);
    origins.insert(HOST, HeaderValue::from_static("localhost"));
    assert_eq!(policy.check(&uri, &origins), Err(Forbidden::Origin));
    origins.append(ORIGIN, HeaderValue::from_static("null"));
    assert_eq!(policy.check(&uri, &origins), Err(Forbidden::RepeatedOrigin));
}
