//! The catalog, and reads on behalf of callers.

use serde_json::{Value, json};

use super::{ADMIN, Api, BEARER, TOKEN};
use crate::support::harness::component_path;
use crate::support::process::WorkDir;

#[tokio::test]
async fn an_operator_reads_on_behalf_of_a_caller_and_the_audit_log_says_so() {
    let api = Api::with_token(WorkDir::with_guests("echo fresh"));
    let caller = json!({ "subject": "ann", "claims": { "iss": "https://id", "scope": "b a" } });
    let read = api
        .post(
            "/api/read",
            &[BEARER],
            &json!({ "uri": "echo://hello", "caller": caller }),
        )
        .await
        .json();
    let content = &read["contents"][0];
    assert!(
        content["text"]
            .as_str()
            .unwrap()
            .contains("caller: ann of default with [a b], issued by https://id"),
        "{read}"
    );
    assert_eq!(
        (&content["uri"], &read["cache"]),
        (&json!("echo://hello"), &json!("none"))
    );
    assert!(
        read["duration_seconds"].as_f64().unwrap() > 0.0 && read["ttl_seconds"].is_null(),
        "{read}"
    );
    let line = &api.audited("read")[0];
    assert_eq!(
        [&line["subject"], &line["issuer"], &line["operator"]],
        ["ann", "https://id", "admin.token"]
    );
    assert_eq!(
        [&line["uri"], &line["outcome"], &line["peer"]],
        ["echo://hello", "ok", "127.0.0.1"]
    );
    assert!(
        api.audited("read").len() == 1 && line["token"].is_null(),
        "{line}"
    );

    let blob = api
        .post("/api/read", &[BEARER], &json!({ "uri": "echo://blob" }))
        .await
        .json();
    assert_eq!(blob["contents"][0]["blob"], "AJ+Slg==");
    for (uri, verdict) in [
        ("echo://nothing/there", "404 not-found"),
        ("echo://error/denied", "403 denied"),
        ("echo://error/invalid", "400 invalid"),
        ("echo://error/unavailable", "503 busy"),
        ("echo://error/failed", "502 failed"),
        ("not a uri", "400 bad-request"),
    ] {
        assert_eq!(
            api.post("/api/read", &[BEARER], &json!({ "uri": uri }))
                .await
                .verdict(),
            verdict,
            "{uri}"
        );
    }
    for caller in [
        json!({ "claims": { "groups": "x" } }),
        json!({ "claims": { "iss": 1 } }),
        json!({ "colour": 1 }),
    ] {
        let refused = api
            .post(
                "/api/read",
                &[BEARER],
                &json!({ "uri": "echo://hello", "caller": caller }),
            )
            .await;
        assert_eq!(refused.verdict(), "400 bad-request", "{caller}");
    }
}

#[tokio::test]
async fn a_cached_response_has_its_remaining_time() {
    let api = Api::with_token(WorkDir::with_guests("fresh"));
    let read = async || {
        api.post(
            "/api/read",
            &[BEARER],
            &json!({ "uri": "fresh://everyone/60000/0/a" }),
        )
        .await
        .json()
    };
    let (first, second) = (read().await, read().await);
    assert_eq!(
        [&first["cache"], &second["cache"]],
        ["miss", "hit"],
        "{first} {second}"
    );
    let ttl = |read: &Value| read["ttl_seconds"].as_f64().unwrap();
    assert!(
        ttl(&second) <= ttl(&first) && ttl(&second) > 0.0,
        "{first} {second}"
    );
    assert!(humantime::parse_rfc3339(second["expires"].as_str().unwrap()).is_ok());
    assert_eq!(first["contents"], second["contents"]);
}

#[tokio::test]
async fn completes_variables_of_templates() {
    let api = Api::with_token(WorkDir::with_guests("echo"));
    let complete = async |body: Value| api.post("/api/complete", &[BEARER], &body).await;
    let body = json!({ "template": "echo://say/{word}", "variable": "word", "value": "he", "context": { "other": "x" } });
    assert_eq!(
        complete(body).await.json(),
        json!({ "values": ["hello", "help", "other=x"], "total": 3, "has_more": false })
    );
    let unknown = json!({ "template": "echo://none/{word}", "variable": "word" });
    assert_eq!(complete(unknown).await.verdict(), "404 not-found");
    let line = &api.audited("complete")[0];
    assert_eq!([&line["operator"], &line["outcome"]], ["admin.token", "ok"]);
}

