//! An entry that cannot be used never affects the other entries.

use larder_provider::{Error, Provider as _, Query, Request, SearchQuery};

use super::{database, row, table, text};

/// Views and a virtual table that cannot be prepared. Other programs leave such tables in databases.
const BROKEN: &str = "CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO plants VALUES (1, 'Rose');
    CREATE TABLE old (id INTEGER PRIMARY KEY);
    CREATE VIEW column_gone AS SELECT c.id FROM old;
    CREATE VIEW table_gone AS SELECT * FROM nowhere;
    CREATE VIEW function_gone AS SELECT spatial(id) FROM plants;
    CREATE TABLE computed (id INTEGER PRIMARY KEY, x TEXT);
    PRAGMA writable_schema = ON;
    INSERT INTO sqlite_schema VALUES ('table', 'vectors', 'vectors', 0, 'CREATE VIRTUAL TABLE vectors USING vec0(a)');
    PRAGMA writable_schema = RESET;";

#[test]
fn broken_views_and_virtual_tables_take_away_only_themselves() {
    let (_folder, provider) = database(BROKEN);
    let uris: Vec<_> = provider
        .list(&Query::new(50))
        .unwrap()
        .entries
        .into_iter()
        .map(|entry| entry.uri)
        .filter(|uri| uri.starts_with("sqlite:"))
        .collect();
    let expected = ["schema", "tables/computed", "tables/old", "tables/plants"];
    assert_eq!(uris, expected.map(|path| format!("sqlite://garden/{path}")));
    assert!(
        text(&provider, &table(&[("table", "plants")]))
            .unwrap()
            .contains("Rose")
    );
    assert!(provider.templates(None).is_ok());
    assert_eq!(
        provider
            .search(&SearchQuery::new("rose", 5))
            .unwrap()
            .hits
            .len(),
        1
    );
    let schema = text(&provider, &Request::new("sqlite://garden/schema")).unwrap();
    assert!(schema.contains("CREATE VIEW column_gone"), "{schema}");
}

#[test]
fn a_read_names_what_is_broken() {
    let (_folder, provider) = database(BROKEN);
    let check = |name: &str, reason: &str| {
        for request in [table(&[("table", name)]), row(name, "1")] {
            let error = text(&provider, &request).unwrap_err();
            let Error::Failed(message) = &error else {
                panic!("{error:?}")
            };
            assert!(
                message.contains(&format!("`{name}` cannot be used: ")),
                "{message}"
            );
            assert!(message.contains(reason), "{message}");
        }
    };
    check("column_gone", "no such column: c.id");
    check("table_gone", "no such table: main.nowhere");
    check("function_gone", "no such function: spatial");
    check("vectors", "no such module: vec0");
}

#[test]
fn a_broken_saved_query_takes_away_only_itself() {
    let (_folder, mut provider) =
        database("CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT)");
    for (name, sql) in [
        ("broken", "SELECT * FROM nowhere"),
        ("old", "SELECT ?1"),
        ("ok", "SELECT 1 AS one"),
    ] {
        let saved = serde_json::from_value(serde_json::json!({ "sql": sql })).unwrap();
        provider.settings.queries.insert(name.into(), saved);
    }
    let entries = provider.list(&Query::new(50)).unwrap().entries;
    let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["all", "ok", "schema", "notes", "table"]);
    let templates = provider.templates(None).unwrap().templates;
    assert!(
        templates
            .iter()
            .all(|template| !template.uri_template.contains("broken"))
    );
    assert!(
        text(&provider, &Request::new("sqlite://garden/queries/ok"))
            .unwrap()
            .contains("\"one\": 1")
    );
    let error = text(&provider, &Request::new("sqlite://garden/queries/broken"))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`broken`") && error.contains("no such table: nowhere"),
        "{error}"
    );
}
