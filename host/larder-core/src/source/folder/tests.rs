use std::time::Duration;

use super::*;

fn origins(scan: &Scan) -> Vec<&str> {
    scan.artifacts
        .iter()
        .map(|artifact| artifact.origin.as_str())
        .collect()
}

#[test]
fn finds_only_components() {
    let dir = tempfile::tempdir().unwrap();
    for name in [
        "b.wasm",
        "a.wasm",
        "a.toml",
        ".c.wasm",
        "d.wasm~",
        "e.cwasm",
        "f.txt",
        "g.wasm.tmp",
        "x.toml",
    ] {
        std::fs::write(dir.path().join(name), name).unwrap();
    }
    std::fs::create_dir(dir.path().join("h.wasm")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.path().join("i.wasm")).unwrap();
    let scan = Folder::new(dir.path().into()).scan().unwrap();
    let text = |blob: &Blob| match blob.fetch(100) {
        Ok(FetchOutcome::Bytes(bytes)) => String::from_utf8(bytes.into()).unwrap(),
        other => panic!("{other:?}"),
    };
    let found = scan.artifacts.iter().map(|artifact| {
        (
            artifact.name.as_str(),
            text(&artifact.component),
            artifact.grant_request.as_ref().map(text),
        )
    });
    let expected = [
        ("a", "a.wasm".into(), Some("a.toml".into())),
        ("b", "b.wasm".into(), None),
    ];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[test]
fn an_unreadable_file_keeps_its_last_state() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("a.wasm"), "a").unwrap();
    let mut folder = Folder::new(dir.path().into());
    folder.scan().unwrap();
    std::fs::write(path("b.wasm"), "b").unwrap();
    std::fs::remove_file(path("a.wasm")).unwrap();
    // A symbolic link to itself.
    std::os::unix::fs::symlink("a.wasm", path("a.wasm")).unwrap();
    let mut scan_until = |expected: &[&str], unreadable: usize| {
        let until = Instant::now() + Duration::from_secs(30);
        loop {
            let scan = folder.scan().unwrap();
            assert_eq!(scan.unreadable.len(), unreadable);
            if origins(&scan) == expected {
                return;
            }
            assert!(Instant::now() < until, "{:?}", origins(&scan));
            std::thread::yield_now();
        }
    };
    // The other files are still handled. Once the new file has settled, a removal would have settled as well.
    scan_until(&["a.wasm", "b.wasm"], 1);
    std::fs::remove_file(path("a.wasm")).unwrap();
    scan_until(&["b.wasm"], 0);
}

#[test]
fn reports_files_that_may_still_be_written() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.wasm"), "a").unwrap();
    let mut folder = Folder::new(dir.path().into());
    assert!(folder.scan().unwrap().pending.is_empty());
    for name in ["a.toml", "b.wasm"] {
        std::fs::write(dir.path().join(name), name).unwrap();
    }
    let scan = folder.scan().unwrap();
    assert_eq!(origins(&scan), ["a.wasm"]);
    let incomplete = ["a.toml", "b.wasm"].map(|name| PendingArtifact::Incomplete {
        origin: name.into(),
    });
    assert_eq!(scan.pending, incomplete);
    assert!(scan.rescan_after.is_some());
}

#[test]
fn fetch_respects_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.wasm"), "a.wasm").unwrap();
    let scan = Folder::new(dir.path().into()).scan().unwrap();
    let component = &scan.artifacts[0].component;
    assert!(matches!(component.fetch(6), Ok(FetchOutcome::Bytes(bytes)) if bytes == "a.wasm"));
    assert!(matches!(component.fetch(5), Ok(FetchOutcome::TooLarge(6))));
}

#[test]
fn a_missing_folder_is_empty() {
    let mut folder = Folder::new("does/not/exist".into());
    assert!(folder.scan().is_ok_and(|scan| scan.artifacts.is_empty()));
}

/// Scans until the components, and the reason why the folder is missing, are as expected.
fn scan_until(folder: &mut Folder, expected: (&[&str], Option<&str>)) {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let scan = folder.scan().unwrap();
        let found = (&origins(&scan)[..], scan.missing.as_deref());
        if found == expected {
            return;
        }
        assert!(Instant::now() < until, "{found:?} instead of {expected:?}");
        std::thread::yield_now();
    }
}

