//! Tests with a server that answers in this process. Real servers are used by `tests/session.py`.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use larder_provider::http::{Request as HttpRequest, Response, set_responder};
use larder_provider::{
    Body, CompletionRequest, Error, Provider as _, Query, Request, Role, Scope, SearchQuery,
    set_setting,
};
use serde_json::{Value, json};

use crate::{Position, Remote, resources};

type Log = Rc<RefCell<Vec<String>>>;

fn json_response(status: u16, message: &Value) -> Response {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    Response {
        status,
        headers,
        body: message.to_string().into(),
    }
}

fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    request
        .headers
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.as_str())
}

/// A server of the modern era, or of the legacy era with a session. `respond` returns the results of its methods.
fn remote(
    is_modern: bool,
    respond: impl Fn(&str, &Value) -> Result<Value, Value> + 'static,
) -> (Remote, Log) {
    let log = Log::default();
    let seen = log.clone();
    set_responder(move |request| {
        let message: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let method = message["method"]
            .as_str()
            .unwrap_or(&request.method)
            .to_owned();
        seen.borrow_mut().push(method.clone());
        let respond_to = |result: Result<Value, Value>| match result {
            Ok(result) => json_response(
                200,
                &json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }),
            ),
            Err(error) => json_response(
                400,
                &json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }),
            ),
        };
        Ok(match (method.as_str(), is_modern) {
            ("server/discover", true) => {
                respond_to(Ok(json!({ "supportedVersions": ["2026-07-28"] })))
            }
            (_, true) => {
                assert_eq!(header(request, "mcp-method"), Some(method.as_str()));
                let capabilities =
                    &message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
                assert!(capabilities["extensions"]["io.modelcontextprotocol/ui"].is_object());
                respond_to(respond(&method, &message["params"]))
            }
            ("initialize", false) => {
                let mut response = respond_to(Ok(json!({ "protocolVersion": "2025-06-18" })));
                response
                    .headers
                    .push(("Mcp-Session-Id".to_owned(), "s-1".to_owned()));
                response
            }
            ("notifications/initialized" | "DELETE", false) => Response {
                status: 202,
                headers: vec![],
                body: vec![],
            },
            (_, false) if header(request, "mcp-session-id") == Some("s-1") => {
                assert_eq!(header(request, "mcp-protocol-version"), Some("2025-06-18"));
                respond_to(respond(&method, &message["params"]))
            }
            _ => respond_to(Err(json!({ "code": -32000, "message": "no session" }))),
        })
    });
    set_setting("url", "https://mcp.example/mcp");
    (Remote::new().unwrap(), log)
}

fn reading() -> Value {
    json!({ "contents": [{ "uri": "x:1", "mimeType": "text/plain", "text": "one" }, { "uri": "x:2", "blob": "/w==" }] })
}

#[test]
fn reads_from_a_server_of_either_era() {
    for is_modern in [true, false] {
        let (remote, log) = remote(is_modern, |method, params| {
            assert_eq!((method, &params["uri"]), ("resources/read", &json!("x:1")));
            Ok(reading())
        });
        let found = remote.read(&Request::new("x:1")).unwrap();
        assert_eq!(found.contents[0].body, Body::Text("one".into()));
        assert_eq!(
            (&found.contents[1].body, found.contents[1].uri.as_deref()),
            (&Body::Blob(vec![255]), Some("x:2"))
        );
        let version = found.version.unwrap();
        let known = Request {
            known_version: Some(version),
            ..Request::new("x:1")
        };
        assert_eq!(remote.read(&known).unwrap_err(), Error::NotModified);
        // The connection was kept in the store for the second read.
        let handshake: &[&str] = if is_modern {
            &["server/discover"]
        } else {
            &["server/discover", "initialize", "notifications/initialized"]
        };
        let expected: Vec<&str> = handshake
            .iter()
            .copied()
            .chain(["resources/read", "resources/read"])
            .collect();
        assert_eq!(*log.borrow(), expected);
        larder_provider::key_value::shared()
            .delete("connection")
            .unwrap();
    }
}

#[test]
fn versions_of_another_larder_are_passed_on() {
    let (remote, _) = remote(true, |_, _| {
        let mut reading = reading();
        reading["_meta"] = json!({ "dev.larder/version": "7" });
        Ok(reading)
    });
    let found = remote.read(&Request::new("x:1")).unwrap();
    assert_eq!(found.version.as_deref(), Some("7"));
    let known = Request {
        known_version: found.version,
        ..Request::new("x:1")
    };
    assert_eq!(remote.read(&known).unwrap_err(), Error::NotModified);
}

