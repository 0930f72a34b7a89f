//! Large values, large tables, and a search that has too little time.

use std::time::Duration;

use larder_provider::{Error, Provider as _, Request, SearchQuery, set_time_left};

use super::{database, row, table, text};
use crate::Sqlite;

/// A table with a value that is larger than the limit for reading.
const LARGE_VALUE: &str = "CREATE TABLE files (id INTEGER PRIMARY KEY, name TEXT, data BLOB);
    INSERT INTO files VALUES (1, 'small', x'ff00'), (2, 'large', zeroblob(6000000)), (3, 'last', NULL);
    CREATE VIEW sizes AS SELECT name, data FROM files;";

fn rows(provider: &Sqlite, request: &Request) -> serde_json::Value {
    serde_json::from_str(&text(provider, request).unwrap()).unwrap()
}

#[test]
fn a_large_value_takes_away_only_itself() {
    let (_folder, provider) = database(LARGE_VALUE);
    let omitted = serde_json::json!({ "omittedBytes": 6_000_000 });
    for name in ["files", "sizes"] {
        let page = rows(&provider, &table(&[("table", name)]));
        assert_eq!(page["rows"].as_array().unwrap().len(), 3, "{name}");
        assert_eq!(
            (&page["rows"][1]["name"], &page["rows"][1]["data"]),
            (&"large".into(), &omitted),
            "{name}"
        );
        assert_eq!(page["rows"][0]["data"]["base64"], "/wA=", "{name}");
    }
    assert_eq!(rows(&provider, &row("files", "2"))["data"], omitted);
    let csv = text(&provider, &table(&[("table", "files"), ("format", "csv")])).unwrap();
    assert!(
        csv.contains("2,large,\"{\"\"omittedBytes\"\":6000000}\""),
        "{csv}"
    );
    assert_eq!(
        provider
            .search(&SearchQuery::new("last", 5))
            .unwrap()
            .hits
            .len(),
        1
    );
}

#[test]
fn a_page_ends_before_it_is_too_large() {
    let (_folder, provider) = database(
        "CREATE TABLE files (id INTEGER PRIMARY KEY, data BLOB);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5)
         INSERT INTO files SELECT i, zeroblob(3000000) FROM n;",
    );
    let mut ids = Vec::new();
    let mut next = table(&[("table", "files")]);
    loop {
        let page = rows(&provider, &next);
        ids.extend(
            page["rows"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row["id"].as_i64().unwrap()),
        );
        let Some(uri) = page["next"].as_str() else {
            break;
        };
        next = table(&variables(uri));
    }
    assert_eq!(ids, [1, 2, 3, 4, 5]);
}

/// The variables in the URI of the next rows of `files`.
fn variables(uri: &str) -> Vec<(&str, &str)> {
    let query = uri.split_once('?').unwrap().1;
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap());
    pairs.chain([("table", "files")]).collect()
}

#[test]
fn the_next_rows_begin_after_a_row_and_not_at_an_offset() {
    let (_folder, provider) = database(
        "CREATE TABLE files (rowid TEXT, name TEXT); INSERT INTO files VALUES ('x', 'a'), ('y', 'b'), ('z', 'c');
         DELETE FROM files WHERE name = 'a';",
    );
    let first = rows(&provider, &table(&[("table", "files"), ("limit", "1")]));
    assert_eq!(
        first["rows"],
        serde_json::json!([{ "rowid": "y", "name": "b" }])
    );
    assert_eq!(first["columns"], serde_json::json!(["rowid", "name"]));
    assert_eq!(
        first["next"],
        "sqlite://garden/tables/files?format=json&limit=1&after=2"
    );
    let second = rows(
        &provider,
        &table(&[("table", "files"), ("limit", "1"), ("after", "2")]),
    );
    assert_eq!(
        (&second["rows"][0]["name"], second.get("next")),
        (&"c".into(), None)
    );
    let error = text(&provider, &table(&[("table", "files"), ("after", "x")])).unwrap_err();
    assert_eq!(error, Error::invalid("`after` is not a number"));
}

/// A small table, and one that takes longer than a search has. The needles are in its first and in its last rows.
fn large_table() -> (tempfile::TempDir, Sqlite) {
    database(
        "CREATE TABLE a_log (id INTEGER PRIMARY KEY, line TEXT);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600000)
         INSERT INTO a_log SELECT i, 'line ' || i || CASE WHEN i IN (7, 599999) THEN ' needle' ELSE '' END FROM n;
         CREATE TABLE needles (id INTEGER PRIMARY KEY, name TEXT);
         INSERT INTO needles VALUES (1, 'A needle of steel');
         CREATE TABLE z_codes (code TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID;
         INSERT INTO z_codes VALUES ('needle', 'x');",
    )
}

#[test]
fn a_search_keeps_what_was_found_when_its_time_is_over() {
    let (_folder, provider) = large_table();
    set_time_left(Duration::from_millis(40));
    let hits = provider
        .search(&SearchQuery::new("needle", 10))
        .unwrap()
        .hits;
    let uris: Vec<_> = hits
        .iter()
        .map(|hit| hit.entry.uri["sqlite://garden/".len()..].to_owned())
        .collect();
    for expected in [
        "tables/needles",
        "tables/needles/rows/1",
        "tables/z_codes/rows/needle",
        "tables/a_log/rows/7",
    ] {
        assert!(
            uris.iter().any(|uri| uri == expected),
            "{expected} in {uris:?}"
        );
    }
    assert_eq!(uris[0], "tables/needles");
    assert!(
        !uris.contains(&"tables/a_log/rows/599999".to_owned()),
        "{uris:?}"
    );
    let metadata = &hits
        .last()
        .unwrap()
        .entry
        .details
        .as_ref()
        .unwrap()
        .metadata;
    assert!(
        metadata
            .iter()
            .any(|(key, _)| key == "dev.larder.search/incomplete"),
        "{metadata:?}"
    );
}

#[test]
fn a_search_without_time_says_that_it_is_not_complete() {
    let (_folder, provider) = large_table();
    set_time_left(Duration::from_millis(40));
    let error = provider
        .search(&SearchQuery::new("nothing", 10))
        .unwrap_err();
    assert!(
        matches!(&error, Error::Unavailable(why) if why.contains("not complete")),
        "{error}"
    );
    set_time_left(Duration::from_secs(60));
    assert!(
        provider
            .search(&SearchQuery::new("nothing", 10))
            .unwrap()
            .hits
            .is_empty()
    );
    let hits = provider
        .search(&SearchQuery::new("599999", 10))
        .unwrap()
        .hits;
    assert_eq!(
        hits[0].entry.uri,
        "sqlite://garden/tables/a_log/rows/599999"
    );
    assert!(
        hits.iter()
            .all(|hit| hit.entry.details.as_ref().unwrap().metadata.is_empty())
    );
}
