//! The same request in both protocol eras: the responses, compared byte by byte where they differ.

use expect_test::expect;
use serde_json::{Value, json};

use crate::support::harness::TestServer;
use crate::support::http_server::{ACCEPT, HttpTestServer, JSON};
use crate::support::process::WorkDir;

/// The results or errors of 2026-07-28 and of 2025-11-25. Fields that only the modern era has are omitted.
async fn both(http: &HttpTestServer, method: &str, params: &Value) -> [Value; 2] {
    let session = http.session("2025-11-25").await;
    let (modern, legacy) = (
        http.modern(method, params.clone()).await.json(),
        http.legacy(&session, method, params.clone()).await.json(),
    );
    [modern, legacy].map(|answer| {
        let body = answer
            .get("result")
            .or_else(|| answer.get("error"))
            .unwrap();
        let mut body = body.clone();
        let body = body.as_object_mut().unwrap();
        for envelope in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            body.remove(envelope);
        }
        json!(body)
    })
}

#[tokio::test]
async fn completes_several_variables_in_one_segment() {
    let http = HttpTestServer::start("schema").await;
    let read = json!({ "uri": "schema://main.public/users" });
    for answer in both(&http, "resources/read", &read).await {
        assert_eq!(answer["contents"][0]["text"], "main > public > users");
    }
    let mut results = String::new();
    for (variable, typed, filled) in [
        ("catalog", "", json!({})),
        ("schema_name", "", json!({ "catalog": "main" })),
        ("schema_name", "", json!({ "catalog": "archive" })),
        (
            "table",
            "",
            json!({ "catalog": "main", "schema_name": "public" }),
        ),
        (
            "table",
            "u",
            json!({ "catalog": "main", "schema_name": "public" }),
        ),
        (
            "table",
            "u",
            json!({ "catalog": "main", "schema_name": "audit" }),
        ),
    ] {
        let params = json!({
            "ref": { "type": "ref/resource", "uri": "schema://{catalog}.{schema_name}/{table}" },
            "argument": { "name": variable, "value": typed },
            "context": { "arguments": filled },
        });
        let [modern, legacy] = both(&http, "completion/complete", &params).await;
        assert_eq!(modern, legacy);
        results += &format!(
            "{variable} {typed:?} {filled}: {}\n",
            modern["completion"]["values"]
        );
    }
    expect![[r#"
        catalog "" {}: ["archive","main"]
        schema_name "" {"catalog":"main"}: ["audit","public"]
        schema_name "" {"catalog":"archive"}: ["old"]
        table "" {"catalog":"main","schema_name":"public"}: ["orders","users"]
        table "u" {"catalog":"main","schema_name":"public"}: ["users"]
        table "u" {"catalog":"main","schema_name":"audit"}: []
    "#]]
    .assert_eq(&results);
}

#[tokio::test]
async fn priorities_are_clamped_to_0_and_1() {
    let http = HttpTestServer::start("badmeta").await;
    for answer in both(&http, "resources/list", &json!({})).await {
        let entries = answer["resources"].as_array().unwrap().iter();
        let priorities: Vec<_> = entries
            .filter_map(|entry| entry["annotations"]["priority"].as_f64())
            .collect();
        // 7 and infinity became 1, -1 became 0, and NaN was omitted.
        let mut sorted = priorities.clone();
        sorted.sort_by(f64::total_cmp);
        assert_eq!(sorted, [0.0, 1.0, 1.0], "{priorities:?}");
    }
    // A warning is logged when the component is loaded.
    let work_dir = WorkDir::with_guests("badmeta");
    let (mut process, _) = work_dir.serve("--plugins plugins");
    let line = process.wait_for_stderr("a priority of 7 became 1");
    assert!(
        line.contains("WARN") && line.contains("provider=badmeta"),
        "{line}"
    );
}

#[tokio::test]
async fn a_provider_serves_each_caller_its_own_resources() {
    let subject = |subject: &str| {
        let mut config = crate::support::http_server::config();
        config.caller.subject = Some(subject.to_owned());
        HttpTestServer::with_config(TestServer::builder("personal"), config)
    };
    for name in ["ann", "bob"] {
        let http = subject(name).await;
        for answer in both(&http, "resources/list", &json!({})).await {
            let uris: Vec<_> = answer["resources"]
                .as_array()
                .unwrap()
                .iter()
                .map(|entry| &entry["uri"])
                .collect();
            assert_eq!(
                uris,
                [
                    &json!(format!("personal://{name}/b")),
                    &json!(format!("personal://{name}/a"))
                ]
            );
        }
        let own = json!({ "uri": format!("personal://{name}/a") });
        for answer in both(&http, "resources/read", &own).await {
            assert_eq!(
                answer["contents"][0]["text"],
                format!("a of personal://{name}/")
            );
        }
        let other = if name == "ann" { "bob" } else { "ann" };
        let [modern, legacy] = both(
            &http,
            "resources/read",
            &json!({ "uri": format!("personal://{other}/a") }),
        )
        .await;
        assert_eq!(
            (&modern["code"], &legacy["code"]),
            (&json!(-32602), &json!(-32002))
        );
    }
}

#[tokio::test]
async fn progress_is_sent_only_if_there_is_a_token() {
    let http = HttpTestServer::start("echo").await;
    let session = http.session("2025-11-25").await;
    let plain = http
        .legacy(
            &session,
            "resources/read",
            json!({ "uri": "echo://progress" }),
        )
        .await;
    assert_eq!(plain.headers["content-type"], "application/json");
    let quiet = json!({ "uri": "echo://hello", "_meta": { "progressToken": 5 } });
    for answer in [
        http.modern("resources/read", quiet.clone()).await,
        http.legacy(&session, "resources/read", quiet).await,
    ] {
        assert_eq!(
            answer.headers["content-type"], "application/json",
            "there was no progress"
        );
    }
    let params = json!({ "uri": "echo://progress", "_meta": { "progressToken": 5 } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params })
        .to_string();
    let streamed = http
        .post(&[JSON, ACCEPT, ("mcp-session-id", &session)], body)
        .await;
    assert_eq!(streamed.headers["content-type"], "text/event-stream");
    // The id of an event contains the id of the session.
    let body = regex_lite::Regex::new("id: [0-9a-f]+-")
        .unwrap()
        .replace_all(&streamed.body, "id: SESSION-");
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
        data: {"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"echo://progress","mimeType":"text/plain","text":"done, cancelled: false"}]}}

    "#]].assert_eq(&body);
}