#[tokio::test]
async fn lists_the_catalog_in_parts() {
    let teams = "[server]\nteams = [\"a\"]\n[team.a]\nplugins = \"a\"\n[team.b]\nplugins = \"b\"\n";
    let work_dir = WorkDir::with_guests("");
    for team in ["a", "b"] {
        std::fs::create_dir(work_dir.path(team)).unwrap();
        std::fs::copy(
            component_path("echo"),
            work_dir.path(&format!("{team}/echo.wasm")),
        )
        .unwrap();
    }
    let api = Api::start(work_dir, &format!("{teams}{ADMIN}{TOKEN}"));
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = api
            .get(&format!("/api/resources?limit=3{cursor}"), &[BEARER])
            .await
            .json();
        let items = page["items"].as_array().unwrap().clone();
        assert!((1..=3).contains(&items.len()), "{page}");
        found.extend(items.iter().map(|item| {
            format!("{} {} {}", item["team"], item["provider"], item["uri"]).replace('"', "")
        }));
        let Some(next) = page["next"].as_str() else {
            break;
        };
        cursor = format!(
            "&cursor={}",
            next.replace('\0', "%00")
                .replace(':', "%3A")
                .replace('/', "%2F")
        );
    }
    let expected = ["a", "b"].map(|team| {
        ["blob", "hello", "many", "progress"]
            .map(|name| format!("{team} {team}/echo echo://{name}"))
    });
    assert_eq!(found, expected.concat());

    let uris = async |query: &str| {
        let page = api
            .get(&format!("/api/resources?{query}"), &[BEARER])
            .await
            .json();
        page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["uri"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(uris("q=HELLO&team=b").await, ["echo://hello"]);
    assert_eq!(uris("provider=a%2Fecho").await.len(), 4);
    assert!(uris("provider=echo").await.is_empty() && uris("team=none").await.is_empty());
    let templates = api.get("/api/templates?team=a", &[BEARER]).await.json();
    assert_eq!(templates["items"].as_array().unwrap().len(), 4);
    assert_eq!(templates["items"][0]["uriTemplate"], "echo://error/{kind}");
    let read = async |caller: Value| {
        api.post(
            "/api/read",
            &[BEARER],
            &json!({ "uri": "echo://hello", "caller": caller }),
        )
        .await
    };
    let of_a = read(json!({})).await.json();
    assert!(
        of_a["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("caller: nobody of a"),
        "a caller of all teams: {of_a}"
    );
    assert_eq!(
        read(json!({ "team": "none" })).await.verdict(),
        "404 not-found"
    );
    let of_b = read(json!({ "team": "b" })).await.json();
    assert!(
        of_b["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("caller: nobody of b"),
        "{of_b}"
    );
}

#[tokio::test]
async fn shows_definitions_as_clients_see_them_and_calls_no_tool() {
    let api = Api::start(
        WorkDir::with_guests("defined"),
        &format!("{ADMIN}{TOKEN}[provider.defined]\ntools = true\nprompts = true\n"),
    );
    let tools = api.get("/api/tools", &[BEARER]).await.json();
    let listed = api
        .work_dir
        .larder(&format!("tools --json --url {}", api.endpoint))
        .json();
    let names = |list: &Value| {
        list.as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&tools["items"]),
        names(&listed["tools"]),
        "{tools} {listed}"
    );
    assert!(
        !names(&tools["items"]).is_empty() && tools["items"][0]["inputSchema"].is_object(),
        "{tools}"
    );
    assert_eq!(tools["items"][0]["provider"], "defined");
    assert!(
        !api.get("/api/prompts", &[BEARER]).await.json()["items"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    for path in ["/api/call", "/api/tools", "/api/tools/call", "/api/prompts"] {
        let status = api
            .post(path, &[BEARER], &json!({ "name": "x" }))
            .await
            .status;
        assert!(status == 404 || status == 405, "{path}: {status}");
    }
}
