use super::*;

fn domain(text: &str) -> AppDomain {
    AppDomain::parse(text).unwrap()
}

fn restricted(grant: &AppGrant, json: &str) -> (String, Vec<String>) {
    let raw = RawValue::from_string(json.to_owned()).unwrap();
    let (json, removed) = grant.restrict(&raw).unwrap();
    (json.get().to_owned(), removed)
}

#[test]
fn a_domain_cannot_end_a_source_of_a_policy() {
    for valid in [
        "https://api.example.com",
        "wss://*.example.com:8443",
        "http://localhost:3000",
    ] {
        assert!(AppDomain::parse(valid).is_ok(), "{valid}");
    }
    for invalid in [
        "",
        "*",
        "https:",
        "https://",
        "https://*",
        "https://*.com",
        "https://a.example.com/path",
        "https://a.example.com; script-src *",
        "https://a.example.com 'unsafe-eval'",
        "https://a..example.com",
        "https://A.example.com",
        "https://a.example.com:0",
        "https://a.example.com:99999",
        "data://a",
        "javascript://a.example.com",
        "https://user@a.example.com",
    ] {
        assert!(AppDomain::parse(invalid).is_err(), "{invalid}");
    }
}

#[test]
fn a_wildcard_includes_subdomains_with_the_same_scheme_and_port() {
    let covers = |granted: &str, other: &str| domain(granted).covers(&domain(other));
    assert!(covers("https://*.example.com", "https://a.b.example.com"));
    assert!(covers("https://*.example.com", "https://*.example.com"));
    assert!(covers("https://*.example.com", "https://*.a.example.com"));
    assert!(!covers("https://*.example.com", "https://example.com"));
    assert!(!covers("https://*.example.com", "https://badexample.com"));
    assert!(!covers("https://*.example.com", "http://a.example.com"));
    assert!(!covers(
        "https://*.example.com",
        "https://a.example.com:8443"
    ));
    assert!(!covers("https://a.example.com", "https://*.example.com"));
}

#[test]
fn an_app_gets_only_what_is_granted() {
    let requested = r#"{"csp":{"connectDomains":["https://api.example.com","https://evil.test"],"resourceDomains":["https://api.example.com"],"frameDomains":["https://evil.test"],"baseUriDomains":["*"],"scriptDomains":["https://evil.test"]},"permissions":{"camera":{},"microphone":{},"geolocation":{},"clipboardWrite":{},"usb":{}},"domain":"evil.test","prefersBorder":true}"#;
    let (json, removed) = restricted(&AppGrant::default(), requested);
    assert_eq!(json, r#"{"csp":{},"permissions":{},"prefersBorder":true}"#);
    assert_eq!(removed.len(), 9, "{removed:?}");
    let grant = AppGrant::new([
        AppRight::Connect(domain("https://*.example.com")),
        AppRight::Permission(AppPermission::ClipboardWrite),
    ]);
    let (json, removed) = restricted(&grant, requested);
    assert_eq!(
        json,
        r#"{"csp":{"connectDomains":["https://api.example.com"]},"permissions":{"clipboardWrite":{}},"prefersBorder":true}"#
    );
    assert_eq!(removed.len(), 7, "{removed:?}");
}

#[test]
fn the_metadata_of_a_tool_is_checked() {
    let grant = AppGrant::default();
    let restrict = |json: &str| grant.restrict(&RawValue::from_string(json.to_owned()).unwrap());
    let tool = r#"{"resourceUri":"ui://weather/view.html","visibility":["app"]}"#;
    assert_eq!(restrict(tool).unwrap().0.get(), tool);
    for invalid in [
        "1",
        r#"{"resourceUri":"https://evil.test/view.html"}"#,
        r#"{"resourceUri":7}"#,
        r#"{"visibility":"app"}"#,
        r#"{"visibility":["everybody"]}"#,
        r#"{"csp":[]}"#,
        r#"{"csp":{"connectDomains":"https://a.test"}}"#,
        r#"{"permissions":{"camera":true}}"#,
        r#"{"permissions":{"camera":[]}}"#,
        r#"{"permissions":[]}"#,
        "[]",
    ] {
        assert!(restrict(invalid).is_err(), "{invalid}");
    }
}

#[test]
fn a_tool_may_be_for_apps_only() {
    let is_for_apps_only =
        |json: &str| is_for_apps_only(&RawValue::from_string(json.to_owned()).unwrap());
    assert!(is_for_apps_only(r#"{"visibility":["app"]}"#));
    assert!(!is_for_apps_only(r#"{"visibility":["model","app"]}"#));
    assert!(!is_for_apps_only(r#"{"resourceUri":"ui://a"}"#));
}

#[test]
fn combines_grants() {
    let connect = AppGrant::new([AppRight::Connect(domain("https://a.example.com"))]);
    let wildcard = AppGrant::new([AppRight::Connect(domain("https://*.example.com"))]);
    let camera = AppGrant::new([AppRight::Permission(AppPermission::Camera)]);
    let both = connect.union(&camera);
    assert_eq!(both.intersection(&wildcard), connect);
    assert_eq!(both.lines_beyond(&wildcard), ["app uses the camera"]);
    assert_eq!(
        both.lines_beyond(&AppGrant::default()),
        [
            "app connects to https://a.example.com",
            "app uses the camera"
        ]
    );
}
