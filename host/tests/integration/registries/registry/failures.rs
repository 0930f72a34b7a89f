//! Slow and failing registries, and processes that are killed: no damaged content is stored or served.

use std::time::Duration;

use super::proxy::{Fault, FaultyProxy};
use super::workplace::Workplace;
use crate::support::harness::{SLOW_WAIT, component_path, eventually_blocking};
use crate::support::process::path_arg;

/// A workplace that reaches its registry only through a proxy, and the reference of a component in it.
fn behind_proxy(more: &str) -> Option<(Workplace, FaultyProxy, String)> {
    let workplace = Workplace::new()?;
    workplace.push("echo", "team/wiki:1");
    let proxy = FaultyProxy::start(&workplace.registry);
    workplace.configure_for(proxy.address(), "plain_http = true", more);
    let reference = format!("{}/team/wiki:1", proxy.address());
    Some((workplace, proxy, reference))
}

#[test]
fn content_that_is_not_what_was_published_is_refused() {
    let Some((workplace, proxy, reference)) = behind_proxy("") else {
        return;
    };
    let before = workplace.text("larder.toml");
    for (fault, expected) in [
        (Fault::Corrupt, "has the digest"),
        (Fault::Truncate, "is not available"),
        (Fault::Shorten, "bytes instead of"),
        (Fault::Lengthen(1), "bytes instead of"),
        (Fault::Lengthen(64 << 20), "bytes instead of"),
        (Fault::Status(503), "HTTP 503"),
        (Fault::Status(429), "HTTP 429"),
    ] {
        proxy.set(fault.clone());
        let failed = workplace.run(&format!("add {reference}")).expect_exit(1);
        assert!(failed.contains(expected), "{fault:?}: {failed}");
        assert_eq!(workplace.text("larder.toml"), before, "{fault:?}");
        assert!(!workplace.path("larder.lock").exists(), "{fault:?}");
    }
    proxy.set(Fault::Delay(Duration::from_millis(300)));
    workplace.run(&format!("add {reference}")).expect_success();
    workplace.run("verify").expect_success();
}

#[test]
fn a_registry_that_stops_sending_is_given_up() {
    let Some((workplace, proxy, reference)) = behind_proxy("") else {
        return;
    };
    let text = workplace.text("larder.toml").replace(
        "[registries.",
        "[registries]\nstall_timeout = '1s'\n[registries.",
    );
    std::fs::write(workplace.path("larder.toml"), text).unwrap();
    proxy.set(Fault::Trickle(1 << 10, Duration::from_secs(60)));
    let failed = workplace
        .run(&format!("inspect {reference}"))
        .expect_exit(1);
    assert!(failed.contains("it sent nothing for 1s"), "{failed}");
}

#[test]
fn a_killed_pull_leaves_nothing_that_is_damaged() {
    let Some((workplace, proxy, reference)) = behind_proxy("") else {
        return;
    };
    // The component arrives in pieces, and never completely.
    proxy.set(Fault::Trickle(4 << 10, Duration::from_millis(200)));
    let pull = workplace.start(&format!("add {reference}"));
    let mut requests = Vec::new();
    eventually_blocking(SLOW_WAIT, "the component is requested", || {
        requests.extend(proxy.take_requests());
        requests.iter().any(|line| line.contains("/blobs/"))
    });
    pull.signal("KILL");
    assert_eq!(pull.wait().code, None);
    assert!(!workplace.path("larder.lock").exists());
    proxy.set(Fault::None);
    workplace.run(&format!("add {reference}")).expect_success();
    workplace.run("verify").expect_success();
}

#[test]
fn processes_can_pull_the_same_component_at_once() {
    let Some((workplace, proxy, reference)) = behind_proxy("") else {
        return;
    };
    proxy.set(Fault::Trickle(16 << 10, Duration::from_millis(20)));
    let pulls: Vec<_> = (0..3)
        .map(|_| workplace.start(&format!("inspect {reference} --json")))
        .collect();
    let size = std::fs::metadata(component_path("echo")).unwrap().len();
    for pull in pulls {
        let output = pull.wait();
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        assert_eq!(output.json()["size"], size);
    }
    proxy.set(Fault::None);
    proxy.take_requests();
    workplace.run(&format!("add {reference}")).expect_success();
    let requests = proxy.take_requests();
    assert!(
        !requests.iter().any(|line| line.contains("/blobs/")),
        "it is in the store: {requests:?}"
    );
}

#[test]
fn a_full_disk_is_reported_and_loses_nothing() {
    let Some((workplace, _proxy, reference)) = behind_proxy("") else {
        return;
    };
    // The size of files is limited, which fails in the same way as a full disk.
    let larder = path_arg(std::path::Path::new(env!("CARGO_BIN_EXE_larder"))).to_owned();
    let mut command = std::process::Command::new("sh");
    command.args([
        "-c",
        &format!("trap '' XFSZ; ulimit -f 8; exec {larder} add {reference}"),
    ]);
    command
        .current_dir(workplace.path(""))
        .env("HOME", workplace.path(""));
    command
        .env("XDG_STATE_HOME", workplace.path("state"))
        .env("XDG_CACHE_HOME", workplace.path("cache"));
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("File too large"), "{stderr}");
    assert!(!workplace.path("larder.lock").exists());
    workplace.run(&format!("add {reference}")).expect_success();
    workplace.run("verify").expect_success();
}
