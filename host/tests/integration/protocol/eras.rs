//! The same request in both protocol eras.

use serde_json::{Value, json};

use crate::support::harness::TestServer;
use crate::support::http_server::HttpTestServer;
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
