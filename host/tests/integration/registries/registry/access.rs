//! Credentials, TLS, mirrors, and the list of permitted registries.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::proxy::{Fault, FaultyProxy};
use super::server::{Access, PASSWORD, USER, authority};
use super::workplace::{Workplace, key_file};
use crate::support::harness::component_path;
use crate::support::process::{ProcessOutput, path_arg};

fn push_echo(workplace: &Workplace) -> ProcessOutput {
    let file = path_arg(&component_path("echo")).to_owned();
    workplace.run(&format!(
        "push {file} {}",
        workplace.reference("team/wiki:1")
    ))
}

fn without_password(output: &ProcessOutput) {
    assert!(
        !output.stderr.contains(PASSWORD) && !output.stdout.contains(PASSWORD),
        "{}",
        output.stderr
    );
}

#[test]
fn credentials_come_from_dockers_configuration() {
    let Some(mut workplace) = Workplace::with_access(Access::Password) else {
        return;
    };
    let refused = push_echo(&workplace);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("docker login"),
        "{}",
        refused.stderr
    );

    let write = |workplace: &Workplace, password: &str| {
        let text = format!("{USER}:{password}");
        let auth = base64_simd::STANDARD.encode_to_string(text.as_bytes());
        let config = json!({ "auths": { workplace.registry.address(): { "auth": auth } } });
        std::fs::write(workplace.path("docker/config.json"), config.to_string()).unwrap();
    };
    std::fs::create_dir(workplace.path("docker")).unwrap();
    workplace.env.push((
        "DOCKER_CONFIG".into(),
        path_arg(&workplace.path("docker")).into(),
    ));
    write(&workplace, "wrong");
    let refused = push_echo(&workplace);
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    write(&workplace, PASSWORD);
    let pushed = push_echo(&workplace);
    without_password(&pushed);
    pushed.expect_success();
    let added = workplace.run(&format!("add {}", workplace.reference("team/wiki:1")));
    without_password(&added);
    added.expect_success();

    write(&workplace, "wrong");
    let refused = workplace
        .run(&format!("inspect {}", workplace.reference("team/wiki:1")))
        .expect_exit(1);
    assert!(
        refused.contains("refuses access") && !refused.contains("wrong"),
        "{refused}"
    );
}

