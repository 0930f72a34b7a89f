//! Lists, maps, and variables without a value.

use expect_test::expect;

use super::durations::check_durations;
use super::{MAX_URI_BYTES, Variable, check, parse_template};

#[test]
fn an_unencoded_comma_separates_the_items_of_a_list() {
    check(
        "x:{a}",
        "x:1,2,3\nx:1%2C2,3\nx:,\nx:1,\nx:\nx:1,/2\nx:a,b=c",
        expect![[r#"
            a="1" a="2" a="3"
            a="1,2" a="3"
            a="" a=""
            a="1" a=""
            -
            -
            -
        "#]],
    );
    check(
        "x:h{/a}{.b}{;c}{?d}{&e}",
        "x:h/1,2.3,4;c=5,6?d=7,8&e=9,10\nx:h.1,\nx:h?d=,",
        expect![[r#"
            a="1" a="2" b="3" b="4" c="5" c="6" d="7" d="8" e="9" e="10"
            b="1" b=""
            d="" d=""
        "#]],
    );
    check(
        "x:{+a}{#b}",
        "x:1,2#3,4",
        expect![[r#"
            a="1,2" b="3,4"
        "#]],
    );
    check(
        "x:{a:3}",
        "x:1,2\nx:1%2C2",
        expect![[r#"
            -
            a="1,2"
        "#]],
    );
}

#[test]
fn variables_of_one_expression_have_one_item_each() {
    check(
        "x:{a,b}",
        "x:1,2\nx:1,2,3\nx:1\nx:,2\nx:1,\nx:",
        expect![[r#"
            a="1" b="2"
            a="1" b="2" b="3"
            a="1"
            a="" b="2"
            a="1" b=""
            -
        "#]],
    );
    check(
        "x:h{/a,b}",
        "x:h/1,2/3,4\nx:h/1,2",
        expect![[r#"
            a="1" a="2" b="3" b="4"
            a="1" a="2"
        "#]],
    );
    check(
        "x:{+a,b}",
        "x:1,2,3",
        expect![[r#"
            a="1" b="2,3"
        "#]],
    );
    check(
        "x:h{.a,b}",
        "x:h.1.2.3",
        expect![[r#"
            a="1" b="2.3"
        "#]],
    );
    check(
        "geo:{latitude},{longitude}",
        "geo:52.5,13.4\ngeo:52.5\ngeo:1,2,3",
        expect![[r#"
            latitude="52.5" longitude="13.4"
            -
            latitude="1" longitude="2" longitude="3"
        "#]],
    );
}

#[test]
fn an_exploded_variable_is_a_map_if_its_items_have_keys() {
    check(
        "x:{m*}",
        "x:a=1,b=2\nx:a=1\nx:a,b\nx:a=1,b\nx:a,b=1\nx:=1\nx:a%3D=%3D\nx:a=",
        expect![[r#"
            m["a"]="1" m["b"]="2"
            m["a"]="1"
            m="a" m="b"
            -
            -
            -
            m["a="]="="
            m["a"]=""
        "#]],
    );
    check(
        "x:h{/l*}{/m*}",
        "x:h/a/b/c=1/d=2\nx:h/c=1\nx:h/a",
        expect![[r#"
            l="a" l="b" m["c"]="1" m["d"]="2"
            l["c"]="1"
            l="a"
        "#]],
    );
    check(
        "x:{+m*}",
        "x:a=1,b=2,3\nx:a=1=2,,b=\nx:a,b=2\nx:a/b=/c,d",
        expect![[r#"
            m["a"]="1" m["b"]="2,3"
            m["a"]="1=2," m["b"]=""
            m="a" m="b=2"
            m["a/b"]="/c,d" ! the value of `m` is an absolute path
        "#]],
    );
    check(
        "x:h{.m*}",
        "x:h.a=1.2.b=3\nx:h.a.b",
        expect![[r#"
            m["a"]="1.2" m["b"]="3"
            m="a" m="b"
        "#]],
    );
}

#[test]
fn an_exploded_variable_matches_any_query() {
    check(
        "x:h{?m*}",
        "x:h?a=1&b=2\nx:h\nx:h?a=1&a=2\nx:h?m=1&m=2\nx:h?m=1&a=2\nx:h?a%26=%3D&%C3%A4=x=y\nx:h?\nx:h?a\nx:h?=1",
        expect![[r#"
            m["a"]="1" m["b"]="2"

            m["a"]="1" m["a"]="2"
            m="1" m="2"
            m["m"]="1" m["a"]="2"
            m["a&"]="=" m["ä"]="x=y"
            -
            -
            -
        "#]],
    );
    check(
        "x:h{;m*}",
        "x:h;a=1;b\nx:h;m;m=1\nx:h;b;m",
        expect![[r#"
            m["a"]="1" m["b"]=""
            m="" m="1"
            m["b"]="" m["m"]=""
        "#]],
    );
}

#[test]
fn a_name_of_a_variable_is_not_a_key() {
    check(
        "x:h{?page,m*,n*}{&lang}",
        "x:h?a=1&page=2&b=3\nx:h?a=1&lang=de\nx:h?lang=de\nx:h?page=1&page=2\nx:h?pages=1&n=2\nx:h?p%61ge=1",
        expect![[r#"
            page="2" m["a"]="1" m["b"]="3"
            m["a"]="1" lang="de"
            -
            -
            m["pages"]="1" n="2"
            m["page"]="1"
        "#]],
    );
    check(
        "x:h?fixed=1{&m*}",
        "x:h?fixed=1&a=2\nx:h?fixed=1",
        expect![[r#"
            m["a"]="2"

        "#]],
    );
}

#[test]
fn a_variable_between_literals_may_have_no_value() {
    check(
        "x:o{a}x",
        "x:ox\nx:oax\nx:oxx\nx:o",
        expect![[r#"

            a="a"
            a="x"
            -
        "#]],
    );
    check(
        "x:o{+a}x{b,c}y{d*}z{e:2}!",
        "x:oxyz!\nx:o/x,yk=1z22!\nx:oxy1,2z!\nx:oxy,z!",
        expect![[r#"

            a="/" b="" c="" d["k"]="1" e="22" ! the value of `a` is an absolute path
            d="1" d="2"
            d="" d=""
        "#]],
    );
    check(
        "x:{a}.{b}/{c}",
        "x:1.2.3/4\nx:1.2./3\nx:.1/2\nx:1./2\nx:./2\nx:1.2/\nx:../2",
        expect![[r#"
            a="1.2" b="3" c="4"
            a="1" b="2." c="3"
            b="1" c="2"
            a="1" c="2"
            c="2"
            -
            a="." c="2" ! the value of `a` has a `..` segment
        "#]],
    );
    check(
        "x:{a}{?b}",
        "x:?b=1\nx:1?b=1",
        expect![[r#"
            -
            a="1" b="1"
        "#]],
    );
}

#[test]
fn repeated_lists_and_maps_must_be_the_same() {
    check(
        "x:{a}/{a*}{?a}",
        "x:1,2/1,2?a=1,2\nx:1,2/1,2?a=1\nx:k,1/k=1?a=k,1",
        expect![[r#"
            a="1" a="2"
            -
            a["k"]="1"
        "#]],
    );
    check(
        "x:{+a}{?a}",
        "x:1,2?a=1,2\nx:1,2?a=1,3\nx:1,2",
        expect![[r#"
            a="1" a="2"
            -
            -
        "#]],
    );
    check(
        "x:{a:1}/{a}",
        "x:1/1,2\nx:1/12",
        expect![[r#"
            -
            a="12"
        "#]],
    );
}

#[test]
fn detects_unsafe_items_and_keys() {
    check(
        "x:{a}",
        "x:a,..\nx:..,a\nx:a,%2E.,b\nx:a,%2Fb\nx:a,b%5C\nx:a,c%3A\nx:a,%00\nx:a..,..b\nx:a,.",
        expect![[r#"
            a="a" a=".." ! the value of `a` has a `..` segment
            a=".." a="a" ! the value of `a` has a `..` segment
            a="a" a=".." a="b" ! the value of `a` has a `..` segment
            a="a" a="/b" ! the value of `a` has an encoded `/` or `\`
            a="a" a="b\\" ! the value of `a` has an encoded `/` or `\`
            a="a" a="c:" ! the value of `a` begins with a drive letter
            a="a" a="\0" ! the value of `a` has a NUL character
            a="a.." a="..b"
            a="a" a="."
        "#]],
    );
    check(
        "x:{m*}",
        "x:a=..\nx:..=a\nx:a=b,c=%2e%2e\nx:%2Fa=b\nx:a=%00\nx:C%3A=a\nx:a=b",
        expect![[r#"
            m["a"]=".." ! the value of `m` has a `..` segment
            m[".."]="a" ! the value of `m` has a `..` segment
            m["a"]="b" m["c"]=".." ! the value of `m` has a `..` segment
            m["/a"]="b" ! the value of `m` has an encoded `/` or `\`
            m["a"]="\0" ! the value of `m` has a NUL character
            m["C:"]="a" ! the value of `m` begins with a drive letter
            m["a"]="b"
        "#]],
    );
    check(
        "x:{+m*}",
        "x:a=/b\nx:a=b,c=d/../e\nx:a=b,/c=d\nx:/a,b\nx:b,a/..",
        expect![[r#"
            m["a"]="/b" ! the value of `m` is an absolute path
            m["a"]="b" m["c"]="d/../e" ! the value of `m` has a `..` segment
            m["a"]="b" m["/c"]="d" ! the value of `m` is an absolute path
            m="/a" m="b" ! the value of `m` is an absolute path
            m="b" m="a/.." ! the value of `m` has a `..` segment
        "#]],
    );
    // Parts of a `..` segment that literal text completes.
    check(
        "x:h/.{a}",
        "x:h/..,b\nx:h/.b,.",
        expect![[r#"
            a="." a="b" ! the value of `a` has a `..` segment
            a="b" a="."
        "#]],
    );
    check(
        "x:h{?m*}",
        "x:h?a=..&b=%2F\nx:h?a%00=1\nx:h?a=%00",
        expect![[r#"
            m["a"]=".." m["b"]="/"
            m["a\0"]="1" ! the value of `m` has a NUL character
            m["a"]="\0" ! the value of `m` has a NUL character
        "#]],
    );
}

#[test]
fn an_expansion_has_the_keys_of_a_map() {
    let pair = |key: &str, value: &str| Variable {
        key: Some(key.to_owned()),
        ..Variable::new("m", value)
    };
    let variables = [pair("a b", "1&2"), pair("c=", "")];
    for (template, expected) in [
        ("x:{m}", "x:a%20b,1%262,c%3D,"),
        ("x:{m*}", "x:a%20b=1%262,c%3D="),
        ("x:{?m}", "x:?m=a%20b,1%262,c%3D,"),
        ("x:{?m*}", "x:?a%20b=1%262&c%3D="),
        ("x:{;m*}", "x:;a%20b=1%262;c%3D"),
        ("x:{+m*}", "x:a%20b=1&2,c=="),
    ] {
        assert_eq!(
            parse_template(template).expand(&variables),
            expected,
            "{template}"
        );
    }
}

#[test]
fn matching_many_items_is_fast() {
    let uri = |item: &str| format!("x:{}", item.repeat((MAX_URI_BYTES - 10) / item.len()));
    let matches = [
        ("x:{a}", uri(",")),
        ("x:{a}", uri(".,")),
        ("x:{a,b*}", uri(".,")),
        ("x:{.a*}", uri(".")),
        ("x:{a*}", uri("a=.,") + "a=."),
        ("x:{+a*}", uri("a=.,")),
        ("x:{+a*}{+b*}{+c*}!", uri("a=.,")),
        ("x:{+a*}x{+b*}x{+a*}!", uri("a=.,x")),
        ("x:{;a*}{;b*}{;c}", uri(";a=.")),
        ("x:{?a*}{&b*}{&c*}!", uri("?a=1&b=2")),
    ];
    check_durations(
        matches
            .iter()
            .map(|(template, uri)| (*template, uri.as_str())),
    );
}
