//! Signatures of components in a registry and in files, with the commands that make and verify them.

use super::running::Server;
use super::workplace::{Workplace, key_file};
use crate::support::harness::{SLOW_WAIT, component_path, eventually_blocking};
use crate::support::process::path_arg;
use crate::support::revision::NOW;

/// A configuration that requires a signature of the release key.
fn trust() -> String {
    let key = key_file("release-for-tests.pub");
    format!(
        "[trust]\nrequire = true\nkeys = [{{ name = 'release', file = '{}' }}]\n",
        path_arg(&key)
    )
}

fn sign(workplace: &Workplace, what: &str, key: &str) {
    let key = key_file(key);
    workplace
        .run(&format!("sign {what} --key {}", path_arg(&key)))
        .expect_success();
}

#[test]
fn only_signed_components_are_added() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let first = workplace.push("echo", "team/wiki:1");
    workplace.configure(&trust());
    let (before, reference) = (
        workplace.text("larder.toml"),
        workplace.reference("team/wiki:1"),
    );
    let refused = workplace.run(&format!("add {reference}"));
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("wiki was not added: it is not signed"),
        "{}",
        refused.stderr
    );
    sign(&workplace, &reference, "other-key-for-tests.pem");
    let refused = workplace.run(&format!("add {reference}"));
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("no signature is trusted"),
        "{}",
        refused.stderr
    );
    assert_eq!(workplace.text("larder.toml"), before);
    assert!(!workplace.path("larder.lock").exists());

    // The other signature stays, and has no effect.
    sign(&workplace, &reference, "release-key-for-tests.pem");
    let inspected = workplace
        .run(&format!("inspect {reference}"))
        .expect_success();
    assert!(inspected.contains("signed by  key release"), "{inspected}");
    let added = workplace.add("team/wiki:1");
    assert_eq!(added["locked"]["digest"], first);
    assert!(
        added["locked"]["signer"]
            .as_str()
            .unwrap()
            .starts_with("key release"),
        "{added}"
    );
    workplace.run("verify").expect_success();
}

#[test]
fn an_update_must_be_signed_too() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.configure(&trust());
    workplace.push("echo", "team/wiki:1");
    sign(
        &workplace,
        &workplace.reference("team/wiki:1"),
        "release-key-for-tests.pem",
    );
    workplace.add("team/wiki:1");
    let lock = workplace.text("larder.lock");
    workplace.push("defined", "team/wiki:1");
    let refused = workplace.run("update --yes");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("wiki was not updated: it is not signed"),
        "{}",
        refused.stderr
    );
    assert_eq!(workplace.text("larder.lock"), lock);
    sign(
        &workplace,
        &workplace.reference("team/wiki:1"),
        "release-key-for-tests.pem",
    );
    workplace.run("update --yes").expect_success();
    assert_ne!(workplace.text("larder.lock"), lock);
}

#[test]
fn verify_fails_as_soon_as_a_key_is_removed() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.configure(&trust());
    workplace.push("echo", "team/wiki:1");
    sign(
        &workplace,
        &workplace.reference("team/wiki:1"),
        "release-key-for-tests.pem",
    );
    workplace.add("team/wiki:1");
    let other = workplace
        .text("larder.toml")
        .replace("release-for-tests.pub", "other-for-tests.pub");
    std::fs::write(workplace.path("larder.toml"), other).unwrap();
    let failed = workplace.run("verify");
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(
        failed.stdout.contains("FAILED") && failed.stderr.contains("wiki: "),
        "{}",
        failed.stderr
    );
}

#[test]
fn a_signature_is_found_that_is_added_after_the_tag_moved() {
    for pinned in [false, true] {
        let Some(workplace) = Workplace::new() else {
            return;
        };
        let first = workplace.push_revision(1, "team/revision:1");
        let version = if pinned {
            format!("@{first}")
        } else {
            ":1".to_owned()
        };
        workplace.follow(workplace.registry.address(), &version, "");
        workplace.run("lock").expect_success();
        workplace.push_revision(2, "team/revision:1");
        let config = format!("{}\n{}", workplace.text("larder.toml"), trust());
        std::fs::write(workplace.path("larder.toml"), config).unwrap();
        let server = Server::start(&workplace, "");
        server.wait_for_status("it is rejected", |shown| {
            shown.contains("requires a signature")
        });
        sign(
            &workplace,
            &workplace.reference(&format!("team/revision@{first}")),
            "release-key-for-tests.pem",
        );
        server.wait_for(1);
    }
}

#[test]
fn a_served_component_stops_when_its_key_is_removed() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push_revision(1, "team/revision:1");
    workplace.push("echo", "team/echo:1");
    sign(
        &workplace,
        &workplace.reference("team/revision:1"),
        "release-key-for-tests.pem",
    );
    sign(
        &workplace,
        &workplace.reference("team/echo:1"),
        "other-key-for-tests.pem",
    );
    let providers = ["revision", "echo"].map(|name| {
        let reference = workplace.reference(&format!("team/{name}:1"));
        format!("[provider.{name}]\ncomponent = '{reference}'\n")
    });
    let trusted = |keys: &[&str]| {
        let keys: Vec<_> = keys
            .iter()
            .map(|name| path_arg(&key_file(&format!("{name}-for-tests.pub"))).to_owned())
            .collect();
        workplace.configure(&format!(
            "[trust]\nrequire = true\nkeys = {keys:?}\n{}",
            providers.concat()
        ));
    };
    trusted(&["release", "other"]);
    let server = Server::start(&workplace, "");
    server.wait_for(1);
    eventually_blocking(SLOW_WAIT, "both are served", || {
        server.read("echo://say/hi").is_some()
    });

    trusted(&["other"]);
    server.reload();
    eventually_blocking(SLOW_WAIT, "the provider has stopped", || {
        server.read(NOW).is_none()
    });
    let rejected = server.status()["teams"][0]["rejected"].clone();
    let (items, text) = (rejected.as_array().unwrap().len(), rejected.to_string());
    assert!(items == 1 && text.contains("revision"), "{text}");
    let reason = "[trust] requires a signature, and no signature is trusted: ";
    assert!(
        text.contains(reason) && text.contains("it was not made with the key other"),
        "{text}"
    );
    assert!(
        server.read("echo://say/hi").is_some(),
        "the other signer is still trusted"
    );

    trusted(&["release", "other"]);
    server.reload();
    server.wait_for(1);
}

#[test]
fn files_are_signed_next_to_them() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    std::fs::copy(component_path("echo"), workplace.path("plugins/echo.wasm")).unwrap();
    workplace.configure(&trust());
    let refused = workplace.run("check");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("it is not signed"),
        "{}",
        refused.stderr
    );
    let key = key_file("release-key-for-tests.pem");
    let signed = workplace.run(&format!("sign plugins/echo.wasm --key {}", path_arg(&key)));
    assert_eq!(signed.expect_success(), "plugins/echo.wasm.sig\n");
    workplace.run("check").expect_success();

    let no_key = workplace
        .run("sign plugins/echo.wasm --key plugins/echo.wasm.sig")
        .expect_exit(64);
    assert!(
        no_key.contains("plugins/echo.wasm.sig: it is not a private key"),
        "{no_key}"
    );
    workplace
        .run("sign plugins/echo.wasm --key gone.pem")
        .expect_exit(64);
    let public = key_file("release-for-tests.pub");
    let wrong = workplace
        .run(&format!(
            "sign plugins/echo.wasm --key {}",
            path_arg(&public)
        ))
        .expect_exit(64);
    assert!(wrong.contains("PRIVATE KEY is needed"), "{wrong}");
}