#[test]
fn a_session_that_has_ended_is_replaced() {
    let kept = json!({ "url": "https://mcp.example/mcp", "connection": { "Legacy": { "version": "2025-06-18", "session": "old" } } });
    larder_provider::key_value::shared()
        .set("connection", kept.to_string())
        .unwrap();
    let (remote, log) = remote(false, |_, _| Ok(reading()));
    assert!(remote.read(&Request::new("x:1")).is_ok());
    let expected = [
        "resources/read",
        "server/discover",
        "initialize",
        "notifications/initialized",
        "resources/read",
    ];
    assert_eq!(*log.borrow(), expected);
}

#[test]
fn lists_are_paged_and_entries_keep_their_fields() {
    let (remote, _) = remote(true, |method, params| {
        match (method, params["cursor"].as_str()) {
            ("resources/list", None) => Ok(json!({ "resources": [
            { "uri": "x:1", "name": "one", "size": 3, "annotations": { "audience": ["user", "robot"], "priority": 0.5 },
              "_meta": { "dev.larder/version": "7", "com.example/a": { "b": 1 } } },
            { "name": "invalid" }, { "uri": "x:3", "name": "three" },
        ], "nextCursor": "c 2", "ttlMs": 9, "cacheScope": "private" })),
            ("resources/list", Some("c 2")) => {
                Ok(json!({ "resources": [{ "uri": "x:4", "name": "four" }] }))
            }
            other => panic!("{other:?}"),
        }
    });
    let (mut uris, mut query) = (Vec::new(), Query::new(2));
    loop {
        let page = remote.list(&query).unwrap();
        if query.cursor.is_none() {
            let first = &page.entries[0];
            let details = first.details.as_ref().unwrap();
            assert_eq!(
                (
                    first.size,
                    first.version.as_deref(),
                    details.audience.as_slice()
                ),
                (Some(3), Some("7"), &[Role::User][..])
            );
            assert_eq!(
                details.metadata,
                [("com.example/a".to_owned(), r#"{"b":1}"#.to_owned())]
            );
            let freshness = page.freshness.unwrap();
            assert_eq!((freshness.ttl_ms, freshness.scope), (9, Scope::Caller));
        }
        uris.extend(page.entries.into_iter().map(|entry| entry.uri));
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            break;
        }
    }
    assert_eq!(uris, ["x:1", "x:3", "x:4"]);
    let invalid = remote.list(&Query {
        cursor: Some("nonsense".into()),
        ..Query::new(2)
    });
    assert_eq!(
        invalid.unwrap_err(),
        Error::invalid("the cursor is not one of this list")
    );
}

#[test]
fn a_position_is_a_text_and_back() {
    for position in [
        Position::default(),
        Position {
            cursor: Some(String::new()),
            offset: 3,
        },
        Position {
            cursor: Some("a =b".into()),
            offset: 0,
        },
    ] {
        assert_eq!(Position::parse(Some(&position.text())), Ok(position));
    }
}

#[test]
fn errors_of_the_server_are_errors_of_the_provider() {
    let check = |error: Value, expected: Error| {
        let (remote, _) = remote(true, move |_, _| Err(error.clone()));
        assert_eq!(remote.read(&Request::new("x:1")).unwrap_err(), expected);
    };
    check(
        json!({ "code": -32002, "message": "gone" }),
        Error::NotFound,
    );
    check(
        json!({ "code": -32602, "message": "bad", "data": { "uri": "x:1" } }),
        Error::NotFound,
    );
    check(
        json!({ "code": -32602, "message": "Resource x:1 not found" }),
        Error::NotFound,
    );
    check(
        json!({ "code": 0, "message": "Unknown resource: x:1" }),
        Error::NotFound,
    );
    check(
        json!({ "code": -32602, "message": "`uri` is not a URI" }),
        Error::invalid("`uri` is not a URI"),
    );
    check(
        json!({ "code": -32603, "message": "boom" }),
        Error::failed("the MCP server fails: boom"),
    );
}

#[test]
fn a_server_without_tools_and_completion_is_no_error() {
    let (remote, _) = remote(true, |_, _| {
        Err(json!({ "code": -32601, "message": "unknown" }))
    });
    assert!(remote.tools().is_ok() && remote.prompts().is_ok());
    assert_eq!(remote.list(&Query::new(5)).unwrap().entries.len(), 0);
    let request = CompletionRequest {
        uri_template: "x:{a}".into(),
        variable: "a".into(),
        prefix: String::new(),
        filled: Vec::new(),
    };
    assert_eq!(remote.complete(&request).unwrap().values.len(), 0);
    assert_eq!(
        remote.read(&Request::new("x:1")).unwrap_err(),
        Error::failed("the server does not support resources/read: unknown")
    );
}

#[test]
fn an_address_that_is_no_mcp_server_is_named() {
    set_responder(|_| {
        Ok(Response {
            status: 404,
            headers: vec![],
            body: b"<html>".to_vec(),
        })
    });
    set_setting("url", "https://mcp.example/mcp");
    let error = Remote::new()
        .unwrap()
        .read(&Request::new("x:1"))
        .unwrap_err();
    assert_eq!(
        error,
        Error::failed("the address is not that of an MCP server: status 404")
    );
    for url in ["ftp://x", "https://user:hush@mcp.example/"] {
        set_setting("url", url);
        let error = Remote::new()
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert_eq!(
            error,
            "the setting `url` is not the URL of a web server without a user"
        );
    }
}

fn searched(remote: &Remote, query: &SearchQuery) -> Vec<(String, Option<String>)> {
    let hits = remote.search(query).unwrap().hits;
    hits.into_iter()
        .map(|hit| (hit.entry.uri, hit.excerpt))
        .collect()
}

#[test]
fn another_larder_is_asked_with_its_method() {
    let (remote, log) = remote(true, |method, params| {
        let expected = json!({ "query": "roses", "limit": 100, "uriPrefix": "x:" });
        let expected = expected
            .as_object()
            .unwrap()
            .iter()
            .all(|(key, value)| params[key] == *value);
        assert!(
            method == "dev.larder/search" && expected,
            "{method} {params}"
        );
        Ok(
            json!({ "results": [{ "uri": "x:1", "name": "one", "excerpt": "red roses" }, { "uri": "y:2", "name": "two" }] }),
        )
    });
    let query = SearchQuery {
        uri_prefix: Some("x:".into()),
        ..SearchQuery::new("roses", 500)
    };
    assert_eq!(
        searched(&remote, &query),
        [("x:1".into(), Some("red roses".into()))]
    );
    assert_eq!(
        log.take().last().map(String::as_str),
        Some("dev.larder/search")
    );
}

/// Checks that hits say that other hits are missing, and that they may not be reused.
fn check_incomplete(remote: &Remote, expected: &str) {
    let hits = remote.search(&SearchQuery::new("roses", 100)).unwrap();
    let metadata = &hits
        .hits
        .last()
        .unwrap()
        .entry
        .details
        .as_ref()
        .unwrap()
        .metadata;
    let why = metadata
        .iter()
        .find(|(key, _)| key == "dev.larder.search/incomplete");
    assert!(
        why.is_some_and(|(_, why)| why.contains(expected)),
        "{metadata:?}"
    );
    assert!(hits.freshness.is_none());
}

#[test]
fn what_is_missing_at_the_other_server_is_missing_here() {
    let results = json!([{ "uri": "x:1", "name": "one" }]);
    let meta = json!({ "dev.larder/incomplete": ["wiki", "files"] });
    let result = json!({ "results": results, "_meta": meta, "ttlMs": 5000 });
    let (by_method, _) = remote(true, move |_, _| Ok(result.clone()));
    check_incomplete(&by_method, "wiki, files");
    let result =
        json!({ "content": [], "structuredContent": { "results": results }, "_meta": meta });
    set_setting("search_tool", "search_resources");
    let (by_tool, _) = remote(true, move |method, _| {
        without_method(method).map(|()| result.clone())
    });
    check_incomplete(&by_tool, "wiki, files");
    let (nothing, _) = remote(true, move |_, _| {
        Ok(json!({ "results": [], "_meta": meta }))
    });
    let error = nothing.search(&SearchQuery::new("roses", 9)).unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
}

#[test]
fn a_list_that_is_not_compared_to_its_end_is_incomplete() {
    let page = |number: u32| {
        let entry = json!({ "uri": format!("x:{number}"), "name": "roses" });
        json!({ "resources": [entry], "nextCursor": (number + 1).to_string(), "cacheScope": "private" })
    };
    let (endless, _) = remote(true, move |method, _| {
        without_method(method).map(|()| page(1))
    });
    check_incomplete(&endless, "beginning of the list");
    let (failing, _) = remote(true, move |method, params| {
        without_method(method)?;
        match params["cursor"].is_null() {
            true => Ok(page(1)),
            false => Err(json!({ "code": -32603, "message": "no more" })),
        }
    });
    check_incomplete(&failing, "no more");
}

/// A server without this method, which responds as the SDK for Python does.
fn without_method(method: &str) -> Result<(), Value> {
    match method {
        "dev.larder/search" => {
            Err(json!({ "code": -32602, "message": "Invalid request parameters" }))
        }
        _ => Ok(()),
    }
}

#[test]
fn a_tool_that_the_operator_names_is_called() {
    let structured = json!({ "results": [{ "uri": "x:1", "name": "one" }, { "id": "x:2", "title": "Two", "url": "https://x" }] });
    let link = json!({ "type": "resource_link", "uri": "x:3", "name": "three" });
    let as_text = json!({ "type": "text", "text": structured.to_string() });
    for result in [
        json!({ "content": [link], "structuredContent": structured }),
        json!({ "content": [as_text, link] }),
    ] {
        set_setting("search_tool", "search_resources");
        let (remote, _) = remote(true, move |method, params| {
            without_method(method)?;
            let arguments = json!({ "query": "roses" });
            assert_eq!((method, &params["arguments"]), ("tools/call", &arguments));
            Ok(result.clone())
        });
        let found: Vec<_> = searched(&remote, &SearchQuery::new("roses", 9))
            .into_iter()
            .map(|(uri, _)| uri)
            .collect();
        assert_eq!(found, ["x:1", "x:2", "x:3"]);
    }
    let (remote, _) = remote(true, |method, _| {
        without_method(method)?;
        Ok(json!({ "isError": true, "content": [{ "type": "text", "text": "no index" }] }))
    });
    let error = remote.search(&SearchQuery::new("roses", 9)).unwrap_err();
    assert_eq!(
        error,
        Error::failed("the tool `search_resources` fails: no index")
    );
}

#[test]
fn otherwise_the_list_is_searched() {
    let (remote, log) = remote(false, |method, params| {
        without_method(method)?;
        assert_eq!(method, "resources/list");
        let page: u32 = params["cursor"]
            .as_str()
            .map_or(0, |cursor| cursor.parse().unwrap());
        let next = (page < 9).then(|| (page + 1).to_string());
        let entry = json!({ "uri": format!("x:{page}"), "name": format!("page {page}"), "description": "About red roses" });
        let other = json!({ "uri": format!("x:roses{page}"), "name": "roses" });
        Ok(json!({ "resources": [entry, other], "nextCursor": next, "cacheScope": "private" }))
    });
    let hits = remote.search(&SearchQuery::new("roses", 100)).unwrap();
    assert_eq!(
        hits.freshness.map(|freshness| freshness.scope),
        Some(Scope::Caller)
    );
    assert_eq!(
        (hits.hits.len(), hits.hits[0].entry.uri.as_str()),
        (20, "x:roses0")
    );
    assert_eq!(hits.hits[19].excerpt.as_deref(), Some("About red roses"));
    assert_eq!(
        log.borrow()
            .iter()
            .filter(|method| *method == "resources/list")
            .count(),
        10
    );
    assert_eq!(
        searched(&remote, &SearchQuery::new("page 7", 1))[0].0,
        "x:7"
    );
}

#[test]
fn a_list_that_must_not_be_cached_is_requested_again() {
    let ttl = |result: Value| {
        let default = Duration::from_secs(5);
        resources::list_freshness(&result, default).ttl_ms
    };
    assert_eq!(ttl(json!({ "ttlMs": 0 })), 5_000);
    assert_eq!(ttl(json!({ "ttlMs": 7 })), 7);
    assert_eq!(ttl(json!({})), 5_000);
    let none = resources::list_freshness(&json!({ "ttlMs": 0 }), Duration::ZERO);
    assert_eq!(
        none.ttl_ms, 1,
        "the host never requests a list without a time again"
    );
}
