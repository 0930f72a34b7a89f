//! What was written once, for all who are shown it.

use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;

/// How something was written the first time that it was shown, for all to whom it is shown again. How that is, is the
/// affair of whoever writes it, who must write it in one way only. A clone is not written yet.
#[derive(Default)]
pub struct Written(OnceLock<Bytes>);

impl Written {
    /// What was written, now or before.
    pub fn or_write(&self, write: impl FnOnce() -> Vec<u8>) -> &Bytes {
        self.0.get_or_init(|| {
            let mut written = write();
            // It stays for long.
            written.shrink_to_fit();
            written.into()
        })
    }
}

impl Clone for Written {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Written")
    }
}
