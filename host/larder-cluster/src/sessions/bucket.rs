//! The bucket of the sessions. Its entries expire if they are not stored again within the idle timeout of sessions.
//! NATS 2.9 has no expiry of single keys, so the timeout is a part of the name of the bucket.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::header::NATS_EXPECTED_LAST_SUBJECT_SEQUENCE;
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::kv::Store;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, StorageType};
use base64_simd::STANDARD as BASE64;
use tokio::sync::Mutex;

use crate::bucket::{self, NewBucket};
use crate::node::Node;
use larder_mcp::{SessionKey, StoreEntry, StoredValue};

/// The header with the part of a session that all replicas use.
const HEAD: &str = "Larder-Session";
/// The header of the entry with which NATS replaces a removed value.
const OPERATION: &str = "KV-Operation";
/// The shortest time that a session is kept.
const MIN_AGE: Duration = Duration::from_secs(10);

/// The bucket of the sessions.
#[derive(Default)]
pub(super) struct SessionBucket(Mutex<Option<Store>>);

impl SessionBucket {
    /// Opens the bucket, or creates it.
    pub(super) async fn open(&self, node: &Node) -> Result<Store, async_nats::Error> {
        let mut opened = self.0.lock().await;
        if let Some(bucket) = &*opened {
            return Ok(bucket.clone());
        }
        let max_age = node.config.session_idle_timeout.max(MIN_AGE);
        let name = format!(
            "{}_sessions_{}",
            node.config.prefix.as_str(),
            max_age.as_secs()
        );
        let new = NewBucket {
            description: "Sessions of legacy clients of Larder",
            max_age,
            storage: StorageType::File,
        };
        let bucket = bucket::open(node, &name, new).await?;
        *opened = Some(bucket.clone());
        Ok(bucket)
    }

    /// Searches for the bucket again, because it may have been deleted.
    pub(super) async fn forget(&self) {
        *self.0.lock().await = None;
    }

    pub(super) async fn load(
        &self,
        node: &Node,
        key: SessionKey,
    ) -> Result<StoreEntry, async_nats::Error> {
        let bucket = self.open(node).await?;
        // The request is sent to the leader, because other servers of a NATS cluster may not have the newest value.
        let message = match bucket
            .stream
            .get_last_raw_message_by_subject(&subject(&bucket, key))
            .await
        {
            Ok(message) => message,
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
                return Ok(StoreEntry::Absent);
            }
            Err(error) => return Err(error.into()),
        };
        let Some(head) = head(&message.headers) else {
            return Ok(if is_removed(&message.headers) {
                StoreEntry::Removed
            } else {
                StoreEntry::Absent
            });
        };
        let value = StoredValue {
            head,
            body: message.payload.into(),
        };
        Ok(StoreEntry::Present {
            revision: message.sequence,
            value,
        })
    }

    /// Stores a value. Returns its revision. Returns none if the key has another revision than expected.
    pub(super) async fn put(
        &self,
        node: &Node,
        key: SessionKey,
        value: StoredValue,
        after: Option<u64>,
    ) -> Result<Option<u64>, async_nats::Error> {
        let bucket = self.open(node).await?;
        let mut headers = HeaderMap::new();
        headers.insert(
            NATS_EXPECTED_LAST_SUBJECT_SEQUENCE,
            after.unwrap_or(0).to_string(),
        );
        headers.insert(HEAD, BASE64.encode_to_string(value.head));
        let subject = subject(&bucket, key);
        let published = node
            .connection
            .jetstream()
            .publish_with_headers(subject, headers, value.body.into())
            .await;
        let acknowledged = match published {
            Ok(acknowledgement) => acknowledgement.await,
            Err(error) => Err(error),
        };
        match acknowledged {
            Ok(acknowledgement) => Ok(Some(acknowledgement.sequence)),
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(None),
            Err(error) => {
                self.forget().await;
                Err(error.into())
            }
        }
    }

    pub(super) async fn remove(
        &self,
        node: &Node,
        key: SessionKey,
    ) -> Result<(), async_nats::Error> {
        Ok(self.open(node).await?.delete(key.to_string()).await?)
    }
}

fn subject(bucket: &Store, key: SessionKey) -> String {
    format!("{}{key}", bucket.prefix)
}

/// The head of a stored session. `None` if this is not a session.
pub(super) fn head(headers: &HeaderMap) -> Option<Vec<u8>> {
    BASE64.decode_to_vec(headers.get(HEAD)?.as_str()).ok()
}

/// Whether this is the entry of a removed session.
pub(super) fn is_removed(headers: &HeaderMap) -> bool {
    headers
        .get(OPERATION)
        .is_some_and(|operation| matches!(operation.as_str(), "DEL" | "PURGE"))
}
