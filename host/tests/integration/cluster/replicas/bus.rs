//! Connects replicas in this process. On request, the bus delays, repeats, reorders and loses messages, and reports
//! later that messages were lost.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use larder_core::replicas::{ReplicaEvent, TeamReplicas};
use larder_model::uri::Uri;
use tokio::sync::Notify;

/// The bus of some replicas.
#[derive(Clone)]
pub(super) struct Bus(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    wake: Notify,
}

struct State {
    members: Vec<Member>,
    /// The seed of the next decision. None for a bus without faults.
    seed: Option<u64>,
    published: Vec<(usize, ReplicaEvent)>,
}

#[derive(Default)]
struct Member {
    offers: HashSet<Uri>,
    inbox: Vec<ReplicaEvent>,
    /// Messages that are late.
    late: Vec<ReplicaEvent>,
    is_gone: bool,
}

/// One replica at the bus.
pub(super) struct BusMember {
    bus: Bus,
    me: usize,
}

impl Bus {
    /// A bus that delivers each message once, at once and in order.
    pub(super) fn reliable() -> Self {
        Self::new(None)
    }

    /// A bus whose faults depend only on this seed.
    pub(super) fn faulty(seed: u64) -> Self {
        Self::new(Some(seed))
    }

    fn new(seed: Option<u64>) -> Self {
        let state = State {
            members: Vec::new(),
            seed,
            published: Vec::new(),
        };
        Self(Arc::new(Inner {
            state: Mutex::new(state),
            wake: Notify::new(),
        }))
    }

    /// Adds a replica.
    pub(super) fn join(&self) -> Arc<BusMember> {
        let mut state = self.state();
        state.members.push(Member::default());
        Arc::new(BusMember {
            bus: self.clone(),
            me: state.members.len() - 1,
        })
    }

    /// Removes a replica that stopped without a message. The other replicas compare everything, because the replica may
    /// not have reported what it found.
    pub(super) fn lose(&self, gone: usize) {
        let mut state = self.state();
        state.members[gone] = Member {
            is_gone: true,
            ..Member::default()
        };
        for member in state.members.iter_mut().filter(|member| !member.is_gone) {
            member.inbox.push(ReplicaEvent::CompareAll);
        }
        drop(state);
        self.0.wake.notify_waiters();
    }

    /// Delivers delayed messages. From now on, there are no faults.
    pub(super) fn repair(&self) {
        let mut state = self.state();
        state.seed = None;
        for member in &mut state.members {
            member.inbox.append(&mut member.late);
        }
        drop(state);
        self.0.wake.notify_waiters();
    }

    /// The replica that polls a URI, and how many replicas could poll it.
    pub(super) fn poller(&self, uri: &Uri) -> (Option<usize>, usize) {
        let state = self.state();
        (state.poller(uri), state.offering(uri).count())
    }

    /// The published messages, each with the replica that published it.
    pub(super) fn published(&self) -> Vec<(usize, ReplicaEvent)> {
        self.state().published.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }
}

impl State {
    fn offering(&self, uri: &Uri) -> impl Iterator<Item = usize> {
        (0..self.members.len()).filter(|at| self.members[*at].offers.contains(uri))
    }

    fn poller(&self, uri: &Uri) -> Option<usize> {
        self.offering(uri).max_by_key(|at| {
            let mut hasher = DefaultHasher::new();
            (at, uri).hash(&mut hasher);
            hasher.finish()
        })
    }

    /// A number below this one. 0 without faults.
    fn random(&mut self, below: u64) -> u64 {
        let Some(seed) = &mut self.seed else { return 0 };
        // xorshift
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed % below
    }

    fn deliver(&mut self, to: usize, event: ReplicaEvent) {
        let fault = self.random(8);
        let at = self.random(4) as usize;
        let member = &mut self.members[to];
        match fault {
            _ if member.is_gone => {}
            // The message is lost. The receiver is told later that a message was lost.
            1 => member.late.push(ReplicaEvent::CompareAll),
            2 | 3 => member.late.push(event),
            4 => member.inbox.extend([event.clone(), event]),
            5 => member.inbox.insert(at.min(member.inbox.len()), event),
            _ => member.inbox.push(event),
        }
        if self.random(3) == 1 {
            let member = &mut self.members[to];
            member.inbox.extend(member.late.pop());
        }
    }
}

impl TeamReplicas for BusMember {
    fn watch(&self, added: &[Uri], removed: &[Uri]) {
        let mut state = self.bus.state();
        let member = &mut state.members[self.me];
        if !member.is_gone {
            member.offers.extend(added.iter().cloned());
            removed.iter().for_each(|uri| _ = member.offers.remove(uri));
        }
    }

    fn is_poller(&self, uri: &Uri) -> bool {
        let state = self.bus.state();
        state.members[self.me].is_gone || state.poller(uri).is_none_or(|at| at == self.me)
    }

    fn is_watched_elsewhere(&self, uri: &Uri) -> bool {
        self.bus.state().offering(uri).any(|at| at != self.me)
    }

    fn publish(&self, event: ReplicaEvent) {
        let mut state = self.bus.state();
        if state.members[self.me].is_gone {
            return;
        }
        state.published.push((self.me, event.clone()));
        for to in (0..state.members.len()).filter(|to| *to != self.me) {
            state.deliver(to, event.clone());
        }
        drop(state);
        self.bus.0.wake.notify_waiters();
    }

    fn next(&self) -> BoxFuture<'_, ReplicaEvent> {
        async {
            loop {
                let mut wake = std::pin::pin!(self.bus.0.wake.notified());
                wake.as_mut().enable();
                if let Some(event) = self.first() {
                    return event;
                }
                wake.await;
            }
        }
        .boxed()
    }
}

impl BusMember {
    fn first(&self) -> Option<ReplicaEvent> {
        let inbox = &mut self.bus.state().members[self.me].inbox;
        (!inbox.is_empty()).then(|| inbox.remove(0))
    }
}
