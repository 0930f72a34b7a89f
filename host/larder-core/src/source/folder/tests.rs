use std::time::Duration;

use super::*;

fn origins(scan: &Scan) -> Vec<&str> {
    scan.artifacts.iter().map(|artifact| artifact.origin.as_str()).collect()
}

#[test]
fn finds_only_components() {
    let dir = tempfile::tempdir().unwrap();
    for name in
        ["b.wasm", "a.wasm", "a.toml", ".c.wasm", "d.wasm~", "e.cwasm", "f.txt", "g.wasm.tmp", "x.toml"]
    {
        std::fs::write(dir.path().join(name), name).unwrap();
    }
    std::fs::create_dir(dir.path().join("h.wasm")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.path().join("i.wasm")).unwrap();
    let scan = Folder::new(dir.path().into()).scan().unwrap();
    let text = |blob: &Blob| match blob.fetch(100) {
        Ok(Fetched::Bytes(bytes)) => String::from_utf8(bytes.into()).unwrap(),
        other => panic!("{other:?}"),
    };
    let found = scan.artifacts.iter().map(|artifact| {
        (artifact.name.as_str(), text(&artifact.component), artifact.grant_request.as_ref().map(text))
    });
    let expected = [("a", "a.wasm".into(), Some("a.toml".into())), ("b", "b.wasm".into(), None)];
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
    let incomplete = ["a.toml", "b.wasm"].map(|name| PendingArtifact::Incomplete { origin: name.into() });
    assert_eq!(scan.pending, incomplete);
    assert!(scan.rescan_after.is_some());
}

#[test]
fn fetch_respects_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.wasm"), "a.wasm").unwrap();
    let scan = Folder::new(dir.path().into()).scan().unwrap();
    let component = &scan.artifacts[0].component;
    assert!(matches!(component.fetch(6), Ok(Fetched::Bytes(bytes)) if bytes == "a.wasm"));
    assert!(matches!(component.fetch(5), Ok(Fetched::TooLarge(6))));
}

#[test]
fn a_missing_folder_is_empty() {
    let mut folder = Folder::new("does/not/exist".into());
    assert!(folder.scan().is_ok_and(|scan| scan.artifacts.is_empty()));
}
