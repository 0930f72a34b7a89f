//! The same request in both protocol eras.

use expect_test::expect;
use serde_json::{Value, json};

use super::endpoint::{ACCEPT, JSON, TestEndpoint, config};
use super::guests::{echo, full, schema, trap_nth};
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
async fn completes_several_variables_in_one_segment() {
    let http = TestEndpoint::serve([("schema", schema())]).await;
    let read = json!({"uri": "schema://main.public/users"});
    for answer in both(&http, "resources/read", &read).await {
        assert_eq!(answer["contents"][0]["text"], "main > public > users");
    }
    for (variable, filled, expected) in [
        ("catalog", json!({}), "catalog of []x"),
        (
            "schema_name",
            json!({"catalog": "archive"}),
            r#"schema_name of [("catalog", "archive")]x"#,
        ),
        (
            "table",
            json!({"catalog": "main", "schema_name": "public"}),
            r#"table of [("catalog", "main"), ("schema_name", "public")]x"#,
        ),
    ] {
        let params = json!({
            "ref": {"type": "ref/resource", "uri": "schema://{catalog}.{schema_name}/{table}"},
            "argument": {"name": variable, "value": "x"},
            "context": {"arguments": filled},
        });
        for answer in both(&http, "completion/complete", &params).await {
            assert_eq!(answer["completion"]["values"], json!([expected]));
        }
    }
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

#[tokio::test]
async fn not_modified_has_its_error_code_in_both_eras() {
    let http = TestEndpoint::serve([("full", full())]).await;
    let session = http.session("2025-11-25").await;
    for (known, verdict) in [
        (json!("1"), "200 -31001"),
        (json!("0"), "200 ok"),
        (json!(1), "200 -32602"),
    ] {
        let params = json!({"uri": "full://one", "_meta": {"dev.larder/version": known}});
        for answer in [
            http.modern("resources/read", params.clone()).await,
            http.legacy(&session, "resources/read", params).await,
        ] {
            assert_eq!(answer.verdict(), verdict, "{}", answer.body);
            let data = match verdict {
                "200 -31001" => json!({"uri": "full://one", "version": "1"}),
                _ => Value::Null,
            };
            assert_eq!(answer.json()["error"]["data"], data);
        }
    }
}

#[tokio::test]
async fn progress_is_sent_only_if_there_is_a_token() {
    let http = TestEndpoint::serve([("echo", echo())]).await;
    let session = http.session("2025-11-25").await;
    let progress = json!({"uri": "echo://progress"});
    let quiet = json!({"uri": "echo://hello", "_meta": {"progressToken": 5}});
    for params in [progress, quiet] {
        for answer in [
            http.modern("resources/read", params.clone()).await,
            http.legacy(&session, "resources/read", params.clone())
                .await,
        ] {
            assert_eq!(
                answer.headers["content-type"], "application/json",
                "{params}"
            );
        }
    }
    let params = json!({"uri": "echo://progress", "_meta": {"progressToken": 5}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params});
    let headers = [JSON, ACCEPT, ("mcp-session-id", &session)];
    let streamed = http.post(&headers, body.to_string()).await;
    assert_eq!(streamed.headers["content-type"], "text/event-stream");
    // The id of an event contains the id of the session.
    let (id, _) = streamed.body.split_once("-1-0\n").unwrap();
    let body = streamed.body.replace(id, "id: SESSION");
    expect![[r#"
        id: SESSION-1-0
        retry: 1000
        data:

        event: message
        id: SESSION-1-1
        data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1.0,"total":3.0,"message":"step 1"}}

        event: message
        id: SESSION-1-2
        data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":2.0,"total":3.0,"message":"step 2"}}

        event: message
        id: SESSION-1-3
        data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":3.0,"total":3.0,"message":"step 3"}}

        event: message
        id: SESSION-1-4
        data: {"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"echo://progress","mimeType":"text/plain","text":"done"}]}}

    "#]]
    .assert_eq(&body);
}
