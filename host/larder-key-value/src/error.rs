//! Why an operation of the store failed.

/// Why a value cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyValueError {
    /// The key or the value is too long.
    #[error("the key or the value is too long")]
    TooLarge,
    /// The bucket has the maximum number of keys.
    #[error("the bucket has as many keys as it may have (`limits.key_value_bucket_keys`)")]
    TooManyKeys,
    /// The bucket or the provider has the maximum number of bytes, or there are too many buckets of callers.
    #[error("the key-value store is full")]
    Full,
    /// Another process uses the database.
    #[error("another process uses the key-value store")]
    InUse,
    /// The database cannot be used at the moment.
    #[error("the key-value store is not available: {0}")]
    Unavailable(String),
}

/// Why a step of an operation failed.
#[derive(Debug)]
pub(crate) enum OperationError {
    /// The operation is not allowed. Other operations of the same transaction may be allowed.
    Refused(KeyValueError),
    /// The database failed.
    Storage(redb::Error),
}

impl<E: Into<redb::Error>> From<E> for OperationError {
    fn from(error: E) -> Self {
        Self::Storage(error.into())
    }
}
