//! Parameters of saved queries.

use crate::statement::Statement;

fn check(sql: &str, expected: &str, names: &[&str]) {
    let statement = Statement::parse(sql).unwrap();
    assert_eq!(
        (statement.sql.as_str(), statement.names.as_slice()),
        (expected, names.map(str::to_owned).as_slice())
    );
}

trait Map {
    fn map(&self, f: impl Fn(&str) -> String) -> Vec<String>;
}

impl Map for [&str] {
    fn map(&self, f: impl Fn(&str) -> String) -> Vec<String> {
        self.iter().map(|text| f(text)).collect()
    }
}

#[test]
fn parameters_are_numbered() {
    check("SELECT 1", "SELECT 1", &[]);
    check(
        "a = :b AND c = :d_1 OR e = :b",
        "a = $1 AND c = $2 OR e = $1",
        &["b", "d_1"],
    );
    check("a > :b::integer", "a > $1::integer", &["b"]);
    check("f(a := :b)", "f(a := $1)", &["b"]);
    check("x[1:2] :", "x[1:2] :", &[]);
}

#[test]
fn strings_names_and_comments_stay() {
    for sql in [
        "':a' || 'it''s :a'",
        "\":a\"",
        "E'\\' :a' ",
        "-- :a\n 1",
        "/* :a /* :b */ :c */ 1",
        "$$ :a $$ || $tag$ :a $$ :b $tag$",
        "-- :a without an end",
        "'ü :a without an end",
        "/* :a",
        "$x$ :a",
        "E'\\",
    ] {
        check(sql, sql, &[]);
    }
    check("'\\' || :a", "'\\' || $1", &["a"]);
    check("name'x' || :a", "name'x' || $1", &["a"]);
    check("a$b$ = :a", "a$b$ = $1", &["a"]);
    check("ü = :a ", "ü = $1 ", &["a"]);
}

#[test]
fn the_format_is_no_parameter() {
    assert!(
        Statement::parse("SELECT :format")
            .unwrap_err()
            .contains("`format`")
    );
}
