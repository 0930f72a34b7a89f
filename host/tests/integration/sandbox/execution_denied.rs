//! A process that may not execute memory to which it has written, as under systemd's `MemoryDenyWriteExecute`.

use std::process::{Command, Output};

use crate::support::process::WorkDir;

/// Denies executable memory with PR_SET_MDWE (65), as systemd does, and runs a program. Exits with 77 if the kernel
/// does not have this setting.
const DENY: &str = "import ctypes, os, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) != 0: sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])";

/// Runs `larder` without executable memory; `None` if this cannot be tested.
fn larder(work_dir: &WorkDir, args: &str) -> Option<Output> {
    let cache = work_dir.path("cache");
    let own = work_dir.command(&[("XDG_CACHE_HOME", cache.to_str().unwrap())], args);
    let mut command = Command::new("python3");
    command
        .args(["-c", DENY])
        .arg(own.get_program())
        .args(own.get_args());
    command.current_dir(work_dir.path("")).envs(
        own.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let output = command.output().unwrap();
    (output.status.code() != Some(77)).then_some(output)
}

#[test]
#[cfg(target_os = "linux")]
fn the_rejection_names_the_cause_and_the_setting() {
    let work_dir = WorkDir::with_guests("echo");
    let Some(output) = larder(&work_dir, "check") else {
        return;
    };
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("denies this process executable memory"),
        "{stderr}"
    );
    assert!(
        stderr.contains("remove `MemoryDenyWriteExecute=` from the systemd unit"),
        "{stderr}"
    );
    // The entry of the cache is valid, and is used without the setting.
    let entries = |work_dir: &WorkDir| {
        let files = std::fs::read_dir(work_dir.path("cache/larder")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".cwasm")).count()
    };
    assert_eq!(entries(&work_dir), 1);
    let cache = work_dir.path("cache");
    work_dir
        .start_with(&[("XDG_CACHE_HOME", cache.to_str().unwrap())], "check")
        .wait()
        .expect_success();
}
