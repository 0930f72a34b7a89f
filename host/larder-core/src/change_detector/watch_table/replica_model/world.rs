//! The replicas of the model, and what happens to them.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::super::{Check, WatchTable};
use super::{Mode, REPLICAS, Step, URIS};
use crate::catalog::{Catalog, ContentFingerprint, ContentState};
use crate::change_detector::known_content::Answer;
use crate::replicas::{ReplicaEvent, TeamReplicas};
use larder_model::uri::Uri;

/// Which replica can poll which URI.
type Offers = [[bool; URIS]; REPLICAS];

#[derive(Default)]
pub(super) struct World {
    mode: Option<Mode>,
    truth: [u32; URIS],
    replicas: [Replica; REPLICAS],
    offers: Offers,
    /// The number of messages and of notifications so far.
    sent: usize,
    notified: usize,
}

#[derive(Default)]
struct Replica {
    table: WatchTable,
    listeners: BTreeMap<usize, Listener>,
    /// The content that the provider of this replica has.
    seen: [u32; URIS],
    fails: bool,
    in_flight: Vec<(Check, u32)>,
    is_checking: bool,
    outbox: Vec<ReplicaEvent>,
    inbox: Vec<ReplicaEvent>,
    /// Whether events may have been lost.
    has_gap: bool,
    /// Which replicas can poll, according to the messages that this replica received.
    known_offers: Offers,
}

/// A client that watches a URI.
#[derive(Default)]
struct Listener {
    /// The content that the client read last. None until the client is told that it is subscribed.
    read: Option<u32>,
    is_notified: bool,
    notifications: usize,
    changes: usize,
}

/// The state that a replica has of the other replicas.
struct Others {
    me: usize,
    offers: Offers,
}

impl TeamReplicas for Others {
    fn watch(&self, _added: &[Uri], _removed: &[Uri]) {}

    fn is_poller(&self, watched: &Uri) -> bool {
        poller(&self.offers, number(watched)).is_none_or(|at| at == self.me)
    }

    fn is_watched_elsewhere(&self, watched: &Uri) -> bool {
        (0..REPLICAS).any(|at| at != self.me && self.offers[at][number(watched)])
    }

    fn publish(&self, _event: ReplicaEvent) {}

    fn next(&self) -> BoxFuture<'_, ReplicaEvent> {
        std::future::pending().boxed()
    }
}

fn poller(offers: &Offers, uri: usize) -> Option<usize> {
    (0..REPLICAS)
        .filter(|at| offers[*at][uri])
        .max_by_key(|at| (at + 2 * uri) % REPLICAS)
}

fn uri(number: usize) -> Uri {
    Uri::parse(&format!("x:{number}")).unwrap()
}

fn number(uri: &Uri) -> usize {
    uri.as_str()[2..].parse().unwrap()
}

fn version(content: u32) -> ContentFingerprint {
    ContentFingerprint::of_version(content.to_string())
}

fn present(content: u32) -> ContentState {
    ContentState::Present(version(content))
}

impl World {
    pub(super) fn new(mode: Mode) -> Self {
        Self {
            mode: Some(mode),
            ..Self::default()
        }
    }

    pub(super) fn step(&mut self, step: Step) {
        match step {
            Step::Change(uri) if self.mode == Some(Mode::Signalled) => self.signal(0, uri),
            Step::Change(uri) => self.change(uri),
            Step::Signal(at, uri) if self.mode == Some(Mode::Signalled) => self.signal(at, uri),
            Step::Signal(..) => {}
            Step::See(at, uri, hint) => self.see(at, uri, hint),
            Step::Watch(at, number) => {
                let replica = &mut self.replicas[at];
                replica.listeners.entry(number).or_default();
                replica.table.add(uri(number), &Catalog::default());
                self.subscribed(at);
            }
            Step::Unwatch(at, uri) => self.unwatch(at, uri),
            Step::Poll(at) => self.poll(at, Instant::now()),
            Step::Begin(at) => self.begin(at),
            Step::End(at) => self.end(at),
            Step::Send(at) => self.send(at),
            Step::Deliver(at, n) => _ = self.take(at, n).map(|event| self.receive(at, event)),
            Step::Repeat(at, n) => {
                if let Some(event) = self.take(at, n) {
                    self.replicas[at].inbox.push(event.clone());
                    self.receive(at, event);
                }
            }
            Step::Lose(at, n) => self.replicas[at].has_gap |= self.take(at, n).is_some(),
            Step::Notice(at) => self.notice(at),
            Step::Learn(at) => self.replicas[at].known_offers = self.offers,
            Step::Read(at) => self.read(at),
            Step::Break(at, fails) => self.replicas[at].fails = fails,
            Step::Crash(at) => self.crash(at),
        }
    }

