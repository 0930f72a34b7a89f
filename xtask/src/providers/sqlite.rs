//! The database of the test of `sqlite`, created with the shell of SQLite.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::Surroundings;
use crate::run::{Output, command, target};
use crate::step::Outcome;
use crate::tools;

const DATABASE: &str = r#"CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT, colour TEXT, height REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2999)
  INSERT INTO plants SELECT i, 'Rose ' || i, 'red', i + 0.5 FROM n;
INSERT INTO plants VALUES (3000, 'Lily', 'white', 0.4);
CREATE TABLE "in/out" (code TEXT PRIMARY KEY, meaning TEXT);
INSERT INTO "in/out" VALUES ('a/b', 'Zinnia'), ('..', 'upwards');
CREATE VIEW tall AS SELECT name FROM plants WHERE height > 1000;
"#;

pub(crate) fn check(output: &Output) -> Result<Outcome> {
    super::check(output, "sqlite", prepare)
}

pub(super) fn prepare(output: &Output, folder: &Path) -> Result<Surroundings> {
    if !target("plugins/sqlite.wasm").exists() {
        return Surroundings::missing(
            "the provider sqlite was not built, because there is no C compiler for WASI",
        );
    }
    if let Outcome::Skipped(reason) = tools::debian_package(output, "sqlite3", "sqlite3")? {
        return Surroundings::missing(&reason);
    }
    let script = folder.with_extension("sql");
    fs::write(&script, DATABASE)?;
    output.run(
        command("sqlite3")
            .arg(folder.join("garden.db"))
            .stdin(fs::File::open(script)?),
    )?;
    Ok(Surroundings::default())
}
