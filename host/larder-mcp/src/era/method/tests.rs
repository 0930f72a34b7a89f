use expect_test::{Expect, expect};

use super::*;
use crate::wire::message::{IncomingMessages, Message, read};
use larder_model::name::Teams;

fn check(method: Method, params: &str, expected: Expect) {
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
    let Ok(IncomingMessages::One(Message::Request(request))) = read(text.as_bytes()) else {
        panic!("{text}")
    };
    let caller = Caller {
        subject: None,
        issuer: None,
        teams: Teams::default_team(),
        scopes: vec![],
    };
    let call = new_call(&request.params, caller);
    expected.assert_eq(
        &match call.and_then(|call| ParsedRequest::read(&request, method, call)) {
            Ok(parsed) => format!("{:?} {:?}", parsed.operation, parsed.call.metadata),
            Err(rpc_error) => format!("{} {}", rpc_error.code, rpc_error.message),
        },
    );
}

#[test]
fn reads_list_and_read_parameters() {
    check(
        Method::List,
        "{}",
        expect![
            "List { cursor: None, filter: Filter { uri_prefix: None, kind: None, mime_type: None, team: None, provider: None, text: None } } []"
        ],
    );
    check(
        Method::List,
        r#"{"cursor":""}"#,
        expect![[
            r#"List { cursor: Some(""), filter: Filter { uri_prefix: None, kind: None, mime_type: None, team: None, provider: None, text: None } } []"#
        ]],
    );
    check(
        Method::Templates,
        r#"{"cursor":null}"#,
        expect![
            "Templates { cursor: None, filter: Filter { uri_prefix: None, kind: None, mime_type: None, team: None, provider: None, text: None } } []"
        ],
    );
    check(
        Method::List,
        r#"{"cursor":1}"#,
        expect!["-32602 `cursor` must be a string"],
    );
    check(
        Method::List,
        "[]",
        expect!["-32602 `params` must be an object"],
    );
    check(Method::Read, "{}", expect!["-32602 `uri` is missing"]);
    check(
        Method::Read,
        r#"{"uri":["x:1"]}"#,
        expect!["-32602 `uri` must be a string"],
    );
    check(
        Method::Read,
        r#"{"uri":"x:1","uri":"x:2"}"#,
        expect!["-32602 the key `uri` appears twice"],
    );
    check(
        Method::Read,
        r#"{"uri":"x:1","_meta":{"traceparent":"00-1","o":{"a": 1}}}"#,
        expect![[
            r#"Read { uri: Uri("x:1"), known_version: None } [("traceparent", "\"00-1\""), ("o", "{\"a\": 1}")]"#
        ]],
    );
    let long = format!(
        r#"{{"uri":"x:1","_meta":{{"k":"{}"}}}}"#,
        "x".repeat(MAX_METADATA)
    );
    check(
        Method::Read,
        &long,
        expect!["-32602 `_meta` has more than 64 KiB"],
    );
    check(
        Method::Read,
        r#"{"uri":"x:1","_meta":{"progressToken":1.5}}"#,
        expect!["-32602 `_meta.progressToken` must be a string or an integer"],
    );
}

#[test]
fn parses_uris() {
    let invalid = r#"{"uri":"no uri"}"#;
    check(
        Method::Get,
        invalid,
        expect![[
            r#"InvalidUri { is_read: true, invalid: InvalidUri { text: "no uri", error: Malformed("no uri") } } []"#
        ]],
    );
    check(
        Method::SubscribeAll,
        r#"{"uris":["x:1","x:2"]}"#,
        expect![[r#"Subscribe { uris: [Uri("x:1"), Uri("x:2")], with_content: true } []"#]],
    );
    check(
        Method::SubscribeAll,
        r#"{"uris":["x:1","no uri"]}"#,
        expect![[
            r#"InvalidUri { is_read: false, invalid: InvalidUri { text: "no uri", error: Malformed("no uri") } } []"#
        ]],
    );
    check(
        Method::Unsubscribe,
        invalid,
        expect![[r#"Unsubscribe { uris: ["no uri"] } []"#]],
    );
}

#[test]
fn reads_completion_parameters() {
    check(
        Method::Complete,
        r#"{"ref":{"type":"ref/resource","uri":"x:{a}{b}"},"argument":{"name":"a","value":"v"},"context":{"arguments":{"b":"w"}}}"#,
        expect![[
            r#"Complete(Some(CompletionRequest { template: "x:{a}{b}", variable: "a", prefix: "v", filled: [("b", "w")] })) []"#
        ]],
    );
    check(
        Method::Complete,
        r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"v"}}"#,
        expect![[
            r#"CompleteArgument(ArgumentQuery { prompt: "p", argument: "a", prefix: "v", filled: [] }) []"#
        ]],
    );
    for (bad, why) in [
        (
            r#"{"argument":{"name":"a","value":"v"}}"#,
            expect!["-32602 `ref` is missing"],
        ),
        (
            r#"{"ref":{"type":"ref/resource","uri":"x:{a}"}}"#,
            expect!["-32602 `argument` is missing"],
        ),
        (
            r#"{"ref":{"type":"ref/resource"},"argument":{"name":"a","value":"v"}}"#,
            expect!["-32602 `uri` is missing"],
        ),
        (
            r#"{"ref":{"type":"x","uri":"x:{a}"},"argument":{"name":"a","value":"v"}}"#,
            expect![[r#"-32602 `ref.type` is `x`: use "ref/resource" or "ref/prompt""#]],
        ),
        (
            r#"{"ref":{"type":"ref/prompt"},"argument":{"name":"a","value":"v"}}"#,
            expect!["-32602 `name` is missing"],
        ),
        (
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":1}}"#,
            expect!["-32602 `value` must be a string"],
        ),
        (
            r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""},"context":{"arguments":{"b":1}}}"#,
            expect!["-32602 every value of `context.arguments` must be a string"],
        ),
    ] {
        check(Method::Complete, bad, why);
    }
}

#[test]
fn the_table_is_in_the_order_of_the_methods() {
    for (at, MethodNames(method, ..)) in METHODS.iter().enumerate() {
        assert_eq!(*method as usize, at);
    }
}