    fn unwatch(&mut self, at: usize, number: usize) {
        let Replica {
            listeners,
            in_flight,
            table,
            ..
        } = &mut self.replicas[at];
        listeners.remove(&number);
        in_flight.retain(|(check, _)| check.uri != uri(number));
        table.retain(
            &listeners
                .keys()
                .map(|number| uri(*number))
                .collect::<HashSet<_>>(),
        );
        self.share_offers(at);
    }

    fn change(&mut self, number: usize) {
        let repeats = self.mode == Some(Mode::Repeating);
        self.truth[number] = if repeats {
            (self.truth[number] + 1) % 2
        } else {
            self.truth[number] + 1
        };
        if self.mode != Some(Mode::Late) {
            (0..REPLICAS).for_each(|at| self.see(at, number, false));
        }
    }

    fn signal(&mut self, at: usize, number: usize) {
        self.change(number);
        self.notify(at, number);
        self.replicas[at].table.provider_updated(&uri(number), true);
        self.replicas[at]
            .outbox
            .push(ReplicaEvent::Signalled { uri: uri(number) });
    }

    fn see(&mut self, at: usize, number: usize, hint: bool) {
        let replica = &mut self.replicas[at];
        let differs = replica.seen[number] != self.truth[number];
        replica.seen[number] = self.truth[number];
        replica
            .listeners
            .entry(number)
            .and_modify(|listener| listener.changes += usize::from(differs));
        if let Some(entry) = replica
            .table
            .entries
            .get_mut(&uri(number))
            .filter(|_| hint && differs)
        {
            entry.noticed_here = true;
            replica.table.make_due(&uri(number));
        }
    }

    fn poll(&mut self, at: usize, now: Instant) {
        let others = self.others(at);
        let table = &mut self.replicas[at].table;
        let is_due = |watched: &Uri, table: &WatchTable| {
            let sharing = &table.entries[watched].sharing;
            sharing.polls(watched, &others) || sharing.expects_more(now)
        };
        for watched in (0..URIS).map(uri) {
            if table.entries.contains_key(&watched) && is_due(&watched, table) {
                table.make_due(&watched);
            }
        }
        table.retry(now + Duration::from_secs(3_600));
    }

    fn begin(&mut self, at: usize) {
        let replica = &mut self.replicas[at];
        replica
            .table
            .continue_comparison(Instant::now() + Duration::from_secs(3_600));
        let checks = replica
            .table
            .take_batches()
            .into_iter()
            .flat_map(|batch| batch.checks);
        let read = |check: Check| (check.clone(), replica.seen[number(&check.uri)]);
        let checks: Vec<_> = checks.map(read).collect();
        replica.is_checking |= !checks.is_empty();
        replica.in_flight.extend(checks);
    }

    fn end(&mut self, at: usize) {
        let others = self.others(at);
        let fails = self.replicas[at].fails;
        let checks = std::mem::take(&mut self.replicas[at].in_flight);
        for (check, content) in &checks {
            let answer = if fails {
                Answer::Failed
            } else {
                Answer::Present(version(*content))
            };
            let Replica {
                table, listeners, ..
            } = &mut self.replicas[at];
            if fails && table.state(&check.uri).is_none() {
                // The first content after a failure is reported.
                listeners
                    .entry(number(&check.uri))
                    .and_modify(|listener| listener.changes += 1);
            }
            let notify = table.record_answer(check, answer);
            if let Some(state) = table.news(&check.uri, &others) {
                self.replicas[at].outbox.push(ReplicaEvent::Updated {
                    uri: check.uri.clone(),
                    state,
                });
            }
            if notify {
                self.notify(at, number(&check.uri));
            }
        }
        let uris: Vec<_> = checks.into_iter().map(|(check, _)| check.uri).collect();
        if std::mem::take(&mut self.replicas[at].is_checking) {
            self.replicas[at]
                .table
                .finish_batch(None, &uris, Duration::ZERO, Instant::now());
        }
        self.subscribed(at);
        self.share_offers(at);
    }

    /// Clients read as soon as they are told that they are subscribed.
    fn subscribed(&mut self, at: usize) {
        let Replica {
            listeners, table, ..
        } = &self.replicas[at];
        let new = listeners
            .iter()
            .filter(|(_, listener)| listener.read.is_none())
            .map(|(number, _)| *number);
        let new: Vec<_> = new.filter(|number| table.is_known(&uri(*number))).collect();
        for number in new {
            self.read_one(at, number);
        }
    }

    /// A client reads a URI. Where content repeats, the client gets the content that the last check found: comparing
    /// cannot find a change that is undone before the next check, and this limit is known.
    fn read_one(&mut self, at: usize, number: usize) {
        let replica = &mut self.replicas[at];
        let content = match (self.mode, replica.table.state(&uri(number))) {
            (Some(Mode::Repeating), Some(state)) => (0..2).find(|n| state == present(*n)).unwrap(),
            _ => replica.seen[number],
        };
        let listener = replica.listeners.get_mut(&number).unwrap();
        listener.read = Some(content);
        listener.is_notified = false;
    }

