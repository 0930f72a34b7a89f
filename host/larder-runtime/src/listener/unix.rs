//! A Unix socket and its file. The file exists as long as the server listens: a file that a killed server has left is
//! replaced, but not the socket of a running server.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};

use super::ListenAddress;

/// Maximum length of the queue of connections that are not accepted yet.
const BACKLOG: u32 = 1024;
/// How often and at what interval a server tries to lock the folder of its socket.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// A listening Unix socket. If this server has created its file, the file is removed on drop.
#[derive(Debug)]
pub struct UnixSocket {
    /// This field is dropped first: another server must find either a live socket or no file. It must never find a
    /// stale socket that this server then removes.
    file: SocketFile,
    listener: UnixListener,
}

/// The mode in the address of an inherited socket, where it is not used.
const UNKNOWN_MODE: u32 = 0;

/// The file of a socket, with its identity: another server may have replaced the file.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    mode: u32,
    /// None if the file belongs to the service manager.
    device_and_inode: Option<(u64, u64)>,
}

impl UnixSocket {
    /// A socket that a service manager has opened. Its file is not removed.
    pub fn inherited(listener: std::os::unix::net::UnixListener) -> io::Result<Self> {
        let ListenAddress::Unix { path, mode } = Self::address_of(&listener)? else {
            return Err(ErrorKind::InvalidInput.into());
        };
        listener.set_nonblocking(true)?;
        let file = SocketFile {
            path,
            mode,
            device_and_inode: None,
        };
        Ok(Self {
            file,
            listener: UnixListener::from_std(listener)?,
        })
    }

    /// The address of a socket that a service manager has opened.
    pub fn address_of(listener: &std::os::unix::net::UnixListener) -> io::Result<ListenAddress> {
        let address = listener.local_addr()?;
        let path = address
            .as_pathname()
            .unwrap_or(Path::new("(abstract)"))
            .to_owned();
        Ok(ListenAddress::Unix {
            path,
            mode: UNKNOWN_MODE,
        })
    }

    /// Creates the socket file with these permissions, and begins to listen. Fails if another server listens on the
    /// path, or if the path is not a socket.
    pub(super) async fn bind(path: &Path, mode: u32) -> io::Result<Self> {
        // Two servers that start at the same time must not both replace the file.
        let lock = lock_folder(path).await;
        remove_stale_socket(path).await?;
        let socket = tokio::net::UnixSocket::new_stream()?;
        socket.bind(path)?;
        let file = SocketFile::new(path, mode)?;
        // From here on, clients can connect, because the file has its permissions.
        let listener = socket.listen(BACKLOG)?;
        drop(lock);
        Ok(Self { listener, file })
    }

    pub(super) fn address(&self) -> ListenAddress {
        ListenAddress::Unix {
            path: self.file.path.clone(),
            mode: self.file.mode,
        }
    }

    pub(super) async fn accept_stream(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

impl SocketFile {
    /// Takes over a new file and sets its permissions.
    fn new(path: &Path, mode: u32) -> io::Result<Self> {
        let metadata = fs::symlink_metadata(path)?;
        let device_and_inode = (metadata.dev(), metadata.ino());
        let file = Self {
            path: path.to_owned(),
            mode,
            device_and_inode: Some(device_and_inode),
        };
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        Ok(file)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let Some(own) = self.device_and_inode else {
            return;
        };
        let is_own = fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == own);
        if is_own && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove the socket file");
        }
    }
}

/// Locks the folder of a socket. Without the right to read the folder, or on a file system without locks,
/// there is no lock.
async fn lock_folder(path: &Path) -> Option<File> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let folder = File::open(folder).ok()?;
    for _ in 0..LOCK_ATTEMPTS {
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_INTERVAL).await,
            Err(TryLockError::Error(_)) => return None,
            Ok(()) => return Some(folder),
        }
    }
    tracing::warn!(
        "another process keeps the folder of the socket locked: a stale socket is replaced without the lock"
    );
    None
}

/// Removes the socket file of a server that does not run any more.
async fn remove_stale_socket(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err(io::Error::new(
                ErrorKind::AlreadyExists,
                "a file that is not a socket is there",
            ));
        }
        Ok(_) => {}
    }
    let in_use = || io::Error::new(ErrorKind::AddrInUse, "another server is listening there");
    match UnixStream::connect(path).await {
        Ok(_) => Err(in_use()),
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        // The queue of connections of the other server is full.
        Err(error) if error.kind() == ErrorKind::WouldBlock => Err(in_use()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn bind(path: &Path) -> Result<UnixSocket, ErrorKind> {
        UnixSocket::bind(path, 0o600)
            .await
            .map_err(|error| error.kind())
    }

    #[tokio::test]
    async fn replaces_only_the_socket_of_a_dead_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("larder.sock");
        let socket = bind(&path).await.unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
            0o600
        );
        assert_eq!(bind(&path).await.unwrap_err(), ErrorKind::AddrInUse);
        drop(socket);
        assert!(!path.exists());

        // The standard library does not remove the file of a socket that it closes.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let socket = bind(&path).await.unwrap();
        let (client, accepted) = tokio::join!(UnixStream::connect(&path), socket.accept_stream());
        assert!(client.is_ok() && accepted.is_ok());

        // A file that belongs to another server is not removed.
        fs::remove_file(&path).unwrap();
        let successor = bind(&path).await.unwrap();
        drop(socket);
        assert!(path.exists());
        drop(successor);

        fs::write(&path, "data").unwrap();
        assert_eq!(bind(&path).await.unwrap_err(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&path).unwrap(), "data");
    }

    #[tokio::test]
    async fn a_server_waits_for_another_that_replaces_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("larder.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let lock = lock_folder(&path).await.unwrap();
        let mut second = std::pin::pin!(bind(&path));
        assert!(
            tokio::time::timeout(LOCK_INTERVAL * 2, second.as_mut())
                .await
                .is_err()
        );
        let _first = std::os::unix::net::UnixListener::bind(folder.path().join("first")).unwrap();
        fs::rename(folder.path().join("first"), &path).unwrap();
        drop(lock);
        assert_eq!(second.await.unwrap_err(), ErrorKind::AddrInUse);
    }
}
