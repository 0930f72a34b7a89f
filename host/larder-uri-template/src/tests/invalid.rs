//! Rejected templates and their error messages.

use expect_test::{Expect, expect};

use super::{MAX_TEMPLATE_BYTES, MAX_VARIABLES, UriTemplate, parse_template};

/// Parses invalid templates and compares the errors.
fn check_errors(templates: &[&str], expected: Expect) {
    let line = |text: &&str| match UriTemplate::parse(text) {
        Ok(_) => format!("{text}: accepted\n"),
        Err(error) => format!("{error}\n"),
    };
    expected.assert_eq(&templates.iter().map(line).collect::<String>());
}

#[test]
fn rejects_invalid_templates() {
    check_errors(
        &[
            "x:{",
            "x:}",
            "x:{}",
            "x:{a",
            "x:{a{b}}",
            "x:{=a}",
            "x:{a,}",
            "x:{+}",
            "x:{a b}",
            "x:{a..b}",
            "x:{.a.}",
            "x:{a:0}",
            "x:{a:10000}",
            "x:{a:}",
            "x:{a:+1}",
            "x:{a*:3}",
            "x:{a-b}",
            "x:a b",
            "x:%zz",
            "x:<",
            "x:'",
            "x:\u{7f}",
            "",
            "{+url}",
            "/a/{b}",
            "{s}:a",
            "ä:{b}",
            "x://[a]/{b}",
            "x:a#{b}#c",
            "x:[{a}]",
        ],
        expect![[r#"
            `x:{` is not a URI template: a `{` without a matching `}` (at byte 2)
            `x:}` is not a URI template: a `}` without a matching `{` (at byte 2)
            `x:{}` is not a URI template: an expression without a variable (at byte 3)
            `x:{a` is not a URI template: a `{` without a matching `}` (at byte 2)
            `x:{a{b}}` is not a URI template: a variable name consists of letters, digits and `_`, with single `.` between them (at byte 3)
            `x:{=a}` is not a URI template: this operator is reserved by RFC 6570 and has no meaning yet (at byte 3)
            `x:{a,}` is not a URI template: a variable name consists of letters, digits and `_`, with single `.` between them (at byte 5)
            `x:{+}` is not a URI template: a variable name consists of letters, digits and `_`, with single `.` between them (at byte 4)
            `x:{a b}` is not a URI template: a variable name consists of letters, digits and `_`, with single `.` between them (at byte 3)
            `x:{a..b}` is not a URI template: a variable name consists of letters, digits and `_`, with single `.` between them (at byte 3)
            `x:{.a.}` is not a URI template: a variable name consists of letters, digits and `_`, with single `.` between them (at byte 4)
            `x:{a:0}` is not a URI template: a prefix length is a number from 1 to 9999 (at byte 5)
            `x:{a:10000}` is not a URI template: a prefix length is a number from 1 to 9999 (at byte 5)
            `x:{a:}` is not a URI template: a prefix length is a number from 1 to 9999 (at byte 5)
            `x:{a:+1}` is not a URI template: a prefix length is a number from 1 to 9999 (at byte 5)
            `x:{a*:3}` is not a URI template: a variable name consists of letters, digits and `_`, with single `.` between them (at byte 3)
            `x:{a-b}` is not a URI template: a variable name consists of letters, digits and `_`, with single `.` between them (at byte 3)
            `x:a b` is not a URI template: this character must be percent-encoded (at byte 3)
            `x:%zz` is not a URI template: a `%` must be followed by two hexadecimal digits (at byte 2)
            `x:<` is not a URI template: this character must be percent-encoded (at byte 2)
            `x:\'` is not a URI template: this character must be percent-encoded (at byte 2)
            `x:\u{7f}` is not a URI template: this character must be percent-encoded (at byte 2)
            `` is not a URI template: it must begin with a literal scheme, such as `notes:` (at byte 0)
            `{+url}` is not a URI template: it must begin with a literal scheme, such as `notes:` (at byte 0)
            `/a/{b}` is not a URI template: it must begin with a literal scheme, such as `notes:` (at byte 0)
            `{s}:a` is not a URI template: it must begin with a literal scheme, such as `notes:` (at byte 0)
            `ä:{b}` is not a URI template: it must begin with a literal scheme, such as `notes:` (at byte 0)
            `x://[a]/{b}` is not a URI template: its literal text is not valid in a URI by RFC 3986 (at byte 0)
            `x:a#{b}#c` is not a URI template: its literal text is not valid in a URI by RFC 3986 (at byte 0)
            `x:[{a}]` is not a URI template: its literal text is not valid in a URI by RFC 3986 (at byte 0)
        "#]],
    );
    assert!(UriTemplate::parse(&format!("x:{}", "a".repeat(MAX_TEMPLATE_BYTES))).is_err());
    assert!(UriTemplate::parse(&format!("x:{}", "{a}".repeat(MAX_VARIABLES))).is_ok());
    assert!(UriTemplate::parse(&format!("x:{}", "{a}".repeat(MAX_VARIABLES + 1))).is_err());
    for good in [
        "x:ä{b}",
        "x://h:{port}/",
        "x://[{+address}]/",
        "x:{a%20b}{c.d}{_}{9}",
        "x:a{#b}#c",
        "X+1-.:",
    ] {
        assert_eq!(parse_template(good).as_str(), good);
    }
}

#[test]
fn many_expressions_are_rejected() {
    for template in [
        "{x}".repeat(10_000),
        "{".repeat(10_000),
        format!("{{{}}}", "x,".repeat(10_000)),
    ] {
        assert!(
            UriTemplate::parse(&format!("x:{template}")).is_err(),
            "{}",
            &template[..20]
        );
    }
}
