//! A server whose components come from a registry: updates, a registry that fails, and a store that is damaged.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::proxy::{Fault, FaultyProxy};
use super::running::{Server, in_mount_namespace};
use super::workplace::Workplace;
use crate::support::harness::{SLOW_WAIT, component_path, eventually_blocking};
use crate::support::process::path_arg;
use crate::support::revision::{NOW, revision, text};

#[test]
fn a_moved_tag_waits_until_it_is_approved() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push_revision(1, "team/revision:1");
    workplace.follow(workplace.registry.address(), ":1", "approve = 'always'");
    let server = Server::start(&workplace, "");
    server.wait_for(1);
    let second = workplace.push_revision(2, "team/revision:1");
    let shown = server.wait_for_status("the update is shown", |shown| {
        shown.contains("pending approval")
    });
    assert!(
        shown.contains(&format!("to {second}")) && shown.contains("larder approve revision"),
        "{shown}"
    );
    assert!(
        server.read(NOW).unwrap().contains(&text(1)),
        "the served revision stays"
    );
    assert_eq!(
        server.status()["teams"][0]["pending_approval"][0]["provider"],
        "revision"
    );
    let pending = workplace.run("approve --json").json()["pending_approval"][0].clone();
    let id = pending["id"].as_str().unwrap();
    workplace
        .run(&format!("approve revision --yes --id {id}"))
        .expect_success();
    server.wait_for(2);
    server.wait_for_status("nothing waits any more", |shown| {
        !shown.contains("pending approval")
    });

    // The accepted image stays, also after the tag was moved again and the server was restarted.
    workplace.push_revision(3, "team/revision:1");
    server.wait_for_status("the next update is shown", |shown| {
        shown.contains("pending approval")
    });
    assert!(server.read(NOW).unwrap().contains(&text(2)));
    drop(server);
    let again = Server::start(&workplace, "");
    again.wait_for(2);
}

#[test]
fn an_update_of_the_lock_file_is_served() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push_revision(1, "team/revision:1");
    workplace.add("team/revision:1");
    let server = Server::start(&workplace, "--locked");
    server.wait_for(1);
    let origin = server.provider("revision")["origin"].clone();
    assert_eq!(origin["kind"], "registry");
    let reference = origin["reference"].as_str().unwrap_or_default();
    assert!(
        reference.starts_with(&workplace.reference("team/revision")),
        "{origin}"
    );
    workplace.push_revision(2, "team/revision:1");
    assert!(server.read(NOW).unwrap().contains(&text(1)));
    workplace.run("update revision --yes").expect_success();
    server.wait_for(2);
}

#[test]
fn updates_under_load_fail_no_request() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push_revision(1, "team/revision:1");
    workplace.follow(workplace.registry.address(), ":1", "update = 'auto'");
    let server = Server::start(&workplace, "");
    server.wait_for(1);
    let (done, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    let command = format!("read {NOW} --url {}", server.url);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let text = workplace.run(&command).expect_success();
                    assert!(text.contains("revision-"), "{text}");
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for number in 2..6 {
            workplace.push_revision(number, "team/revision:1");
            server.wait_for(number);
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(reads.load(Ordering::Relaxed) > 4);
}

#[test]
fn a_registry_that_fails_does_not_concern_what_is_served() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let proxy = FaultyProxy::start(&workplace.registry);
    workplace.push_revision(1, "team/revision:1");
    workplace.follow(proxy.address(), ":1", "update = 'auto'");
    let server = Server::start(&workplace, "");
    server.wait_for(1);
    proxy.set(Fault::Status(503));
    server.wait_for_status("the error is shown", |shown| shown.contains("HTTP 503"));
    assert_eq!(server.failing_components(), 1.0);
    assert!(server.read(NOW).unwrap().contains(&text(1)));
    drop(server);
    // The start needs no registry either.
    let server = Server::start(&workplace, "");
    assert!(server.read(NOW).unwrap().contains(&text(1)));
    workplace.push_revision(2, "team/revision:1");
    for fault in [Fault::Corrupt, Fault::Truncate, Fault::Shorten] {
        proxy.set(fault);
        proxy.take_requests();
        eventually_blocking(SLOW_WAIT, "the component is requested", || {
            proxy
                .take_requests()
                .iter()
                .any(|line| line.contains("/blobs/"))
        });
        assert!(
            server.read(NOW).unwrap().contains(&text(1)),
            "the last good revision stays"
        );
    }
    proxy.set(Fault::None);
    server.wait_for(2);
    server.wait_for_status("the problem is solved", |shown| !shown.contains("problem:"));
    assert_eq!(server.failing_components(), 0.0);
}

