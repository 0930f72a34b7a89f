//! A server in a container whose root file system is read-only, with a folder for temporary files in memory.

use super::running::in_mount_namespace;
use super::workplace::Workplace;
use crate::support::harness::{SLOW_WAIT, eventually_blocking};
use crate::support::process::path_arg;
use crate::support::revision::{NOW, revision, text};

#[test]
fn a_locked_server_runs_on_a_read_only_root_file_system() {
    let Some(workplace) = Workplace::new() else {
        return;
    };
    workplace.push("echo", "team/wiki:1");
    workplace.add("team/wiki:1");
    std::fs::write(workplace.path("plugins/revision.wasm"), revision(1)).unwrap();
    workplace.run("lock").expect_success();
    workplace
        .run("pull --all --into components")
        .expect_success();
    let config = workplace.text("larder.toml");
    let config = config.replacen(
        "[registries.",
        "[registries]\nstore = 'components'\n[registries.",
        1,
    );
    std::fs::write(workplace.path("larder.toml"), config).unwrap();
    // An image contains neither folder.
    for folder in ["state", "cache"] {
        _ = std::fs::remove_dir_all(workplace.path(folder));
    }
    let Workplace {
        work_dir, registry, ..
    } = workplace;
    drop(registry);
    std::fs::create_dir(work_dir.path("tmp")).unwrap();
    let folder = path_arg(&work_dir.path("")).to_owned();
    let mounts = format!(
        "mount --bind {folder} {folder} && mount -o remount,bind,ro {folder} && mount -o remount,bind,ro / \
         && mount -t tmpfs tmpfs {folder}/tmp && export TMPDIR={folder}/tmp \
         && cd {folder} && ! touch new 2>/dev/null"
    );
    let args = "serve --locked --listen 127.0.0.1:0 --admin off";
    let Some(mut server) = in_mount_namespace(&work_dir, &mounts, args) else {
        return;
    };
    let line = server.wait_for_stderr("serves http://");
    let url = line
        .split_whitespace()
        .find(|word| word.starts_with("http://"))
        .unwrap();
    let read = |uri: &str| {
        work_dir
            .larder(&format!("read {uri} --url {url}"))
            .expect_success()
    };
    // On a busy machine, the server serves before all components are loaded.
    let serves = |uri: &str| work_dir.larder(&format!("read {uri} --url {url}")).code == Some(0);
    eventually_blocking(SLOW_WAIT, "both components are served", || {
        serves("echo://say/hi") && serves(NOW)
    });
    assert!(read("echo://say/hi").contains("value: word=hi"));
    assert!(read(NOW).contains(&text(1)));
    assert!(!work_dir.path("new").exists());
}
