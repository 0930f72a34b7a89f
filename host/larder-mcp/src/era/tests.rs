use super::*;
use crate::wire::message::{IncomingMessages, Message, read};

const VERSION: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities":{}"#;

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

fn modern_request(method: &str, more: &str) -> String {
    request(
        method,
        &format!(r#"{{"_meta":{{{VERSION},{CAPABILITIES}}}{more}}}"#),
    )
}

fn classify_text(text: &str, headers: Option<&[(&str, &str)]>) -> Result<RequestKind, (u16, i32)> {
    let headers = headers.map(|headers| {
        let pair = |(name, value): &(&str, &str)| {
            (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())
        };
        let mut map = HeaderMap::new();
        headers.iter().map(pair).for_each(|(name, value)| {
            map.append(name, value);
        });
        map
    });
    let Ok(IncomingMessages::One(Message::Request(request))) = read(text.as_bytes()) else {
        panic!("{text}")
    };
    classify(&request, headers.as_ref())
        .map_err(|rpc_error| (rpc_error.status.as_u16(), rpc_error.code))
}

const HEADERS: &[(&str, &str)] = &[
    ("mcp-protocol-version", MODERN),
    ("mcp-method", "resources/list"),
];

#[test]
fn the_version_in_the_body_decides() {
    assert_eq!(
        classify_text(&modern_request("resources/list", ""), Some(HEADERS)),
        Ok(RequestKind::Modern(Method::List))
    );
    let listen = [HEADERS[0], ("mcp-method", "subscriptions/listen")];
    assert_eq!(
        classify_text(&modern_request("subscriptions/listen", ""), Some(&listen)),
        Ok(RequestKind::Listen)
    );
    assert_eq!(
        classify_text(&modern_request("server/discover", ""), None),
        Ok(RequestKind::Modern(Method::Discover))
    );
}

#[test]
fn the_first_failed_check_determines_the_error() {
    let no_capabilities = request("resources/list", &format!(r#"{{"_meta":{{{VERSION}}}}}"#));
    let wrong_capabilities = request(
        "resources/list",
        &format!(r#"{{"_meta":{{{VERSION},"io.modelcontextprotocol/clientCapabilities":[]}}}}"#),
    );
    let wrong_version = request(
        "resources/list",
        &format!(r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":1,{CAPABILITIES}}}}}"#),
    );
    let future = request(
        "resources/list",
        &format!(
            r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"v999.0.0",{CAPABILITIES}}}}}"#
        ),
    );
    let list = modern_request("resources/list", "");
    let v999: &[(&str, &str)] = &[("mcp-protocol-version", "v999.0.0"), HEADERS[1]];
    let twice: &[(&str, &str)] = &[HEADERS[0], HEADERS[0], HEADERS[1]];
    for (text, headers, expected) in [
        (&no_capabilities, HEADERS, (400, INVALID_PARAMS)),
        (&wrong_capabilities, HEADERS, (400, INVALID_PARAMS)),
        (&wrong_version, HEADERS, (400, INVALID_PARAMS)),
        (&list, v999, (400, HEADER_MISMATCH)),
        (
            &future,
            v999,
            (400, crate::wire::rpc_error::UNSUPPORTED_PROTOCOL_VERSION),
        ),
        (
            &future,
            &[],
            (400, crate::wire::rpc_error::UNSUPPORTED_PROTOCOL_VERSION),
        ),
        (&list, &HEADERS[1..], (400, HEADER_MISMATCH)),
        (&list, &HEADERS[..1], (400, HEADER_MISMATCH)),
        (&list, twice, (400, HEADER_MISMATCH)),
        (
            &list,
            &[HEADERS[0], ("mcp-method", "resources/read")],
            (400, HEADER_MISMATCH),
        ),
        (
            &list,
            &[HEADERS[0], ("mcp-method", "Resources/list")],
            (400, HEADER_MISMATCH),
        ),
    ] {
        assert_eq!(
            classify_text(text, Some(headers)),
            Err(expected),
            "{text} {headers:?}"
        );
    }
}

#[test]
fn rejects_legacy_methods_in_modern_requests() {
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tools/get",
        "prompts/call",
        "no/such",
    ] {
        let headers = [HEADERS[0], ("mcp-method", method)];
        assert_eq!(
            classify_text(&modern_request(method, ""), Some(&headers)),
            Err((404, crate::wire::rpc_error::METHOD_NOT_FOUND)),
            "{method}"
        );
    }
}

