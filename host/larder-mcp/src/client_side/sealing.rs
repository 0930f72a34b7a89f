//! Encryption with a key of the server. Data cannot be decrypted if they were modified, truncated, moved to another
//! context or written by another program.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf;

use larder_runtime::private_files::{self, ACCESSIBLE_TO_OTHERS, FileTrustError};

/// Size of the key in bytes.
const KEY_LENGTH: usize = 32;

/// A key that encrypts and authenticates.
pub(crate) struct SealingKey(LessSafeKey);

impl SealingKey {
    /// Reads the key from a file. If the file does not exist, creates it. A key that other users could have read is
    /// replaced, which ends all stored sessions.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        match Self::read(path) {
            Ok(key) => return Ok(key),
            Err(FileTrustError::Missing) => {}
            Err(reason) => {
                tracing::warn!(key = %path.display(), %reason, "replacing the key of the stored sessions: they end");
                std::fs::remove_file(path)?;
            }
        }
        Self::create(path)?;
        Self::read(path).map_err(io::Error::other)
    }

    /// Creates a key that exists only in this process.
    pub(crate) fn random() -> io::Result<Self> {
        let key = UnboundKey::new(&AES_256_GCM, &random::<KEY_LENGTH>()?);
        key.map(LessSafeKey::new)
            .map(Self)
            .map_err(|_| io::Error::other("it is not a key"))
    }

    fn read(path: &Path) -> Result<Self, FileTrustError> {
        let mut bytes = Vec::new();
        private_files::open(path, ACCESSIBLE_TO_OTHERS)?
            .take(KEY_LENGTH as u64 + 1)
            .read_to_end(&mut bytes)?;
        let key = UnboundKey::new(&AES_256_GCM, &bytes);
        key.map(LessSafeKey::new)
            .map(Self)
            .map_err(|_| FileTrustError::Io(io::Error::other("it is not a key")))
    }

    fn create(path: &Path) -> io::Result<()> {
        // The crate documents mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
        file.write_all(&random::<KEY_LENGTH>()?)?;
        file.as_file().sync_all()?;
        file.persist_noclobber(path)
            .map(|_: File| ())
            .map_err(|error| error.error)
    }

    /// Encrypts content for this context. A context is for example the name of a file.
    pub(crate) fn seal(&self, context: &[u8], mut content: Vec<u8>) -> io::Result<Vec<u8>> {
        // A key may be used with 2^32 random nonces.
        let nonce = random::<NONCE_LEN>()?;
        let aad = Aad::from(context);
        self.0
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), aad, &mut content)
            .map_err(|_| io::Error::other("it cannot be encrypted"))?;
        Ok([&nonce[..], &content].concat())
    }

    /// Decrypts content. `None` if the content was not encrypted with this key for this context.
    pub(crate) fn unseal(&self, context: &[u8], mut sealed: Vec<u8>) -> Option<Vec<u8>> {
        let (nonce, content) = sealed.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let content = self
            .0
            .open_in_place(nonce, Aad::from(context), content)
            .ok()?;
        Some(content.to_vec())
    }
}

/// Size of the random part of a message that is sealed with a shared key.
const SALT_LENGTH: usize = 32;
/// The purpose for which the keys of messages are derived.
const SHARED_LABEL: &[u8] = b"larder cluster message 1";

/// Keys that several servers share. The first key seals, and each key opens. Each message has a key of its own, which
/// is derived from the shared key and a random value, so that the number of messages is not limited.
#[derive(Clone)]
pub struct SealingKeys(Arc<[hkdf::Prk]>);

