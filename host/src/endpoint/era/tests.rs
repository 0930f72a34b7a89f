use super::super::message::{Incoming, Message, read};
use super::*;

const CLAIM: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#;
const CAPABILITIES: &str = r#""io.modelcontextprotocol/clientCapabilities":{}"#;

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

fn full(method: &str, more: &str) -> String {
    request(method, &format!(r#"{{"_meta":{{{CLAIM},{CAPABILITIES}}}{more}}}"#))
}

fn sort(text: &str, headers: Option<&[(&str, &str)]>) -> Result<Era, (u16, i32)> {
    let headers = headers.map(|headers| {
        let pair =
            |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        let mut map = HeaderMap::new();
        headers.iter().map(pair).for_each(|(name, value)| {
            map.append(name, value);
        });
        map
    });
    let Ok(Incoming::One(Message::Request(request))) = read(text.as_bytes()) else { panic!("{text}") };
    classify(&request, headers.as_ref()).map_err(|refusal| (refusal.status.as_u16(), refusal.code))
}

const HEADERS: &[(&str, &str)] = &[("mcp-protocol-version", MODERN), ("mcp-method", "resources/list")];

#[test]
fn a_claim_decides() {
    assert_eq!(sort(&full("resources/list", ""), Some(HEADERS)), Ok(Era::Modern(Method::List)));
    let listen = [HEADERS[0], ("mcp-method", "subscriptions/listen")];
    assert_eq!(sort(&full("subscriptions/listen", ""), Some(&listen)), Ok(Era::Listen));
    assert_eq!(sort(&full("server/discover", ""), None), Ok(Era::Modern(Method::Discover)));
}

#[test]
fn the_first_rung_that_fails_answers() {
    let no_capabilities = request("resources/list", &format!(r#"{{"_meta":{{{CLAIM}}}}}"#));
    let wrong_capabilities = request(
        "resources/list",
        &format!(r#"{{"_meta":{{{CLAIM},"io.modelcontextprotocol/clientCapabilities":[]}}}}"#),
    );
    let wrong_claim = request(
        "resources/list",
        &format!(r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":1,{CAPABILITIES}}}}}"#),
    );
    let future = request(
        "resources/list",
        &format!(r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"v999.0.0",{CAPABILITIES}}}}}"#),
    );
    let list = full("resources/list", "");
    let v999: &[(&str, &str)] = &[("mcp-protocol-version", "v999.0.0"), HEADERS[1]];
    let twice: &[(&str, &str)] = &[HEADERS[0], HEADERS[0], HEADERS[1]];
    for (text, headers, expected) in [
        (&no_capabilities, HEADERS, (400, PARAMS)),
        (&wrong_capabilities, HEADERS, (400, PARAMS)),
        (&wrong_claim, HEADERS, (400, PARAMS)),
        (&list, v999, (400, HEADER)),
        (&future, v999, (400, super::super::refusal::VERSION)),
        (&future, &[], (400, super::super::refusal::VERSION)),
        (&list, &HEADERS[1..], (400, HEADER)),
        (&list, &HEADERS[..1], (400, HEADER)),
        (&list, twice, (400, HEADER)),
        (&list, &[HEADERS[0], ("mcp-method", "resources/read")], (400, HEADER)),
        (&list, &[HEADERS[0], ("mcp-method", "Resources/list")], (400, HEADER)),
    ] {
        assert_eq!(sort(text, Some(headers)), Err(expected), "{text} {headers:?}");
    }
}

#[test]
fn methods_of_the_other_era_are_not_found() {
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tools/list",
        "prompts/get",
        "no/such",
    ] {
        let headers = [HEADERS[0], ("mcp-method", method)];
        assert_eq!(
            sort(&full(method, ""), Some(&headers)),
            Err((404, super::super::refusal::METHOD)),
            "{method}"
        );
    }
}

#[test]
fn the_name_header_says_the_uri() {
    let read = |uri: &str, name: Option<&str>| {
        let headers = [HEADERS[0], ("mcp-method", "resources/read"), ("mcp-name", name.unwrap_or_default())];
        let headers = &headers[..if name.is_some() { 3 } else { 2 }];
        sort(&full("resources/read", &format!(r#","uri":{uri}"#)), Some(headers))
    };
    assert_eq!(read(r#""x:1""#, Some("x:1")), Ok(Era::Modern(Method::Read)));
    assert_eq!(read(r#""x:ü""#, Some("=?base64?eDrDvA==?=")), Ok(Era::Modern(Method::Read)));
    assert_eq!(read("7", Some("x:1")), Ok(Era::Modern(Method::Read)), "the method refuses it");
    for bad in [
        None,
        Some("x:2"),
        Some("X:1"),
        Some("=?base64?%?="),
        Some("=?base64?/w==?="),
        Some("=?base64?eDoy?="),
    ] {
        assert_eq!(read(r#""x:1""#, bad), Err((400, HEADER)), "{bad:?}");
    }
}

#[test]
fn without_a_claim_headers_cannot_make_it_modern() {
    for (method, header, expected) in [
        ("initialize", None, Ok(Era::Initialize)),
        ("initialize", Some("2025-11-25"), Ok(Era::Initialize)),
        ("initialize", Some(MODERN), Err((400, HEADER))),
        ("resources/list", None, Ok(Era::Legacy)),
        ("resources/list", Some("2025-06-18"), Ok(Era::Legacy)),
        ("resources/list", Some("1900-01-01"), Ok(Era::Legacy)),
        ("resources/list", Some(MODERN), Err((400, PARAMS))),
        ("resources/list", Some("2099-01-01"), Err((400, PARAMS))),
        ("server/discover", None, Err((400, PARAMS))),
        ("no/such", None, Ok(Era::Legacy)),
    ] {
        let headers: Vec<_> = header.into_iter().map(|version| ("mcp-protocol-version", version)).collect();
        assert_eq!(sort(&request(method, "{}"), Some(&headers)), expected, "{method} {header:?}");
    }
    assert_eq!(sort(&request("resources/list", "{}"), None), Ok(Era::Legacy));
    let twice = ["2025-06-18", MODERN].map(|version| ("mcp-protocol-version", version));
    for method in ["initialize", "resources/list"] {
        assert_eq!(sort(&request(method, "{}"), Some(&twice)), Err((400, HEADER)), "{method}");
    }
}

#[test]
fn a_legacy_header_is_a_legacy_version() {
    for (version, good) in
        [("2025-03-26", true), ("2025-11-25", true), ("2024-11-05", false), ("", false), ("x", false)]
    {
        let headers = [(VERSION_HEADER, version.parse().unwrap())].into_iter().collect();
        assert_eq!(check_legacy_header(&headers).is_ok(), good, "{version}");
    }
    assert!(check_legacy_header(&HeaderMap::new()).is_ok());
    let mut twice: HeaderMap = [(VERSION_HEADER, "2025-06-18".parse().unwrap())].into_iter().collect();
    twice.append(VERSION_HEADER, "2025-11-25".parse().unwrap());
    assert!(check_legacy_header(&twice).is_err());
    assert_eq!(Legacy::negotiate("2024-11-05").as_str(), "2025-11-25");
    assert_eq!(Legacy::negotiate("2025-03-26").as_str(), "2025-03-26");
    assert_eq!(Legacy::negotiate(MODERN).as_str(), "2025-11-25", "a handshake never leads to the other era");
}
