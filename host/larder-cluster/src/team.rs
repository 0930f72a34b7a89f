//! The messages from one team to the same team on other replicas.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use crate::inbox::Inbox;
use crate::node::Node;
use crate::replica::UriHash;
use larder_core::replicas::{ReplicaEvent, TeamReplicas};
use larder_model::name::TeamName;
use larder_model::uri::Uri;

/// The connection of one team. When it is dropped, the team stops watching.
pub(crate) struct TeamConnection {
    node: Arc<Node>,
    team: TeamName,
    inbox: Arc<Inbox>,
    watched: Mutex<HashSet<UriHash>>,
}

impl TeamConnection {
    pub(crate) fn new(node: Arc<Node>, team: &TeamName) -> Self {
        let inbox = node.add_team(team);
        Self {
            node,
            team: team.clone(),
            inbox,
            watched: Mutex::default(),
        }
    }

    fn hashes(&self, uris: &[Uri]) -> Vec<UriHash> {
        uris.iter()
            .map(|uri| UriHash::of(&self.team, uri))
            .collect()
    }
}

impl TeamReplicas for TeamConnection {
    fn watch(&self, added: &[Uri], removed: &[Uri]) {
        let added = self.hashes(added);
        let removed = self.hashes(removed);
        let mut watched = self.watched.lock();
        removed.iter().for_each(|hash| _ = watched.remove(hash));
        watched.extend(added.iter().copied());
        drop(watched);
        self.node.watch(&added, &removed);
    }

    fn is_poller(&self, uri: &Uri) -> bool {
        self.node.replica().is_poller(UriHash::of(&self.team, uri))
    }

    fn is_watched_elsewhere(&self, uri: &Uri) -> bool {
        self.node
            .replica()
            .is_watched_elsewhere(UriHash::of(&self.team, uri))
    }

    fn publish(&self, event: ReplicaEvent) {
        self.node.publish(&self.team, event);
    }

    fn next(&self) -> BoxFuture<'_, ReplicaEvent> {
        self.inbox.next().boxed()
    }
}

impl Drop for TeamConnection {
    fn drop(&mut self) {
        let watched = self.watched.get_mut();
        let watched: Vec<_> = watched.drain().collect();
        self.node.watch(&[], &watched);
    }
}
