//! Search with a prepared server: the rows that it sends before it ends a statement, and tables that it refuses.

use larder_provider::{Error, Hits, Provider as _, SearchQuery, set_setting};
use serde_json::{Value, json};

use super::connections::{connection, message, ready, refusal, server};
use crate::Postgres;
use crate::address::Addresses;
use crate::database::Database;
use crate::settings::Settings;

const INTEGER: u32 = 23;
const TEXT: u32 = 25;
const JSON: u32 = 114;

/// The description of columns of these types.
fn columns(kinds: &[u32]) -> Vec<u8> {
    let column = |kind: &u32| {
        [
            b"c\0\0\0\0\0\0\0".as_slice(),
            &kind.to_be_bytes(),
            b"\0\x04\xff\xff\xff\xff\0\0",
        ]
        .concat()
    };
    let count = u16::try_from(kinds.len()).unwrap().to_be_bytes();
    message(
        b'T',
        &[count.to_vec(), kinds.iter().flat_map(column).collect()].concat(),
    )
}

fn row(values: &[&str]) -> Vec<u8> {
    let value = |text: &&str| {
        [
            &u32::try_from(text.len()).unwrap().to_be_bytes(),
            text.as_bytes(),
        ]
        .concat()
    };
    let count = u16::try_from(values.len()).unwrap().to_be_bytes();
    message(
        b'D',
        &[count.to_vec(), values.iter().flat_map(value).collect()].concat(),
    )
}

fn table(name: &str) -> Value {
    let column = |name: &str, kind: &str| {
        json!({ "name": name, "kind": kind, "is_text": kind == "text",
        "is_required": false, "is_key": name == "id" })
    };
    json!({ "schema": "public", "name": name, "kind": "r", "comment": null,
        "columns": [column("id", "integer"), column("title", "text")] })
}

/// The answer to an attempt, which begins and ends with statements of its own.
fn attempt(answer: &[Vec<u8>]) -> Vec<Vec<u8>> {
    [&[ready()], answer, &[ready(), ready()]].concat()
}

/// Searches in two tables. The server sends `rest` after their description.
fn search(text: &str, rest: &[Vec<u8>]) -> Result<Hits, Error> {
    for (name, value) in [
        ("host", "db"),
        ("database", "garden"),
        ("user", "u"),
        ("name", "garden"),
    ] {
        set_setting(name, value);
    }
    let tables = ["log", "roses"].map(|name| row(&[&table(name).to_string()]));
    let begin = [columns(&[TEXT]), row(&["1:1:"]), ready(), columns(&[JSON])];
    let sizes = [
        ready(),
        columns(&[INTEGER]),
        row(&["9000000"]),
        row(&["10"]),
        ready(),
    ];
    let messages = [begin.as_slice(), &tables, &sizes, rest, &[ready()]].concat();
    let database = Database::with_connection(server(None), connection(&messages, &[]));
    let provider = Postgres {
        settings: Settings::read().unwrap(),
        database,
        addresses: Addresses::new("garden"),
    };
    provider.search(&SearchQuery::new(text, 10))
}

fn found(hits: &Hits) -> Vec<(&str, bool)> {
    let is_marked = |hit: &larder_provider::Hit| {
        let details = hit.entry.details.as_ref().unwrap();
        details
            .metadata
            .iter()
            .any(|(key, _)| key == "dev.larder.search/incomplete")
    };
    let path = |hit: &'_ larder_provider::Hit| {
        hit.entry
            .uri
            .strip_prefix("postgres://garden/schemas/public/tables/")
            .is_some()
    };
    assert!(hits.hits.iter().all(path));
    hits.hits
        .iter()
        .map(|hit| {
            (
                &hit.entry.uri["postgres://garden/schemas/public/tables/".len()..],
                is_marked(hit),
            )
        })
        .collect()
}

/// Rows with the number of their table, their key and their text.
fn rows(values: &[&str]) -> Vec<Vec<u8>> {
    let values = values.iter().map(|key| row(&["0", key, "a rose"]));
    [columns(&[INTEGER, TEXT, TEXT])]
        .into_iter()
        .chain(values)
        .collect()
}

fn ended() -> Vec<u8> {
    refusal(
        "ERROR",
        "57014",
        "canceling statement due to statement timeout",
    )
}

#[test]
fn names_come_first_and_what_was_found_is_kept() {
    // The smallest table is searched first.
    let large = attempt(&[rows(&["7", "8"]), vec![ended()]].concat());
    let hits = search("rose", &[attempt(&rows(&["1"])), large].concat()).unwrap();
    assert_eq!(
        found(&hits),
        [
            ("roses", false),
            ("roses/rows/1", false),
            ("log/rows/7", false),
            ("log/rows/8", true)
        ]
    );
    let complete = search(
        "rose",
        &[attempt(&rows(&["1"])), attempt(&rows(&[]))].concat(),
    )
    .unwrap();
    assert_eq!(
        found(&complete),
        [("roses", false), ("roses/rows/1", false)]
    );
}

#[test]
fn a_search_that_found_nothing_in_its_time_says_so() {
    let error = search(
        "tulip",
        &[attempt(&rows(&[])), attempt(&[ended()])].concat(),
    )
    .unwrap_err();
    assert!(
        matches!(&error, Error::Unavailable(why) if why.contains("not complete")),
        "{error}"
    );
    assert_eq!(
        search(
            "tulip",
            &[attempt(&rows(&[])), attempt(&rows(&[]))].concat()
        ),
        Ok(Hits::default())
    );
}

#[test]
fn a_table_that_is_refused_takes_away_only_itself() {
    let refused = attempt(&[refusal("ERROR", "P0001", "a policy of the table failed")]);
    let hits = search("rose", &[refused, attempt(&rows(&["7"]))].concat()).unwrap();
    assert_eq!(found(&hits), [("roses", false), ("log/rows/7", true)]);
}

#[test]
fn a_saved_query_that_is_refused_takes_away_only_itself() {
    for (name, value) in [
        ("host", "db"),
        ("database", "garden"),
        ("user", "u"),
        ("name", "garden"),
    ] {
        set_setting(name, value);
    }
    set_setting(
        "queries",
        r#"{ "bad": { "sql": "SELECT gone FROM roses WHERE id = :id" }, "good": { "sql": "SELECT :x::text" } }"#,
    );
    let begin = [columns(&[TEXT]), row(&["1:1:"]), ready()];
    let bad = [
        ready(),
        refusal("ERROR", "42703", "column \"gone\" does not exist"),
        ready(),
        ready(),
    ];
    let types = [&b"\0\x01"[..], &TEXT.to_be_bytes()].concat();
    let good = [
        ready(),
        message(b't', &types),
        ready(),
        columns(&[TEXT]),
        row(&["text"]),
        ready(),
        ready(),
        ready(),
    ];
    let database = Database::with_connection(
        server(None),
        connection(&[begin.as_slice(), &bad, &good].concat(), &[]),
    );
    let provider = Postgres {
        settings: Settings::read().unwrap(),
        database,
        addresses: Addresses::new("garden"),
    };
    let templates = provider.templates(None).unwrap().templates;
    let queries: Vec<_> = templates
        .iter()
        .filter(|it| it.uri_template.contains("/queries/"))
        .collect();
    assert_eq!(queries.len(), 1);
    assert_eq!(
        queries[0].uri_template,
        "postgres://garden/queries/good{?x,format}"
    );
    assert_eq!(queries[0].description.as_deref(), Some("`x` is text"));
}
