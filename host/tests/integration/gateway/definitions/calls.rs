//! Calls of tools, prompts, and completions of their arguments.

use expect_test::expect;
use serde_json::json;

use super::{call, granted, with_folder};
use crate::support::http_server::HttpTestServer;

#[tokio::test]
async fn returns_every_kind_of_content() {
    let server = HttpTestServer::from_builder(granted("interactive")).await;
    let result = call(&server, "everything", json!({ "a": 1 })).await.body;
    expect![[r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"a text","annotations":{"audience":["user"],"priority":1.0},"_meta":{"example.com/x":{}}},{"type":"image","data":"AQID","mimeType":"image/png"},{"type":"audio","data":"AQID","mimeType":"audio/ogg"},{"type":"resource_link","uri":"interactive:page","name":"interactive:page"},{"type":"resource","resource":{"uri":"interactive:note","mimeType":"text/plain","text":"a note"}}],"structuredContent":{"a":1},"isError":true,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"larder","version":"0.1.0","title":"Test"}}}}"#]].assert_eq(&result);
}

#[tokio::test]
async fn arguments_are_validated_before_a_guest_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        HttpTestServer::from_builder(with_folder(granted("defined"), "defined", folder.path()))
            .await;
    for (arguments, expected) in [
        (json!({}), "\"n\" is a required property"),
        (json!({ "n": 0 }), "`/n`: 0 is less than the minimum of 1"),
        (json!({ "n": 1, "x": 1 }), "'x' was unexpected"),
        (
            json!({ "n": "one" }),
            "`/n`: \"one\" is not of type \"integer\"",
        ),
    ] {
        let result = call(&server, "double", arguments).await.json();
        assert_eq!(result["result"]["isError"], true, "{result}");
        let text = result["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(expected), "{text}");
    }
    assert!(!folder.path().join("calls").exists(), "no guest was called");
    let result = call(&server, "double", json!({ "n": 21 })).await.json();
    assert_eq!(
        result["result"]["structuredContent"],
        json!({ "doubled": 42 }),
        "{result}"
    );
    assert_eq!(
        result["result"]["content"],
        json!([{ "type": "text", "text": "{\"doubled\":42}" }])
    );
    let not_an_object = server
        .modern("tools/call", json!({ "name": "double", "arguments": [] }))
        .await
        .json();
    assert_eq!(not_an_object["error"]["code"], -32602, "{not_an_object}");
}

#[tokio::test]
async fn results_are_validated() {
    let server = HttpTestServer::from_builder(granted("defined")).await;
    for (mode, expected) in [
        ("wrong", "does not match its output schema"),
        ("none", "no structured result"),
    ] {
        let result = call(&server, "double", json!({ "n": 1, "mode": mode }))
            .await
            .json();
        assert_eq!(result["error"]["code"], -32603, "{result}");
        assert!(
            result["error"]["message"]
                .as_str()
                .unwrap()
                .contains(expected),
            "{result}"
        );
    }
}

#[tokio::test]
async fn a_tool_that_traps_ran_once() {
    let folder = tempfile::tempdir().unwrap();
    let builder = with_folder(granted("interactive"), "interactive", folder.path());
    let builder = builder.provider("interactive", |grant, _| {
        grant.guests = larder_model::policy::GuestLifetime::Reused;
    });
    let server = HttpTestServer::from_builder(builder).await;
    for text in ["one", "trap", "two"] {
        let result = call(&server, "append", json!({ "text": text }))
            .await
            .json();
        assert_eq!(result.get("error").is_some(), text == "trap", "{result}");
    }
    let calls = std::fs::read_to_string(folder.path().join("calls")).unwrap();
    assert_eq!(calls.lines().count(), 3, "{calls}");
}

#[tokio::test]
async fn prompts_check_their_arguments() {
    let server = HttpTestServer::from_builder(granted("interactive")).await;
    let get = async |arguments| {
        let params = json!({ "name": "greet", "arguments": arguments });
        server.modern("prompts/get", params).await.json()
    };
    let got = get(json!({ "name": "Ada" })).await;
    assert_eq!(
        got["result"]["messages"],
        json!([
            { "role": "user", "content": { "type": "text", "text": "Greet Ada." } },
            { "role": "assistant", "content": { "type": "text", "text": "Hello." } },
        ])
    );
    assert_eq!(got["result"]["description"], "A greeting");
    for (arguments, expected) in [
        (json!({}), "the argument `name` is required"),
        (
            json!({ "name": "Ada", "x": "y" }),
            "the prompt has no argument `x`",
        ),
        (
            json!({ "name": 1 }),
            "every value of `arguments` must be a string",
        ),
    ] {
        let error = get(arguments).await;
        assert_eq!(
            error["error"],
            json!({ "code": -32602, "message": expected })
        );
    }
}

#[tokio::test]
async fn arguments_of_prompts_are_completed() {
    let server = HttpTestServer::from_builder(granted("interactive")).await;
    let complete = async |name: &str, argument: &str| {
        let params = json!({
            "ref": { "type": "ref/prompt", "name": name },
            "argument": { "name": argument, "value": "an" },
            "context": { "arguments": { "tone": "ann" } },
        });
        server.modern("completion/complete", params).await.json()
    };
    assert_eq!(
        complete("greet", "name").await["result"]["completion"]["values"],
        json!(["anton"])
    );
    for (name, argument, expected) in [
        ("gone", "name", "Unknown prompt: gone"),
        ("greet", "gone", "the prompt has no argument `gone`"),
    ] {
        assert_eq!(complete(name, argument).await["error"]["message"], expected);
    }
}
