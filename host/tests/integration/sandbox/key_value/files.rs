//! The file of the values: who may access it, restarts, damage, and values that were not used for long.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::administration::admin::AdminClient;
use crate::registries::registry::in_mount_namespace;
use crate::support::harness::{
    SLOW_WAIT, TestServer, TestServerBuilder, eventually, eventually_within,
};
use crate::support::process::{WorkDir, path_arg};

use super::{BOTH, call_by, read, server_with};

fn database(server: &TestServer) -> PathBuf {
    let state = server.folder.path().join(".state");
    larder_key_value::database_path(&state, &server.plugins, server.reader.team())
}

/// A server in the folder of another server, which is stopped.
async fn restarted(server: TestServer) -> TestServerBuilder {
    TestServerBuilder::restart(server)
        .await
        .provider("key_value", |grant, _| grant.key_value = BOTH)
}

#[tokio::test]
async fn only_the_owner_has_access() {
    let server = server_with(BOTH, |_| {}).start().await;
    let ann = call_by("ann");
    assert_eq!(read(&server, &ann, "get/shared/a").await, "ok: None");
    assert!(!database(&server).exists(), "a read creates no file");
    read(&server, &ann, "set/shared/a/1").await;
    let mode = |path: PathBuf| path.metadata().unwrap().mode() & 0o777;
    let file = database(&server);
    assert_eq!(
        (mode(file.clone()), mode(file.parent().unwrap().into())),
        (0o600, 0o700)
    );
    // A user who can change the file could change the values.
    let server = restarted(server).await;
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o664)).unwrap();
    let server = server.start().await;
    assert_eq!(
        read(&server, &ann, "get/shared/a").await,
        "refused: Failure::Unavailable(\"its file cannot be opened\")"
    );
    let problems = server.health.problems();
    assert!(
        problems[0].message.ends_with("run `chmod go-w` on it)"),
        "{problems:?}"
    );
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let works = async || read(&server, &ann, "get/shared/a").await == "ok: Some(\"1\")";
    eventually("the file is opened again", works).await;
    assert_eq!(server.health.problems(), []);
}

