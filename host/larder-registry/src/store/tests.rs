//! Tests of the store.

use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::{LockFile, LockedComponent, Resolution, ResolutionKey};

const NOW: std::time::Duration = std::time::Duration::ZERO;

fn store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("store")).unwrap();
    (folder, store)
}

fn key(reference: &str) -> ResolutionKey {
    let [server, team, provider] = ["server", "team", "provider"].map(str::to_owned);
    ResolutionKey {
        server,
        team,
        provider,
        reference: reference.into(),
    }
}

#[test]
fn only_the_owner_has_access() {
    let (_folder, store) = store();
    let mode = fs::metadata(store.folder()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let digest = store.put(b"x").unwrap();
    assert_eq!(
        fs::metadata(store.path(&digest))
            .unwrap()
            .permissions()
            .mode()
            & 0o077,
        0
    );
}

#[test]
fn reads_what_was_put() {
    let (_folder, store) = store();
    let digest = store.put(b"content").unwrap();
    assert_eq!(store.put(b"content").unwrap(), digest);
    assert_eq!(store.read(&digest, 7).unwrap(), b"content".as_slice());
    assert!(matches!(
        store.read(&digest, 6),
        Err(StoreError::TooLarge { .. })
    ));
    assert!(matches!(
        store.read(&Digest::of(b"other"), 7),
        Err(StoreError::Missing(_))
    ));
    fs::write(store.path(&digest), "changed").unwrap();
    assert!(matches!(
        store.read(&digest, 7),
        Err(StoreError::Damaged(_))
    ));
    store.discard_damaged(&digest).unwrap();
    assert!(!store.contains(&digest));
    fs::write(store.path(&digest), "changed").unwrap();
    store.put(b"content").unwrap();
    assert_eq!(store.read(&digest, 7).unwrap(), b"content".as_slice());
}

#[test]
fn what_is_not_finished_is_not_stored() {
    let (_folder, store) = store();
    let mut writer = store.writer().unwrap();
    writer.write(b"con").unwrap();
    drop(writer);
    let mut writer = store.writer().unwrap();
    writer.write(b"con").unwrap();
    let error = writer.finish(&Digest::of(b"content")).unwrap_err();
    assert!(matches!(error, StoreError::WrongDigest { .. }), "{error}");
    assert_eq!(
        store.items(BLOBS).unwrap().len() + store.items(PARTIAL).unwrap().len(),
        0
    );
}

#[test]
fn threads_that_write_the_same_do_not_disturb_each_other() {
    let (_folder, store) = store();
    let bytes = vec![7; 1 << 20];
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                // Another process would open the store in the same way.
                let store = Store::open(store.folder()).unwrap();
                let digest = store.put(&bytes).unwrap();
                assert_eq!(store.read(&digest, u64::MAX).unwrap(), bytes);
            });
        }
    });
    assert_eq!(store.items(BLOBS).unwrap().len(), 1);
    assert!(store.items(PARTIAL).unwrap().is_empty());
}

#[test]
fn a_store_that_is_read_only_says_how_to_fill_it() {
    let (_folder, store) = store();
    let digest = store.put(b"x").unwrap();
    let read_only = Store::read_only(store.folder());
    assert_eq!(read_only.read(&digest, 1).unwrap(), b"x".as_slice());
    let error = read_only.put(b"y").unwrap_err().to_string();
    assert!(
        error.contains("read-only") && error.contains("larder pull --all --into"),
        "{error}"
    );
    let resolution = Resolution {
        accepted: digest,
        latest: digest,
        locked: None,
        checked: std::time::SystemTime::now(),
    };
    read_only.set_resolution(&key("r"), &resolution).unwrap();
    assert_eq!(read_only.resolution(&key("r")).unwrap(), None);
}

#[test]
fn a_full_disk_is_reported_as_such() {
    for kind in [
        io::ErrorKind::StorageFull,
        io::ErrorKind::FileTooLarge,
        io::ErrorKind::QuotaExceeded,
    ] {
        let error = StoreError::io(Path::new("/store"), kind.into()).to_string();
        assert!(
            error.contains("/store has no space left") && error.contains("registries.store"),
            "{error}"
        );
    }
}

