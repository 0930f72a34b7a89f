//! The same question in both eras: what each is answered, byte for byte where the words differ.

use expect_test::expect;
use serde_json::{Value, json};

use crate::house::Plan;
use crate::process::Place;
use crate::wire::{ACCEPT, JSON, Wire};

/// The answers of 2026-07-28 and of 2025-11-25, without what belongs to the envelope.
async fn both(wire: &Wire, method: &str, params: &Value) -> [Value; 2] {
    let session = wire.session("2025-11-25").await;
    let (modern, legacy) = (
        wire.modern(method, params.clone()).await.json(),
        wire.legacy(&session, method, params.clone()).await.json(),
    );
    [modern, legacy].map(|answer| {
        let said = answer.get("result").or_else(|| answer.get("error")).unwrap();
        let mut said = said.clone();
        let said = said.as_object_mut().unwrap();
        for envelope in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            said.remove(envelope);
        }
        json!(said)
    })
}

#[tokio::test]
async fn errors_by_kind_and_era() {
    let wire = Wire::of("echo trap_nth").await;
    let mut seen = String::new();
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
        let [modern, legacy] = both(&wire, "resources/read", &json!({ "uri": uri })).await;
        assert_eq!((&modern["message"], &modern["data"]), (&legacy["message"], &legacy["data"]), "{uri}");
        seen += &format!("{} {} {uri} {}\n", modern["code"], legacy["code"], modern["data"]);
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
    .assert_eq(&seen);
}

