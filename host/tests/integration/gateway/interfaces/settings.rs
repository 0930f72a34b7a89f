//! Declared settings, and what the catalog and the commands report about them.

use expect_test::expect;
use larder_model::settings::Declaration;
use larder_provider::Provider as _;

use super::{hostile, interactive, page, permit};
use crate::administration::admin::AdminClient;
use crate::support::harness::{SLOW_WAIT, TestServer, eventually_within};
use crate::support::process::{WorkDir, path_arg};

#[tokio::test]
async fn declares_settings() {
    let loaded = interactive().await;
    let declared = loaded.provider.declared_settings(permit()).await;
    let show = |it: &Declaration| {
        format!(
            "{}:{}:{:?}:{}:{}",
            it.name,
            it.kind.as_str(),
            it.default,
            it.required,
            it.secret
        )
    };
    expect![[r#"
        name:text:None:true:false more:number:Some("0"):false:false brief:boolean:None:false:false cache:size:None:false:false wait:duration:None:false:false token:text:None:false:true next None
    "#]]
    .assert_eq(&page(declared, show));
}

#[tokio::test]
async fn the_catalog_has_the_problems_of_settings() {
    let builder = TestServer::builder("interactive").provider("interactive", |grant, _| {
        let settings = [("more", "many"), ("nmae", "x"), ("token", "hush")];
        grant.settings = settings
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    });
    let server = builder.start().await;
    let problems: Vec<_> = server.reader.snapshot().offers()[0]
        .setting_problems
        .iter()
        .map(ToString::to_string)
        .collect();
    let expected = [
        "setting `nmae` is unknown: did you mean `name`?",
        "setting `name` is required: add it to `settings`",
        "setting `more` is not a number: write a number, such as 10 or 2.5",
        "setting `token` is a secret, but its value is in `settings`: move it to [secret.token]",
    ];
    assert_eq!(problems, expected);
    // The provider is served nevertheless.
    assert_eq!(server.text("interactive:note").await, "interactive:note");
}

#[tokio::test]
async fn a_provider_that_cannot_declare_its_settings_is_served() {
    for (case, expected) in [
        (
            "trap",
            "the settings that it declares: it trapped: wasm trap: wasm `unreachable` instruction executed",
        ),
        (
            "many",
            "the settings that it declares: it returned 257 settings; the limit is 256",
        ),
    ] {
        let server = TestServer::builder("hostile_interfaces")
            .setting("hostile_interfaces", "in", case)
            .start()
            .await;
        let catalog = server.reader.snapshot();
        assert_eq!(
            catalog.offers()[0].omitted,
            [expected],
            "{}",
            server.first_pass
        );
    }
}

#[tokio::test]
async fn omits_invalid_settings() {
    let declared = hostile().await.provider.declared_settings(permit()).await;
    expect![[r#"
        same next None
        omitted: a second setting "same"
        omitted: the setting "": its name is not 1 to 64 letters, digits, `.`, `_` or `-`
        omitted: the setting "\0": its name is not 1 to 64 letters, digits, `.`, `_` or `-`
        omitted: the setting "\u{1b}[31mred": its name is not 1 to 64 letters, digits, `.`, `_` or `-`
        omitted: the setting "a/b": its name is not 1 to 64 letters, digits, `.`, `_` or `-`
        omitted: the setting "boolean": its default is not a boolean
        omitted: the setting "duration": its default is not a duration
        omitted: the setting "line\nbreak": its name is not 1 to 64 letters, digits, `.`, `_` or `-`
        omitted: the setting "long": it has more than 16 KiB
        omitted: the setting "number": its default is not a number
        omitted: the setting "size": its default is not a size
        omitted: the setting "two words": its name is not 1 to 64 letters, digits, `.`, `_` or `-`
        omitted: the setting "ünïcode": its name is not 1 to 64 letters, digits, `.`, `_` or `-`
    "#]]
    .assert_eq(&page(declared, |it| it.name.clone()));
}

const CONFIG: &str = r#"
[admin]
listen = "127.0.0.1:0"

[provider.interactive]
settings = { more = "many", nmae = "x", token = "hush-hush-hush", name = "x" }
"#;

#[test]
fn check_reports_settings() {
    let work_dir = WorkDir::with_guests("interactive").file("larder.toml", CONFIG);
    let wrong = work_dir.larder("check");
    assert_eq!(wrong.code, Some(1));
    let wrong = wrong.stderr;
    for expected in [
        "interactive: warning: setting `nmae` is unknown: did you mean `name`?",
        "interactive: setting `more` is not a number",
        "interactive: warning: setting `token` is a secret",
    ] {
        assert!(wrong.contains(expected), "{wrong}");
    }
    assert!(!wrong.contains("hush-hush"), "{wrong}");
    let file = work_dir.path("plugins/interactive.wasm");
    let alone = work_dir.larder(&format!("check {} --config larder.toml", path_arg(&file)));
    assert_eq!(alone.code, Some(1));
    assert!(
        alone
            .stdout
            .contains("FAILED  settings  setting `more` is not a number"),
        "{}",
        alone.stdout
    );
    // Without a configuration, a missing setting is not a problem of the component.
    let alone = work_dir.larder(&format!("check {}", path_arg(&file)));
    assert_eq!(alone.code, Some(0), "{}", alone.stdout);
    assert!(
        alone
            .stdout
            .contains("tools     everything, ask, tell, change, append"),
        "{}",
        alone.stdout
    );
    // A warning is no problem.
    let fine = "[provider.interactive]\nsettings = { name = \"x\", token = \"hush-hush-hush\" }\n";
    let work_dir = WorkDir::with_guests("interactive").file("larder.toml", fine);
    let fine = work_dir.larder("check");
    assert_eq!(fine.code, Some(0));
    assert!(
        fine.stderr.contains("warning: setting `token`"),
        "{}",
        fine.stderr
    );
    assert_eq!(work_dir.larder("check --strict").code, Some(1));
}

#[tokio::test]
async fn a_server_reports_settings() {
    let work_dir = WorkDir::with_guests("interactive").file("larder.toml", CONFIG);
    let (mut admin, _) = AdminClient::open(&work_dir);
    admin
        .process
        .wait_for_stderr("setting `more` is not a number");
    let (_, status) = admin.get("/status").await;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let problems = status["teams"][0]["providers"][0]["setting_problems"]
        .as_array()
        .unwrap();
    assert_eq!(problems.len(), 3, "{problems:?}");
}

#[tokio::test]
async fn a_provider_without_a_required_setting_is_not_served() {
    let work_dir = WorkDir::with_guests("interactive echo")
        .file("larder.toml", "[admin]\nlisten = \"127.0.0.1:0\"\n");
    let checked = work_dir.larder("check");
    assert_eq!(checked.code, Some(1));
    let expected = "interactive.wasm is rejected: setting `name` is required: add it to `settings`";
    assert!(checked.stderr.contains(expected), "{}", checked.stderr);
    let (admin, _) = AdminClient::open(&work_dir);
    let team = async || {
        let (_, status) = admin.get("/status").await;
        serde_json::from_str::<serde_json::Value>(&status).unwrap()["teams"][0].clone()
    };
    let before = team().await;
    assert_eq!(
        before["rejected"][0]["reason"],
        "setting `name` is required: add it to `settings`"
    );
    assert_eq!(before["providers"].as_array().unwrap().len(), 1);
    // The component is served as soon as the setting is configured. If the setting is removed again, the component is
    // still served with it.
    let with_name =
        "[admin]\nlisten = \"127.0.0.1:0\"\n[provider.interactive.settings]\nname = \"x\"\n";
    let work_dir = work_dir.file("larder.toml", with_name);
    let count = async || team().await["providers"].as_array().unwrap().len();
    eventually_within(SLOW_WAIT, "the provider is served", async || {
        count().await == 2
    })
    .await;
    let _work_dir = work_dir.file("larder.toml", "[admin]\nlisten = \"127.0.0.1:0\"\n");
    let is_rejected = async || team().await["rejected"][0].is_object();
    eventually_within(SLOW_WAIT, "the problem is reported", is_rejected).await;
    assert_eq!(count().await, 2);
}

#[tokio::test]
async fn a_misspelt_required_setting_is_named_with_the_missing_one() {
    let builder = TestServer::builder("interactive")
        .setting("interactive", "nmae", "x")
        .requires_settings();
    let server = builder.start().await;
    assert_eq!(
        server.rejection_reason("interactive.wasm"),
        "setting `nmae` is unknown: did you mean `name`?; setting `name` is required: add it to `settings`"
    );
}

#[test]
fn inspect_shows_the_interfaces() {
    let work_dir = WorkDir::with_guests("interactive");
    let file = work_dir.path("plugins/interactive.wasm");
    let file = path_arg(&file);
    let shown = work_dir.larder(&format!("inspect {file}"));
    let (_, offers) = shown.stdout.split_once("2 resources\n").unwrap();
    expect![[r#"
          interactive:note
          interactive:page
        5 tools
          everything (read-only, idempotent): Returns every kind of content.
          ask
          tell
          change
          append
        2 prompts
          greet name tone?
          interview
        search
        6 settings
          name (text, required)
          more (number, default "0")
          brief (boolean): Be brief.
          cache (size)
          wait (duration)
          token (text, secret)
    "#]]
    .assert_eq(offers);
    let found = work_dir.larder(&format!("inspect {file} --json")).json();
    assert_eq!(
        found["tools"][0]["input_schema"]["properties"]["z"],
        serde_json::json!({})
    );
    assert_eq!(
        (&found["search"], found["prompts"].as_array().unwrap().len()),
        (&true.into(), 2)
    );
    assert_eq!(found["settings"][1]["default"], "0");
}
