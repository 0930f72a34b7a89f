//! The commands of operators, over the network.

use serde_json::json;

use super::{ADMIN, Api, TOKEN};
use crate::support::harness::{SLOW_WAIT, eventually_blocking};
use crate::support::process::WorkDir;

fn requesting() -> Api {
    let work_dir = WorkDir::with_guests("wiki@echo").file("plugins/wiki.toml", "env = ['HOME']\n");
    Api::with_token(work_dir.file("token", "secret\n").file("wrong", "guess\n"))
}

/// Another machine, which has neither the configuration nor the state of the server.
fn elsewhere() -> WorkDir {
    WorkDir::with_guests("")
        .file("token", "secret\n")
        .file("wrong", "guess\n")
}

fn wait_for_pending(client: &WorkDir, admin: &str) -> serde_json::Value {
    let mut list = serde_json::Value::Null;
    eventually_blocking(SLOW_WAIT, "a request is pending", || {
        list = client
            .larder(&format!(
                "approve --json --admin {admin} --token-file token"
            ))
            .json();
        list["pending_approval"][0].is_object()
    });
    list["pending_approval"][0].clone()
}

#[test]
fn approves_over_the_network() {
    let (api, client) = (requesting(), elsewhere());
    let admin = api.url();
    let pending = wait_for_pending(&client, &admin);
    assert_eq!(
        (&pending["provider"], &pending["changes"][0]["line"]),
        (&json!("wiki"), &json!("variable HOME"))
    );
    let listed = client
        .larder(&format!("approve --admin {admin} --token-file token"))
        .expect_success();
    assert!(
        listed.contains(" requests\n  + variable HOME\n"),
        "{listed}"
    );

    let approve = format!("approve wiki --yes --admin {admin}");
    let refused = client.larder(&approve).expect_exit(1);
    assert!(
        refused.contains("requires the token in `admin.token` (HTTP 401)"),
        "{refused}"
    );
    let refused = client
        .larder(&format!("{approve} --token-file wrong"))
        .expect_exit(1);
    assert!(
        refused.contains("the token is wrong") && !refused.contains("guess"),
        "{refused}"
    );
    let other = client
        .larder(&format!(
            "{approve} --token-file token --digest 000000000000"
        ))
        .expect_exit(1);
    assert!(
        other.contains("the component that is pending has the digest"),
        "{other}"
    );
    let none = client
        .larder(&format!(
            "approve other --yes --admin {admin} --token secret"
        ))
        .expect_exit(1);
    assert!(
        none.contains("nothing is pending approval for other"),
        "{none}"
    );
    let asked = client.larder(&format!("approve wiki --admin {admin} --token secret"));
    assert!(
        asked.code == Some(1) && asked.stderr.contains("use --yes"),
        "{}",
        asked.stderr
    );
    assert!(api.audited("approve").is_empty());

    let digest = pending["digest"].as_str().unwrap();
    let id = pending["id"].as_str().unwrap();
    let stale = client
        .larder(&format!(
            "{approve} --token-file token --id {}",
            "0".repeat(64)
        ))
        .expect_exit(1);
    assert!(
        stale.contains("changed since you saw it") && stale.contains(&id[..32]),
        "{stale}"
    );
    let approve = format!("{approve} --digest {digest} --id {id} --json");
    let process = client.start_with(&[("LARDER_ADMIN_TOKEN", "secret")], &approve);
    let approved = process.wait();
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    assert_eq!(
        approved.json()["decided"],
        json!([{ "provider": "wiki", "digest": digest, "decision": "approve" }])
    );
    assert!(
        approved.stderr.contains("larder: approved"),
        "{}",
        approved.stderr
    );
    assert_eq!(
        api.audited("approve")[0]["details"],
        json!(["variable HOME", "only for this digest"])
    );
    let read = format!("read echo://hello --url {}", api.endpoint);
    eventually_blocking(SLOW_WAIT, "it is served", || {
        client.larder(&read).code == Some(0)
    });
}

#[test]
fn rejects_over_the_network_and_approves_on_the_machine() {
    let (api, client) = (requesting(), elsewhere());
    let admin = api.url();
    let pending = wait_for_pending(&client, &admin);
    let id = pending["id"].as_str().unwrap();
    let reject = format!("approve wiki --reject --yes --id {id}");
    let rejected = client.larder(&format!("{reject} --admin {admin} --token-file token"));
    assert!(
        rejected.code == Some(0) && rejected.stderr.contains("larder: rejected"),
        "{}",
        rejected.stderr
    );
    eventually_blocking(SLOW_WAIT, "it is not pending", || {
        client
            .larder(&format!("approve --admin {admin} --token-file token"))
            .stderr
            .contains("nothing is pending")
    });
    let status = client
        .larder(&format!("status --admin {admin} --token-file token"))
        .expect_success();
    assert!(
        status.contains("rejected: wiki.wasm: admin.token rejected at "),
        "{status}"
    );
    // On the machine of the server, no token is necessary.
    let approved = api
        .work_dir
        .larder(&format!("approve wiki --yes --id {id}"));
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    assert!(
        approved.stderr.contains("admin.token rejected this at "),
        "{}",
        approved.stderr
    );
    let read = format!("read echo://hello --url {}", api.endpoint);
    eventually_blocking(SLOW_WAIT, "it is served", || {
        client.larder(&read).code == Some(0)
    });
}

