//! What providers say to those who are not their callers, until the house works it off. Each has a place of its
//! own and its turn: who says much waits behind himself, and what is said twice waits once.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::state::Signal;
use crate::name::ProviderName;

/// Updated URIs of one provider that may wait.
const WAITING: usize = 1_024;

/// Where signals are handed in. Clones lead to the same inbox.
#[derive(Debug, Clone)]
pub struct Outbox(Arc<Shared>);

/// Where signals come out, one provider after the other.
#[derive(Debug)]
pub struct Inbox(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    bell: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Holds only those who have something to say.
    said: HashMap<ProviderName, Said>,
    turns: VecDeque<ProviderName>,
}

/// What one provider said.
#[derive(Debug, Default)]
struct Said {
    list_changed: bool,
    list_stale: bool,
    updated: BTreeSet<String>,
}

/// Both ends.
pub fn outbox() -> (Outbox, Inbox) {
    let shared = Arc::<Shared>::default();
    (Outbox(shared.clone()), Inbox(shared))
}

impl Outbox {
    /// False if so much of this provider waits already that this is lost.
    pub fn say(&self, provider: &ProviderName, signal: Signal) -> bool {
        let mut waiting = self.0.lock();
        if !waiting.said.contains_key(provider) {
            waiting.turns.push_back(provider.clone());
        }
        let taken = waiting.said.entry(provider.clone()).or_default().take(signal);
        drop(waiting);
        self.0.bell.notify_one();
        taken
    }
}

impl Inbox {
    /// Waits for what is said next. May be dropped and called again without loss.
    pub async fn next(&mut self) -> (ProviderName, Signal) {
        loop {
            if let Some(next) = self.0.lock().next() {
                return next;
            }
            self.0.bell.notified().await;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn next(&mut self) -> Option<(ProviderName, Signal)> {
        let provider = self.turns.pop_front()?;
        let said = self.said.get_mut(&provider)?;
        let signal = said.next();
        if said.is_empty() {
            self.said.remove(&provider);
        } else {
            self.turns.push_back(provider.clone());
        }
        signal.map(|signal| (provider, signal))
    }
}

impl Said {
    fn take(&mut self, signal: Signal) -> bool {
        match signal {
            Signal::ListChanged => self.list_changed = true,
            Signal::ListStale => self.list_stale = true,
            Signal::Updated(uri) => {
                if self.updated.len() >= WAITING && !self.updated.contains(&uri) {
                    return false;
                }
                self.updated.insert(uri);
            }
        }
        true
    }

    fn next(&mut self) -> Option<Signal> {
        if std::mem::take(&mut self.list_changed) {
            return Some(Signal::ListChanged);
        }
        if std::mem::take(&mut self.list_stale) {
            return Some(Signal::ListStale);
        }
        self.updated.pop_first().map(Signal::Updated)
    }

    fn is_empty(&self) -> bool {
        !self.list_changed && !self.list_stale && self.updated.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> ProviderName {
        ProviderName::parse(text).unwrap()
    }

    fn updated(n: usize) -> Signal {
        Signal::Updated(format!("x:{n:04}"))
    }

    #[tokio::test]
    async fn who_says_much_takes_nobodys_place() {
        let (outbox, mut inbox) = outbox();
        let taken = (0..2 * WAITING).filter(|n| outbox.say(&name("loud"), updated(*n))).count();
        assert_eq!(taken, WAITING);
        assert!(outbox.say(&name("quiet"), Signal::ListChanged) && outbox.say(&name("quiet"), updated(1)));
        let mut said = Vec::new();
        for _ in 0..5 {
            let (provider, signal) = inbox.next().await;
            said.push(format!("{provider} {signal:?}"));
        }
        let expected = [
            r#"loud Updated("x:0000")"#,
            "quiet ListChanged",
            r#"loud Updated("x:0001")"#,
            r#"quiet Updated("x:0001")"#,
            r#"loud Updated("x:0002")"#,
        ];
        assert_eq!(said, expected);
    }

    #[tokio::test]
    async fn what_is_said_often_waits_once() {
        let (outbox, mut inbox) = outbox();
        for _ in 0..10 * WAITING {
            assert!(
                [updated(1), Signal::ListStale, Signal::ListChanged].map(|s| outbox.say(&name("p"), s))
                    == [true; 3]
            );
        }
        let all = [inbox.next().await.1, inbox.next().await.1, inbox.next().await.1];
        assert_eq!(all, [Signal::ListChanged, Signal::ListStale, updated(1)]);
        let waiting = inbox.0.lock();
        assert!(waiting.said.is_empty() && waiting.turns.is_empty());
    }
}