#[tokio::test]
async fn text_blobs_and_several_are_the_same_in_both() {
    let wire = Wire::of("echo full").await;
    let mut seen = String::new();
    for uri in ["full://one", "echo://blob", "echo://many"] {
        let [modern, legacy] = both(&wire, "resources/read", &json!({ "uri": uri })).await;
        assert_eq!(modern, legacy, "{uri}");
        seen += &format!("{legacy}\n");
    }
    expect![[r#"
        {"contents":[{"mimeType":"text/plain","text":"one","uri":"full://one"}]}
        {"contents":[{"blob":"AJ+Slg==","mimeType":"application/octet-stream","uri":"echo://blob"}]}
        {"contents":[{"mimeType":"text/plain","text":"first","uri":"echo://many/1"},{"blob":"c2Vjb25k","mimeType":"text/plain","uri":"echo://many/2"},{"mimeType":"text/markdown","text":"third","uri":"echo://many"}]}
    "#]].assert_eq(&seen);
}

#[tokio::test]
async fn several_variables_in_one_segment_and_the_completion_of_each() {
    let wire = Wire::of("schema").await;
    let read = json!({ "uri": "schema://main.public/users" });
    for answer in both(&wire, "resources/read", &read).await {
        assert_eq!(answer["contents"][0]["text"], "main > public > users");
    }
    let mut seen = String::new();
    for (variable, typed, filled) in [
        ("catalog", "", json!({})),
        ("schema_name", "", json!({ "catalog": "main" })),
        ("schema_name", "", json!({ "catalog": "archive" })),
        ("table", "", json!({ "catalog": "main", "schema_name": "public" })),
        ("table", "u", json!({ "catalog": "main", "schema_name": "public" })),
        ("table", "u", json!({ "catalog": "main", "schema_name": "audit" })),
    ] {
        let params = json!({
            "ref": { "type": "ref/resource", "uri": "schema://{catalog}.{schema_name}/{table}" },
            "argument": { "name": variable, "value": typed },
            "context": { "arguments": filled },
        });
        let [modern, legacy] = both(&wire, "completion/complete", &params).await;
        assert_eq!(modern, legacy);
        seen += &format!("{variable} {typed:?} {filled}: {}\n", modern["completion"]["values"]);
    }
    expect![[r#"
        catalog "" {}: ["archive","main"]
        schema_name "" {"catalog":"main"}: ["audit","public"]
        schema_name "" {"catalog":"archive"}: ["old"]
        table "" {"catalog":"main","schema_name":"public"}: ["orders","users"]
        table "u" {"catalog":"main","schema_name":"public"}: ["users"]
        table "u" {"catalog":"main","schema_name":"audit"}: []
    "#]]
    .assert_eq(&seen);
}

#[tokio::test]
async fn a_priority_is_shown_between_0_and_1() {
    let wire = Wire::of("badmeta").await;
    for answer in both(&wire, "resources/list", &json!({})).await {
        let entries = answer["resources"].as_array().unwrap().iter();
        let shown: Vec<_> = entries.filter_map(|entry| entry["annotations"]["priority"].as_f64()).collect();
        // 7 and infinity became 1, -1 became 0, and what is no number was left out.
        let mut sorted = shown.clone();
        sorted.sort_by(f64::total_cmp);
        assert_eq!(sorted, [0.0, 1.0, 1.0], "{shown:?}");
    }
    // The log says so when the component is loaded.
    let place = Place::of("badmeta");
    let (mut serving, _) = place.serve("--plugins plugins");
    let line = serving.told("a priority of 7 became 1");
    assert!(line.contains("WARN") && line.contains("provider=badmeta"), "{line}");
}

#[tokio::test]
async fn a_provider_lists_and_serves_by_its_caller() {
    let subject = |subject: &str| {
        let mut config = crate::wire::config();
        config.caller.subject = Some(subject.to_owned());
        Wire::with(Plan::of("personal"), config)
    };
    for name in ["ann", "bob"] {
        let wire = subject(name).await;
        for answer in both(&wire, "resources/list", &json!({})).await {
            let uris: Vec<_> =
                answer["resources"].as_array().unwrap().iter().map(|entry| &entry["uri"]).collect();
            assert_eq!(
                uris,
                [&json!(format!("personal://{name}/b")), &json!(format!("personal://{name}/a"))]
            );
        }
        let own = json!({ "uri": format!("personal://{name}/a") });
        for answer in both(&wire, "resources/read", &own).await {
            assert_eq!(answer["contents"][0]["text"], format!("a of personal://{name}/"));
        }
        let other = if name == "ann" { "bob" } else { "ann" };
        let [modern, legacy] =
            both(&wire, "resources/read", &json!({ "uri": format!("personal://{other}/a") })).await;
        assert_eq!((&modern["code"], &legacy["code"]), (&json!(-32602), &json!(-32002)));
    }
}

#[tokio::test]
async fn a_report_comes_only_to_those_who_sent_a_token() {
    let wire = Wire::of("echo").await;
    let session = wire.session("2025-11-25").await;
    let plain = wire.legacy(&session, "resources/read", json!({ "uri": "echo://progress" })).await;
    assert_eq!(plain.headers["content-type"], "application/json");
    let quiet = json!({ "uri": "echo://hello", "_meta": { "progressToken": 5 } });
    for answer in [
        wire.modern("resources/read", quiet.clone()).await,
        wire.legacy(&session, "resources/read", quiet).await,
    ] {
        assert_eq!(answer.headers["content-type"], "application/json", "nothing was reported");
    }
    let params = json!({ "uri": "echo://progress", "_meta": { "progressToken": 5 } });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params }).to_string();
    let streamed = wire.post(&[JSON, ACCEPT, ("mcp-session-id", &session)], body).await;
    assert_eq!(streamed.headers["content-type"], "text/event-stream");
    // Events are named after their session.
    let body = regex_lite::Regex::new("id: [0-9a-f]+-").unwrap().replace_all(&streamed.body, "id: SESSION-");
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

#[tokio::test]
async fn what_models_are_told_is_put_together() {
    let wire = Wire::open(Plan::of("echo full").instructions("Everything here is for cooks.")).await;
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello }).to_string();
    for about in [
        wire.modern("server/discover", json!({})).await.json(),
        wire.post(&[JSON, ACCEPT], hello).await.json(),
    ] {
        let words = about["result"]["instructions"].as_str().unwrap();
        expect![[r#"
            Everything here is for cooks.

            Echo: Read echo://hello to see who you are.

            Full: Read full://one first."#]]
        .assert_eq(words);
    }
}

#[tokio::test]
async fn each_list_has_pages_of_its_own_size() {
    let wire = Wire::open(Plan::of("echo full").page_sizes(2, 1)).await;
    for (method, items, size) in
        [("resources/list", "resources", 2), ("resources/templates/list", "resourceTemplates", 1)]
    {
        for answer in both(&wire, method, &json!({})).await {
            assert_eq!(answer[items].as_array().unwrap().len(), size, "{answer}");
            assert!(answer["nextCursor"].is_string(), "{answer}");
        }
    }
}
