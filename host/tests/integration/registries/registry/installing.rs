//! Publishing, adding, updating and removing components.

use larder_signature::testing::Signer;
use serde_json::{Value, json};

use super::workplace::{COMMENT, Workplace, digest};
use crate::support::harness::component_path;
use crate::support::process::path_arg;

/// The revision of a provider in larder.lock.
fn locked<'a>(lock: &'a toml::Table, name: &str) -> &'a toml::Value {
    let components = lock["component"].as_array().unwrap();
    components
        .iter()
        .find(|component| component["name"].as_str() == Some(name))
        .unwrap()
}

#[tokio::test]
async fn what_was_pushed_can_be_added_and_served_without_a_registry() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let echo = component_path("echo");
    std::fs::copy(&echo, workplace.path("notes.wasm")).unwrap();
    std::fs::write(workplace.path("notes.toml"), "env = ['GREETING']\n").unwrap();
    let reference = workplace.reference("team/notes:1.0.0");
    let options =
        "--description Notes --licenses Apache-2.0 --source https://example.com/notes --json";
    let pushed = workplace
        .run(&format!("push notes.wasm {reference} {options}"))
        .json();
    let (manifest, in_registry) = workplace.registry.manifest("team/notes", "1.0.0").await;
    assert_eq!(digest(&pushed), in_registry);
    let annotation =
        |key: &str| manifest["annotations"][format!("org.opencontainers.image.{key}")].clone();
    assert_eq!(
        ["description", "licenses", "source", "version"].map(annotation),
        ["Notes", "Apache-2.0", "https://example.com/notes", "1.0.0"].map(Value::from)
    );
    assert_eq!(manifest["layers"][0]["mediaType"], "application/wasm");
    assert_eq!(
        manifest["config"]["mediaType"],
        "application/vnd.wasm.config.v0+json"
    );
    // The same content has the same digest.
    assert_eq!(
        digest(
            &workplace
                .run(&format!("push notes.wasm {reference} {options}"))
                .json()
        ),
        in_registry
    );

    let inspected = workplace
        .run(&format!("inspect {reference}"))
        .expect_success();
    assert!(
        inspected.contains("summary    Notes\n") && inspected.contains("variable GREETING"),
        "{inspected}"
    );

    let added = workplace.run(&format!("add {reference}"));
    assert!(
        added.stdout.contains("variable GREETING") && added.stdout.contains("4 templates"),
        "{}",
        added.stdout
    );
    assert!(
        added
            .stderr
            .contains("added notes to larder.toml and larder.lock"),
        "{}",
        added.stderr
    );
    let config = workplace.text("larder.toml");
    assert!(config.starts_with(COMMENT), "{config}");
    assert!(
        config.ends_with(&format!(
            "\n[provider.notes]\ncomponent = \"{reference}\"\n"
        )),
        "{config}"
    );
    let lock: toml::Table = workplace.text("larder.lock").parse().unwrap();
    assert_eq!(
        locked(&lock, "notes")["digest"].as_str(),
        Some(in_registry.as_str())
    );

    let verified = workplace.run("verify --json").json();
    assert_eq!(verified["ok"], true, "{verified}");
    // The component requests a variable, which the operator grants.
    std::fs::write(
        workplace.path("larder.toml"),
        config + "approve = 'always'\nenv = { GREETING = 'hi' }\n",
    )
    .unwrap();
    let Workplace {
        work_dir, registry, ..
    } = workplace;
    drop(registry);
    let (_server, url) = work_dir.serve("--locked --admin off");
    let text = work_dir
        .larder(&format!("read echo://say/hi --url {url}"))
        .expect_success();
    assert!(text.contains("value: word=hi"), "{text}");
}

#[test]
fn components_of_plain_functions_are_published_signed_and_added() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let first = workplace.push("function_time", "team/time:1");
    let reference = workplace.reference("team/time:1");
    let signer = Signer::ecdsa();
    std::fs::write(workplace.path("key.pem"), signer.private_key()).unwrap();
    std::fs::write(workplace.path("key.pub"), signer.public_key()).unwrap();
    workplace
        .run(&format!("sign {reference} --key key.pem"))
        .expect_success();
    let trust = "[trust]\nkeys = ['key.pub']\nrequire = true\n";
    workplace.configure(trust);
    workplace.add("team/time:1");
    let config = workplace.text("larder.toml") + "tools = true\n";
    std::fs::write(workplace.path("larder.toml"), config).unwrap();
    let verified = workplace.run("verify --json").json();
    assert_eq!(verified["ok"], true, "{verified}");
    let (_server, url) = workplace.serve("--locked");
    let called = workplace
        .run(&format!("call time_get-current-time --url {url}"))
        .expect_success();
    assert!(called.contains("seconds since 1970"), "{called}");

    // The exports of another revision are among the differences.
    let second = workplace.push("function_files", "team/time:1");
    assert_ne!(first, second);
    workplace
        .run(&format!("sign {reference} --key key.pem"))
        .expect_success();
    let updated = workplace.run("update time --dry-run").stdout;
    assert!(updated.contains("guests:time-server/time"), "{updated}");

    // A core module has nothing that can be served.
    std::fs::write(workplace.path("core.wasm"), b"\0asm\x01\0\0\0").unwrap();
    let refused = workplace
        .run(&format!("push core.wasm {reference}"))
        .expect_exit(1);
    assert!(
        refused.contains("a core module") && refused.contains("nor a function"),
        "{refused}"
    );
}

