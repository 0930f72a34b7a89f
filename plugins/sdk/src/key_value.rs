//! Values that outlive a call, in buckets that the operator grants: one that all callers share, and one for each
//! caller. A value is on the disk when [`Bucket::set`] returns.
//!
//! On native targets, the values are in the memory of the thread, so that a provider can be tested natively.

use crate::bindings::key_value::Bucket as Kind;
pub use crate::bindings::key_value::{Failure, KeyPage};
use crate::{Error, Result};

#[cfg(target_family = "wasm")]
use crate::bindings::key_value as host;
#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(not(target_family = "wasm"))]
use native as host;

/// The number of keys that [`Bucket::keys`] requests at once.
const PAGE: u32 = 1_000;

/// A bucket of values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket(Kind);

/// The bucket that all callers of this provider share. The bucket needs the grant `key_value = ["shared"]`.
///
/// Other callers can read what one caller causes to be stored in this bucket.
///
/// ```
/// # use larder_provider::{Result, key_value};
/// # fn run() -> Result<()> {
/// let pages = key_value::shared();
/// pages.set("cursor", "page 7")?;
/// assert_eq!(pages.get("cursor")?, Some(b"page 7".to_vec()));
/// assert!(pages.compare_and_swap("cursor", Some(b"page 7"), Some(b"page 8"))?);
/// # Ok(())
/// # }
/// # run().unwrap();
/// ```
pub fn shared() -> Bucket {
    Bucket(Kind::Shared)
}

/// The bucket of the caller of this call. The bucket needs the grant `key_value = ["caller"]`, and a caller with a
/// subject.
pub fn caller() -> Bucket {
    Bucket(Kind::Caller)
}

impl Bucket {
    /// Returns a value; `None` if the key does not exist.
    pub fn get(self, key: &str) -> Result<Option<Vec<u8>>, Failure> {
        host::get(self.0, key)
    }

    /// Returns a value as text; `None` if the key does not exist.
    pub fn get_text(self, key: &str) -> Result<Option<String>> {
        let value = self.get(key)?.map(String::from_utf8).transpose();
        value.map_err(|_| Error::Failed(format!("the stored value of {key:?} is not UTF-8")))
    }

    /// Stores a value.
    pub fn set(self, key: &str, value: impl AsRef<[u8]>) -> Result<(), Failure> {
        host::set(self.0, key, value.as_ref())
    }

    /// Removes a key, if it exists.
    pub fn delete(self, key: &str) -> Result<(), Failure> {
        host::delete(self.0, key)
    }

    /// If the key has the expected value, stores a new value. An expected value of `None` means that the key must not
    /// exist. A new value of `None` removes the key. Returns whether the key was changed. With this function, the
    /// change of a concurrent call is not overwritten.
    pub fn compare_and_swap(
        self,
        key: &str,
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<bool, Failure> {
        host::compare_and_swap(self.0, key, expected, value)
    }

    /// Returns a page of the keys that begin with a prefix, at most 1,000.
    pub fn list_keys(
        self,
        prefix: &str,
        cursor: Option<&str>,
        limit: u32,
    ) -> Result<KeyPage, Failure> {
        host::list_keys(self.0, prefix, cursor, limit)
    }

    /// Returns all keys that begin with a prefix.
    pub fn keys(self, prefix: &str) -> Result<Vec<String>, Failure> {
        let mut page = self.list_keys(prefix, None, PAGE)?;
        let mut keys = page.keys;
        while let Some(cursor) = page.next_cursor {
            page = self.list_keys(prefix, Some(&cursor), PAGE)?;
            keys.append(&mut page.keys);
        }
        Ok(keys)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NotGranted(reason) => Self::Denied(reason),
            Failure::NoCaller => {
                Self::Denied("values of a caller need a caller with a subject".to_owned())
            }
            Failure::TooLarge => {
                Self::Failed("the key or the value is too long to be stored".to_owned())
            }
            Failure::TooManyKeys => Self::Failed("too many keys are stored".to_owned()),
            Failure::Full => Self::Failed("the key-value store is full".to_owned()),
            Failure::Unavailable(reason) => Self::Unavailable(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_values_in_separate_buckets() {
        let (shared, caller) = (shared(), caller());
        shared.set("a/1", "one").unwrap();
        shared.set("a/2", "two").unwrap();
        caller.set("a/1", "mine").unwrap();
        assert_eq!(shared.get_text("a/1"), Ok(Some("one".to_owned())));
        assert_eq!(caller.get("a/1"), Ok(Some(b"mine".to_vec())));
        assert_eq!(
            (shared.keys("a/"), caller.keys("b")),
            (Ok(vec!["a/1".into(), "a/2".into()]), Ok(vec![]))
        );
        let page = shared.list_keys("", None, 1).unwrap();
        assert_eq!(page.keys, ["a/1"]);
        assert_eq!(
            shared
                .list_keys("", page.next_cursor.as_deref(), 1)
                .unwrap()
                .keys,
            ["a/2"]
        );
        shared.delete("a/1").unwrap();
        assert_eq!(shared.get("a/1"), Ok(None));
    }

    #[test]
    fn swaps_only_the_expected_value() {
        let bucket = shared();
        assert_eq!(
            bucket.compare_and_swap("n", Some(b"0"), Some(b"1")),
            Ok(false)
        );
        assert_eq!(bucket.compare_and_swap("n", None, Some(b"1")), Ok(true));
        assert_eq!(bucket.compare_and_swap("n", None, Some(b"2")), Ok(false));
        assert_eq!(bucket.compare_and_swap("n", Some(b"1"), None), Ok(true));
        assert_eq!(bucket.get("n"), Ok(None));
    }

    #[test]
    fn failures_become_errors() {
        let text = |failure: Failure| Error::from(failure).to_string();
        assert_eq!(text(Failure::NotGranted("why".into())), "denied: why");
        assert_eq!(text(Failure::Unavailable("why".into())), "unavailable: why");
        assert_eq!(text(Failure::Full), "the key-value store is full");
    }
}
