//! Tests of the provider with responses of an API.

use std::cell::RefCell;
use std::rc::Rc;

use larder_provider::http::{self, Response};
use larder_provider::{
    Body, CompletionRequest, Error, Provider as _, Query, Request, SearchQuery, set_setting,
};

mod search;

use crate::Api;

const RESOURCES: &str = r#"[
    { "uri": "shop://status", "path": "status", "name": "status", "content": "/state", "mime_type": "text/plain" },
    { "uri": "shop://orders/{id}{?view}", "path": "orders/{id}", "query": { "view": "{view}", "format": "json" },
      "list": { "path": "orders", "items": "/data", "variables": { "id": "/id", "view": "full" }, "title": "/title",
                "paging": { "cursor": { "parameter": "after", "next": "/next" } } } },
    { "uri": "shop://files/{+path}", "path": "files/{+path}" }
]"#;

/// The provider with an API that has these responses. The returned list contains the URLs that the API received.
fn api(
    resources: &str,
    respond: impl Fn(&str) -> (u16, &'static str) + 'static,
) -> (Api, Rc<RefCell<Vec<String>>>) {
    set_setting("base_url", "https://api.example/v1");
    set_setting("resources", resources);
    let log = Rc::new(RefCell::new(Vec::new()));
    let seen = log.clone();
    http::set_responder(move |request| {
        let url = request
            .url
            .strip_prefix("https://api.example/v1/")
            .expect("a URL of the API")
            .to_owned();
        let (status, body) = respond(&url);
        seen.borrow_mut().push(format!("{} {url}", request.method));
        let headers = vec![("ETag".to_owned(), "\"1\"".to_owned())];
        Ok(Response {
            status,
            headers,
            body: body.into(),
        })
    });
    (Api::new().expect("valid settings"), log)
}

fn orders(url: &str) -> (u16, &'static str) {
    match url {
        "status" => (200, r#"{ "state": "open" }"#),
        "orders" => (
            200,
            r#"{ "data": [{ "id": 1, "title": "One" }, { "id": "a/b" }, { "id": null }], "next": "x y" }"#,
        ),
        "orders?after=x%20y" => (
            200,
            r#"{ "data": [{ "id": ".." }, { "id": 10, "title": "Ten" }], "next": "" }"#,
        ),
        "orders/1?format=json" | "orders/1?format=json&view=full" => (200, "{}"),
        _ => (404, ""),
    }
}

fn uris(api: &Api, limit: u32) -> Vec<String> {
    let (mut query, mut found) = (Query::new(limit), Vec::new());
    loop {
        let page = api.list(&query).expect("a page");
        assert!(page.entries.len() <= limit as usize);
        found.extend(page.entries.into_iter().map(|entry| entry.uri));
        match page.next_cursor {
            Some(next) => query.cursor = Some(next),
            None => return found,
        }
    }
}

#[test]
fn lists_all_pages() {
    let (api, _) = api(RESOURCES, orders);
    // An id with a slash has no URI that the host would accept.
    let expected = [
        "shop://status",
        "shop://orders/1?view=full",
        "shop://orders/10?view=full",
    ];
    for limit in [1, 2, 100] {
        assert_eq!(uris(&api, limit), expected, "{limit}");
    }
    let templates = api.templates(None).unwrap().templates;
    assert_eq!(templates.len(), 2);
}

#[test]
fn a_changed_cursor_reaches_nothing_else() {
    let (api, log) = api(RESOURCES, orders);
    for cursor in ["1:0:../admin", "1:0:x&admin=1#y", "9:0", "1:99:x y"] {
        let _ = api.list(&Query {
            cursor: Some(cursor.into()),
            ..Query::new(5)
        });
    }
    assert!(
        api.list(&Query {
            cursor: Some("nonsense".into()),
            ..Query::new(5)
        })
        .is_err()
    );
    let urls = log.take();
    assert!(
        urls.iter()
            .all(|url| url.starts_with("GET orders?after=") || url == "GET orders"),
        "{urls:?}"
    );
}

#[test]
fn reads_with_encoded_values() {
    let (api, log) = api(RESOURCES, orders);
    let read = |uri: &str, template: &str, variables: &[(&str, &str)]| {
        let reading = api.read(&Request::new(uri).matched(template, variables))?;
        assert_eq!(reading.version.as_deref(), Some("etag:\"1\""));
        let [content] = reading.contents.try_into().expect("one content");
        let Body::Text(text) = content.body else {
            return Ok("bytes".to_owned());
        };
        Ok(text)
    };
    let order = "shop://orders/{id}{?view}";
    assert_eq!(
        api.read(&Request::new("shop://status")).unwrap().contents[0].body,
        Body::Text("open".into())
    );
    assert_eq!(
        read("shop://orders/1", order, &[("id", "1")]),
        Ok("bytes".into())
    );
    assert_eq!(
        read("", order, &[("id", "1"), ("view", "full")]),
        Ok("bytes".into())
    );
    assert_eq!(read("", order, &[("id", "2?x#y")]), Err(Error::NotFound));
    assert_eq!(
        read("", "shop://files/{+path}", &[("path", "a b/c")]),
        Err(Error::NotFound)
    );
    let sent = [
        "status",
        "orders/1?format=json",
        "orders/1?format=json&view=full",
        "orders/2%3Fx%23y?format=json",
        "files/a%20b/c",
    ];
    assert_eq!(log.take(), sent.map(|url| format!("GET {url}")));
    assert!(matches!(
        read("", "shop://files/{+path}", &[("path", "../x")]),
        Err(Error::Invalid(_))
    ));
    assert_eq!(log.take(), Vec::<String>::new());
    let known = Request {
        known_version: Some("etag:\"1\"".into()),
        ..Request::new("shop://status")
    };
    assert_eq!(api.read(&known).err(), Some(Error::NotModified));
}

#[test]
fn completes_values_of_the_list() {
    let (api, _) = api(RESOURCES, orders);
    let complete = |prefix: &str, variable: &str| {
        let request = CompletionRequest {
            uri_template: "shop://orders/{id}{?view}".into(),
            variable: variable.into(),
            prefix: prefix.into(),
            filled: Vec::new(),
        };
        api.complete(&request).unwrap().values
    };
    assert_eq!(complete("1", "id"), ["1", "10"]);
    assert_eq!(complete("", "view"), ["full"]);
    assert_eq!(complete("x", "id"), [""; 0]);
}

#[test]
fn versions_need_no_body() {
    let (api, log) = api(RESOURCES, orders);
    let uris = [
        "shop://status",
        "shop://orders/1",
        "shop://orders/404",
        "other:x",
    ]
    .map(str::to_owned);
    let one = Some("etag:\"1\"".to_owned());
    assert_eq!(api.versions(&uris), Ok(vec![one.clone(), one, None, None]));
    assert_eq!(
        log.take(),
        [
            "HEAD status",
            "HEAD orders/1?format=json",
            "HEAD orders/404?format=json"
        ]
    );
}

#[test]
fn searches_in_the_list_or_with_the_api() {
    let (plain, _) = api(RESOURCES, orders);
    let search = |api: &Api, text: &str| -> Vec<String> {
        let hits = api.search(&SearchQuery::new(text, 5)).unwrap().hits;
        hits.into_iter().map(|hit| hit.entry.uri).collect()
    };
    assert_eq!(search(&plain, "TEN"), ["shop://orders/10?view=full"]);
    assert_eq!(search(&plain, "ten one"), [""; 0]);
    let resources = r#"[{ "uri": "shop://orders/{id}", "path": "orders/{id}", "search":
        { "path": "search", "parameter": "q", "variables": { "id": "/id" } } }]"#;
    let (own, log) = api(resources, |_| (200, r#"[{ "id": 7 }]"#));
    assert_eq!(search(&own, "a&b=c"), ["shop://orders/7"]);
    assert_eq!(log.take(), ["GET search?q=a%26b%3Dc"]);
}

#[test]
fn values_with_a_slash_are_offered_where_the_host_accepts_them() {
    let resources = |uri: &str, path: &str, query: &str| {
        format!(
            r#"[{{ "uri": "{uri}", "path": "{path}", "query": {query}, "list":
                {{ "path": "x", "variables": {{ "id": "/id" }}, "name": "/id", "paging": "none" }} }}]"#
        )
    };
    let check = |resources: &str, expected: &[&str]| {
        let (api, _) = api(resources, |_| (200, r#"[{ "id": "a/b" }, { "id": "c" }]"#));
        assert_eq!(uris(&api, 9), expected);
        let found = api.search(&SearchQuery::new("a/b", 5)).unwrap().hits;
        assert_eq!(found.len(), expected.len() - 1, "{resources}");
        let completion = CompletionRequest {
            uri_template: api.resources[0].uri.as_str().to_owned(),
            variable: "id".into(),
            prefix: String::new(),
            filled: Vec::new(),
        };
        assert_eq!(
            api.complete(&completion).unwrap().values.len(),
            expected.len(),
            "{resources}"
        );
    };
    check(&resources("x:{id}", "{id}", "{}"), &["x:c"]);
    check(&resources("x:{+id}", "{+id}", "{}"), &["x:a/b", "x:c"]);
    check(
        &resources("x:one{?id}", "one", r#"{ "id": "{id}" }"#),
        &["x:one?id=a%2Fb", "x:one?id=c"],
    );
}

#[test]
fn pages_by_number_end() {
    let resources = |paging: &str| {
        format!(
            r#"[{{ "uri": "x:{{id}}", "path": "{{id}}", "list": {{ "path": "x", "variables": {{ "id": "/id" }}, "paging": {paging} }} }}]"#
        )
    };
    let (api, log) = self::api(
        &resources(r#"{ "page": { "parameter": "p", "size": 2 } }"#),
        |url| match url {
            "x?p=1" => (200, r#"[{ "id": 1 }, { "id": 2 }]"#),
            "x?p=2" => (200, r#"[{ "id": 3 }]"#),
            _ => (500, ""),
        },
    );
    assert_eq!(uris(&api, 9), ["x:1", "x:2", "x:3"]);
    assert_eq!(log.take(), ["GET x?p=1", "GET x?p=2"]);
    let (api, _) = self::api(&resources("\"none\""), |_| (200, "{}"));
    let message = api.list(&Query::new(9)).unwrap_err().to_string();
    assert_eq!(message, "the response of `x` has no list at ``");
}

#[test]
fn a_link_changes_neither_the_path_nor_the_configured_query() {
    let resources = r#"[{ "uri": "x:{id}", "path": "{id}", "list": { "path": "x", "query": { "tenant": "7" },
        "variables": { "id": "/id" }, "paging": "link" } }]"#;
    let (api, _) = api(resources, |_| (500, ""));
    let log = Rc::new(RefCell::new(Vec::new()));
    let seen = log.clone();
    http::set_responder(move |request| {
        seen.borrow_mut().push(request.url.clone());
        let link = if request.url.contains("page=2") {
            ""
        } else {
            "</admin?page=2&tenant=9>; rel=next"
        };
        let headers = vec![("Link".to_owned(), link.to_owned())];
        Ok(Response {
            status: 200,
            headers,
            body: br#"[{ "id": 1 }]"#.to_vec(),
        })
    });
    assert_eq!(uris(&api, 9), ["x:1", "x:1"]);
    let expected = [
        "https://api.example/v1/x?tenant=7",
        "https://api.example/v1/x?page=2&tenant=7",
    ];
    assert_eq!(log.take(), expected);
}

#[test]
fn wrong_descriptions_say_what_is_wrong() {
    let check = |resources: &str, expected: &str| {
        set_setting("base_url", "https://api.example");
        set_setting("resources", resources);
        let message = Api::new()
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(message.contains(expected), "{message}");
    };
    check("3", "the setting `resources` is not a list of tables");
    check(
        r#"[{ "uri": "x:a", "path": "a", "colour": 1 }]"#,
        "unknown field `colour`",
    );
    check(r#"[{ "uri": "{a}", "path": "a" }]"#, "`{a}`: `uri`: ");
    check(
        r#"[{ "uri": "x:a", "path": "{b}" }]"#,
        "the variable `b` is not in `uri`",
    );
    check(
        r#"[{ "uri": "x:a", "path": "../b" }]"#,
        "`../b` leads out of the path",
    );
    check(
        r#"[{ "uri": "x:a", "path": "a" }, { "uri": "x:a", "path": "b" }]"#,
        "it is there twice",
    );
    check(
        r#"[{ "uri": "x:{a}", "path": "{a}", "list": { "path": "l", "variables": {} } }]"#,
        "`variables` has no `a`",
    );
    check(
        r#"[{ "uri": "x:{a}", "path": "{a}", "search": { "path": "l", "variables": { "a": "/a" } } }]"#,
        "`search` has no `parameter`",
    );
}
