//! Tests of matching, expansion and rejected templates, and that matching is the inverse of expansion.

mod durations;
mod invalid;
mod lists_and_maps;
mod rfc6570;
mod roundtrip;
mod suite;

use expect_test::{Expect, expect};

use super::*;

pub(super) fn parse_template(template: &str) -> UriTemplate {
    UriTemplate::parse(template).unwrap_or_else(|error| panic!("{error}"))
}

/// Matches a template with several URIs, one per line.
fn check(template: &str, uris: &str, expected: Expect) {
    let template = parse_template(template);
    let line = |uri: &str| match template.matches(uri.trim()) {
        None => "-\n".to_owned(),
        Some(captures) => {
            let values: Vec<_> = captures.variables.iter().map(describe).collect();
            let safety = captures
                .check_safety()
                .err()
                .map(|error| format!(" ! {error}"))
                .unwrap_or_default();
            format!("{}{safety}\n", values.join(" "))
        }
    };
    expected.assert_eq(&uris.lines().map(line).collect::<String>());
}

fn describe(Variable { name, key, value }: &Variable) -> String {
    let key = key
        .as_ref()
        .map(|key| format!("[{key:?}]"))
        .unwrap_or_default();
    format!("{name}{key}={value:?}")
}

#[test]
fn templates_that_other_implementations_get_wrong() {
    check(
        "res://x{?a,b}",
        "res://x\nres://x?a=1\nres://x?b=2&a=1\nres://x?c=3\nres://x?a=1&a=1\nres://x?",
        expect![[r#"

            a="1"
            a="1" b="2"
            -
            -
            -
        "#]],
    );
    check(
        "file:///docs/{path}",
        "file:///docs/a.md\nfile:///docs/%7Bpath%7D\nfile:///docs/a/b\nfile:///docs/",
        expect![[r#"
            path="a.md"
            path="{path}"
            -
            -
        "#]],
    );
    check(
        "memo:insights",
        "memo:insights\nmemo:insight\nmemo:insightss",
        expect![[r#"

        -
        -
    "#]],
    );
    check(
        "schema://{catalog}.{schema_name}/{table}",
        "schema://main.public/users\nschema://a.b.c/d\nschema://a/d",
        expect![[r#"
            catalog="main" schema_name="public" table="users"
            catalog="a.b" schema_name="c" table="d"
            -
        "#]],
    );
    assert_eq!(parse_template("res://x{?a,b}").as_str(), "res://x{?a,b}");
}

#[test]
fn matches_paths() {
    check(
        "file:///{+path}",
        "file:///a/b.md\nfile:///a?b#c\nfile:///\nfile:///%C3%A4\nfile:///%c3%a4\nfile:///%FF\nfile:///%E2%82",
        expect![[r#"
            path="a/b.md"
            path="a?b#c"
            -
            path="ä"
            path="ä"
            -
            -
        "#]],
    );
    check(
        "file:///{+path}{?version}",
        "file:///a/b?version=3\nfile:///a/b\nfile:///a?other=1",
        expect![[r#"
        path="a/b" version="3"
        path="a/b"
        -
    "#]],
    );
    check(
        "x://h{/path*}",
        "x://h/a/b/c\nx://h\nx://h/\nx://h/a//b",
        expect![[r#"
        path="a" path="b" path="c"

        path=""
        path="a" path="" path="b"
    "#]],
    );
    check(
        "x://h{/path*}/raw{.kind}",
        "x://h/a/raw/raw\nx://h/a/raw.md\nx://h/a",
        expect![[r#"
        path="a" path="raw"
        path="a" kind="md"
        -
    "#]],
    );
    check(
        "x:{+path}{.kind}{?v}",
        "x:a/v1.2/b.md?v=1\nx:a.tar.gz\nx:a/b\nx:.a",
        expect![[r#"
        path="a/v1.2/b" kind="md" v="1"
        path="a" kind="tar.gz"
        path="a/b"
        path=".a"
    "#]],
    );
    check(
        "x:{+path}/raw{?v}",
        "x:a/raw?v=b/raw\nx:a/raw/raw",
        expect![[r#"
        path="a" v="b/raw"
        path="a/raw"
    "#]],
    );
    check(
        "x:{+path}{/id}{&p}",
        "x:a/b&p=1\nx:a/b/c\nx:a",
        expect![[r#"
        path="a" id="b" p="1"
        path="a/b" id="c"
        path="a"
    "#]],
    );
    check(
        "x:{+path}/{name}",
        "x:a/b/c\nx:a",
        expect![[r#"
        path="a/b" name="c"
        -
    "#]],
    );
}

#[test]
fn matches_queries() {
    check(
        "x:a{?q*,n}",
        "x:a?q=1&n=2&q=3\nx:a?n=\nx:a?n",
        expect![[r#"
        q="1" q="3" n="2"
        n=""
        -
    "#]],
    );
    check(
        "x:a{?q}",
        "x:a?q=a,b/c+d=e?f\nx:a?q=%26%23\nx:a?q=1&q=2\nx:a?q=1#f\nx:a?%41",
        expect![[r#"
            q="a" q="b/c+d=e?f"
            q="&#"
            -
            -
            -
        "#]],
    );
    check(
        "x:a?fixed=1{&b}{#c}",
        "x:a?fixed=1&b=2#top\nx:a?fixed=1#\nx:a",
        expect![[r#"
        b="2" c="top"
        c=""
        -
    "#]],
    );
    check(
        "x:a{;p,q}",
        "x:a;q=2;p=1\nx:a;p\nx:a;p=\nx:a;r=1",
        expect![[r#"
        p="1" q="2"
        p=""
        p=""
        -
    "#]],
    );
}

#[test]
fn repeated_variables_must_have_the_same_value() {
    check(
        "x:{a}/{b}/{a}",
        "x:1/2/1\nx:1/2/3",
        expect![[r#"
        a="1" b="2"
        -
    "#]],
    );
    check(
        "x:{a}{a}",
        "x:abab\nx:abc",
        expect![[r#"
        a="ab"
        -
    "#]],
    );
    check(
        "x:{id:2}/{id}",
        "x:ab/abc\nx:a/abc\nx:ab/ab\nx:ac/abc",
        expect![[r#"
        id="abc"
        -
        id="ab"
        -
    "#]],
    );
    check(
        "x:{a:2}{b:3}{c}",
        "x:1234567\nx:%C3%A4%C3%B6%C3%BCx\nx:12",
        expect![[r#"
        a="12" b="345" c="67"
        a="äö" b="ü" c="x"
        -
    "#]],
    );
    check(
        "x:{a}{?a}",
        "x:1?a=1\nx:1\nx:1?a=2",
        expect![[r#"
        a="1"
        -
        -
    "#]],
    );
}

#[test]
fn detects_unsafe_values() {
    check(
        "file:///{+path}",
        "file:///a/../b\nfile:///..\nfile:///%2e%2E/b\nfile:///..a/b..\nfile:///.\nfile:////etc/passwd\n\
         file:///C:\nfile:///c:/x\nfile:///C%3A%5Cx\nfile:///cc:/x\nfile:///a%2fb\nfile:///a%00\nfile:///%252e%252e",
        expect![[r#"
            path="a/../b" ! the value of `path` has a `..` segment
            path=".." ! the value of `path` has a `..` segment
            path="../b" ! the value of `path` has a `..` segment
            path="..a/b.."
            path="."
            path="/etc/passwd" ! the value of `path` is an absolute path
            path="C:" ! the value of `path` begins with a drive letter
            path="c:/x" ! the value of `path` begins with a drive letter
            path="C:\\x" ! the value of `path` has an encoded `/` or `\`
            path="cc:/x"
            path="a/b" ! the value of `path` has an encoded `/` or `\`
            path="a\0" ! the value of `path` has a NUL character
            path="%2e%2e"
        "#]],
    );
    check(
        "x:{a}",
        "x:..\nx:%2E.\nx:a%5Cb\nx:c%3A\nx:%00\nx:...",
        expect![[r#"
        a=".." ! the value of `a` has a `..` segment
        a=".." ! the value of `a` has a `..` segment
        a="a\\b" ! the value of `a` has an encoded `/` or `\`
        a="c:" ! the value of `a` begins with a drive letter
        a="\0" ! the value of `a` has a NUL character
        a="..."
    "#]],
    );
    check(
        "x:a{/p*}{.e}",
        "x:a/b/..\nx:a/b.c\nx:a/%2Fb",
        expect![[r#"
            p="b" p="" e="." ! the value of `p` has a `..` segment
            p="b" e="c"
            p="/b" ! the value of `p` has an encoded `/` or `\`
        "#]],
    );
    check(
        "x:h/.{a}",
        "x:h/.\nx:h/..\nx:h/%2e.\nx:h/...",
        expect![[r#"
        -
        a="." ! the value of `a` has a `..` segment
        -
        a=".." ! the value of `a` has a `..` segment
    "#]],
    );
    check(
        "x:{a}{b}",
        "x:..\nx:.%2e\nx:a..",
        expect![[r#"
        a="." b="." ! the value of `a` has a `..` segment
        a="." b="." ! the value of `a` has a `..` segment
        a="a." b="."
    "#]],
    );
    check(
        "x:{a}.{b}/c",
        "x:a.b/c\nx:h.../c\nx:%2E.%2E/c",
        expect![[r#"
        a="a" b="b"
        a="h." b="."
        a="." b="."
    "#]],
    );
    check(
        "x:a{#f}",
        "x:a#../b",
        expect![[r#"
        f="../b" ! the value of `f` has a `..` segment
    "#]],
    );
    check(
        "x:a?b={c}{&d}",
        "x:a?b=..&d=/x%2F..\nx:a?b=%00\nx:a?b=1&d=%00",
        expect![[r#"
        c=".." d="/x/.."
        c="\0" ! the value of `c` has a NUL character
        c="1" d="\0" ! the value of `d` has a NUL character
    "#]],
    );
    check(
        "x:a{?d}",
        "x:a?d=C:/..",
        expect![[r#"
        d="C:/.."
    "#]],
    );
    check(
        "x:{a}?a={a}",
        "x:b?a=b\nx:%2Fb?a=%2Fb",
        expect![[r#"
        a="b"
        a="/b" ! the value of `a` has an encoded `/` or `\`
    "#]],
    );
}

#[test]
fn matches_non_ascii_literals_percent_encoded() {
    check(
        "x:ä/{b}",
        "x:%C3%A4/1",
        expect![[r#"
        b="1"
    "#]],
    );
    assert_eq!(parse_template("x:ä/{b}").literal_prefix(), "x:%C3%A4/");
}

#[test]
fn orders_templates_by_specificity() {
    let mut templates = [
        "x:{a}",
        "x:doc/{a}",
        "x:doc/{a}.{b}",
        "x:doc/{a}{b}",
        "x:doc/a",
        "x:doc/{+a}{a}",
    ];
    templates.sort_by_key(|template| Reverse(parse_template(template).specificity()));
    expect!["x:doc/a x:doc/{a}.{b} x:doc/{a} x:doc/{+a}{a} x:doc/{a}{b} x:{a}"]
        .assert_eq(&templates.join(" "));
    assert_eq!(
        parse_template("x:{a,b}{?c,a}")
            .variables()
            .collect::<Vec<_>>(),
        ["a", "b", "c"]
    );
}
