use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn show(message: &Message<'_>) -> String {
    match message {
        Message::Request(Request { id, method, params }) => {
            let error = params
                .error
                .as_ref()
                .map(|error| format!(", but {error}"))
                .unwrap_or_default();
            format!("request {id} {method}{error}")
        }
        Message::Notification(notification) => format!("notification {}", notification.method),
        Message::Response(_) => "response".into(),
        Message::Malformed { id, rpc_error } => {
            let id = id.as_ref().map_or("no id", Id::json);
            format!("{} {} ({id})", rpc_error.code, rpc_error.message)
        }
    }
}

fn check(input: impl AsRef<[u8]>, expected: Expect) {
    let actual = match read(input.as_ref()) {
        Ok(IncomingMessages::One(message)) => show(&message),
        Ok(IncomingMessages::Batch(batch)) => batch.iter().map(show).collect::<Vec<_>>().join("; "),
        Err(rpc_error) => format!("{} {}", rpc_error.code, rpc_error.message),
    };
    expected.assert_eq(&actual);
}

#[test]
fn reads_valid_messages() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        expect!["request 1 ping"],
    );
    check(
        r#" { "id" : "\u0061" , "method":"a\/b","jsonrpc":"2.0","params":{}} "#,
        expect![[r#"request "\u0061" a/b"#]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":-12345678901234567890123,"method":"m"}"#,
        expect!["request -12345678901234567890123 m"],
    );
    check(
        r#"{"jsonrpc":"2.0","method":"n","params":{"a":1}}"#,
        expect!["notification n"],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        expect!["response"],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#,
        expect!["response"],
    );
}

#[test]
fn rejects_invalid_json() {
    check(
        "",
        expect!["-32700 the message is not JSON: EOF while parsing a value at line 1 column 0"],
    );
    check(
        "hello",
        expect!["-32700 the message is not JSON: expected value at line 1 column 1"],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
        expect!["-32700 the message is not JSON: EOF while parsing an object at line 1 column 39"],
    );
    check(
        r#"{"jsonrpc":"2.0"} {}"#,
        expect!["-32700 the message is not JSON: trailing characters at line 1 column 19"],
    );
    check(
        "{\"jsonrpc\":\"2\n.0\"}",
        expect![[
            r#"-32700 the message is not JSON: control character (\u0000-\u001F) found while parsing a string at line 1 column 13"#
        ]],
    );
    check(
        b"{\"jsonrpc\":\"\xff\"}",
        expect!["-32700 the message is not JSON: it is not UTF-8"],
    );
    check(
        "[".repeat(200),
        expect!["-32700 the message is not JSON: EOF while parsing a list at line 1 column 200"],
    );
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":{}{}}}}}"#,
        "[".repeat(127),
        "]".repeat(127)
    );
    check(deep, expect!["-32600 a value is nested too deeply (1)"]);
    let quoted = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"a":"\"{}"}}}}"#,
        "[".repeat(500)
    );
    check(quoted, expect!["request 1 m"]);
}

#[test]
fn rejects_json_that_is_not_a_message() {
    for text in ["1", "null", "\"text\"", "true"] {
        check(text, expect!["-32600 a message is a JSON object (no id)"]);
    }
    check("{}", expect![[r#"-32600 `jsonrpc` must be "2.0" (no id)"#]]);
    check(
        r#"{"jsonrpc":"1.0","id":1,"method":"m"}"#,
        expect![[r#"-32600 `jsonrpc` must be "2.0" (1)"#]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1}"#,
        expect!["-32600 `method` is missing (1)"],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
        expect!["-32600 `method` must be a string (1)"],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"\ud800"}"#,
        expect!["-32600 `method` must be a string (1)"],
    );
}

#[test]
fn rejects_ids_that_are_not_strings_or_integers() {
    for id in [
        "null",
        "true",
        "{}",
        "[1]",
        "1.5",
        "1e3",
        "-0.0",
        "\"\\ud800\"",
        &format!("\"{}\"", "x".repeat(2000)),
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        check(
            text,
            expect!["-32600 the id must be a string or an integer (no id)"],
        );
    }
}

#[test]
fn rejects_duplicate_keys() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}"#,
        expect!["-32600 the key `id` appears twice (no id)"],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","\u006dethod":"n"}"#,
        expect!["-32600 the key `method` appears twice (1)"],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{},"params":{}}"#,
        expect!["-32600 the key `params` appears twice (1)"],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"uri":"a","uri":"b"}}"#,
        expect!["request 1 m, but the key `uri` appears twice"],
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"a":1,"a":1}}}"#,
        expect!["request 1 m, but the key `a` appears twice"],
    );
}

#[test]
fn rejects_parameters_that_are_not_objects() {
    for params in ["null", "[]", "1", "\"x\""] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{params}}}"#);
        check(text, expect!["request 1 m, but `params` must be an object"]);
    }
    for meta in ["null", "[]"] {
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta":{meta}}}}}"#);
        check(text, expect!["request 1 m, but `_meta` must be an object"]);
    }
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"\ud800":1}}"#,
        expect!["request 1 m, but a key contains an unpaired surrogate"],
    );
}

