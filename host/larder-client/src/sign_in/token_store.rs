//! The files with the tokens of servers. Each server has one file, which only its owner can read.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;
use tokio::time::Instant;
use url::Url;

use super::error::SignInError;
use super::oauth_client::OauthClient;

/// The permission bits with which other users have any access to a file.
const ACCESSIBLE_TO_OTHERS: u32 = 0o077;
/// How long a process waits for another one that renews a token.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);
const LOCK_INTERVAL: Duration = Duration::from_millis(50);

/// A folder with one file per server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenStore {
    folder: PathBuf,
}

/// The tokens of one server, and what is necessary to renew them.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct SignInRecord {
    pub(super) server: String,
    pub(super) resource: String,
    pub(super) token_endpoint: String,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) client: OauthClient,
    /// The scopes that were requested.
    pub(super) scopes: Vec<String>,
    pub(super) access_token: String,
    pub(super) refresh_token: Option<String>,
    /// When the access token is renewed, in seconds since the epoch.
    pub(super) renew_at: Option<u64>,
}

/// Other processes that change the file of a server wait until this is dropped.
pub(super) struct StoreLock(#[expect(dead_code, reason = "dropping the file unlocks it")] File);

impl TokenStore {
    /// A store in this folder, which is created when a token is stored.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { folder }
    }

    /// Whether tokens are stored for the server with this endpoint.
    pub fn contains(&self, url: &str) -> bool {
        Url::parse(url).is_ok_and(|url| self.path(&url).exists())
    }

    /// Returns the record of a server. `None` if the user did not sign in.
    pub(super) fn load(&self, server: &Url) -> Result<Option<SignInRecord>, SignInError> {
        let path = self.path(server);
        let Some(text) = read_private(&path).map_err(|reason| store_error(&path, reason))? else {
            return Ok(None);
        };
        serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| store_error(&path, format!("{error}; run `larder login` again")))
    }

    /// Writes a record, which replaces the old one completely.
    pub(super) fn save(&self, server: &Url, record: &SignInRecord) -> Result<(), SignInError> {
        let path = self.path(server);
        self.write(&path, record)
            .map_err(|error| store_error(&path, error.to_string()))
    }

    /// Deletes the record of a server. Returns whether there was one.
    pub(super) fn remove(&self, server: &Url) -> Result<bool, SignInError> {
        let path = self.path(server);
        match std::fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(store_error(&path, error.to_string())),
        }
    }

    /// Waits until no other process renews a token. Otherwise two processes would use the same refresh token, which
    /// an authorization server treats as theft.
    pub(super) async fn lock(&self) -> Result<StoreLock, SignInError> {
        let path = self.folder.join("lock");
        let failure = |error: io::Error| store_error(&path, error.to_string());
        self.create_folder().map_err(failure)?;
        let file = File::create(&path).map_err(failure)?;
        let end = Instant::now().checked_add(LOCK_TIMEOUT);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(StoreLock(file)),
                Err(TryLockError::WouldBlock) if end.is_some_and(|end| Instant::now() < end) => {}
                Err(error) => return Err(failure(error.into())),
            }
            tokio::time::sleep(LOCK_INTERVAL).await;
        }
    }

    /// The name contains the host for people, and a digest because it must be unique.
    fn path(&self, server: &Url) -> PathBuf {
        let server = key(server);
        let host = plain_host(&server);
        let digest = short_digest(&server);
        self.folder.join(format!("{host}-{digest}.json"))
    }

    fn write(&self, path: &Path, record: &SignInRecord) -> io::Result<()> {
        self.create_folder()?;
        // A temporary file has the mode 0600.
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(&serde_json::to_vec_pretty(record)?)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    fn create_folder(&self) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
    }
}

/// The URL by which the tokens of a server are found.
fn key(server: &Url) -> Url {
    let mut key = server.clone();
    key.set_fragment(None);
    key.set_path(server.path().trim_end_matches('/'));
    key
}

fn plain_host(server: &Url) -> String {
    let host = server.host_str().unwrap_or_default();
    host.chars().filter(|c| is_plain(*c)).take(100).collect()
}

fn short_digest(server: &Url) -> String {
    let digest = Sha256::digest(server.as_str());
    let bytes = digest[..8].iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '.' || c == '-'
}

fn read_private(path: &Path) -> Result<Option<Vec<u8>>, String> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    let mode = file.metadata().map_err(|error| error.to_string())?.mode();
    if mode & ACCESSIBLE_TO_OTHERS != 0 {
        return Err("other users can read it: run `chmod go-rwx` on it".into());
    }
    let mut text = Vec::new();
    let read = file.read_to_end(&mut text);
    read.map_err(|error| error.to_string())?;
    Ok(Some(text))
}

fn store_error(path: &Path, reason: String) -> SignInError {
    let path = path.to_owned();
    SignInError::Store { path, reason }
}