#[test]
fn add_writes_nothing_if_it_fails() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push("echo", "team/echo:1");
    workplace.push("unknown", "team/broken:1");
    let before = workplace.text("larder.toml");
    let check = |reference: &str, code: i32, expected: &str| {
        let output = workplace.run(&format!("add {reference}"));
        assert_eq!(output.code, Some(code), "{reference}: {}", output.stderr);
        assert!(
            output.stderr.contains(expected),
            "{reference}: {}",
            output.stderr
        );
        assert_eq!(workplace.text("larder.toml"), before, "{reference}");
        assert!(!workplace.path("larder.lock").exists(), "{reference}");
    };
    check(
        "registry.example.com/team/echo:1",
        64,
        "registry.example.com is not permitted",
    );
    check("wiki", 64, "REGISTRY/REPOSITORY:TAG");
    check(&workplace.reference("team/echo"), 64, "add a tag");
    check(
        &workplace.reference("team/gone:1"),
        1,
        "does not exist in the registry",
    );
    check(
        &workplace.reference("team/broken:1"),
        1,
        "broken was not added",
    );
    check(
        &format!("{} --name a/b", workplace.reference("team/echo:1")),
        64,
        "is not a name",
    );
    // A file of the same name would be ambiguous.
    std::fs::copy(component_path("echo"), workplace.path("plugins/echo.wasm")).unwrap();
    check(&workplace.reference("team/echo:1"), 64, "echo.wasm");
    std::fs::remove_file(workplace.path("plugins/echo.wasm")).unwrap();

    workplace.add("team/echo:1");
    let again = workplace
        .run(&format!("add {}", workplace.reference("team/echo:1")))
        .expect_exit(64);
    assert!(again.contains("larder update echo"), "{again}");
}

#[test]
fn a_component_that_needs_settings_can_be_added() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push("s3", "team/store:1");
    let added = workplace.run(&format!("add {}", workplace.reference("team/store:1")));
    assert_eq!(added.code, Some(0), "{}", added.stderr);
    let note = "store needs settings or grants in its section: ";
    assert!(
        added.stderr.contains(note) && added.stderr.contains("`endpoint`"),
        "{}",
        added.stderr
    );
    assert!(workplace.text("larder.toml").contains("[provider.store]"));
}

#[test]
fn push_refuses_what_is_no_provider() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let reference = workplace.reference("team/odd:1");
    std::fs::write(workplace.path("odd.wasm"), "text").unwrap();
    let refused = workplace
        .run(&format!("push odd.wasm {reference}"))
        .expect_exit(1);
    assert!(refused.contains("odd.wasm is not WebAssembly"), "{refused}");
    workplace
        .run(&format!("push gone.wasm {reference}"))
        .expect_exit(64);
    std::fs::copy(component_path("echo"), workplace.path("odd.wasm")).unwrap();
    std::fs::write(workplace.path("odd.toml"), "colour = 'red'\n").unwrap();
    let refused = workplace
        .run(&format!("push odd.wasm {reference}"))
        .expect_exit(64);
    assert!(
        refused.contains("odd.toml was not published") && refused.contains("colour"),
        "{refused}"
    );
    let echo = path_arg(&component_path("echo")).to_owned();
    let pinned = workplace.reference(&format!("team/odd@sha256:{}", "0".repeat(64)));
    assert!(
        workplace
            .run(&format!("push {echo} {pinned}"))
            .expect_exit(64)
            .contains("no place to publish")
    );
    assert!(
        workplace
            .run(&format!("add {reference}"))
            .expect_exit(1)
            .contains("does not exist")
    );
}

#[tokio::test]
async fn a_moved_tag_is_an_update() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let first = workplace.push("echo", "team/wiki:1");
    workplace.add("team/wiki:1");
    let up_to_date = workplace.run("update");
    assert_eq!(
        (up_to_date.code, up_to_date.stderr.as_str()),
        (Some(0), "larder: wiki is up to date\n")
    );

    let second = workplace.push("defined", "team/wiki:2");
    workplace.registry.move_tag("team/wiki", "1", "2").await;

    let lock = workplace.text("larder.lock");
    let shown = workplace.run("update --dry-run");
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    for line in [
        format!("digest    {first} -> {second}"),
        "exports   + tool-provider".into(),
        "size".into(),
    ] {
        assert!(shown.stdout.contains(&line), "{line}: {}", shown.stdout);
    }
    let asked = workplace.run("update wiki");
    assert_eq!(asked.code, Some(1));
    assert!(asked.stderr.contains("use --yes"), "{}", asked.stderr);
    assert_eq!(workplace.text("larder.lock"), lock, "nothing was confirmed");

    let updated = workplace.run("update --yes --json").json();
    assert_eq!(updated["components"][0]["state"], "updated", "{updated}");
    let lock: toml::Table = workplace.text("larder.lock").parse().unwrap();
    assert_eq!(
        locked(&lock, "wiki")["digest"].as_str(),
        Some(second.as_str())
    );
    assert_eq!(
        workplace.run("update --json").json()["components"][0]["state"],
        "up-to-date"
    );
    let unknown = workplace.run("update gone").expect_exit(64);
    assert!(unknown.contains("gone has no `component`"), "{unknown}");

    // A user who moves a tag by accident sees the change.
    let echo = component_path("echo");
    let pushed = workplace.run(&format!(
        "push {} {}",
        path_arg(&echo),
        workplace.reference("team/wiki:1")
    ));
    let image = workplace.reference("team/wiki");
    assert!(
        pushed
            .stderr
            .contains(&format!("the tag 1 was {image}@{second} before")),
        "{}",
        pushed.stderr
    );
    assert_eq!(pushed.expect_success(), format!("{image}@{first}\n"));
}

