//! Update notifications that contain the resource. Each needs a read, which may take long, so the reads run in
//! tasks of their own. There is at most one read per URI at a time; a change during a read causes one more
//! read.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::Endpoint;
use crate::subscribe::listen::notification;
use crate::subscribe::subscriptions::Subscriptions;
use larder_core::catalog::Change;
use larder_model::uri::Uri;

/// Concurrent reads of one session.
const MAX_CONCURRENT_READS: usize = 4;

/// The pending content updates of one session. Dropping this cancels the reads.
pub(crate) struct ContentUpdates {
    endpoint: Endpoint,
    subscriptions: Arc<Subscriptions>,
    /// URIs that wait for a read and URIs that are being read, each with the number of its oldest change.
    waiting: BTreeMap<Uri, u64>,
    reading: BTreeMap<Uri, u64>,
    running: FuturesUnordered<BoxFuture<'static, (Uri, Vec<u8>)>>,
    cancel: DropGuard,
}

impl ContentUpdates {
    pub(crate) fn new(endpoint: Endpoint, subscriptions: Arc<Subscriptions>) -> Self {
        Self {
            endpoint,
            subscriptions,
            waiting: BTreeMap::new(),
            reading: BTreeMap::new(),
            running: FuturesUnordered::new(),
            cancel: CancellationToken::new().drop_guard(),
        }
    }

    /// Starts reads for the changes whose notifications carry the resource, and returns the other changes,
    /// which can be sent at once. The numbers must increase.
    pub(crate) fn take(
        &mut self,
        changes: impl IntoIterator<Item = (u64, Change)>,
    ) -> Vec<(u64, Change)> {
        let mut others = Vec::new();
        for (number, change) in changes {
            match change {
                Change::Updated(uri) if self.subscriptions.sends_content(&uri) => {
                    _ = self.waiting.entry(uri).or_insert(number)
                }
                change => others.push((number, change)),
            }
        }
        self.start_reads();
        others
    }

    /// Returns the number up to which all changes were delivered. `last` is the last change that was taken.
    pub(crate) fn delivered_up_to(&self, last: u64) -> u64 {
        let oldest = self.waiting.values().chain(self.reading.values()).min();
        oldest.map_or(last, |number| number - 1)
    }

    /// Waits for the next notification. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Vec<u8> {
        while let Some((uri, message)) = self.running.next().await {
            self.reading.remove(&uri);
            self.start_reads();
            // The client may have unsubscribed in the meantime.
            if self.subscriptions.watch.contains(&uri) {
                return message;
            }
        }
        pending().await
    }

    /// Starts reads up to the limit, oldest change first. Drops URIs that the client unsubscribed from.
    fn start_reads(&mut self) {
        self.waiting
            .retain(|uri, _| self.subscriptions.watch.contains(uri));
        while self.running.len() < MAX_CONCURRENT_READS {
            let free = self
                .waiting
                .iter()
                .filter(|(uri, _)| !self.reading.contains_key(*uri));
            let Some((uri, number)) = free.min_by_key(|(_, number)| **number) else {
                return;
            };
            let uri = uri.clone();
            let number = *number;
            self.waiting.remove(&uri);
            self.reading.insert(uri.clone(), number);
            self.running.push(self.spawn_read(uri));
        }
    }

    /// Reads in a task of its own, because a guest may block its thread for a while.
    fn spawn_read(&self, uri: Uri) -> BoxFuture<'static, (Uri, Vec<u8>)> {
        let endpoint = self.endpoint.clone();
        let subscriptions = self.subscriptions.clone();
        let changed = uri.clone();
        let read = async move { endpoint.content_changed(&subscriptions, &changed).await };
        let cancel = self.cancel.token().clone();
        let task = self
            .endpoint
            .0
            .drain
            .spawn(async move { cancel.run_until_cancelled_owned(read).await });
        async move {
            let message = task.await.ok().flatten().flatten();
            // If the read failed, the client is still notified that the resource changed.
            let message =
                message.unwrap_or_else(|| notification(&Change::Updated(uri.clone()), None));
            (uri, message)
        }
        .boxed()
    }
}
