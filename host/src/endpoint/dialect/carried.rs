//! Updates that carry the resource, on their way. A provider is asked for each, and takes as long as it likes: nothing else
//! waits for that. There is one question for each URI at a time; what changes meanwhile is asked for once more.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Ear;
use crate::catalog::Change;
use crate::endpoint::Endpoint;
use crate::endpoint::listen::notification;
use crate::uri::Uri;

/// Questions of one session at the same time.
const AT_ONCE: usize = 4;

/// What one session will hear with its contents. Dropping it ends the questions.
pub(in crate::endpoint) struct Carried {
    endpoint: Endpoint,
    ear: Arc<Ear>,
    /// What nobody was asked for yet, and what somebody is being asked for, each with the number of its oldest change.
    waiting: BTreeMap<Uri, u64>,
    asked: BTreeMap<Uri, u64>,
    running: FuturesUnordered<BoxFuture<'static, (Uri, Vec<u8>)>>,
    gone: DropGuard,
}

impl Carried {
    pub(in crate::endpoint) fn new(endpoint: Endpoint, ear: Arc<Ear>) -> Self {
        let (waiting, asked, gone) =
            (BTreeMap::new(), BTreeMap::new(), CancellationToken::new().drop_guard());
        Self { endpoint, ear, waiting, asked, running: FuturesUnordered::new(), gone }
    }

    /// Asks for what is to be carried, and gives back the rest, which can be told at once. The numbers grow.
    pub(in crate::endpoint) fn take(
        &mut self,
        changes: impl IntoIterator<Item = (u64, Change)>,
    ) -> Vec<(u64, Change)> {
        let mut plain = Vec::new();
        for (number, change) in changes {
            match change {
                Change::Updated(uri) if self.ear.speaks_of(&uri) => {
                    _ = self.waiting.entry(uri).or_insert(number)
                }
                change => plain.push((number, change)),
            }
        }
        self.ask();
        plain
    }

    /// Up to which number nothing is on its way any more, if this was the last one.
    pub(in crate::endpoint) fn all_told(&self, last: u64) -> u64 {
        let oldest = self.waiting.values().chain(self.asked.values()).min();
        oldest.map_or(last, |number| number - 1)
    }

    /// Waits for the next notification. May be dropped and called again without loss.
    pub(in crate::endpoint) async fn next(&mut self) -> Vec<u8> {
        while let Some((uri, told)) = self.running.next().await {
            self.asked.remove(&uri);
            self.ask();
            // It may have been given up meanwhile.
            if self.ear.watch.wants(&uri) {
                return told;
            }
        }
        pending().await
    }

    /// The oldest first, and nothing that was given up meanwhile.
    fn ask(&mut self) {
        self.waiting.retain(|uri, _| self.ear.watch.wants(uri));
        while self.running.len() < AT_ONCE {
            let free = self.waiting.iter().filter(|(uri, _)| !self.asked.contains_key(*uri));
            let Some((uri, number)) = free.min_by_key(|(_, number)| **number) else { return };
            let (uri, number) = (uri.clone(), *number);
            self.waiting.remove(&uri);
            self.asked.insert(uri.clone(), number);
            self.running.push(self.question(uri));
        }
    }

    /// In a task of its own, as a guest may keep its thread for a while.
    fn question(&self, uri: Uri) -> BoxFuture<'static, (Uri, Vec<u8>)> {
        let (endpoint, ear, asked) = (self.endpoint.clone(), self.ear.clone(), uri.clone());
        let told = async move { endpoint.content_changed(&ear, &asked).await };
        let gone = self.gone.token().clone();
        let task = self.endpoint.0.drain.spawn(async move { gone.run_until_cancelled_owned(told).await });
        async move {
            let told = task.await.ok().flatten().flatten();
            // Whatever became of the question: that it differs is known.
            let told = told.unwrap_or_else(|| notification(&Change::Updated(uri.clone()), None));
            (uri, told)
        }
        .boxed()
    }
}
