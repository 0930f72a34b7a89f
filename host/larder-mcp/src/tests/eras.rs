//! The same request in both protocol eras.

use expect_test::expect;
use serde_json::{Value, json};

use super::endpoint::{TestEndpoint, config};
use super::guests::{echo, full, trap_nth};
use larder_core::gateway::{self, PageSize};
use larder_core::test_team;

/// The results or errors of 2026-07-28 and of 2025-11-25. Fields that only the modern era has are omitted.
async fn both(http: &TestEndpoint, method: &str, params: &Value) -> [Value; 2] {
    let session = http.session("2025-11-25").await;
    let modern = http.modern(method, params.clone()).await.json();
    let legacy = http.legacy(&session, method, params.clone()).await.json();
    [modern, legacy].map(|answer| {
        let body = answer.get("result").or_else(|| answer.get("error"));
        let mut body = body.unwrap().clone();
        let fields = body.as_object_mut().unwrap();
        for envelope in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            fields.remove(envelope);
        }
        body
    })
}

#[tokio::test]
async fn errors_by_kind_and_era() {
    let http = TestEndpoint::serve([("echo", echo()), ("trap_nth", trap_nth())]).await;
    let mut results = String::new();
    for uri in [
        "echo://error/not-found",
        "nobody:x",
        "not a uri",
        "echo://error/not-modified",
        "echo://error/invalid",
        "echo://error/denied",
        "echo://error/unavailable",
        "echo://error/failed",
        "echo://say/%2e%2e",
        "trap://7",
    ] {
        let [modern, legacy] = both(&http, "resources/read", &json!({ "uri": uri })).await;
        assert_eq!(
            (&modern["message"], &modern["data"]),
            (&legacy["message"], &legacy["data"]),
            "{uri}"
        );
        results += &format!(
            "{} {} {uri} {}\n",
            modern["code"], legacy["code"], modern["data"]
        );
    }
    expect![[r#"
        -32602 -32002 echo://error/not-found {"uri":"echo://error/not-found"}
        -32602 -32002 nobody:x {"uri":"nobody:x"}
        -32602 -32602 not a uri null
        -32603 -32603 echo://error/not-modified {"kind":"failed","provider":"echo"}
        -32602 -32602 echo://error/invalid null
        -32603 -32603 echo://error/denied {"kind":"denied","provider":"echo"}
        -32603 -32603 echo://error/unavailable {"kind":"unavailable","provider":"echo"}
        -32603 -32603 echo://error/failed {"kind":"failed","provider":"echo"}
        -32602 -32602 echo://say/%2e%2e null
        -32603 -32603 trap://7 {"kind":"fault","provider":"trap_nth"}
    "#]]
    .assert_eq(&results);
}

#[tokio::test]
async fn contents_are_the_same_in_both_eras() {
    let http = TestEndpoint::serve([("echo", echo()), ("full", full())]).await;
    let mut results = String::new();
    for uri in ["full://one", "echo://blob", "echo://many"] {
        let [modern, legacy] = both(&http, "resources/read", &json!({ "uri": uri })).await;
        assert_eq!(modern, legacy, "{uri}");
        results += &format!("{legacy}\n");
    }
    expect![[r#"
        {"contents":[{"mimeType":"text/plain","text":"one","uri":"full://one"}]}
        {"contents":[{"blob":"AJ+Slg==","mimeType":"application/octet-stream","uri":"echo://blob"}]}
        {"contents":[{"mimeType":"text/plain","text":"first","uri":"echo://many/1"},{"blob":"c2Vjb25k","mimeType":"text/plain","uri":"echo://many/2"},{"mimeType":"text/markdown","text":"third","uri":"echo://many"}]}
    "#]].assert_eq(&results);
}

#[tokio::test]
async fn instructions_of_operator_and_providers_are_joined() {
    let gateway = gateway::Config {
        instructions: Some("Everything here is for cooks.".into()),
        ..test_team::config(1_000)
    };
    let providers = [("echo", echo()), ("full", full())];
    let http = TestEndpoint::with_config(providers, gateway, config()).await;
    for response in [
        http.modern("server/discover", json!({})).await.json(),
        http.initialize("2025-11-25").await.json(),
    ] {
        let instructions = response["result"]["instructions"].as_str().unwrap();
        expect![[r#"
            Everything here is for cooks.

            Echo: Read echo://hello to see who you are.

            Full: Read full://one first."#]]
        .assert_eq(instructions);
    }
}

#[tokio::test]
async fn each_list_has_its_own_page_size() {
    let gateway = gateway::Config {
        page_size: PageSize {
            resources: 2,
            templates: 1,
        },
        ..test_team::config(0)
    };
    let providers = [("echo", echo()), ("full", full())];
    let http = TestEndpoint::with_config(providers, gateway, config()).await;
    for (method, items, size) in [
        ("resources/list", "resources", 2),
        ("resources/templates/list", "resourceTemplates", 1),
    ] {
        for answer in both(&http, method, &json!({})).await {
            assert_eq!(answer[items].as_array().unwrap().len(), size, "{answer}");
            assert!(answer["nextCursor"].is_string(), "{answer}");
        }
    }
}
