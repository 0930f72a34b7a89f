//! Without a token and a scope: only this machine has access, and only to the data that the MCP endpoint returns to
//! everybody.

use serde_json::json;

use super::{ADMIN, Api};
use crate::support::harness::{SLOW_WAIT, eventually_within};
use crate::support::process::WorkDir;

#[tokio::test]
async fn this_machine_can_look_but_not_approve() {
    let work_dir =
        WorkDir::with_guests("echo wiki@env").file("plugins/wiki.toml", "env = ['HOME']\n");
    let api = Api::start(work_dir, ADMIN);
    let session = api.get("/api/session", &[]).await.json();
    assert_eq!(
        session,
        json!({ "subject": "loopback", "via": "loopback", "may_approve": false, "may_read": true })
    );
    eventually_within(SLOW_WAIT, "an approval is pending", async || {
        !api.get("/api/approvals", &[]).await.json()["items"]
            .as_array()
            .unwrap()
            .is_empty()
    })
    .await;
    let pending = api.get("/api/approvals", &[]).await.json()["items"][0].clone();
    let decision =
        json!({ "decision": "approve", "digest": pending["digest"], "id": pending["id"] });
    let bearer = ("authorization", "Bearer anything");
    for headers in [&[][..], &[bearer], &[("x-larder-csrf", "x")]] {
        let refused = api.post("/api/approvals/wiki", headers, &decision).await;
        assert_eq!(refused.verdict(), "403 forbidden", "{headers:?}");
    }
    assert_eq!(
        api.log_in("anything", &[]).await.verdict(),
        "409 no-credentials"
    );
    assert!(api.audited("approve").is_empty());
    assert_eq!(
        api.get("/api/approvals", &[]).await.json()["items"]
            .as_array()
            .unwrap()
            .len(),
        1
    );

    let read = api
        .post("/api/read", &[], &json!({ "uri": "echo://hello" }))
        .await
        .json();
    assert!(
        read["contents"][0]["text"]
            .as_str()
            .unwrap()
            .contains("caller: nobody of default with []"),
        "{read}"
    );
    assert_eq!(api.audited("read")[0]["operator"], "loopback");
    for caller in [
        json!({ "subject": "ann" }),
        json!({ "claims": { "scope": "x" } }),
        json!({ "team": "other" }),
    ] {
        let refused = api
            .post(
                "/api/read",
                &[],
                &json!({ "uri": "echo://hello", "caller": caller }),
            )
            .await;
        assert_eq!(refused.verdict(), "403 forbidden", "{caller}");
    }
}

#[tokio::test]
async fn requests_that_may_come_from_elsewhere_are_refused() {
    let api = Api::start(
        WorkDir::with_guests("echo"),
        &format!("{ADMIN}hosts = [\"admin.example\"]\n"),
    );
    assert_eq!(
        api.get("/api/session", &[("host", "localhost:7879")])
            .await
            .status,
        200
    );
    for header in [
        ("host", "admin.example"),
        ("host", "10.0.0.7:7879"),
        ("x-forwarded-for", "10.0.0.7"),
        ("x-forwarded-host", "admin.example"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-server", "proxy"),
        ("forwarded", "for=10.0.0.7"),
        ("via", "1.1 proxy"),
        ("x-real-ip", "10.0.0.7"),
        ("x-client-ip", "10.0.0.7"),
        ("true-client-ip", "10.0.0.7"),
        ("cf-connecting-ip", "10.0.0.7"),
        ("cf-ray", "7"),
        ("x-original-host", "admin.example"),
        ("x-envoy-external-address", "10.0.0.7"),
    ] {
        assert_eq!(
            api.get("/api/session", &[header]).await.verdict(),
            "403 forbidden",
            "{header:?}"
        );
        assert_eq!(
            api.get("/api/overview", &[header]).await.verdict(),
            "403 forbidden",
            "{header:?}"
        );
    }
    assert_eq!(
        api.get("/api/session", &[("host", "evil.example")])
            .await
            .verdict(),
        "403 host"
    );
}

#[tokio::test]
async fn an_address_that_others_can_reach_has_no_api_without_credentials() {
    let config = "[admin]\nlisten = \"0.0.0.0:0\"\nunauthenticated = true\n";
    let api = Api::start(WorkDir::with_guests("echo"), config);
    let port = api.server.address().rsplit(':').next().unwrap().to_owned();
    let get = async |path: &str| {
        let url = format!("http://127.0.0.1:{port}{path}");
        api.client.get(url).send().await.unwrap().status().as_u16()
    };
    assert_eq!(get("/status").await, 200);
    for path in ["/api/session", "/api/overview", "/api/status"] {
        assert_eq!(get(path).await, 403, "{path}");
    }
    let refused = api
        .work_dir
        .larder(&format!("status --admin http://127.0.0.1:{port}"))
        .expect_exit(1);
    assert!(
        refused.contains("without `admin.token` or `admin.scope`"),
        "{refused}"
    );
}

#[tokio::test]
async fn what_the_endpoint_protects_is_not_readable_here() {
    let auth = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[[auth.tokens]]\nname = \"ann\"\ndigest = \"sha256:{}\"\n",
        "0".repeat(64)
    );
    let socket = "[server]\nlisten = \"unix:larder.sock\"\n";
    for more in [auth.as_str(), socket] {
        let work_dir = WorkDir::with_guests("echo").file("larder.toml", &format!("{more}{ADMIN}"));
        let mut process = work_dir.start("serve --config larder.toml");
        let line = process.wait_for_stderr("serving /livez");
        let admin = line.trim().rsplit("url=").next().unwrap().to_owned();
        let client = crate::support::process::http_client();
        let get = async |path: &str| client.get(format!("{admin}{path}")).send().await.unwrap();
        let session: serde_json::Value =
            serde_json::from_str(&get("/api/session").await.text().await.unwrap()).unwrap();
        assert_eq!(session["may_read"], false, "{more}");
        for path in [
            "/api/resources",
            "/api/templates",
            "/api/tools",
            "/api/prompts",
        ] {
            assert_eq!(get(path).await.status().as_u16(), 403, "{path} with {more}");
        }
        let mut provider = serde_json::Value::Null;
        eventually_within(SLOW_WAIT, "the provider is served", async || {
            let text = get("/api/providers/echo").await.text().await.unwrap();
            provider = serde_json::from_str(&text).unwrap();
            provider["offers"].is_object()
        })
        .await;
        for list in [
            "templates",
            "tools",
            "prompts",
            "skills",
            "not_skills",
            "claims",
            "omitted",
        ] {
            assert_eq!(provider["offers"][list], json!([]), "{list} with {more}");
        }
        let read = client
            .post(format!("{admin}/api/read"))
            .header("content-type", "application/json");
        let read = read
            .body(json!({ "uri": "echo://hello" }).to_string())
            .send()
            .await
            .unwrap();
        assert_eq!(read.status().as_u16(), 403, "{more}");
        assert_eq!(get("/api/overview").await.status().as_u16(), 200, "{more}");
    }
}
