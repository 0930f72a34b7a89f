//! Follows the bucket of the sessions: a list of all sessions after each connection, and then each change. Only heads
//! are transferred.

use std::sync::Arc;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::push::{Ordered, OrderedConfig};
use async_nats::jetstream::consumer::{DeliverPolicy, ReplayPolicy};
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::bucket::{self, SessionBucket};
use crate::node::Node;
use larder_mcp::{SessionKey, StoreChange};

/// The time between two attempts.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// The time limit for the start.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Follows the bucket until the server stops.
pub(super) async fn follow(
    node: Arc<Node>,
    bucket: Arc<SessionBucket>,
    changes: mpsc::Sender<StoreChange>,
) {
    let mut connected = node.connection.connected();
    let following = async {
        loop {
            if connected
                .wait_for(|is_connected| *is_connected)
                .await
                .is_err()
            {
                return;
            }
            tokio::select! {
                ended = follow_connection(&node, &bucket, &changes) => if let Err(error) = ended {
                    node.connection.report_error("the sessions of other replicas are not known", &error);
                    bucket.forget().await;
                    tokio::time::sleep(RETRY_DELAY).await;
                },
                // Changes may have been missed, also if the connection was made again in the meantime.
                _ = connected.changed() => {}
            }
        }
    };
    node.drain.run_until_stopping(following.boxed()).await;
}

/// Lists all sessions, and follows their changes.
async fn follow_connection(
    node: &Node,
    bucket: &SessionBucket,
    changes: &mpsc::Sender<StoreChange>,
) -> Result<(), async_nats::Error> {
    let started = timeout(START_TIMEOUT, start(node, bucket)).await;
    let (mut messages, prefix, pending) = started.map_err(|_| "no answer in time")??;
    changes.send(StoreChange::Listing).await?;
    let mut is_listed = pending == 0;
    if is_listed {
        changes.send(StoreChange::Listed).await?;
    }
    while let Some(message) = messages.next().await {
        let message = message?;
        let (revision, pending) = {
            let info = message.info()?;
            (info.stream_sequence, info.pending)
        };
        let key = message
            .subject
            .strip_prefix(&prefix)
            .and_then(SessionKey::parse);
        if let Some(change) = key.and_then(|key| change(key, revision, message.headers.as_ref())) {
            changes.send(change).await?;
        }
        if !is_listed && pending == 0 {
            is_listed = true;
            changes.send(StoreChange::Listed).await?;
        }
    }
    Err("the list of changes ended".into())
}

async fn start(
    node: &Node,
    bucket: &SessionBucket,
) -> Result<(Ordered, String, u64), async_nats::Error> {
    let bucket = bucket.open(node).await?;
    let config = OrderedConfig {
        deliver_subject: node.connection.client().new_inbox(),
        description: Some("sessions of legacy clients".into()),
        filter_subject: format!("{}>", bucket.prefix),
        replay_policy: ReplayPolicy::Instant,
        deliver_policy: DeliverPolicy::LastPerSubject,
        headers_only: true,
        ..OrderedConfig::default()
    };
    let consumer = bucket.stream.create_consumer(config).await?;
    let pending = consumer.cached_info().num_pending;
    Ok((consumer.messages().await?, bucket.prefix, pending))
}

fn change(key: SessionKey, revision: u64, headers: Option<&HeaderMap>) -> Option<StoreChange> {
    let headers = headers?;
    match bucket::head(headers) {
        Some(head) => Some(StoreChange::Stored {
            key,
            revision,
            head,
        }),
        None => bucket::is_removed(headers).then_some(StoreChange::Removed { key }),
    }
}
