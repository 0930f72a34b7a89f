//! Buckets of JetStream's key-value store.

use std::time::Duration;

use async_nats::jetstream::kv::Store;
use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};

use crate::node::Node;

/// The properties of a new bucket.
pub(crate) struct NewBucket {
    pub(crate) description: &'static str,
    /// How long a value is kept.
    pub(crate) max_age: Duration,
    pub(crate) storage: StorageType,
}

/// Opens a bucket. If it does not exist, creates it. An operator may have created the bucket with other settings.
///
/// A bucket is a stream with a certain name and settings. `create_key_value` would create the same stream, but it first
/// requests information about the account, and cannot parse the answer of NATS 2.9.
pub(crate) async fn open(
    node: &Node,
    name: &str,
    new: NewBucket,
) -> Result<Store, async_nats::Error> {
    let jetstream = node.connection.jetstream();
    if let Ok(bucket) = jetstream.get_key_value(name).await {
        return Ok(bucket);
    }
    let stream = Config {
        name: format!("KV_{name}"),
        subjects: vec![format!("$KV.{name}.>")],
        description: Some(new.description.into()),
        max_messages_per_subject: 1,
        max_age: new.max_age,
        storage: new.storage,
        num_replicas: node.config.copies,
        discard: DiscardPolicy::New,
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        ..Config::default()
    };
    jetstream.create_stream(stream).await?;
    Ok(jetstream.get_key_value(name).await?)
}
