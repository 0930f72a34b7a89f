//! Lists and results that the host must not pass on.

use expect_test::{Expect, expect};
use larder_model::prompt::ArgumentQuery;
use larder_provider::Provider as _;

use super::{hostile as load_hostile, page, permit, tool_call};

#[tokio::test]
async fn omits_invalid_tools() {
    let loaded = load_hostile().await;
    let tools = loaded.provider.list_tools(permit(), None).await;
    expect![[r#"
        good 0 1 next None
        omitted: a second tool `good` (2 times)
        omitted: a tool of more than 192 KiB
        omitted: an icon whose `src` is neither `https://` nor `data:image/`
        omitted: metadata that is not JSON
        omitted: metadata with a reserved or invalid key (2 times)
        omitted: the tool "": a tool name has 1 to 64 letters, digits, `_` or `-`
        omitted: the tool "\0": a tool name has 1 to 64 letters, digits, `_` or `-`
        omitted: the tool "\u{1b}[31mred": a tool name has 1 to 64 letters, digits, `_` or `-`
        omitted: the tool "a/b": a tool name has 1 to 64 letters, digits, `_` or `-`
        omitted: the tool "line\nbreak": a tool name has 1 to 64 letters, digits, `_` or `-`
        omitted: the tool "two words": a tool name has 1 to 64 letters, digits, `_` or `-`
        omitted: the tool "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": a tool name has 1 to 64 letters, digits, `_` or `-`
        omitted: the tool "ünïcode": a tool name has 1 to 64 letters, digits, `_` or `-`
        omitted: the tool `array`: its input schema is not a JSON object, or two members of an object have the same name
        omitted: the tool `deep`: its input schema is not a JSON object, or two members of an object have the same name
        omitted: the tool `long`: its input schema has more than 64 KiB
        omitted: the tool `no_json`: its input schema is not a JSON object, or two members of an object have the same name
        omitted: the tool `output`: its output schema is not a JSON object, or two members of an object have the same name
        omitted: the tool `text`: the `type` of its input schema is not `object`
        omitted: the tool `two_values`: its input schema is not a JSON object, or two members of an object have the same name
    "#]].assert_eq(&page(tools, |tool| {
        format!("{} {} {}", tool.name, tool.icons.len(), tool.metadata.len())
    }));
    let from = async |cursor: &str| {
        page(
            loaded
                .provider
                .list_tools(permit(), Some(cursor.into()))
                .await,
            |tool| tool.name.to_string(),
        )
    };
    let million = from("million").await;
    assert!(million.starts_with("error: "), "{million}");
    expect!["error: a page has 10001 tools; the limit is 10000 (`limits.page_entries`)"]
        .assert_eq(&from("many").await);
    expect![[r#"
         next None
        omitted: the rest of a list: its cursor has more than 2 KiB
    "#]]
    .assert_eq(&from("cursor").await);
}

/// Checks the errors of calls of these tools.
async fn check_errors(tools: &[&str], expected: Expect) {
    let loaded = load_hostile().await;
    let mut errors = String::new();
    for tool in tools {
        let error = loaded.call_tool(tool, "{}").await.unwrap_err();
        errors += &format!("{tool}: {error}\n");
    }
    expected.assert_eq(&errors);
}

#[tokio::test]
async fn rejects_invalid_results_of_tools() {
    let tools = [
        "blocks",
        "large",
        "image",
        "audio",
        "link",
        "long_link",
        "embedded",
        "embedded_type",
        "structured",
        "deep",
        "error",
    ];
    check_errors(&tools, expect![[r#"
        blocks: it returned 1001 blocks of content; the limit is 1000
        large: its response is larger than the limit of 16 MiB (`limits.result`)
        image: block 1 of its result: "text/html" is not a media type that begins with `image/`
        audio: block 1 of its result: "audio/x\r\nX: 1" is not a media type that begins with `audio/`
        link: block 1 of its result: `not a uri` is not an absolute URI by RFC 3986 (it needs a scheme, and other characters percent-encoded)
        long_link: block 1 of its result: a link of more than 64 KiB
        embedded: block 1 of its result: `no-scheme` is not an absolute URI by RFC 3986 (it needs a scheme, and other characters percent-encoded)
        embedded_type: block 1 of its result: "\n" is not a media type
        structured: its structured result is not JSON, is nested too deeply, or has two members of the same name
        deep: its structured result is not JSON, is nested too deeply, or has two members of the same name
        error: it returned `not-modified`, but no known version was passed
    "#]]).await;
    let text = load_hostile()
        .await
        .tool_text(permit(), tool_call("metadata", "{}"))
        .await;
    assert_eq!(text, "text fine [User] None example.com/fine=1");
}

#[tokio::test]
async fn rejects_invalid_requests_to_the_client() {
    let tools = [
        "requests",
        "no_requests",
        "same_key",
        "key",
        "method",
        "params",
        "state",
    ];
    check_errors(
        &tools,
        expect![[r#"
        requests: it returned 17 requests to the client; the limit is 16
        no_requests: it requires input from the client, but has no request
        same_key: two requests to the client have the key `a`
        key: the key "a\nb" of a request to the client is not 1 to 64 letters, digits, `.`, `_` or `-`
        method: the request `a` to the client has the unknown method "tools/call"
        params: the parameters of the request `a` are not a JSON object, or one of its objects has two members of the same name
        state: its state for the repeated call has more than 64 KiB
    "#]],
    )
    .await;
}

#[tokio::test]
async fn omits_and_rejects_invalid_prompts() {
    let loaded = load_hostile().await;
    let prompts = loaded.provider.list_prompts(permit(), None).await;
    expect![[r#"
        good next None
        omitted: a second prompt "good"
        omitted: the prompt "": a prompt name has 1 to 128 bytes and no control characters
        omitted: the prompt "\u{9b}31m": a prompt name has 1 to 128 bytes and no control characters
        omitted: the prompt "bad argument": the name of its argument "a b" is not 1 to 64 letters, digits, `.`, `_` or `-`
        omitted: the prompt "line\nbreak": a prompt name has 1 to 128 bytes and no control characters
        omitted: the prompt "many arguments": it has 65 arguments; the limit is 64
        omitted: the prompt "two arguments": it has two arguments `a`
        omitted: the prompt "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": a prompt name has 1 to 128 bytes and no control characters
    "#]].assert_eq(&page(prompts, |prompt| prompt.name.clone()));
    let million = loaded
        .provider
        .list_prompts(permit(), Some("million".into()))
        .await;
    assert!(million.is_err());
    let error = async |name: &str| loaded.prompt(name, &[]).await.unwrap_err().to_string();
    assert_eq!(
        error("many").await,
        "it returned 1001 messages; the limit is 1000"
    );
    assert!(
        error("link")
            .await
            .starts_with("message 2 of its result: `not a uri` is not an absolute URI")
    );
    let suggestions = loaded
        .provider
        .complete_argument(permit(), ArgumentQuery::default())
        .await
        .unwrap();
    assert_eq!(
        (suggestions.values.len(), suggestions.has_more),
        (100, true)
    );
}
