//! The setting that offers the tools, its reload, and the commands.

use std::fs;

use serde_json::{Value, json};

use crate::administration::admin::AdminClient;
use crate::protocol::subscriptions::Events;
use crate::support::harness::{SLOW_WAIT, eventually_within};
use crate::support::http_server::meta;
use crate::support::process::{WorkDir, http_client};

fn listen(url: &str) -> reqwest::RequestBuilder {
    let mut params = json!({ "notifications": { "toolsListChanged": true } });
    params["_meta"] = meta();
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params });
    let request = http_client()
        .post(url)
        .header("content-type", "application/json");
    let request = request.header("accept", "application/json, text/event-stream");
    let request = request
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "subscriptions/listen");
    request.body(body.to_string())
}

#[tokio::test]
async fn the_setting_is_reloaded_and_clients_are_notified() {
    let config =
        |on: bool| format!("[admin]\nlisten = '127.0.0.1:0'\n[server]\nresource_tools = {on}\n");
    let work_dir = WorkDir::with_guests("echo").file("larder.toml", &config(false));
    let (admin, url) = AdminClient::open(&work_dir);
    let tools = || {
        let list = work_dir.larder(&format!("tools --json --url {url}")).json();
        list["tools"].as_array().unwrap().len()
    };
    assert_eq!(tools(), 0);
    let mut stream = Events::of(listen(&url)).await;
    assert!(
        stream.next().await.is_some(),
        "the subscription is confirmed"
    );
    for (on, count) in [(true, 6), (false, 0)] {
        fs::write(work_dir.path("larder.toml"), config(on)).unwrap();
        work_dir
            .larder(&format!("reload --admin http://{}", admin.address()))
            .expect_success();
        let changed = stream.next().await.unwrap();
        assert_eq!(
            changed["method"], "notifications/tools/list_changed",
            "{changed}"
        );
        eventually_within(SLOW_WAIT, "the tools change", async || tools() == count).await;
    }
}

#[test]
fn commands_search_and_call_the_tools() {
    let work_dir = WorkDir::with_guests("echo searchable").file(
        "larder.toml",
        "[provider.searchable]\nsettings = { hits = 'searchable:one' }\n",
    );
    let (_server, url) = work_dir.serve("--config larder.toml --resource-tools");
    let larder = |words: &str| work_dir.larder(&format!("{words} --url {url}"));
    assert_eq!(
        larder("call fetch --arg id=echo://setting/x --json").json()["structuredContent"]["text"],
        "unset"
    );
    for target in [format!("--url {url}"), "--in-process".to_owned()] {
        let search = |words: &str| work_dir.larder(&format!("search {words} {target}"));
        let found: Value = search("hello --json").json();
        let uris: Vec<_> = found["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["uri"])
            .collect();
        assert_eq!(uris, ["searchable:one", "echo://hello"], "{found}");
        assert_eq!(found["incomplete"], json!([]));
        let table = search("hello").expect_success();
        assert!(
            table.contains("searchable:one\tsearchable:one\t") && !table.contains('\u{1b}'),
            "{table:?}"
        );
        let one = search("hello --limit 1 --prefix echo:").expect_success();
        assert_eq!(one, "URI\tNAME\tEXCERPT\necho://hello\techo://hello\t\n");
        assert_eq!(
            search("hello --kind file --json").json()["results"],
            json!([])
        );
        assert!(search("nothing --prefix echo:").expect_success().is_empty());
    }
    let slow = work_dir.larder(&format!("search fail --url {url}"));
    assert!(
        slow.stderr
            .contains("results may be missing from: searchable"),
        "{}",
        slow.stderr
    );
    for wrong in ["search", "search x --limit 101"] {
        work_dir.larder(wrong).expect_exit(64);
    }
}