#[test]
fn garbage_is_what_nothing_refers_to() {
    let (folder, store) = store();
    let [locked, resolved, garbage, attached, subject] =
        ["locked", "resolved", "garbage", "attached", "subject"]
            .map(|text| store.put(text.as_bytes()).unwrap());
    let mut lock = LockFile::default();
    lock.insert(LockedComponent {
        team: None,
        name: "a".into(),
        reference: "r.example/a:1".into(),
        digest: subject,
        component: locked,
        size: 6,
        signer: None,
        contract: None,
    });
    let path = folder.path().join("larder.lock");
    lock.write(&path).unwrap();
    store.register_lock_file(&path).unwrap();
    store.set_attachments(&subject, &[attached]).unwrap();
    let resolution = Resolution {
        accepted: resolved,
        latest: resolved,
        locked: None,
        checked: std::time::SystemTime::now(),
    };
    store.set_resolution(&key("r"), &resolution).unwrap();
    let abandoned = store.folder().join(PARTIAL).join("abandoned");
    fs::write(&abandoned, "part").unwrap();
    let writer = store.writer().unwrap();

    assert_eq!(
        store.collect_garbage(GarbageMode::Delete).unwrap(),
        GarbageReport::default(),
        "everything is new"
    );
    assert_eq!(
        store
            .collect_garbage_older_than(NOW, GarbageMode::DryRun)
            .unwrap(),
        GarbageReport { blobs: 1, bytes: 7 }
    );
    assert!(store.contains(&garbage) && abandoned.exists());
    assert_eq!(
        store
            .collect_garbage_older_than(NOW, GarbageMode::Delete)
            .unwrap(),
        GarbageReport { blobs: 1, bytes: 7 }
    );
    assert!(!store.contains(&garbage) && !abandoned.exists());
    assert_eq!(
        store.items(PARTIAL).unwrap().len(),
        1,
        "a blob that is being written is not abandoned"
    );
    drop(writer);
    for kept in [locked, resolved, attached, subject] {
        assert!(store.contains(&kept));
    }
    fs::remove_file(&path).unwrap();
    assert_eq!(
        store
            .collect_garbage_older_than(NOW, GarbageMode::Delete)
            .unwrap()
            .blobs,
        3,
        "the lock file is gone"
    );
    assert!(store.contains(&resolved) && store.attachments(&subject).unwrap().is_empty());
}

#[test]
fn a_team_has_a_store_of_its_own_within_another() {
    let (_folder, store) = store();
    let of_team = Store::open(&Store::folder_of_team(store.folder(), "docs")).unwrap();
    let digest = of_team.put(b"content").unwrap();
    assert!(!store.contains(&digest));
    assert!(matches!(
        store.read(&digest, 7),
        Err(StoreError::Missing(_))
    ));
    assert_eq!(
        store
            .collect_garbage_older_than(NOW, GarbageMode::Delete)
            .unwrap(),
        GarbageReport { blobs: 1, bytes: 7 }
    );
    assert!(!of_team.contains(&digest), "its garbage is collected too");
}

#[test]
fn nothing_is_deleted_if_a_lock_file_cannot_be_read() {
    let (folder, store) = store();
    let digest = store.put(b"x").unwrap();
    let path = folder.path().join("larder.lock");
    fs::write(&path, "version = 2").unwrap();
    store.register_lock_file(&path).unwrap();
    let error = store
        .collect_garbage_older_than(NOW, GarbageMode::Delete)
        .unwrap_err()
        .to_string();
    assert!(error.contains("has version 2"), "{error}");
    assert!(store.contains(&digest));
}

#[test]
fn a_resolution_is_known_after_a_restart() {
    let (_folder, store) = store();
    let [accepted, latest] = ["a", "b"].map(|text| Digest::of(text.as_bytes()));
    let checked = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(7);
    let resolution = Resolution {
        accepted,
        latest,
        locked: Some(latest),
        checked,
    };
    store.set_resolution(&key("r"), &resolution).unwrap();
    let again = Store::open(store.folder()).unwrap();
    assert_eq!(again.resolution(&key("r")).unwrap(), Some(resolution));
    assert_eq!(again.resolution(&key("other")).unwrap(), None);
    fs::write(store.resolution_path(&key("r")), "{").unwrap();
    assert_eq!(
        again.resolution(&key("r")).unwrap(),
        None,
        "a damaged one is resolved again"
    );
    let future = format!(
        r#"{{"accepted":"sha256:{accepted}","latest":"sha256:{latest}","checked":{}}}"#,
        u64::MAX
    );
    fs::write(store.resolution_path(&key("r")), future).unwrap();
    assert_eq!(
        again.resolution(&key("r")).unwrap(),
        None,
        "no clock can represent this time"
    );
}