const REPLACED: Option<&str> = Some("the folder was replaced by one without components");
const MISSING: Option<&str> = Some("the folder is missing");

#[test]
fn a_folder_with_components_that_is_gone_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plugins");
    let away = dir.path().join("away");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("a.wasm"), "a").unwrap();
    let mut folder = Folder::new(path.clone());
    assert_eq!(origins(&folder.scan().unwrap()), ["a.wasm"]);
    std::fs::rename(&path, &away).unwrap();
    scan_until(&mut folder, (&[], MISSING));
    std::os::unix::fs::symlink("nowhere", &path).unwrap();
    scan_until(&mut folder, (&[], MISSING));
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("lost+found"), "").unwrap();
    scan_until(&mut folder, (&[], REPLACED));
    std::fs::remove_dir_all(&path).unwrap();
    std::fs::rename(&away, &path).unwrap();
    // The folder is the same as before, so no file has to settle.
    assert_eq!(origins(&folder.scan().unwrap()), ["a.wasm"]);
    std::fs::remove_file(path.join("a.wasm")).unwrap();
    scan_until(&mut folder, (&[], None));
    // No component is left to keep.
    std::fs::remove_dir(&path).unwrap();
    assert_eq!(folder.scan().unwrap().missing, None);
}

#[test]
fn a_replacement_that_was_accepted_is_the_folder() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plugins");
    std::fs::create_dir(&path).unwrap();
    std::fs::write(path.join("a.wasm"), "a").unwrap();
    let mut folder = Folder::new(path.clone());
    folder.scan().unwrap();
    std::fs::rename(&path, dir.path().join("away")).unwrap();
    folder.accept_replacement();
    scan_until(&mut folder, (&[], MISSING));
    std::fs::create_dir(&path).unwrap();
    scan_until(&mut folder, (&[], REPLACED));
    folder.accept_replacement();
    let scan = folder.scan().unwrap();
    assert!(origins(&scan).is_empty() && scan.missing.is_none() && scan.pending.is_empty());
    std::fs::write(path.join("b.wasm"), "b").unwrap();
    scan_until(&mut folder, (&["b.wasm"], None));
}

#[test]
fn a_file_that_was_replaced_after_the_scan_is_not_read() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wasm");
    std::fs::write(dir.path().join("other"), "other").unwrap();
    type Replace = fn(&std::path::Path);
    let replacements: [(&str, Replace); 4] = [
        ("a pipe", |path| {
            mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap()
        }),
        ("a link", |path| {
            std::os::unix::fs::symlink("other", path).unwrap()
        }),
        ("a folder", |path| std::fs::create_dir(path).unwrap()),
        ("another file", |path| std::fs::write(path, "b").unwrap()),
    ];
    for (what, replace) in replacements {
        std::fs::write(&path, "a").unwrap();
        let scan = Folder::new(dir.path().into()).scan().unwrap();
        let blob = scan.artifacts[0].component.clone();
        assert!(
            blob.is_unchanged() && matches!(blob.fetch(9), Ok(FetchOutcome::Bytes(_))),
            "{what}"
        );
        std::fs::remove_file(&path).unwrap();
        replace(&path);
        let (sender, receiver) = std::sync::mpsc::channel();
        // A pipe without a writer would block the thread.
        std::thread::spawn(move || {
            sender.send((
                blob.is_unchanged(),
                blob.fetch(9).is_err(),
                blob.digest().is_err(),
            ))
        });
        let found = receiver.recv_timeout(Duration::from_secs(60)).expect(what);
        assert_eq!(found, (false, true, true), "{what}");
        _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path));
    }
}

#[test]
fn a_name_that_is_not_utf8_is_reported() {
    use std::os::unix::ffi::OsStrExt as _;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join(std::ffi::OsStr::from_bytes(b"\xff.wasm")),
        "a",
    )
    .unwrap();
    let scan = Folder::new(dir.path().into()).scan().unwrap();
    let errors: Vec<_> = scan.unreadable.values().map(ToString::to_string).collect();
    assert_eq!(
        (scan.artifacts.len(), errors),
        (0, vec!["its name is not UTF-8".to_owned()])
    );
}
