//! Events on the server.

use std::fs;

use serde_json::Value;

use super::DataServer;

/// Waits for an event of this kind whose text contains `text`.
async fn event(server: &DataServer, kind: &str, text: &str) -> Value {
    let path = format!("/api/events?kind={kind}");
    let is_it = |event: &&Value| event["text"].as_str().unwrap().contains(text);
    let what = format!("an event of the kind {kind} with {text:?}");
    let list = server
        .until(&what, &path, |list| {
            list["items"]
                .as_array()
                .unwrap()
                .iter()
                .any(|one| is_it(&one))
        })
        .await;
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(is_it)
        .unwrap()
        .clone()
}

#[tokio::test]
async fn records_every_kind_of_change() {
    let server = DataServer::start("echo revision", "");
    let plugins = server.work_dir.path("plugins");
    assert_eq!(
        event(&server, "load", "loaded echo ").await["provider"],
        "echo"
    );
    fs::write(
        plugins.join("new"),
        fs::read(plugins.join("echo.wasm")).unwrap(),
    )
    .unwrap();
    fs::rename(plugins.join("new"), plugins.join("revision.wasm")).unwrap();
    let reload = event(&server, "reload", "replaced revision ").await;
    assert_eq!(
        reload["details"]["digest"].as_str().unwrap().len(),
        64,
        "{reload}"
    );
    fs::write(plugins.join("empty.wasm"), "").unwrap();
    let rejection = event(&server, "rejection", "empty.wasm: the file is empty").await;
    assert_eq!(rejection["provider"], "empty");
    fs::write(plugins.join("echo.toml"), "dirs = [\"/usr\"]\n").unwrap();
    let approval = event(&server, "approval", "echo waits for approval").await;
    assert!(
        approval["details"]["requests"]
            .as_str()
            .unwrap()
            .contains("/usr"),
        "{approval}"
    );
    fs::remove_file(plugins.join("revision.wasm")).unwrap();
    event(&server, "removal", "revision is not served any more").await;
    let config = fs::read_to_string(server.work_dir.path("larder.toml")).unwrap();
    // The file is renamed into place, because otherwise a still empty file could be read.
    fs::write(server.work_dir.path("new.toml"), config + "nonsense = 1\n").unwrap();
    fs::rename(
        server.work_dir.path("new.toml"),
        server.work_dir.path("larder.toml"),
    )
    .unwrap();
    // The credentials in the file are read separately, and are still valid.
    let failed = event(
        &server,
        "reload",
        "the configuration was read again (reload-configuration)",
    )
    .await;
    assert!(
        failed["details"]["error"]
            .as_str()
            .unwrap()
            .contains("nonsense"),
        "{failed}"
    );
}

#[tokio::test]
async fn records_refusals_and_notifications() {
    let server = DataServer::start("echo", "");
    let client = crate::support::process::http_client();
    for _ in 0..30 {
        let response = client
            .post(&server.url)
            .header("host", "evil.example")
            .body("{}")
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 403);
    }
    let refusal = event(&server, "refusal", "a request was refused: host").await;
    assert_eq!(refusal["details"]["peer"], "127.0.0.1");
    // The other events are summarized.
    event(&server, "refusal", "29 more requests were refused: host").await;
    assert_eq!(server.items("/api/events?kind=refusal").await.len(), 2);

    let mut watch = server
        .work_dir
        .start(&format!("watch --list --url {}", server.url));
    let path = server.work_dir.path("plugins/more.wasm");
    // The client may not be connected yet, so the list changes until it is notified.
    crate::support::harness::eventually_within(
        crate::support::harness::SLOW_WAIT,
        "a client is notified",
        async || {
            if path.exists() {
                fs::remove_file(&path).unwrap();
            } else {
                fs::copy(crate::support::harness::component_path("trap_reads"), &path).unwrap();
            }
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            !server
                .items("/api/events?kind=notification")
                .await
                .is_empty()
        },
    )
    .await;
    let notification = event(&server, "notification", "lists changed: resources").await;
    assert_eq!(notification["details"]["clients"], "1");
    watch.next();
    watch.signal("TERM");
}

#[tokio::test]
async fn returns_parts_and_filters() {
    let server = DataServer::start("echo trap_reads b@echo", "");
    let ids = async |query: &str| -> Vec<u64> {
        let items = server.items(&format!("/api/events{query}")).await;
        items
            .iter()
            .map(|item| item["id"].as_u64().unwrap())
            .collect()
    };
    let all = ids("").await;
    assert!(
        all.len() >= 3 && all.is_sorted_by(|one, other| one > other),
        "{all:?}"
    );
    let first = server.json("/api/events?limit=2").await;
    assert_eq!(first["next"], all[1].to_string());
    assert_eq!(ids(&format!("?cursor={}&limit=1", all[1])).await, [all[2]]);
    assert_eq!(ids(&format!("?after={}", all[1])).await, [all[0]]);
    let of = async |query: &str| server.items(&format!("/api/events{query}")).await;
    assert!(
        of("?provider=trap_reads")
            .await
            .iter()
            .all(|one| one["provider"] == "trap_reads")
    );
    assert_eq!(of("?kind=load,rejection&q=LOADED+B").await.len(), 1);
    assert_eq!(of("?kind=fault").await.len(), 0);
    assert_eq!(of("?team=other").await.len(), 0);
}