#[test]
fn a_pinned_digest_stays() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let first = workplace.push("echo", "team/wiki:1");
    workplace.add(&format!("team/wiki@{first}"));
    workplace.push("defined", "team/wiki:1");
    let update = workplace.run("update");
    assert_eq!(update.code, Some(0), "{}", update.stderr);
    assert!(
        update.stderr.contains("wiki is pinned to"),
        "{}",
        update.stderr
    );
    let lock: toml::Table = workplace.text("larder.lock").parse().unwrap();
    assert_eq!(
        locked(&lock, "wiki")["digest"].as_str(),
        Some(first.as_str())
    );
}

#[test]
fn lock_records_what_the_configuration_names() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let wiki = workplace.push("echo", "team/wiki:1");
    std::fs::copy(
        component_path("defined"),
        workplace.path("plugins/local.wasm"),
    )
    .unwrap();
    workplace.configure(&format!(
        "[provider.wiki]\ncomponent = '{}'\n",
        workplace.reference("team/wiki:1")
    ));
    let missing = workplace.run("lock --check");
    assert_eq!(missing.code, Some(1), "{}", missing.stderr);
    assert!(
        missing.stderr.contains("not recorded: local, wiki"),
        "{}",
        missing.stderr
    );
    assert!(!workplace.path("larder.lock").exists());
    let locked_now = workplace.run("lock --json").json();
    assert_eq!(locked_now["added"], json!(["local", "wiki"]));
    workplace.run("lock --check").expect_success();
    let before = workplace.text("larder.lock");

    // A moved tag does not change the recorded image.
    workplace.push("defined", "team/wiki:1");
    workplace.run("lock").expect_success();
    assert_eq!(workplace.text("larder.lock"), before);
    let lock: toml::Table = before.parse().unwrap();
    assert_eq!(
        locked(&lock, "wiki")["digest"].as_str(),
        Some(wiki.as_str())
    );
    assert_eq!(
        locked(&lock, "local")["reference"].as_str(),
        Some("file:local.wasm")
    );

    // Each recorded size is verified.
    let sizes = before.lines().filter(|line| line.starts_with("size = "));
    for size in sizes {
        std::fs::write(
            workplace.path("larder.lock"),
            before.replace(size, "size = 1"),
        )
        .unwrap();
        let refused = workplace.run("verify");
        assert_eq!(refused.code, Some(1), "{}", refused.stdout);
        assert!(
            refused.stderr.contains("records another size"),
            "{}",
            refused.stderr
        );
    }
    std::fs::write(workplace.path("larder.lock"), &before).unwrap();

    std::fs::copy(component_path("echo"), workplace.path("plugins/local.wasm")).unwrap();
    let changed = workplace.run("verify");
    assert_eq!(changed.code, Some(1));
    assert!(
        changed.stderr.contains("local: the file was changed"),
        "{}",
        changed.stderr
    );
    std::fs::remove_file(workplace.path("plugins/local.wasm")).unwrap();
    let removed = workplace.run("lock --json").json();
    assert_eq!(removed["removed"], json!(["local"]));
    workplace.run("verify").expect_success();
}

#[test]
fn remove_undoes_add() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push("echo", "team/wiki:1");
    let before = workplace.text("larder.toml");
    workplace.add("team/wiki:1");
    workplace.run("remove wiki").expect_success();
    assert_eq!(workplace.text("larder.toml"), before);
    assert!(!workplace.text("larder.lock").contains("wiki"));
    assert!(
        workplace
            .run("remove wiki")
            .expect_exit(1)
            .contains("wiki has no `component`")
    );

    workplace.add("team/wiki:1");
    let with_grants = workplace.text("larder.toml") + "env = { A = 'b' }\n";
    std::fs::write(workplace.path("larder.toml"), &with_grants).unwrap();
    let asked = workplace.run("remove wiki");
    assert_eq!(asked.code, Some(1), "{}", asked.stderr);
    assert!(
        asked.stdout.contains("-env = { A = 'b' }"),
        "{}",
        asked.stdout
    );
    assert_eq!(workplace.text("larder.toml"), with_grants);
    workplace.run("remove wiki --yes").expect_success();
    assert_eq!(workplace.text("larder.toml"), before);
}
