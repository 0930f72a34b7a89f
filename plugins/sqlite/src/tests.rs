//! Tests with databases that SQLite creates in a temporary folder. The shell of SQLite is used by `tests/session.py`.

mod broken;
mod large;
mod tool;

use larder_provider::{
    Body, CompletionRequest, Error, Provider as _, Query, Request, Result, SearchQuery, set_setting,
};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::Sqlite;
use crate::settings::Settings;

const TABLES: &str = "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT, data BLOB, score REAL);
    INSERT INTO notes VALUES (1, 'Roses', 'red % flowers', x'ff00', 0.5), (2, 'Tulips', NULL, NULL, 9007199254740993);
    CREATE TABLE codes (code TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID;
    INSERT INTO codes VALUES ('a/b', 'slash'), ('ü', 'umlaut');
    CREATE VIEW titles AS SELECT title FROM notes;
    CREATE TABLE \"odd \"\" name\" (x);
    CREATE TABLE \"in/out\" (key TEXT PRIMARY KEY, x TEXT); INSERT INTO \"in/out\" VALUES ('..', 'upwards');";

fn database(sql: &str) -> (TempDir, Sqlite) {
    let folder = TempDir::new().unwrap();
    let connection = Connection::open(folder.path().join("garden.db")).unwrap();
    connection.execute_batch(sql).unwrap();
    set_setting(
        "queries",
        r#"{"by-title":{"sql":"SELECT id FROM notes WHERE title = :title"},"all":{"sql":"SELECT count(*) AS n FROM notes"}}"#,
    );
    let provider = Sqlite::open(Settings::read().unwrap(), folder.path()).unwrap();
    (folder, provider)
}

fn text(provider: &Sqlite, request: &Request) -> Result<String> {
    let reading = provider.read(request)?;
    match &reading.contents[0].body {
        Body::Text(text) => Ok(text.clone()),
        Body::Blob(_) => panic!("a blob"),
    }
}

fn table(variables: &[(&str, &str)]) -> Request {
    Request::new("sqlite://garden/tables/x").matched(
        "sqlite://garden/tables/{table}{?format,limit,offset,after}",
        variables,
    )
}

fn row(table: &str, key: &str) -> Request {
    let variables = [("table", table), ("key", key)];
    Request::new("sqlite://garden/tables/x/rows/y")
        .matched("sqlite://garden/tables/{table}/rows/{key}", &variables)
}

#[test]
fn tables_views_and_queries_are_listed() {
    let (_folder, provider) = database(TABLES);
    let uris: Vec<_> = provider
        .list(&Query::new(50))
        .unwrap()
        .entries
        .into_iter()
        .map(|entry| entry.uri)
        .collect();
    assert_eq!(
        uris,
        [
            "sqlite://garden/queries/all",
            "sqlite://garden/schema",
            "sqlite://garden/table?table=in%2Fout",
            "sqlite://garden/tables/codes",
            "sqlite://garden/tables/notes",
            "sqlite://garden/tables/odd%20%22%20name",
            "sqlite://garden/tables/titles",
            "ui://sqlite/garden/table.html",
        ]
    );
    let schema = text(&provider, &Request::new("sqlite://garden/schema")).unwrap();
    assert!(
        schema.contains("CREATE VIEW titles") && schema.contains("CREATE TABLE notes"),
        "{schema}"
    );
}

#[test]
fn rows_are_json_and_csv_in_pages() {
    let (_folder, provider) = database(TABLES);
    let json: serde_json::Value = serde_json::from_str(
        &text(&provider, &table(&[("table", "notes"), ("limit", "1")])).unwrap(),
    )
    .unwrap();
    assert_eq!(json["rows"][0]["data"]["base64"], "/wA=");
    assert_eq!(
        json["next"],
        "sqlite://garden/tables/notes?format=json&limit=1&after=1"
    );
    let rest = [
        ("table", "notes"),
        ("format", "csv"),
        ("limit", "1"),
        ("offset", "1"),
    ];
    let csv = text(&provider, &table(&rest)).unwrap();
    assert_eq!(
        csv,
        "id,title,body,data,score\n2,Tulips,,,9007199254740992.0\n"
    );
    let error = |variables: &[(&str, &str)]| text(&provider, &table(variables)).unwrap_err();
    assert_eq!(error(&[("table", "none")]), Error::NotFound);
    assert_eq!(error(&[("table", "sqlite_schema")]), Error::NotFound);
    assert_eq!(
        error(&[("table", "notes"), ("limit", "x")]),
        Error::invalid("`limit` is not a number")
    );
    assert_eq!(
        error(&[("table", "notes"), ("format", "xml")]),
        Error::invalid("the format is not `json` or `csv`")
    );
    assert_eq!(
        error(&[("table", "notes\"; DROP TABLE notes")]),
        Error::NotFound
    );
}

#[test]
fn a_row_is_found_by_its_key() {
    let (_folder, provider) = database(TABLES);
    assert!(
        text(&provider, &row("notes", "1"))
            .unwrap()
            .contains("Roses")
    );
    assert!(
        text(&provider, &row("codes", "ü"))
            .unwrap()
            .contains("umlaut")
    );
    let any = |table: &str, key: &str| {
        let variables = [("table", table), ("key", key)];
        Request::new("sqlite://garden/row").matched("sqlite://garden/row{?table,key}", &variables)
    };
    assert!(
        text(&provider, &any("codes", "a/b"))
            .unwrap()
            .contains("slash")
    );
    assert!(
        text(&provider, &any("in/out", ".."))
            .unwrap()
            .contains("upwards")
    );
    let rows = Request::new("sqlite://garden/table").matched(
        "sqlite://garden/table{?table,format,limit,offset,after}",
        &[("table", "in/out"), ("format", "csv")],
    );
    assert_eq!(text(&provider, &rows).unwrap(), "key,x\n..,upwards\n");
    assert_eq!(
        text(&provider, &row("notes", "7")).unwrap_err(),
        Error::NotFound
    );
    assert_eq!(
        text(&provider, &row("notes", "1 OR 1")).unwrap_err(),
        Error::NotFound
    );
    let error = Error::invalid("the rows have no key of one column");
    assert_eq!(text(&provider, &row("titles", "1")).unwrap_err(), error);
}

#[test]
fn saved_queries_have_parameters() {
    let (_folder, provider) = database(TABLES);
    let templates: Vec<_> = provider
        .templates(None)
        .unwrap()
        .templates
        .into_iter()
        .map(|it| it.uri_template)
        .collect();
    let template = "sqlite://garden/queries/by-title{?title,format}";
    assert!(
        templates.iter().any(|found| found == template),
        "{templates:?}"
    );
    let ask = |title: &str| {
        let request = Request::new("sqlite://garden/queries/by-title?title=x")
            .matched(template, &[("title", title)]);
        serde_json::from_str::<serde_json::Value>(&text(&provider, &request).unwrap()).unwrap()["rows"]
            .clone()
    };
    assert_eq!(ask("Roses"), serde_json::json!([{ "id": 1 }]));
    assert_eq!(ask("' OR 1 --"), serde_json::json!([]));
    assert!(
        text(&provider, &Request::new("sqlite://garden/queries/all"))
            .unwrap()
            .contains("\"n\": 2")
    );
}

#[test]
fn what_a_query_must_not_do() {
    for sql in [
        "DELETE FROM notes",
        "ATTACH 'x.db' AS x",
        "PRAGMA journal_mode = WAL",
        "SELECT load_extension('x')",
    ] {
        let (_folder, mut provider) = database(TABLES);
        let saved = serde_json::from_value(serde_json::json!({ "sql": sql })).unwrap();
        provider.settings.queries.insert("bad".into(), saved);
        let result = text(&provider, &Request::new("sqlite://garden/queries/bad"));
        let is_harmless = result
            .as_ref()
            .is_ok_and(|text| text.contains("\"delete\""));
        assert!(result.is_err() || is_harmless, "{sql}: {result:?}");
    }
}

#[test]
fn keys_and_tables_are_completed() {
    let (_folder, provider) = database(TABLES);
    let complete = |variable: &str, prefix: &str, table: &str| {
        let request = CompletionRequest {
            uri_template: "sqlite://garden/tables/{table}/rows/{key}".into(),
            variable: variable.into(),
            prefix: prefix.into(),
            filled: vec![("table".into(), table.into())],
        };
        provider.complete(&request).unwrap().values
    };
    assert_eq!(complete("table", "no", ""), ["notes"]);
    assert_eq!(complete("key", "", "notes"), ["1", "2"]);
    // The host refuses a slash in a path.
    assert_eq!(complete("key", "", "codes"), ["ü"]);
    assert_eq!(complete("table", "in", ""), [""; 0]);
    let any = |variable: &str| {
        let request = CompletionRequest {
            uri_template: "sqlite://garden/row{?table,key}".into(),
            variable: variable.into(),
            prefix: String::new(),
            filled: vec![("table".into(), "codes".into())],
        };
        provider.complete(&request).unwrap().values
    };
    assert_eq!(any("key"), ["a/b", "ü"]);
    assert!(any("table").contains(&"in/out".to_owned()));
}

#[test]
fn texts_are_searched() {
    let (_folder, provider) = database(TABLES);
    let search = |text: &str| {
        let hits = provider.search(&SearchQuery::new(text, 10)).unwrap().hits;
        hits.into_iter()
            .map(|hit| (hit.entry.uri, hit.excerpt.unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        search("ROSES flowers"),
        [(
            "sqlite://garden/tables/notes/rows/1".into(),
            "Roses red % flowers".into()
        )]
    );
    assert_eq!(
        search("slash")[0].0,
        "sqlite://garden/row?table=codes&key=a%2Fb"
    );
    assert_eq!(
        search("upwards")[0].0,
        "sqlite://garden/row?table=in%2Fout&key=.."
    );
    assert_eq!(search("%").len(), 1);
    assert!(search("nothing").is_empty() && search(" ").is_empty());
}

#[test]
fn a_change_is_a_new_version() {
    let (folder, provider) = database(TABLES);
    let version = || {
        provider
            .versions(&["sqlite://garden/schema".into()])
            .unwrap()[0]
            .clone()
    };
    let before = version();
    let request = Request {
        known_version: before.clone(),
        ..Request::new("sqlite://garden/schema")
    };
    assert_eq!(provider.read(&request).unwrap_err(), Error::NotModified);
    Connection::open(folder.path().join("garden.db"))
        .unwrap()
        .execute_batch("DELETE FROM codes")
        .unwrap();
    assert_ne!(version(), before);
}

#[test]
fn a_list_during_a_write_omits_nothing() {
    let (folder, provider) = database(TABLES);
    let writer = Connection::open(folder.path().join("garden.db")).unwrap();
    // More than fits into the cache, so that pages are written before the end of the transaction.
    writer
        .execute_batch(
            "PRAGMA cache_size = 1; BEGIN; WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 9999)
             INSERT INTO codes SELECT x, 'later' FROM n",
        )
        .unwrap();
    let error = provider.list(&Query::new(20)).unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error}");
    writer.execute_batch("COMMIT").unwrap();
    provider.list(&Query::new(20)).unwrap();
}

#[test]
fn files_that_cannot_be_served_are_explained() {
    let check = |prepare: &dyn Fn(&std::path::Path), expected: &str| {
        let folder = TempDir::new().unwrap();
        prepare(folder.path());
        let error = Sqlite::open(Settings::read().unwrap(), folder.path())
            .and_then(|provider| provider.list(&Query::new(5)).map(drop))
            .unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(&|_| {}, "contains no database");
    check(
        &|folder| std::fs::write(folder.join("a.db"), "text").unwrap(),
        "not an SQLite database",
    );
    check(
        &|folder| {
            ["a.db", "b.sqlite"]
                .map(|name| std::fs::write(folder.join(name), "").unwrap())
                .into_iter()
                .collect()
        },
        "several",
    );
    check(
        &|folder| {
            let connection = Connection::open(folder.join("a.db")).unwrap();
            connection
                .pragma_update(None, "journal_mode", "WAL")
                .unwrap();
            connection.execute_batch("CREATE TABLE t (a)").unwrap();
        },
        "write-ahead log",
    );
    check(
        &|folder| {
            Connection::open(folder.join("a.db"))
                .unwrap()
                .execute_batch(TABLES)
                .unwrap();
            let mut bytes = std::fs::read(folder.join("a.db")).unwrap();
            bytes[100..4096].fill(0xff);
            std::fs::write(folder.join("a.db"), bytes).unwrap();
        },
        "damaged",
    );
}