/// The state folder is on a small file system, in a mount namespace of its own.
#[test]
fn values_can_be_read_while_the_disk_is_full() {
    let config =
        "[provider.key_value]\nkey_value = [\"shared\"]\n[admin]\nlisten = \"127.0.0.1:0\"\n";
    let work_dir = WorkDir::with_guests("key_value").file("larder.toml", config);
    let state = work_dir.path("state/larder");
    std::fs::create_dir_all(&state).unwrap();
    let mount = format!(
        "mount -t tmpfs -o size=16m,mode=700 tmpfs {}",
        path_arg(&state)
    );
    let args = "serve --listen 127.0.0.1:0";
    let Some(mut server) = in_mount_namespace(&work_dir, &mount, args) else {
        return;
    };
    let line = server.wait_for_stderr("serving /livez");
    let admin = line.trim().rsplit("url=").next().unwrap().to_owned();
    let line = server.wait_for_stderr("serves http://");
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap()
        .to_owned();
    let call = |call: &str| {
        work_dir
            .larder(&format!("read key-value://{call} --url {url}"))
            .stdout
    };
    let is_set = |number: u32| call(&format!("set/shared/a/{number}")).starts_with("ok");
    assert!(is_set(1));
    // The folder in the mount namespace of the server.
    let fill = PathBuf::from(format!(
        "/proc/{}/root{}",
        server.id(),
        state.join("fill").display()
    ));
    let full = std::fs::write(&fill, vec![1; 20 << 20]);
    assert_eq!(full.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    for _ in 0..3 {
        let refused = call("set/shared/a/2");
        assert!(refused.contains("the disk is full"), "{refused}");
        assert!(call("get/shared/a").contains("Some(\"1\")"));
    }
    let status = || work_dir.larder(&format!("status --admin {admin}")).stdout;
    assert!(
        status().contains("cannot be changed: the disk of"),
        "{}",
        status()
    );
    std::fs::remove_file(&fill).unwrap();
    assert!(is_set(3) && call("get/shared/a").contains("Some(\"3\")"));
    assert!(!status().contains("cannot be changed"), "{}", status());
}

/// The state folder is mounted for reading only, in a mount namespace of its own.
#[test]
fn values_can_be_read_while_the_state_folder_is_read_only() {
    let config =
        "[provider.key_value]\nkey_value = [\"shared\"]\n[admin]\nlisten = \"127.0.0.1:0\"\n";
    let work_dir = WorkDir::with_guests("key_value").file("larder.toml", config);
    let call = |url: &str, call: &str| {
        let read = format!("read key-value://{call} --url {url}");
        work_dir.larder(&read).stdout
    };
    let (server, url) = work_dir.serve("");
    assert!(call(&url, "set/shared/a/1").starts_with("ok"));
    server.signal("TERM");
    server.wait().expect_exit(0);
    let state = work_dir.path("state/larder");
    let state = path_arg(&state);
    let mount = format!("mount --bind {state} {state} && mount -o remount,bind,ro {state}");
    let args = "serve --listen 127.0.0.1:0";
    let Some(mut server) = in_mount_namespace(&work_dir, &mount, args) else {
        return;
    };
    let line = server.wait_for_stderr("serving /livez");
    let admin = line.trim().rsplit("url=").next().unwrap().to_owned();
    let line = server.wait_for_stderr("serves http://");
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap();
    for _ in 0..3 {
        assert!(call(url, "get/shared/a").contains("Some(\"1\")"));
        let refused = call(url, "set/shared/a/2");
        assert!(refused.contains("its file is read-only"), "{refused}");
    }
    let status = work_dir.larder(&format!("status --admin {admin}")).stdout;
    assert!(status.contains("can be read, but not changed"), "{status}");
}

/// The size of files is limited, so that the first write of the database fails like on a full disk.
#[tokio::test]
async fn a_file_whose_creation_failed_is_created_again() {
    let config =
        "[provider.key_value]\nkey_value = [\"shared\"]\n[admin]\nlisten = \"127.0.0.1:0\"\n";
    let work_dir = WorkDir::with_guests("key_value").file("larder.toml", config);
    let set = |url: &str| {
        let call = format!("read key-value://set/shared/a/1 --url {url}");
        work_dir.larder(&call).stdout
    };
    // The first server compiles the component.
    let (admin, _) = AdminClient::open(&work_dir);
    admin.process.signal("TERM");
    admin.process.wait().expect_exit(0);
    let limited = |own: &Command| {
        let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(own.get_program());
        command.args(own.get_args());
        command
    };
    let (admin, url) = AdminClient::open_with(&work_dir, limited);
    let refused = set(&url);
    assert!(refused.starts_with("refused"), "{refused}");
    admin.process.signal("TERM");
    admin.process.wait().expect_exit(0);
    let (admin, url) = AdminClient::open(&work_dir);
    let written = set(&url);
    assert!(written.starts_with("ok"), "{written}");
    let (_, status) = admin.get("/status").await;
    assert!(!status.contains("damaged"), "{status}");
}

#[tokio::test]
async fn values_are_there_after_a_restart() {
    let server = server_with(BOTH, |_| {}).start().await;
    read(&server, &call_by("ann"), "set/caller/a/1").await;
    let usage = server.key_value.usage();
    let restarted = restarted(server).await.start().await;
    assert!(restarted.key_value.usage().is_empty());
    let is_loaded =
        async || restarted.key_value.load().await.is_ok() && restarted.key_value.usage() == usage;
    eventually("the file of the first server is closed", is_loaded).await;
    assert_eq!(
        read(&restarted, &call_by("ann"), "get/caller/a").await,
        "ok: Some(\"1\")"
    );
}

#[tokio::test]
async fn a_damaged_file_is_moved_aside() {
    let server = server_with(BOTH, |_| {}).start().await;
    let (ann, file) = (call_by("ann"), database(&server));
    for n in 0..200 {
        read(&server, &ann, &format!("set/shared/key-{n}/value-{n}")).await;
    }
    let server = restarted(server).await;
    let mut bytes = std::fs::read(&file).unwrap();
    let found: Vec<_> = bytes
        .windows(8)
        .enumerate()
        .filter(|(_, text)| text == b"value-17")
        .map(|(at, _)| at)
        .collect();
    found.iter().for_each(|at| bytes[*at] = b'V');
    std::fs::write(&file, bytes).unwrap();
    let server = server.start().await;
    let first = read(&server, &ann, "get/shared/key-17").await;
    assert_eq!(
        first,
        "refused: Failure::Unavailable(\"its file cannot be opened\")"
    );
    let problems = server.health.problems();
    assert!(
        problems
            .iter()
            .any(|problem| problem.message.contains("were damaged")),
        "{problems:?}"
    );
    assert!(file.with_extension("redb.damaged").is_file());
    let works = async || read(&server, &ann, "set/shared/a/1").await == "ok: ()";
    eventually("the provider begins without values", works).await;
    assert_eq!(read(&server, &ann, "get/shared/key-17").await, "ok: None");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_moved_aside() {
    let server = server_with(BOTH, |_| {});
    let server = server.start().await;
    let file = database(&server);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::set_permissions(
        file.parent().unwrap(),
        std::fs::Permissions::from_mode(0o700),
    )
    .unwrap();
    std::fs::write(&file, "no database".repeat(1_000)).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let works = async || read(&server, &call_by("ann"), "set/shared/a/1").await == "ok: ()";
    eventually("the provider begins without values", works).await;
    assert!(file.with_extension("redb.damaged").is_file());
}

#[tokio::test]
async fn the_bucket_of_a_caller_that_was_not_used_for_long_makes_room() {
    let server = server_with(BOTH, |grant| {
        let limits = &mut grant.limits.key_value;
        (limits.callers, limits.expiry) = (1, Duration::from_secs(1));
    });
    let server = server.start().await;
    let (ann, bob) = (call_by("ann"), call_by("bob"));
    assert_eq!(read(&server, &ann, "set/caller/a/1").await, "ok: ()");
    assert_eq!(read(&server, &ann, "set/shared/a/1").await, "ok: ()");
    let is_stored = async || read(&server, &bob, "set/caller/a/2").await == "ok: ()";
    eventually_within(SLOW_WAIT, "the bucket of Ann expires", is_stored).await;
    assert_eq!(read(&server, &ann, "get/caller/a").await, "ok: None");
    assert_eq!(read(&server, &ann, "get/shared/a").await, "ok: Some(\"1\")");
}