#[test]
fn reads_batches() {
    check("[]", expect!["-32600 the batch is empty"]);
    check(
        r#"[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","method":"n"},7]"#,
        expect!["request 1 m; notification n; -32600 a message is a JSON object (no id)"],
    );
    check(
        "[1,",
        expect!["-32700 the message is not JSON: EOF while parsing a value at line 1 column 3"],
    );
    check(
        format!("[{}1]", "1,".repeat(64)),
        expect!["-32600 the batch has more than 64 messages"],
    );
}

const VALID: &str = r#"{"jsonrpc":"2.0","id":"i\n1","method":"resources/read","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","k":[1,{"x":null}]},"uri":"x:1"}}"#;

/// Checks that the id of an accepted message is in the input exactly as it is returned, and is JSON.
fn check_id(input: &[u8]) {
    let Ok(incoming) = read(input) else { return };
    let messages = match incoming {
        IncomingMessages::One(message) => vec![message],
        IncomingMessages::Batch(batch) => batch,
    };
    for message in messages {
        let (Message::Request(Request { id, .. }) | Message::Malformed { id: Some(id), .. }) =
            message
        else {
            continue;
        };
        let id = id.json();
        assert!(
            input
                .windows(id.len())
                .any(|window| window == id.as_bytes()),
            "{id} differs from the input"
        );
        assert!(
            serde_json::from_str::<serde_json::Value>(id)
                .is_ok_and(|id| id.is_string() || id.is_number())
        );
        assert!(!id.contains('\n'), "an id must not contain a line break");
    }
}

const MEMBERS: [&str; 12] = [
    r#""jsonrpc":"2.0""#,
    r#""id":1"#,
    r#""method":"m""#,
    r#""params":{"a":1,"_meta":{"k":[2],"l":null}}"#,
    r#""params":{"_meta":{},"b":{"_meta":3}}"#,
    r#""params":{}"#,
    r#""params":null"#,
    r#""params":{"_meta":[]}"#,
    r#""params":{"_meta":{"k":1,"k":2}}"#,
    r#""params":{"_meta":{"k":1},"_meta":{"l":2}}"#,
    r#""_meta":{"k":1}"#,
    r#""result":1"#,
];

#[test]
fn reads_members_in_any_order() {
    let many: Vec<_> = (0..125).map(|n| format!("\"e{n}\":0")).collect();
    let many = many.join(",");
    let rest = r#""jsonrpc":"2.0","id":1,"method":"m""#;
    for inner in [
        r#""params":{}"#.to_owned(),
        format!(r#""params":{{"_meta":{{}},{many},"a":1,"b":2,"c":3}}"#),
    ] {
        for text in [
            format!("{{{inner},{rest},{many}}}"),
            format!("{{{rest},{many},{inner}}}"),
        ] {
            assert!(read_valid_request(&text).is_none(), "{text}");
        }
    }
    let fits = format!(r#"{{"params":{{"_meta":{{}},{many},"a":1,"b":2}},{rest}}}"#);
    assert!(read_valid_request(&fits).is_some());
}

/// Returns everything that was read from a message, except for `_meta` among the parameters: the one-pass reader does
/// not list it there.
fn summary(message: &Message<'_>) -> String {
    let Message::Request(Request { params, .. }) = message else {
        return show(message);
    };
    let of = |fields: &Fields<'_>| {
        let all = fields.iter().filter(|(key, _)| *key != "_meta");
        all.map(|(key, value)| format!("{key}={}", value.get()))
            .collect::<Vec<_>>()
            .join(" ")
    };
    format!(
        "{} [{}] [{}]",
        show(message),
        of(&params.fields),
        of(&params.meta)
    )
}

proptest! {
    #[test]
    fn survives_arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        check_id(&bytes);
    }

    #[test]
    fn survives_json_like_text(text in r#"[\[\]{}",:0-9a-z\\ ]{0,80}"#) {
        check_id(text.as_bytes());
    }

    #[test]
    fn survives_mutated_requests(at in 0..VALID.len(), cut in 0..20usize, new in prop::collection::vec(any::<u8>(), 0..8)) {
        let mut bytes = VALID.as_bytes().to_vec();
        bytes.splice(at..(at + cut).min(bytes.len()), new);
        check_id(&bytes);
    }

    #[test]
    fn both_readers_agree(pieces in prop::collection::vec(0..MEMBERS.len(), 1..9), at in 0..200usize, new in r#"[{}",:]?"#) {
        let mut text = format!("{{{}}}", pieces.iter().map(|n| MEMBERS[*n]).collect::<Vec<_>>().join(","));
        text.insert_str(at.min(text.len()), &new);
        if let Some(request) = read_valid_request(&text) {
            let same = read_any_message(&text).map(|message| summary(&message));
            prop_assert_eq!(summary(&Message::Request(request)), same.unwrap());
        }
    }

    #[test]
    fn returns_ids_unchanged(id in prop_oneof![any::<i64>().prop_map(|n| n.to_string()), any::<String>().prop_map(|s| serde_json::to_string(&s).unwrap())]) {
        let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#);
        let Ok(IncomingMessages::One(message)) = read(text.as_bytes()) else { panic!("{text}") };
        match message {
            Message::Request(request) => prop_assert_eq!(request.id.json(), id),
            Message::Malformed { .. } => prop_assert!(id.len() > MAX_ID),
            other => panic!("{other:?}"),
        }
    }
}
