//! The default store: encrypted files in the state folder.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};

use super::files::SessionFiles;
use super::{SessionKey, SessionRecord, SessionStore, StoredSession};
use larder_runtime::blocking_threads::BlockingThreads;

/// How long an operation may wait for the disk. A dead mount must not block clients.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Keeps sessions in a folder, for one server at a time.
pub struct FileSessionStore(Arc<Inner>);

struct Inner {
    files: SessionFiles,
    /// One thread, so that operations run in order.
    thread: BlockingThreads,
    /// The sessions in the folder, so that a client that guesses ids does not cause disk operations.
    keys: Mutex<HashSet<SessionKey>>,
}

impl FileSessionStore {
    /// Opens a folder. If the folder does not exist, creates it.
    pub async fn open(folder: PathBuf) -> io::Result<Self> {
        let thread = BlockingThreads::new(1);
        let files = limited(thread.run(move || SessionFiles::open(&folder))).await??;
        Ok(Self(Arc::new(Inner {
            files,
            thread,
            keys: Mutex::default(),
        })))
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let inner = self.0.clone();
        limited(self.0.thread.run(move || work(&inner))).await?
    }
}

async fn limited<T>(work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let ended = tokio::time::timeout(TIMEOUT, work).await;
    ended.unwrap_or_else(|_| Err(disk_timeout()))
}

fn disk_timeout() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the disk did not respond in time")
}

impl Inner {
    fn keys(&self) -> MutexGuard<'_, HashSet<SessionKey>> {
        self.keys.lock()
    }
}

#[async_trait]
impl SessionStore for FileSessionStore {
    async fn list(&self) -> io::Result<Vec<StoredSession>> {
        self.run(|inner| {
            let sessions = inner.files.list()?;
            *inner.keys() = sessions.iter().map(|session| session.key).collect();
            Ok(sessions)
        })
        .await
    }

    async fn create(&self, key: SessionKey, record: &SessionRecord) -> io::Result<()> {
        let content = record.to_bytes().ok_or_else(too_large)?;
        self.run(move |inner| {
            inner.files.write(key, content)?;
            inner.keys().insert(key);
            Ok(())
        })
        .await
    }

    async fn load(&self, key: SessionKey) -> io::Result<Option<SessionRecord>> {
        if !(self.0.keys().contains(&key)) {
            return Ok(None);
        }
        self.run(move |inner| inner.files.load(key)).await
    }

    async fn touch(&self, used: Vec<(SessionKey, SystemTime)>) -> io::Result<()> {
        self.run(move |inner| {
            used.iter()
                .try_for_each(|(key, last_used)| inner.files.touch(*key, *last_used))
        })
        .await
    }

    async fn update(&self, key: SessionKey, record: &SessionRecord) -> io::Result<()> {
        let content = record.to_bytes().ok_or_else(too_large)?;
        self.run(move |inner| {
            if inner.keys().contains(&key) {
                inner.files.write(key, content)
            } else {
                Ok(())
            }
        })
        .await
    }

    async fn remove(&self, keys: Vec<SessionKey>) -> io::Result<()> {
        self.run(move |inner| {
            for key in keys {
                inner.keys().remove(&key);
                inner.files.remove(key)?;
            }
            Ok(())
        })
        .await
    }
}

fn too_large() -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        "the session has too many subscriptions to be stored",
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::super::record::tests::record;
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[tokio::test]
    async fn keeps_sessions_across_restarts() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state/sessions");
        let store = FileSessionStore::open(folder.clone()).await.unwrap();
        let key = SessionKey::of("a");
        let other = SessionKey::of("b");
        store.create(key, &record(&["x:1"])).await.unwrap();
        store.create(other, &record(&[])).await.unwrap();
        store.update(key, &record(&["x:1", "x:2"])).await.unwrap();
        store.remove(vec![other, other]).await.unwrap();
        store.update(other, &record(&[])).await.unwrap();
        let last_used = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        store
            .touch(vec![(key, last_used), (other, last_used)])
            .await
            .unwrap();
        for entry in names(&folder) {
            let mode = std::fs::metadata(folder.join(&entry))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{entry}");
        }
        assert_eq!(
            std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777,
            0o700
        );
        drop(store);
        std::fs::write(folder.join(".new-abc"), "not completed").unwrap();
        std::fs::write(folder.join(SessionKey::of("c").to_string()), "damaged").unwrap();

        let store = FileSessionStore::open(folder.clone()).await.unwrap();
        let [session] = store.list().await.unwrap().try_into().unwrap();
        assert_eq!(
            (session.key, &session.owner, session.last_used),
            (key, &record(&[]).owner, last_used)
        );
        assert_eq!(
            store.load(key).await.unwrap().unwrap().subscriptions.len(),
            2
        );
        assert!(store.load(other).await.unwrap().is_none());
        assert_eq!(
            names(&folder).len(),
            3,
            "the session, the key and the lock: {:?}",
            names(&folder)
        );
    }

    #[tokio::test]
    async fn refuses_a_folder_that_is_in_use_or_not_private() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("sessions");
        let _used = FileSessionStore::open(folder.clone()).await.unwrap();
        let error = FileSessionStore::open(folder)
            .await
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("another server uses"), "{error}");
        let open = dir.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
        let error = FileSessionStore::open(open)
            .await
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains("can be read by others"), "{error}");
    }
}