impl SealingKeys {
    /// Derives the keys from secrets. The secrets must have as many random bits as the keys. `None` if there is no
    /// secret.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"larder cluster");
        let keys: Arc<[_]> = secrets
            .into_iter()
            .map(|secret| salt.extract(secret.as_bytes()))
            .collect();
        (!keys.is_empty()).then_some(Self(keys))
    }

    /// Encrypts content for this context.
    pub(crate) fn seal(&self, context: &[u8], mut content: Vec<u8>) -> io::Result<Vec<u8>> {
        let salt = random::<SALT_LENGTH>()?;
        let key = self.0.first().and_then(|key| message_key(key, &salt));
        let sealed = key.and_then(|key| {
            key.seal_in_place_append_tag(only_nonce(), Aad::from(context), &mut content)
                .ok()
        });
        sealed.ok_or_else(|| io::Error::other("it cannot be encrypted"))?;
        Ok([&salt[..], &content].concat())
    }

    /// Decrypts content. `None` if the content was not encrypted with one of the keys for this context.
    pub(crate) fn unseal(&self, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        let (salt, sealed) = sealed.split_at_checked(SALT_LENGTH)?;
        self.0.iter().find_map(|key| {
            let mut content = sealed.to_vec();
            let key = message_key(key, salt)?;
            let length = key
                .open_in_place(only_nonce(), Aad::from(context), &mut content)
                .ok()?
                .len();
            content.truncate(length);
            Some(content)
        })
    }
}

fn message_key(key: &hkdf::Prk, salt: &[u8]) -> Option<LessSafeKey> {
    let info = [SHARED_LABEL, salt];
    let derived = key.expand(&info, &AES_256_GCM).ok()?;
    Some(LessSafeKey::new(UnboundKey::from(derived)))
}

/// The nonce of a key that seals only one message.
fn only_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn decrypts_only_what_it_encrypted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let key = SealingKey::open(&path).unwrap();
        let sealed = key.seal(b"a", b"secret".to_vec()).unwrap();
        assert!(!sealed.windows(6).any(|part| part == b"secret"));
        assert_eq!(
            SealingKey::open(&path)
                .unwrap()
                .unseal(b"a", sealed.clone())
                .unwrap(),
            b"secret"
        );
        assert_eq!(key.unseal(b"b", sealed.clone()), None, "a renamed file");
        for at in 0..sealed.len() {
            let mut modified = sealed.clone();
            modified[at] ^= 1;
            assert_eq!(key.unseal(b"a", modified), None);
            assert_eq!(
                key.unseal(b"a", sealed[..at].to_vec()),
                None,
                "a truncated file"
            );
        }
    }

    #[test]
    fn a_shared_key_can_be_replaced() {
        let keys = |secrets: &[&str]| SealingKeys::new(secrets.iter().copied()).unwrap();
        let old = keys(&["old"]);
        let both = keys(&["new", "old"]);
        let new = keys(&["new"]);
        let sealed = old.seal(b"a", b"secret".to_vec()).unwrap();
        assert_ne!(sealed, old.seal(b"a", b"secret".to_vec()).unwrap());
        for (keys, opens) in [(&old, true), (&both, true), (&new, false)] {
            assert_eq!(
                keys.unseal(b"a", &sealed),
                opens.then(|| b"secret".to_vec())
            );
        }
        let sealed = both.seal(b"a", b"secret".to_vec()).unwrap();
        assert!(new.unseal(b"a", &sealed).is_some() && old.unseal(b"a", &sealed).is_none());
        assert_eq!(new.unseal(b"b", &sealed), None, "another context");
        for at in 0..sealed.len() {
            let mut modified = sealed.clone();
            modified[at] ^= 1;
            assert!(
                new.unseal(b"a", &modified).is_none() && new.unseal(b"a", &sealed[..at]).is_none()
            );
        }
        assert!(SealingKeys::new([]).is_none());
    }

    #[test]
    fn replaces_a_key_that_others_could_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let sealed = SealingKey::open(&path).unwrap().seal(b"a", vec![]).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(SealingKey::open(&path).unwrap().unseal(b"a", sealed), None);
        std::fs::write(&path, "short").unwrap();
        SealingKey::open(&path).unwrap();
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
