//! The tool `query` and its page.

use larder_provider::{Body, Call, Error, Provider as _, Query, Request};
use serde_json::{Value, json};

use super::{TABLES, database};
use crate::Sqlite;

/// The structured result, or the error for the model.
fn query(provider: &Sqlite, arguments: Value) -> Result<Value, String> {
    let call = Call::new(serde_json::from_value(arguments).unwrap());
    let result = provider.run_query(&call).unwrap();
    match result.structured {
        Some(rows) => Ok(serde_json::to_value(rows).unwrap()),
        None => Err(format!("{:?}", result.content)),
    }
}

#[test]
fn the_tool_returns_rows_of_queries_tables_and_views() {
    let large = "CREATE TABLE large (id INTEGER); INSERT INTO large VALUES (9007199254740993), (9007199254740991);";
    let (_folder, provider) = database(&format!("{TABLES}{large}"));
    let check = |arguments: Value, columns: Value, rows: Value, more: bool| {
        let found = query(&provider, arguments).unwrap();
        assert_eq!(
            found,
            json!({ "columns": columns, "rows": rows, "more": more })
        );
    };
    let roses = json!({ "name": "by-title", "parameters": { "title": "Roses" } });
    check(roses, json!(["id"]), json!([[1]]), false);
    check(json!({ "name": "all" }), json!(["n"]), json!([[2]]), false);
    let notes = json!({ "name": "notes", "limit": 1 });
    let roses = json!([[1, "Roses", "red % flowers", { "base64": "/wA=" }, 0.5]]);
    let columns = json!(["id", "title", "body", "data", "score"]);
    check(notes, columns, roses, true);
    let titles = json!([["Roses"], ["Tulips"]]);
    check(json!({ "name": "titles" }), json!(["title"]), titles, false);
    let exact = json!([["9007199254740993"], [9_007_199_254_740_991_i64]]);
    check(json!({ "name": "large" }), json!(["id"]), exact, false);
}

#[test]
fn the_tool_says_which_arguments_are_wrong() {
    let (_folder, provider) = database(TABLES);
    let check = |arguments: Value, expected: &str| {
        let why = query(&provider, arguments).unwrap_err();
        assert!(why.contains(expected), "{why}");
    };
    check(
        json!({ "name": "none" }),
        "no saved query, table or view `none`",
    );
    check(
        json!({ "name": "sqlite_schema" }),
        "no saved query, table or view",
    );
    let missing = "has these parameters: title";
    check(json!({ "name": "by-title" }), missing);
    let other = json!({ "titel": "Roses", "title": "Roses" });
    check(json!({ "name": "by-title", "parameters": other }), missing);
    let injection = json!({ "name": "by-title", "parameters": { "title": "' OR 1 --" } });
    assert_eq!(query(&provider, injection).unwrap()["rows"], json!([]));
}

#[test]
fn the_page_is_listed_and_uses_nothing_outside_of_itself() {
    let (_folder, provider) = database(TABLES);
    let uri = "ui://sqlite/garden/table.html";
    let listed = provider.list(&Query::new(50)).unwrap().entries;
    let entry = listed.iter().find(|entry| entry.uri == uri).unwrap();
    let content = provider
        .read(&Request::new(uri))
        .unwrap()
        .contents
        .remove(0);
    for mime in [&entry.mime_type, &content.mime_type] {
        assert_eq!(mime.as_deref(), Some("text/html;profile=mcp-app"));
    }
    assert!(content.metadata.is_empty(), "{:?}", content.metadata);
    let Body::Text(html) = content.body else {
        panic!("a blob")
    };
    for use_of_network in ["src=", "href", "url(", "import", "fetch", "innerHTML"] {
        assert!(!html.contains(use_of_network), "{use_of_network}");
    }
    let known = Request {
        known_version: provider.versions(&[uri.into()]).unwrap().remove(0),
        ..Request::new(uri)
    };
    assert_eq!(provider.read(&known).unwrap_err(), Error::NotModified);
}