    fn notify(&mut self, at: usize, number: usize) {
        if let Some(listener) = self.replicas[at]
            .listeners
            .get_mut(&number)
            .filter(|it| it.read.is_some())
        {
            listener.is_notified = true;
            listener.notifications += 1;
            self.notified += 1;
        }
    }

    fn share_offers(&mut self, at: usize) {
        let Some((begins, ceases)) = self.replicas[at].table.take_offers() else {
            return;
        };
        begins
            .iter()
            .for_each(|uri| self.offers[at][number(uri)] = true);
        ceases
            .iter()
            .for_each(|uri| self.offers[at][number(uri)] = false);
        self.replicas[at].known_offers[at] = self.offers[at];
    }

    fn send(&mut self, at: usize) {
        for event in std::mem::take(&mut self.replicas[at].outbox) {
            self.sent += 1;
            (0..REPLICAS)
                .filter(|to| *to != at)
                .for_each(|to| self.replicas[to].inbox.push(event.clone()));
        }
    }

    fn take(&mut self, at: usize, n: usize) -> Option<ReplicaEvent> {
        let inbox = &mut self.replicas[at].inbox;
        (!inbox.is_empty()).then(|| inbox.remove(n % inbox.len()))
    }

    fn receive(&mut self, at: usize, event: ReplicaEvent) {
        match event {
            ReplicaEvent::Updated { uri, state } => self.replicas[at].table.reported(&uri, state),
            ReplicaEvent::Signalled { uri } => {
                self.notify(at, number(&uri));
                self.replicas[at].table.provider_updated(&uri, false);
            }
            ReplicaEvent::ListChanged { .. } | ReplicaEvent::CompareAll => {}
        }
    }

    fn notice(&mut self, at: usize) {
        if std::mem::take(&mut self.replicas[at].has_gap) {
            self.replicas[at].table.compare_all(Instant::now());
        }
    }

    fn read(&mut self, at: usize) {
        let notified = self.replicas[at]
            .listeners
            .iter()
            .filter(|(_, listener)| listener.is_notified);
        let notified: Vec<_> = notified.map(|(number, _)| *number).collect();
        for number in notified {
            self.read_one(at, number);
        }
    }

    fn crash(&mut self, at: usize) {
        let seen = self.replicas[at].seen;
        self.replicas[at] = Replica {
            seen,
            ..Replica::default()
        };
        self.offers[at] = [false; URIS];
        (0..REPLICAS)
            .filter(|other| *other != at)
            .for_each(|other| self.replicas[other].has_gap = true);
    }

    fn others(&self, at: usize) -> Others {
        Others {
            me: at,
            offers: self.replicas[at].known_offers,
        }
    }

    pub(super) fn poller(&self, uri: usize) -> usize {
        poller(&self.offers, uri).unwrap()
    }

    pub(super) fn notifications(&self, at: usize, uri: usize) -> usize {
        self.replicas[at].listeners[&uri].notifications
    }

    /// After the last change: lets all messages arrive and all checks end.
    pub(super) fn settle(&mut self) {
        for at in 0..REPLICAS {
            self.replicas[at].fails = false;
            (0..URIS).for_each(|uri| self.see(at, uri, false));
        }
        let polls_less = matches!(self.mode, Some(Mode::Late | Mode::Repeating));
        for n in 0..12 {
            for at in 0..REPLICAS {
                self.step(Step::Learn(at));
                self.step(Step::Notice(at));
                // URIs that other replicas poll are compared at long intervals.
                if n == 6 && polls_less {
                    self.replicas[at].table.start_comparison(Instant::now());
                }
                self.poll(at, Instant::now() + Duration::from_secs(3_600));
                for step in [
                    Step::End(at),
                    Step::Begin(at),
                    Step::End(at),
                    Step::Send(at),
                ] {
                    self.step(step);
                }
            }
            for at in 0..REPLICAS {
                while let Some(event) = self.take(at, 0) {
                    self.receive(at, event);
                }
            }
            (0..REPLICAS).for_each(|at| self.read(at));
        }
    }

    pub(super) fn check_listeners(&self) {
        for (at, replica) in self.replicas.iter().enumerate() {
            for (number, listener) in &replica.listeners {
                assert_eq!(
                    listener.read,
                    Some(self.truth[*number]),
                    "replica {at}, URI {number}"
                );
                let is_exact = self.mode != Some(Mode::Signalled);
                assert!(
                    !is_exact || listener.notifications <= listener.changes,
                    "replica {at}, URI {number}"
                );
            }
            let states = replica
                .listeners
                .keys()
                .map(|uri| (uri, replica.table.state(&self::uri(*uri))));
            for (number, state) in states {
                assert_eq!(state, Some(present(self.truth[*number])));
            }
        }
    }

    pub(super) fn check_that_nothing_happens_any_more(&mut self) {
        let before = (self.sent, self.notified);
        self.settle();
        assert_eq!(
            (self.sent, self.notified),
            before,
            "messages and notifications"
        );
    }
}
