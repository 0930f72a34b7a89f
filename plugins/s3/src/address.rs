//! The URIs of objects: `s3://BUCKET/KEY`, where each part of the key is percent-encoded.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All characters except the unreserved characters of RFC 3986 and the slash.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');
/// The longest key of an object, in bytes.
const MAX_KEY: usize = 1_024;

/// The addresses of one bucket.
#[derive(Debug, Clone)]
pub(crate) struct Addresses {
    bucket: String,
    prefix: String,
}

impl Addresses {
    /// For the keys of a bucket that begin with a prefix.
    pub(crate) fn new(bucket: &str, prefix: &str) -> Self {
        Self {
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
        }
    }

    /// The template of all objects and folders.
    pub(crate) fn template(&self) -> String {
        format!("s3://{}/{{+key}}", self.bucket)
    }

    pub(crate) fn uri(&self, key: &str) -> String {
        format!("s3://{}/{}", self.bucket, utf8_percent_encode(key, ENCODED))
    }

    /// The key of a URI of this bucket. `None` if the key is not offered.
    pub(crate) fn key(&self, uri: &str) -> Option<String> {
        let key = uri
            .strip_prefix("s3://")?
            .strip_prefix(&self.bucket)?
            .strip_prefix('/')?;
        let key = larder_web::decode(key)?;
        let is_folder_above = self.prefix.starts_with(&key) && is_folder(&key);
        let is_offered = key.starts_with(&self.prefix) || is_folder_above;
        (is_offered && key.len() <= MAX_KEY && !key.contains('\0')).then_some(key)
    }
}

/// Whether a key is the key of a folder: a common prefix of keys up to a slash.
pub(crate) fn is_folder(key: &str) -> bool {
    key.is_empty() || key.ends_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_uris_correspond() {
        let addresses = Addresses::new("docs", "");
        for (key, uri) in [
            ("a/b.md", "s3://docs/a/b.md"),
            ("a b+c?d#e%.txt", "s3://docs/a%20b%2Bc%3Fd%23e%25.txt"),
            ("ü", "s3://docs/%C3%BC"),
            ("", "s3://docs/"),
            ("//x/../y", "s3://docs///x/../y"),
        ] {
            assert_eq!(addresses.uri(key), uri);
            assert_eq!(addresses.key(uri).as_deref(), Some(key));
        }
        for other in [
            "s3://docs2/a",
            "s3://docs",
            "http://docs/a",
            "s3://docs/%FF",
            "s3://docs/%00",
        ] {
            assert_eq!(addresses.key(other), None, "{other}");
        }
        assert_eq!(
            addresses.key(&format!("s3://docs/{}", "k".repeat(1_025))),
            None
        );
    }

    #[test]
    fn only_keys_with_the_prefix_are_offered() {
        let addresses = Addresses::new("docs", "team/a/");
        let is_offered = |key: &str| addresses.key(&addresses.uri(key)).is_some();
        assert!(
            is_offered("team/a/x")
                && is_offered("team/a/")
                && is_offered("team/")
                && is_offered("")
        );
        assert!(
            !is_offered("team/b/x")
                && !is_offered("team/a")
                && !is_offered("tea")
                && !is_offered("other/")
        );
    }
}
