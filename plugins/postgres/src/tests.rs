//! Tests with prepared messages instead of a server. A real server is used by `tests/session.py`.

mod connections;
mod search;
mod statements;

use larder_provider::{Error, set_setting};
use serde_json::json;

use crate::address::Addresses;
use crate::rows::to_json;
use crate::schema::quoted;
use crate::settings::Settings;
use provider_table::{Format, Rows};

#[test]
fn values_become_json() {
    let check = |kind, text: &str, expected: serde_json::Value| {
        assert_eq!(
            to_json(kind, Some(text.as_bytes())),
            expected,
            "{kind} {text}"
        );
    };
    assert_eq!(to_json(23, None), json!(null));
    check(16, "t", json!(true));
    check(20, "9223372036854775807", json!(i64::MAX));
    check(20, "99999999999999999999", json!("99999999999999999999"));
    check(701, "1.5", json!(1.5));
    check(701, "NaN", json!("NaN"));
    check(1700, "0.10", json!("0.10"));
    check(17, "\\xff00", json!({ "base64": "/wA=" }));
    check(17, "\\x00ü", json!("\\x00ü"));
    check(3802, r#"{"a": [1]}"#, json!({ "a": [1] }));
    check(114, "{", json!("{"));
    check(25, "text", json!("text"));
    assert_eq!(to_json(25, Some(b"\xff")), json!("\u{fffd}"));
}

#[test]
fn rows_are_json_and_csv() {
    let rows = Rows {
        columns: vec!["a".into(), "b".into()],
        rows: vec![
            vec![json!(1), json!("x,y")],
            vec![json!(null), json!({ "base64": "/wA=" })],
        ],
        has_more: false,
    };
    let text = |format| match rows.content(format, None).unwrap().body {
        larder_provider::Body::Text(text) => text,
        larder_provider::Body::Blob(_) => panic!("a blob"),
    };
    assert_eq!(text(Format::Csv), "a,b\n1,\"x,y\"\n,/wA=\n");
    let json: serde_json::Value = serde_json::from_str(&text(Format::Json)).unwrap();
    assert_eq!(json["rows"][0], json!({ "a": 1, "b": "x,y" }));
    assert_eq!(
        Format::parse(Some("xml")).unwrap_err(),
        Error::invalid("the format is not `json` or `csv`")
    );
}

#[test]
fn names_are_quoted() {
    assert_eq!(
        quoted("a\"; DROP TABLE b; --"),
        "\"a\"\"; DROP TABLE b; --\""
    );
    let addresses = Addresses::new("garden");
    assert_eq!(
        addresses.row("a b", "c", "ü"),
        "postgres://garden/schemas/a%20b/tables/c/rows/%C3%BC"
    );
}

#[test]
fn names_that_the_host_refuses_in_a_path_are_in_the_query() {
    let addresses = Addresses::new("garden");
    let check =
        |uri: String, expected: &str| assert_eq!(uri, format!("postgres://garden/{expected}"));
    check(
        addresses.row("a b", "c/d", "ü"),
        "row?schema=a%20b&table=c%2Fd&key=%C3%BC",
    );
    check(addresses.row("a", "b", ".."), "row?schema=a&table=b&key=..");
    check(addresses.table("a/b", "c"), "table?schema=a%2Fb&table=c");
    check(addresses.schema("a/b"), "schema?schema=a%2Fb");
    check(
        addresses.rows(("a", "b"), "csv", 1, 2),
        "schemas/a/tables/b?format=csv&limit=1&offset=2",
    );
    check(
        addresses.rows(("a", "b/c"), "csv", 1, 2),
        "table?schema=a&table=b%2Fc&format=csv&limit=1&offset=2",
    );
    assert!(addresses.is_in_path(&addresses.rows_template()));
    assert!(!addresses.is_in_path(&addresses.any_row_template()));
}

#[test]
fn settings_are_checked() {
    let error = |name: &str, value: &str| {
        for (name, value) in [
            ("host", "db"),
            ("database", "garden"),
            ("user", "u"),
            ("queries", "{}"),
            ("name", "n"),
        ] {
            set_setting(name, value);
        }
        set_setting(name, value);
        Settings::read().map(drop).unwrap_err().to_string()
    };
    assert!(error("host", " ").contains("must not be empty"));
    assert!(error("name", "a/b").contains("is not a name"));
    assert!(error("queries", "[]").contains("not a table of queries"));
    assert!(error("queries", r#"{"a":{"sql":"SELECT 1","limit":3}}"#).contains("unknown field"));
    assert!(error("queries", r#"{"a":{"sql":"SELECT :format"}}"#).contains("the saved query `a`"));
    assert!(error("schemas", "public").contains("not a list of names"));
}