#[test]
fn rejects_on_the_machine() {
    let api = requesting();
    wait_for_pending(&api.work_dir, &api.url());
    eventually_blocking(SLOW_WAIT, "the request is recorded", || {
        api.work_dir.larder("approve --json").json()["pending_approval"][0].is_object()
    });
    let pending = api.work_dir.larder("approve --json").json()["pending_approval"][0].clone();
    let id = pending["id"].as_str().unwrap();
    let rejected = api
        .work_dir
        .larder(&format!("approve wiki --reject --yes --id {id} --json"));
    assert_eq!(
        rejected.json()["decided"][0]["decision"],
        "reject",
        "{}",
        rejected.stderr
    );
    eventually_blocking(SLOW_WAIT, "it is rejected", || {
        let status = api
            .work_dir
            .larder(&format!(
                "status --json --admin {} --token secret",
                api.url()
            ))
            .json();
        status["teams"][0]["rejected"][0]["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("rejected at"))
    });
    assert_eq!(api.audited("reject")[0]["provider"], "wiki");
}

#[test]
fn without_a_token_the_network_cannot_approve() {
    let work_dir = WorkDir::with_guests("wiki@echo").file("plugins/wiki.toml", "env = ['HOME']\n");
    let (api, client) = (Api::start(work_dir.file("token", ""), ADMIN), elsewhere());
    let admin = api.url();
    eventually_blocking(SLOW_WAIT, "a request is pending", || {
        let list = client
            .larder(&format!("approve --json --admin {admin}"))
            .json();
        list["pending_approval"][0].is_object()
    });
    let refused = client.approve("wiki", &format!("--admin {admin}"));
    assert!(
        refused.code == Some(1) && refused.stderr.contains("configure `admin.token`"),
        "{}",
        refused.stderr
    );
}

#[test]
fn sends_a_token_over_plain_http_only_to_this_machine() {
    let client = elsewhere();
    for command in [
        "approve",
        "approve wiki --yes",
        "forget wiki --yes",
        "status",
        "reload",
        "watch --events",
    ] {
        let refused = client.larder(&format!(
            "{command} --admin http://192.0.2.1:7879 --token secret"
        ));
        let stderr = refused.expect_exit(64);
        assert!(
            stderr.contains("plain HTTP") && stderr.contains("--insecure"),
            "{command}: {stderr}"
        );
    }
}

#[test]
fn forgets_over_the_network() {
    let config = format!("{ADMIN}{TOKEN}[provider.key_value]\nkey_value = ['shared', 'caller']\n");
    let (api, client) = (
        Api::start(WorkDir::with_guests("key_value"), &config),
        elsewhere(),
    );
    client
        .larder(&format!(
            "read key-value://set/shared/a/1 --url {}",
            api.endpoint
        ))
        .expect_success();
    let forget = format!("forget key_value --yes --admin {}", api.url());
    for token in ["", " --token-file wrong"] {
        let refused = client.larder(&format!("{forget}{token}")).expect_exit(1);
        assert!(refused.contains("HTTP 401"), "{token}: {refused}");
    }
    let both = client
        .larder(&format!("{forget} --token-file token --token secret"))
        .expect_exit(64);
    assert!(both.contains("cannot be used with"), "{both}");
    let forgotten = client.larder(&format!("{forget} --token-file token"));
    assert_eq!(
        (forgotten.code, forgotten.stderr.as_str()),
        (Some(0), "larder: deleted 1 value (66 bytes) of key_value\n")
    );
}

#[test]
fn prints_events_as_they_happen() {
    let api = Api::start(
        WorkDir::with_guests("echo").file("token", "secret\n"),
        &format!("{ADMIN}{TOKEN}"),
    );
    let admin = api.url();
    let refused = api
        .work_dir
        .larder(&format!("watch --events --admin {admin}"))
        .expect_exit(1);
    assert!(refused.contains("HTTP 401"), "{refused}");
    let watch = |more: &str| {
        let mut watch = api.work_dir.start(&format!(
            "watch --events --admin {admin} --token-file token {more}"
        ));
        watch.wait_for_stderr("watching the events of");
        watch
    };
    let (mut text, mut json) = (
        watch("--count 1 --kind load --provider wiki"),
        watch("--json --kind removal"),
    );
    std::fs::copy(
        crate::support::harness::component_path("echo"),
        api.work_dir.path("plugins/wiki.wasm"),
    )
    .unwrap();
    let line = text.next();
    assert!(line.contains("  load          wiki: "), "{line}");
    assert_eq!(text.wait().code, Some(0));
    std::fs::remove_file(api.work_dir.path("plugins/wiki.wasm")).unwrap();
    let event: serde_json::Value = serde_json::from_str(&json.next()).unwrap();
    assert_eq!([&event["kind"], &event["provider"]], ["removal", "wiki"]);
    json.signal("INT");
    assert_eq!(json.wait().code, Some(0));
    let ended = api.work_dir.larder(&format!(
        "watch --events --for 1s --admin {admin} --token secret --count 1 --kind approval"
    ));
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_eq!(
        api.work_dir.larder("watch --events echo://hello").code,
        Some(64)
    );
}
