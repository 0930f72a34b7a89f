//! `wkg`, the tool of the Bytecode Alliance, in both directions.

use std::process::Command;

use super::server::wkg;
use super::workplace::Workplace;
use crate::support::harness::component_path;
use crate::support::process::path_arg;

fn run(mut command: Command) {
    let output = command.output().unwrap();
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{command:?}: {stdout}{stderr}");
}

#[test]
fn larder_pulls_what_wkg_pushed() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let Some(mut push) = wkg(&workplace.path("")) else {
        return;
    };
    let echo = component_path("echo");
    let address = workplace.registry.address();
    push.args([
        "oci",
        "push",
        "--insecure",
        address,
        &workplace.reference("team/wiki:1.0.0"),
    ])
    .arg(&echo);
    push.args([
        "--annotation",
        "org.opencontainers.image.description=From wkg",
    ]);
    run(push);
    let added = workplace.add("team/wiki:1.0.0");
    assert_eq!(
        added["component"]["annotations"]["org.opencontainers.image.description"],
        "From wkg"
    );
    assert_eq!(
        added["locked"]["size"],
        std::fs::metadata(echo).unwrap().len()
    );
    let (_server, url) = workplace.serve("--locked");
    assert!(
        workplace
            .read("echo://say/hi", &url)
            .contains("value: word=hi")
    );
}

#[test]
fn wkg_pulls_what_larder_pushed() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let Some(mut pull) = wkg(&workplace.path("")) else {
        return;
    };
    workplace.push("echo", "team/wiki:1.0.0");
    let address = workplace.registry.address();
    pull.args([
        "oci",
        "pull",
        "--insecure",
        address,
        &workplace.reference("team/wiki:1.0.0"),
    ]);
    run({
        pull.args(["--output", "pulled.wasm"]);
        pull
    });
    let pulled = std::fs::read(workplace.path("pulled.wasm")).unwrap();
    assert!(pulled == std::fs::read(component_path("echo")).unwrap());
}

/// Writes a configuration of `wkg` with the registry.
fn wkg_config(workplace: &Workplace) -> String {
    let address = workplace.registry.address();
    let text = format!(
        "default_registry = \"{address}\"\n[registry.\"{address}\"]\ndefault = \"oci\"\n\
         [registry.\"{address}\".oci]\nprotocol = \"http\"\n"
    );
    std::fs::write(workplace.path("wkg.toml"), text).unwrap();
    path_arg(&workplace.path("wkg.toml")).to_owned()
}

#[test]
fn packages_are_shared_with_wkg() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let config = wkg_config(&workplace);
    let folder = workplace.path("");
    let Some(mut push) = wkg(&folder) else { return };
    let address = workplace.registry.address();
    // `wkg publish` needs a component whose package has a version. The package of a provider has none.
    push.args([
        "oci",
        "push",
        "--insecure",
        address,
        &workplace.reference("team/wiki:1.1.0"),
    ]);
    push.arg(component_path("echo"));
    run(push);
    // Larder publishes the next version.
    let namespaces = format!("[registries.namespaces]\nteam = '{address}'\n");
    workplace.configure(&namespaces);
    let file = path_arg(&component_path("defined")).to_owned();
    workplace
        .run(&format!("push {file} team:wiki@1.2.0"))
        .expect_success();

    let added = workplace.run("add team:wiki@~1.1 --json");
    assert_eq!(added.code, Some(0), "{}{}", added.stdout, added.stderr);
    assert_eq!(
        added.json()["locked"]["size"],
        std::fs::metadata(component_path("echo")).unwrap().len()
    );
    let newest = workplace.run("inspect team:wiki --json").json();
    assert_eq!(
        newest["size"],
        std::fs::metadata(component_path("defined")).unwrap().len()
    );
    let none = workplace.run("inspect team:wiki@^2").expect_exit(1);
    assert!(
        none.contains("no version of team:wiki matches ^2"),
        "{none}"
    );
    let unknown = workplace.run("inspect other:wiki@^1").expect_exit(64);
    assert!(unknown.contains("registries.namespaces"), "{unknown}");

    let mut get = wkg(&folder).unwrap();
    get.args(["get", "--config", &config, "team:wiki@1.2.0", "--output"])
        .arg(folder.join("got.wasm"));
    run(get);
    assert!(
        std::fs::read(folder.join("got.wasm")).unwrap()
            == std::fs::read(component_path("defined")).unwrap()
    );
}
