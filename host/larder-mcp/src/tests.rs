//! The protocol over fake providers: requests over HTTP, without a network and without WebAssembly.

mod endpoint;
mod eras;
mod extension;
mod guests;
mod large_pages;
mod legacy;
mod lists;
mod malformed_requests;
mod modern;
mod resource_tools;
mod stalled;
mod subscriptions;
mod tools;

use serde_json::{Value, json};

use self::endpoint::TestEndpoint;
use larder_provider::CallError;
use larder_provider::fake::FakeContent;

#[tokio::test]
async fn a_read_returns_the_text_of_the_provider() {
    let content = FakeContent::default().with_text("x:a", "one\n\"two\"");
    let endpoint = TestEndpoint::new(content).await;
    let result = endpoint.read("x:a").await;
    let expected = json!([{"uri": "x:a", "mimeType": "text/plain", "text": "one\n\"two\""}]);
    assert_eq!(result["contents"], expected);
    assert_eq!(endpoint.content.calls(), ["probe", "read x:a"]);
}

#[tokio::test]
async fn errors_of_a_read_have_codes_and_texts() {
    let content = FakeContent::default().with_text("x:a", "one");
    let endpoint = TestEndpoint::new(content).await;
    let error = endpoint.read("x:missing").await;
    assert_eq!(error["code"], -32602, "{error}");
    endpoint
        .content
        .fail(CallError::Unavailable("the disk is full".into()));
    let error = endpoint.read("x:a").await;
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("the disk is full"),
        "{error}"
    );
}

#[tokio::test]
async fn a_list_has_pages() {
    let content = FakeContent::default()
        .with_text("x:1", "")
        .with_text("x:2", "")
        .with_text("x:3", "");
    let endpoint = TestEndpoint::new(content).await;
    let uris = |page: &Value| -> Vec<String> {
        let resources = page["resources"].as_array().unwrap().iter();
        resources
            .map(|item| item["uri"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = endpoint.request("resources/list", json!({})).await;
    assert_eq!(uris(&first), ["x:1", "x:2"]);
    let cursor = json!({"cursor": first["nextCursor"]});
    let second = endpoint.request("resources/list", cursor).await;
    assert_eq!(uris(&second), ["x:3"]);
    assert_eq!(second.get("nextCursor"), None);
    assert_eq!(
        endpoint.content.calls(),
        ["probe"],
        "lists call no provider"
    );
}

#[tokio::test]
async fn a_tool_is_listed_and_called() {
    let schema = r#"{"type": "object", "properties": {"n": {"type": "number"}}}"#;
    let content = FakeContent::default().with_tool("double", schema);
    let endpoint = TestEndpoint::new(content).await;
    let tools = endpoint.request("tools/list", json!({})).await;
    assert_eq!(tools["tools"][0]["name"], "double");
    let call = json!({"name": "double", "arguments": {"n": 2}});
    let result = endpoint.request("tools/call", call).await;
    assert_eq!(
        result["content"],
        json!([{"type": "text", "text": "{\"n\":2}"}])
    );
    let call = json!({"name": "double", "arguments": {"n": "two"}});
    let result = endpoint.request("tools/call", call).await;
    assert_eq!(result["isError"], true);
    assert_eq!(endpoint.content.calls(), ["probe", "call double"]);
}

const SKILL_MD: &str = "---\nname: pdf\ndescription: Fills forms\nmetadata: {n: 1}\n---\n";

#[tokio::test]
async fn the_skills_extension_is_declared_and_answers() {
    let content = FakeContent::default()
        .with_text("skill://pdf/SKILL.md", SKILL_MD)
        .with_text("skill://pdf/a/b.md", "");
    let endpoint = TestEndpoint::new(content).await;
    let server = endpoint.request("server/discover", json!({})).await;
    assert_eq!(
        server["capabilities"]["extensions"],
        json!({"io.modelcontextprotocol/skills": {"directoryRead": true}})
    );
    let list = endpoint.request("skills/list", json!({})).await;
    let skill = json!({
        "uri": "skill://pdf/SKILL.md",
        "frontmatter": {"name": "pdf", "description": "Fills forms", "metadata": {"n": 1}},
        "resources": [
            {
                "uri": "skill://pdf/SKILL.md",
                "digest": "sha256:5240c5626f4e9be109082788c0db1cfee7ca93f8256d3c34744d9d9ade13c3b1",
                "size": 60,
            },
            {
                "uri": "skill://pdf/a/b.md",
                "digest": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                "size": 0,
            },
        ],
    });
    assert_eq!(list["skills"], json!([skill]));
    assert_eq!(list["resultType"], "complete");
    assert_eq!(
        (&list["ttlMs"], &list["cacheScope"]),
        (&json!(0), &json!("public"))
    );
    let uri = json!({"uri": "skill://pdf/SKILL.md"});
    let got = endpoint.request("skills/get", uri).await;
    assert_eq!(got["skill"], skill);
    assert_eq!(
        (&got["ttlMs"], &got["cacheScope"]),
        (&json!(0), &json!("public"))
    );
    for unknown in ["skill://other/SKILL.md", "skill://pdf", "no uri"] {
        let error = endpoint
            .request("skills/get", json!({"uri": unknown}))
            .await;
        assert_eq!(error["code"], -32602, "{error}");
    }
}

#[tokio::test]
async fn a_folder_is_listed() {
    let content = FakeContent::default()
        .with_text("skill://pdf/SKILL.md", SKILL_MD)
        .with_text("skill://pdf/a/b.md", "");
    let endpoint = TestEndpoint::new(content).await;
    let folder = json!({"uri": "skill://pdf"});
    let list = endpoint.request("resources/directory/read", folder).await;
    assert_eq!(
        list["resources"],
        json!([
            {
                "uri": "skill://pdf/SKILL.md",
                "name": "pdf",
                "description": "Fills forms",
                "mimeType": "text/markdown",
            },
            {"uri": "skill://pdf/a", "name": "a", "mimeType": "inode/directory"},
        ])
    );
    let file = json!({"uri": "skill://pdf/SKILL.md"});
    let error = endpoint.request("resources/directory/read", file).await;
    assert_eq!(error["code"], -32602, "{error}");
}