#[test]
fn the_name_header_must_match_the_uri() {
    let read = |uri: &str, name: Option<&str>| {
        let headers = [
            HEADERS[0],
            ("mcp-method", "resources/read"),
            ("mcp-name", name.unwrap_or_default()),
        ];
        let headers = &headers[..if name.is_some() { 3 } else { 2 }];
        classify_text(
            &modern_request("resources/read", &format!(r#","uri":{uri}"#)),
            Some(headers),
        )
    };
    assert_eq!(
        read(r#""x:1""#, Some("x:1")),
        Ok(RequestKind::Modern(Method::Read))
    );
    assert_eq!(
        read(r#""x:ü""#, Some("=?base64?eDrDvA==?=")),
        Ok(RequestKind::Modern(Method::Read))
    );
    assert_eq!(
        read("7", Some("x:1")),
        Ok(RequestKind::Modern(Method::Read)),
        "rejected when the parameters are read"
    );
    for bad in [
        None,
        Some("x:2"),
        Some("X:1"),
        Some("=?base64?%?="),
        Some("=?base64?/w==?="),
        Some("=?base64?eDoy?="),
    ] {
        assert_eq!(
            read(r#""x:1""#, bad),
            Err((400, HEADER_MISMATCH)),
            "{bad:?}"
        );
    }
}

#[test]
fn a_header_alone_does_not_make_a_request_modern() {
    for (method, header, expected) in [
        ("initialize", None, Ok(RequestKind::Initialize)),
        (
            "initialize",
            Some("2025-11-25"),
            Ok(RequestKind::Initialize),
        ),
        ("initialize", Some(MODERN), Err((400, HEADER_MISMATCH))),
        ("resources/list", None, Ok(RequestKind::Legacy)),
        (
            "resources/list",
            Some("2025-06-18"),
            Ok(RequestKind::Legacy),
        ),
        (
            "resources/list",
            Some("1900-01-01"),
            Ok(RequestKind::Legacy),
        ),
        ("resources/list", Some(MODERN), Err((400, INVALID_PARAMS))),
        (
            "resources/list",
            Some("2099-01-01"),
            Err((400, INVALID_PARAMS)),
        ),
        ("server/discover", None, Err((400, INVALID_PARAMS))),
        ("no/such", None, Ok(RequestKind::Legacy)),
    ] {
        let headers: Vec<_> = header
            .into_iter()
            .map(|version| ("mcp-protocol-version", version))
            .collect();
        assert_eq!(
            classify_text(&request(method, "{}"), Some(&headers)),
            expected,
            "{method} {header:?}"
        );
    }
    assert_eq!(
        classify_text(&request("resources/list", "{}"), None),
        Ok(RequestKind::Legacy)
    );
    let twice = ["2025-06-18", MODERN].map(|version| ("mcp-protocol-version", version));
    for method in ["initialize", "resources/list"] {
        assert_eq!(
            classify_text(&request(method, "{}"), Some(&twice)),
            Err((400, HEADER_MISMATCH)),
            "{method}"
        );
    }
}

#[test]
fn accepts_only_legacy_versions_in_session_headers() {
    for (version, good) in [
        ("2025-03-26", true),
        ("2025-11-25", true),
        ("2024-11-05", false),
        ("", false),
        ("x", false),
    ] {
        let headers = [(VERSION_HEADER, version.parse().unwrap())]
            .into_iter()
            .collect();
        assert_eq!(check_legacy_header(&headers).is_ok(), good, "{version}");
    }
    assert!(check_legacy_header(&HeaderMap::new()).is_ok());
    let mut twice: HeaderMap = [(VERSION_HEADER, "2025-06-18".parse().unwrap())]
        .into_iter()
        .collect();
    twice.append(VERSION_HEADER, "2025-11-25".parse().unwrap());
    assert!(check_legacy_header(&twice).is_err());
    assert_eq!(
        LegacyVersion::negotiate("2024-11-05").as_str(),
        "2025-11-25"
    );
    assert_eq!(
        LegacyVersion::negotiate("2025-03-26").as_str(),
        "2025-03-26"
    );
    assert_eq!(
        LegacyVersion::negotiate(MODERN).as_str(),
        "2025-11-25",
        "a handshake never leads to the other era"
    );
}
