//! Tests of the functions that this build selects: of Linux, or with `--cfg larder_portable` the portable ones.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use crate::{LIMITATIONS, files, memory, processes, threads};

/// Whether the functions for Linux are tested.
const IS_LINUX: bool = cfg!(all(target_os = "linux", not(larder_portable)));

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

#[test]
fn only_systems_other_than_linux_have_limitations() {
    assert_eq!(LIMITATIONS.is_empty(), IS_LINUX);
    for sentence in LIMITATIONS {
        assert!(sentence.starts_with("on this system, "), "{sentence}");
        assert!(!sentence.ends_with('.'), "{sentence}");
    }
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let root = tempfile::tempdir().unwrap();
    let own = root.path().join("own");
    fs::create_dir_all(own.join("sub")).unwrap();
    fs::create_dir(root.path().join("other")).unwrap();
    fs::write(own.join("a"), "own").unwrap();
    fs::write(own.join("sub/b"), "own").unwrap();
    fs::write(root.path().join("other/c"), "other").unwrap();
    symlink("../other", own.join("folder")).unwrap();
    symlink("../other/c", own.join("file")).unwrap();
    symlink(root.path().join("other/c"), own.join("absolute")).unwrap();
    for name in ["a", "sub/b"] {
        let opened = files::open_beneath(&own, name, READ).map(File::from);
        assert!(opened.unwrap().metadata().unwrap().is_file(), "{name}");
    }
    let absolute = root.path().join("other/c");
    let absolute = absolute.to_str().unwrap();
    for name in ["folder/c", "file", "absolute", "../other/c", "", absolute] {
        assert!(files::open_beneath(&own, name, READ).is_err(), "{name}");
        assert!(
            files::open_beneath(&own, name, files::INSPECT_FILE).is_err(),
            "{name}"
        );
    }
    let missing = files::open_beneath(&own, "missing", READ).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

#[test]
fn links_that_stay_below_the_folder_are_followed_only_on_linux() {
    let own = tempfile::tempdir().unwrap();
    fs::write(own.path().join("a"), "own").unwrap();
    symlink("a", own.path().join("link")).unwrap();
    let opened = files::open_beneath(own.path(), "link", READ);
    if IS_LINUX {
        assert!(opened.is_ok());
    } else {
        let error = opened.unwrap_err().to_string();
        assert!(error.contains("it is a symbolic link"), "{error}");
    }
}

#[test]
fn a_pipe_is_inspected_without_waiting_for_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    // macOS has no function for this in rustix.
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let opened = files::open_beneath(folder.path(), "pipe", files::INSPECT_FILE);
        _ = sender.send(File::from(opened.unwrap()).metadata().unwrap().is_file());
    });
    assert!(!receiver.recv_timeout(Duration::from_secs(60)).unwrap());
}

#[test]
fn a_path_of_a_descriptor_leads_to_the_opened_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, "first").unwrap();
    let opened = File::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, "second").unwrap();
    let found = files::path_of_descriptor(&opened);
    assert_eq!(found.is_none(), !IS_LINUX);
    if let Some(found) = found {
        assert_eq!(fs::read_to_string(found).unwrap(), "first");
    }
    assert!(!files::forbids_execution(folder.path()));
}

#[test]
fn a_folder_for_resolving_is_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let flags = files::RESOLVE_FOLDER | OFlags::DIRECTORY;
    assert!(rustix::fs::open(folder.path(), flags, Mode::empty()).is_ok());
    fs::write(folder.path().join("a"), "").unwrap();
    assert!(rustix::fs::open(folder.path().join("a"), flags, Mode::empty()).is_err());
}

#[test]
fn the_program_is_this_test() {
    let own = processes::own_program().unwrap().canonicalize().unwrap();
    assert_eq!(
        own,
        std::env::current_exe().unwrap().canonicalize().unwrap()
    );
}

#[test]
fn descriptors_are_counted() {
    let before = processes::open_descriptors().unwrap();
    let files: Vec<_> = (0..64).map(|_| File::open("/dev/null").unwrap()).collect();
    // Other tests open and close files at the same time.
    assert!(processes::open_descriptors().unwrap() >= before + 32);
    drop(files);
}

#[test]
fn memory_is_reported_only_on_linux() {
    assert_eq!(memory::physical_memory().is_some(), IS_LINUX);
    assert_eq!(memory::resident_memory().is_some(), IS_LINUX);
    assert_eq!(processes::MEMORY_RESOURCE.is_some(), IS_LINUX);
}

#[test]
fn priorities_are_requested_without_an_error() {
    std::thread::spawn(|| {
        threads::lower_priority().unwrap();
        threads::request_short_slice().unwrap();
    })
    .join()
    .unwrap();
    memory::disable_huge_pages().unwrap();
}