#[test]
fn a_registry_that_issues_unusable_tokens_delays_no_other() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let proxy = FaultyProxy::start(&workplace.registry);
    workplace.push_revision(1, "team/revision:1");
    workplace.push("echo", "team/echo:1");
    workplace.follow(workplace.registry.address(), ":1", "update = 'auto'");
    let permitted = format!(
        "[registries.permitted.\"{}\"]\nplain_http = true\n",
        proxy.address()
    );
    let echo = format!(
        "[provider.echo]\ncomponent = '{}/team/echo:1'\n",
        proxy.address()
    );
    let config = workplace.text("larder.toml");
    std::fs::write(
        workplace.path("larder.toml"),
        format!("{config}{permitted}{echo}"),
    )
    .unwrap();
    let tokens = [
        r#"{"token":"t","expires_in":18446744073709551615}"#,
        r#"{"token":"t","expires_in":9223372036854775807}"#,
        r#"{"token":"a\nb","expires_in":60}"#,
    ];
    proxy.set(Fault::Token(tokens[0]));
    let server = Server::start(&workplace, "");
    server.wait_for(1);
    for (number, token) in (2..).zip(tokens) {
        proxy.set(Fault::Token(token));
        proxy.take_requests();
        eventually_blocking(SLOW_WAIT, "a token is requested", || {
            proxy
                .take_requests()
                .iter()
                .any(|line| line.contains("/token"))
        });
        workplace.push_revision(number, "team/revision:1");
        server.wait_for(number);
    }
    server.wait_for_status("the error is shown", |shown| shown.contains("team/echo:1"));
    assert_eq!(server.read("echo://say/hi"), None);
    proxy.set(Fault::None);
    eventually_blocking(SLOW_WAIT, "the pull is repeated", || {
        server.read("echo://say/hi").is_some()
    });
}

#[test]
fn a_registry_that_hangs_delays_no_other_component() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let proxy = FaultyProxy::start(&workplace.registry);
    workplace.push_revision(1, "team/revision:1");
    workplace.follow(proxy.address(), ":1", "");
    std::fs::copy(component_path("echo"), workplace.path("plugins/echo.wasm")).unwrap();
    proxy.set(Fault::Trickle(1, Duration::from_secs(60)));
    let server = Server::start(&workplace, "");
    assert!(server.read("echo://say/hi").is_some(), "{}", server.shown());
    assert!(server.read(NOW).is_none());
    proxy.set(Fault::None);
    server.wait_for(1);
}

#[test]
fn a_name_is_a_file_or_a_reference() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push_revision(1, "team/revision:1");
    workplace.follow(workplace.registry.address(), ":1", "");
    let file = workplace.path("plugins/revision.wasm");
    std::fs::write(&file, revision(9)).unwrap();
    let refused = workplace.run("serve --listen 127.0.0.1:0").expect_exit(64);
    assert!(
        refused.contains("provider.revision.component") && refused.contains("same name"),
        "{refused}"
    );
    std::fs::remove_file(&file).unwrap();
    let server = Server::start(&workplace, "");
    server.wait_for(1);
    // A file that appears later does not replace the component from the registry.
    std::fs::write(&file, revision(9)).unwrap();
    server.wait_for_status("the file is reported", |shown| {
        shown.contains("not used, because")
    });
    assert!(server.read(NOW).unwrap().contains(&text(1)));
}

#[test]
fn a_reload_adds_and_removes_references() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push_revision(1, "team/revision:1");
    workplace.push_revision(2, "team/revision:2");
    let server = Server::start(&workplace, "");
    assert!(server.read(NOW).is_none());
    workplace.follow(workplace.registry.address(), ":1", "");
    server.reload();
    server.wait_for(1);
    workplace.follow(workplace.registry.address(), ":2", "");
    server.reload();
    server.wait_for(2);
    workplace.configure("");
    server.reload();
    eventually_blocking(SLOW_WAIT, "the provider is gone", || {
        server.read(NOW).is_none()
    });
}