#[test]
fn credentials_come_from_a_helper() {
    let Some(mut workplace) = Workplace::with_access(Access::Password) else {
        return;
    };
    let address = workplace.registry.address().to_owned();
    let (docker, helper) = (
        workplace.path("docker"),
        workplace.path("bin/docker-credential-larder-test"),
    );
    std::fs::create_dir(&docker).unwrap();
    std::fs::create_dir(workplace.path("bin")).unwrap();
    let config = json!({ "credHelpers": { &address: "larder-test" } });
    std::fs::write(docker.join("config.json"), config.to_string()).unwrap();
    workplace
        .env
        .push(("DOCKER_CONFIG".into(), path_arg(&docker).into()));
    let path = format!("{}:/usr/bin:/bin", path_arg(&workplace.path("bin")));
    workplace.env.push(("PATH".into(), path));
    let write = |script: &str| {
        std::fs::write(&helper, format!("#!/bin/sh\nread server\n{script}\n")).unwrap();
        std::fs::set_permissions(&helper, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let answer = json!({ "ServerURL": address, "Username": USER, "Secret": PASSWORD });
    write(&format!(
        "echo \"$1 $server\" >> {}\necho '{answer}'",
        path_arg(&workplace.path("helper.log"))
    ));
    let pushed = push_echo(&workplace);
    without_password(&pushed);
    pushed.expect_success();
    assert!(
        workplace
            .text("helper.log")
            .contains(&format!("get {address}"))
    );
    workplace.add("team/wiki:1");

    write(&format!("echo '{PASSWORD} is locked' >&2\nexit 1"));
    let failed = workplace.run(&format!("inspect {}", workplace.reference("team/wiki:1")));
    without_password(&failed);
    assert!(
        failed
            .expect_exit(1)
            .contains("docker-credential-larder-test failed")
    );
}

#[test]
fn credentials_are_not_sent_wherever_a_registry_wants_them() {
    let other = TcpListener::bind("127.0.0.2:0").unwrap();
    other.set_nonblocking(true).unwrap();
    let Some(workplace) = Workplace::with_access(Access::TokensAt(other.local_addr().unwrap()))
    else {
        return;
    };
    let settings = format!(
        "ca = '{}'\nusername = '{USER}'\npassword = 'registry'",
        path_arg(&authority())
    );
    std::fs::write(workplace.path("password.txt"), PASSWORD).unwrap();
    let secret = "[secret.registry]\nfile = 'password.txt'\n";
    workplace.configure_for(workplace.registry.address(), &settings, secret);
    let reference = workplace.reference("team/wiki:1");
    let file = path_arg(&component_path("echo")).to_owned();
    let key = path_arg(&key_file("release-key-for-tests.pem")).to_owned();
    for command in [
        format!("inspect {reference}"),
        format!("push {file} {reference}"),
        format!("sign {reference} --key {key}"),
    ] {
        let refused = workplace.run(&command);
        without_password(&refused);
        let refused = refused.expect_exit(1);
        assert!(
            refused.contains("the address where it issues tokens is not allowed"),
            "{command}: {refused}"
        );
    }
    assert!(other.accept().is_err(), "somebody connected");
}

#[test]
fn a_private_authority_must_be_configured() {
    let Some(workplace) = Workplace::with_access(Access::Tls) else {
        return;
    };
    let address = workplace.registry.address().to_owned();
    workplace.configure_for(&address, "", "");
    let refused = push_echo(&workplace).expect_exit(1);
    assert!(refused.contains("certificate"), "{refused}");
    workplace.configure_for(&address, &format!("ca = '{}'", path_arg(&authority())), "");
    push_echo(&workplace).expect_success();
    workplace.add("team/wiki:1");
    // Over plain HTTP, there is no certificate to trust.
    workplace.configure_for(&address, "plain_http = true", "");
    assert!(!push_echo(&workplace).expect_exit(1).is_empty());
}

#[test]
fn plain_http_is_used_only_where_it_is_configured() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.configure_for(workplace.registry.address(), "", "");
    push_echo(&workplace).expect_exit(1);
    workplace.configure("");
    push_echo(&workplace).expect_success();
}

#[test]
fn mirrors_come_first_and_the_registry_helps_out() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push("echo", "team/wiki:1");
    let (mirror, origin) = (
        FaultyProxy::start(&workplace.registry),
        FaultyProxy::start(&workplace.registry),
    );
    let permitted =
        |address: &str| format!("\n[registries.permitted.\"{address}\"]\nplain_http = true\n");
    let settings = format!(
        "plain_http = true\nmirrors = ['{}']\n{}{}",
        mirror.address(),
        permitted(mirror.address()),
        permitted(workplace.registry.address())
    );
    workplace.configure_for(origin.address(), &settings, "");
    let reference = format!("{}/team/wiki:1", origin.address());
    workplace
        .run(&format!("inspect {reference}"))
        .expect_success();
    let blobs = |proxy: &FaultyProxy| {
        proxy
            .take_requests()
            .iter()
            .filter(|line| line.contains("/blobs/"))
            .count()
    };
    assert_eq!((blobs(&mirror), blobs(&origin)), (1, 0));

    mirror.set(Fault::Status(503));
    workplace.push("defined", "team/wiki:1");
    workplace
        .run(&format!("inspect {reference}"))
        .expect_success();
    assert_eq!(blobs(&origin), 1);
    // A mirror can return any content, but no other content has this digest.
    mirror.set(Fault::Corrupt);
    workplace.push("interactive", "team/wiki:1");
    let found = workplace.run(&format!("inspect {reference} --json"));
    assert_eq!(found.code, Some(0), "{}", found.stderr);
    let bytes = std::fs::read(component_path("interactive")).unwrap();
    assert_eq!(found.json()["size"], bytes.len());
}

#[test]
fn redirects_are_bounded() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push("echo", "team/wiki:1");
    let proxy = FaultyProxy::start(&workplace.registry);
    workplace.configure_for(proxy.address(), "plain_http = true", "");
    proxy.set(Fault::Redirect(String::new()));
    let reference = format!("{}/team/wiki:1", proxy.address());
    let endless = workplace
        .run(&format!("inspect {reference}"))
        .expect_exit(1);
    assert!(endless.contains("redirect"), "{endless}");
    let requests = proxy.take_requests();
    assert!(requests.len() < 30, "{requests:?}");
}
