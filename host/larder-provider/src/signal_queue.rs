//! Signals of providers, and the queues in which they wait. Each provider has a bounded queue of its own, and the
//! receiver takes from all queues in turn, so a provider with many signals delays only itself. Duplicates are merged.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use larder_model::name::ProviderName;

/// Maximum number of updated URIs of one provider in the queue.
const MAX_UPDATED: usize = 1_024;

/// A notification from a provider about its resources. It is independent of the response to the call during which it is
/// sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// The content of the resource with this URI has changed.
    Updated(String),
    /// The list of entries or templates has changed.
    ListChanged,
    /// Another replica of this server reports that a list of the provider has changed.
    ListChangedElsewhere,
    /// The lists of entries and templates are out of date and may have changed.
    ListStale,
    /// The list of tools has changed.
    ToolsChanged,
    /// The list of prompts has changed.
    PromptsChanged,
}

/// The sending end. Clones send to the same receiver.
#[derive(Debug, Clone)]
pub struct SignalSender(Arc<Shared>);

/// The receiving end.
#[derive(Debug)]
pub struct SignalReceiver(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queues: Mutex<Queues>,
    not_empty: Notify,
}

#[derive(Debug, Default)]
struct Queues {
    /// Contains only providers that have signals in the queue.
    by_provider: HashMap<ProviderName, ProviderQueue>,
    /// The same providers, in the order in which the receiver takes their signals.
    order: VecDeque<ProviderName>,
}

/// The signals of one provider.
#[derive(Debug, Default)]
struct ProviderQueue {
    list_changed: bool,
    list_changed_elsewhere: bool,
    list_stale: bool,
    tools_changed: bool,
    prompts_changed: bool,
    updated: BTreeSet<String>,
}

/// Creates a queue and returns both of its ends.
pub fn signal_channel() -> (SignalSender, SignalReceiver) {
    let shared = Arc::<Shared>::default();
    (SignalSender(shared.clone()), SignalReceiver(shared))
}

impl SignalSender {
    /// Adds a signal. Returns false if the provider's queue is full and the signal is dropped.
    pub fn send(&self, provider: &ProviderName, signal: Signal) -> bool {
        let mut queues = self.0.lock();
        if !queues.by_provider.contains_key(provider) {
            queues.order.push_back(provider.clone());
        }
        let is_added = queues
            .by_provider
            .entry(provider.clone())
            .or_default()
            .push(signal);
        drop(queues);
        self.0.not_empty.notify_one();
        is_added
    }
}

impl SignalReceiver {
    /// Waits for the next signal. Cancel-safe.
    pub async fn recv(&mut self) -> (ProviderName, Signal) {
        loop {
            if let Some(next) = self.0.lock().pop() {
                return next;
            }
            self.0.not_empty.notified().await;
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock()
    }
}

impl Queues {
    fn pop(&mut self) -> Option<(ProviderName, Signal)> {
        let provider = self.order.pop_front()?;
        let queue = self.by_provider.get_mut(&provider)?;
        let signal = queue.pop();
        if queue.is_empty() {
            self.by_provider.remove(&provider);
        } else {
            self.order.push_back(provider.clone());
        }
        signal.map(|signal| (provider, signal))
    }
}

impl ProviderQueue {
    fn push(&mut self, signal: Signal) -> bool {
        match signal {
            Signal::ListChanged => self.list_changed = true,
            Signal::ListChangedElsewhere => self.list_changed_elsewhere = true,
            Signal::ListStale => self.list_stale = true,
            Signal::ToolsChanged => self.tools_changed = true,
            Signal::PromptsChanged => self.prompts_changed = true,
            Signal::Updated(uri) => {
                if self.updated.len() >= MAX_UPDATED && !self.updated.contains(&uri) {
                    return false;
                }
                self.updated.insert(uri);
            }
        }
        true
    }

    fn pop(&mut self) -> Option<Signal> {
        if std::mem::take(&mut self.list_changed) {
            return Some(Signal::ListChanged);
        }
        if std::mem::take(&mut self.list_changed_elsewhere) {
            return Some(Signal::ListChangedElsewhere);
        }
        if std::mem::take(&mut self.list_stale) {
            return Some(Signal::ListStale);
        }
        if std::mem::take(&mut self.tools_changed) {
            return Some(Signal::ToolsChanged);
        }
        if std::mem::take(&mut self.prompts_changed) {
            return Some(Signal::PromptsChanged);
        }
        self.updated.pop_first().map(Signal::Updated)
    }

    fn is_empty(&self) -> bool {
        let Self {
            list_changed,
            list_changed_elsewhere,
            list_stale,
            tools_changed,
            prompts_changed,
            updated,
        } = self;
        let is_changed =
            *list_changed || *list_changed_elsewhere || *tools_changed || *prompts_changed;
        !is_changed && !*list_stale && updated.is_empty()
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
    async fn a_busy_provider_does_not_delay_others() {
        let (sender, mut receiver) = signal_channel();
        let added = (0..2 * MAX_UPDATED)
            .filter(|n| sender.send(&name("loud"), updated(*n)))
            .count();
        assert_eq!(added, MAX_UPDATED);
        assert!(
            sender.send(&name("quiet"), Signal::ListChanged)
                && sender.send(&name("quiet"), updated(1))
        );
        let mut received = Vec::new();
        for _ in 0..5 {
            let (provider, signal) = receiver.recv().await;
            received.push(format!("{provider} {signal:?}"));
        }
        let expected = [
            r#"loud Updated("x:0000")"#,
            "quiet ListChanged",
            r#"loud Updated("x:0001")"#,
            r#"quiet Updated("x:0001")"#,
            r#"loud Updated("x:0002")"#,
        ];
        assert_eq!(received, expected);
    }

    #[tokio::test]
    async fn merges_duplicates() {
        let (sender, mut receiver) = signal_channel();
        let merged = [
            updated(1),
            Signal::PromptsChanged,
            Signal::ToolsChanged,
            Signal::ListStale,
            Signal::ListChangedElsewhere,
            Signal::ListChanged,
        ];
        for _ in 0..10 * MAX_UPDATED {
            assert!(merged.clone().map(|signal| sender.send(&name("p"), signal)) == [true; 6]);
        }
        for signal in merged.into_iter().rev() {
            assert_eq!(receiver.recv().await.1, signal);
        }
        let queues = receiver.0.lock();
        assert!(queues.by_provider.is_empty() && queues.order.is_empty());
    }
}
