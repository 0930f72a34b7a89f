//! The bucket of the leases, in JetStream's key-value store.

use async_nats::jetstream::kv::Store;
use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};

use crate::node::Node;

/// Opens the bucket. If it does not exist, creates it. An operator may have created the bucket with other settings.
///
/// A bucket is a stream with a certain name and settings. `create_key_value` would create the same stream, but it first
/// requests information about the account, and cannot parse the answer of NATS 2.9.
pub(crate) async fn open(node: &Node) -> Result<Store, async_nats::Error> {
    let jetstream = node.connection.jetstream();
    let name = node.config.replicas_bucket();
    if let Ok(bucket) = jetstream.get_key_value(&name).await {
        return Ok(bucket);
    }
    let stream = Config {
        name: format!("KV_{name}"),
        subjects: vec![format!("$KV.{name}.>")],
        description: Some("Replicas of Larder that are alive".into()),
        max_messages_per_subject: 1,
        max_age: node.config.lease,
        // After a restart of NATS, leases are not needed.
        storage: StorageType::Memory,
        num_replicas: node.config.copies,
        discard: DiscardPolicy::New,
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        ..Config::default()
    };
    jetstream.create_stream(stream).await?;
    Ok(jetstream.get_key_value(&name).await?)
}