#[test]
fn locked_serves_exactly_what_was_recorded() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let first = workplace.push_revision(1, "team/revision:1");
    workplace.follow(workplace.registry.address(), ":1", "");
    let refused = workplace
        .run("serve --locked --listen 127.0.0.1:0")
        .expect_exit(64);
    assert!(
        refused.contains("there is no") && refused.contains("larder lock"),
        "{refused}"
    );
    workplace.run("lock").expect_success();
    workplace.push_revision(2, "team/revision:1");
    std::fs::copy(component_path("echo"), workplace.path("plugins/echo.wasm")).unwrap();
    // The store is another one, so that the component is pulled by its digest.
    std::fs::remove_dir_all(workplace.path("state")).unwrap();
    let server = Server::start(&workplace, "--locked");
    server.wait_for(1);
    let shown = server.shown();
    assert!(
        shown.contains("echo.wasm (it is not in the lock file"),
        "{shown}"
    );
    assert!(server.read("echo://say/hi").is_none());
    workplace.run("lock").expect_success();
    eventually_blocking(SLOW_WAIT, "the file is served", || {
        server.read("echo://say/hi").is_some()
    });
    drop(server);
    workplace.follow(workplace.registry.address(), ":2", "");
    let refused = workplace
        .run("serve --locked --listen 127.0.0.1:0")
        .expect_exit(64);
    assert!(
        refused.contains("team/revision:1 in the lock file"),
        "{refused}"
    );
    workplace.follow(workplace.registry.address(), &format!("@{first}"), "");
    let refused = workplace
        .run("serve --locked --listen 127.0.0.1:0")
        .expect_exit(64);
    assert!(refused.contains("in the lock file"), "{refused}");
}

#[test]
fn what_is_damaged_in_the_store_is_pulled_again() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push_revision(1, "team/revision:1");
    workplace.follow(workplace.registry.address(), ":1", "");
    Server::start(&workplace, "").wait_for(1);
    for file in std::fs::read_dir(workplace.blobs()).unwrap() {
        std::fs::write(file.unwrap().path(), "damaged").unwrap();
    }
    Server::start(&workplace, "").wait_for(1);
}

#[test]
fn a_killed_server_leaves_a_store_that_works() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let proxy = FaultyProxy::start(&workplace.registry);
    workplace.push_revision(1, "team/revision:1");
    workplace.follow(proxy.address(), ":1", "");
    proxy.set(Fault::Trickle(4 << 10, Duration::from_millis(200)));
    let process = workplace.start("serve --listen 127.0.0.1:0 --admin off");
    eventually_blocking(SLOW_WAIT, "the component is requested", || {
        proxy
            .take_requests()
            .iter()
            .any(|line| line.contains("/blobs/"))
    });
    process.signal("KILL");
    process.wait();
    proxy.set(Fault::None);
    Server::start(&workplace, "").wait_for(1);
}

#[test]
fn servers_share_a_store() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    let proxy = FaultyProxy::start(&workplace.registry);
    workplace.push_revision(1, "team/revision:1");
    workplace.follow(proxy.address(), ":1", "");
    proxy.set(Fault::Trickle(64 << 10, Duration::from_millis(20)));
    let servers = [Server::start(&workplace, ""), Server::start(&workplace, "")];
    servers.iter().for_each(|server| server.wait_for(1));
    assert!(servers.iter().all(|server| server.process.id() > 0));
}

/// The store is on a file system of one MiB, in a mount namespace of its own.
#[test]
fn a_full_disk_does_not_concern_what_is_served() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push_revision(1, "team/revision:1");
    workplace.follow(workplace.registry.address(), ":1", "update = 'auto'");
    let store = workplace.path("state/larder/store");
    std::fs::create_dir_all(&store).unwrap();
    let size = std::fs::metadata(workplace.path("pushed.wasm"))
        .unwrap()
        .len()
        * 3
        / 2;
    let mount = format!("mount -t tmpfs -o size={size} tmpfs {}", path_arg(&store));
    let args = "serve --listen 127.0.0.1:0 --admin 127.0.0.1:0";
    let Some(process) = in_mount_namespace(&workplace.work_dir, &mount, args) else {
        return;
    };
    let server = Server::attach(&workplace, process);
    server.wait_for(1);
    workplace.push_revision(2, "team/revision:1");
    server.wait_for_status("the full disk is shown", |shown| {
        shown.contains("no space left")
    });
    assert!(server.read(NOW).unwrap().contains(&text(1)));
}
