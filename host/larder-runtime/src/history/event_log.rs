//! The events of the whole process, for operators. Each kind has a ring of its own, so that a flood of one kind does
//! not remove events of another kind. A flood of one team does not remove or prevent events of another team.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::{BoundedRing, RingItem, RingLimits};
use larder_model::name::TeamName;

macro_rules! kinds {
    ($($name:ident $label:literal $about:literal,)*) => {
        /// The kind of an event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum EventKind { $(#[doc = $about] $name,)* }

        impl EventKind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name of this kind.
            pub fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
        }
    };
}

kinds! {
    Load "load" "A provider is served for the first time.",
    Reload "reload" "Another revision of a provider is served, or the configuration was read again.",
    Rejection "rejection" "A component cannot be served.",
    Removal "removal" "A provider is not served any more, or what it stored was deleted.",
    Notification "notification" "Clients were notified of a change.",
    Fault "fault" "A guest misbehaved.",
    Refusal "refusal" "A request of a client was refused.",
    Approval "approval" "A revision waits for approval, or an operator decided.",
    Login "login" "Somebody logged in to the web page, or failed to.",
}

/// The limits for the events of one kind.
const LIMITS: RingLimits = RingLimits {
    items: 500,
    bytes: 256 << 10,
};
/// Maximum length of the text of an event, and of one of its details, in bytes.
const MAX_TEXT: usize = 1 << 10;
const MAX_DETAIL: usize = 4 << 10;
/// How many events of one kind and team are recorded at once, and how many in each second after that. All other events
/// are only counted.
const BURST: f64 = 1_000.0;
const PER_SECOND: f64 = 20.0;

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When the event happened.
    pub at: SystemTime,
    /// What kind of event it is.
    pub kind: EventKind,
    /// The team of the event; none if it concerns no team.
    pub team: Option<TeamName>,
    /// The provider of the event; none if it concerns no provider.
    pub provider: Option<String>,
    /// A sentence about the event. It can contain text of providers and clients.
    pub text: String,
    /// Further details of the event, by name.
    pub details: BTreeMap<&'static str, String>,
}

impl Event {
    /// Creates an event that happens now.
    pub fn new(kind: EventKind, text: impl Into<String>) -> Self {
        Self {
            at: SystemTime::now(),
            kind,
            team: None,
            provider: None,
            text: cut(text.into(), MAX_TEXT),
            details: BTreeMap::new(),
        }
    }

    /// Sets the team.
    pub fn of_team(mut self, team: &TeamName) -> Self {
        self.team = Some(team.clone());
        self
    }

    /// Sets the provider.
    pub fn of_provider(mut self, provider: impl ToString) -> Self {
        self.provider = Some(cut(provider.to_string(), MAX_TEXT));
        self
    }

    /// Adds a detail, unless the detail is empty.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        let value = cut(value.into(), MAX_DETAIL);
        if !value.is_empty() {
            self.details.insert(name, value);
        }
        self
    }
}

impl RingItem for Arc<Event> {
    fn bytes(&self) -> usize {
        let provider = self.provider.as_ref().map_or(0, String::len);
        self.text.len()
            + provider
            + self.details.values().map(String::len).sum::<usize>()
            + size_of::<Event>()
    }
}

/// The events of the process. Clones share the same events.
#[derive(Debug, Clone, Default)]
pub struct EventLog(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    state: Mutex<State>,
    last_id: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    last_id: u64,
    kinds: Vec<KindState>,
}

#[derive(Debug)]
struct KindState {
    events: BoundedRing<Arc<Event>>,
    /// Teams come from the configuration, so this map stays small.
    rates: BTreeMap<Option<TeamName>, Rate>,
}

/// The rate of events of one kind for one team, or for events without a team.
#[derive(Debug)]
struct Rate {
    /// How many events may be recorded now.
    tokens: f64,
    refilled: Instant,
    /// How many events were not recorded since the last recorded event.
    omitted: u64,
}

impl Default for State {
    fn default() -> Self {
        let new = || KindState {
            events: BoundedRing::default(),
            rates: BTreeMap::new(),
        };
        Self {
            last_id: 0,
            kinds: EventKind::ALL.iter().map(|_| new()).collect(),
        }
    }
}

impl Default for Rate {
    fn default() -> Self {
        Self {
            tokens: BURST,
            refilled: Instant::now(),
            omitted: 0,
        }
    }
}

impl Rate {
    fn admits(&mut self) -> bool {
        let now = Instant::now();
        let elapsed = now.saturating_duration_since(self.refilled).as_secs_f64();
        self.tokens = (self.tokens + elapsed * PER_SECOND).min(BURST);
        self.refilled = now;
        let admitted = self.tokens >= 1.0;
        if admitted {
            self.tokens -= 1.0;
        } else {
            self.omitted += 1;
        }
        admitted
    }
}

impl EventLog {
    /// Records an event. During a flood of one kind and team, only some events are recorded.
    pub fn record(&self, mut event: Event) {
        let mut state = self.lock();
        let rates = &mut state.kinds[event.kind as usize].rates;
        let rate = rates.entry(event.team.clone()).or_default();
        if !rate.admits() {
            return;
        }
        if let omitted @ 1.. = std::mem::take(&mut rate.omitted) {
            event.details.insert(
                "omitted",
                format!("{omitted} events of this kind before it"),
            );
        }
        state.last_id += 1;
        let id = state.last_id;
        let kind = event.kind as usize;
        state.kinds[kind]
            .events
            .push_of(id, Arc::new(event), LIMITS, |event| &event.team);
        drop(state);
        self.0.last_id.send_modify(|last| *last = id.max(*last));
    }

    /// Returns the events that `keep` accepts, with their numbers, newest first.
    pub fn newest(&self, max: usize, keep: impl Fn(u64, &Event) -> bool) -> Vec<(u64, Arc<Event>)> {
        // Texts are compared after the lock is released.
        let mut all: Vec<_> = {
            let state = self.lock();
            let events = state.kinds.iter().flat_map(|kind| kind.events.iter());
            events.map(|(id, event)| (id, event.clone())).collect()
        };
        all.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(*id));
        all.into_iter()
            .filter(|(id, event)| keep(*id, event))
            .take(max)
            .collect()
    }

    /// Returns a receiver of the number of the last event.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.last_id.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}

/// Cuts a text at the end of a character.
pub(super) fn cut(mut text: String, max: usize) -> String {
    text.truncate(text.floor_char_boundary(max));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_one_kind_is_bounded_and_leaves_the_others() {
        let log = EventLog::default();
        log.record(Event::new(EventKind::Approval, "first").with("empty", ""));
        for n in 0..10_000 {
            log.record(
                Event::new(EventKind::Fault, format!("{n}{}", "ü".repeat(9_999)))
                    .with("stderr", "x".repeat(9_999)),
            );
        }
        let all = log.newest(usize::MAX, |_, _| true);
        assert!(all.len() < 500, "{}", all.len());
        let bytes: usize = all.iter().map(|(_, event)| event.bytes()).sum();
        assert!(bytes <= LIMITS.bytes + 100, "{bytes}");
        let (first_id, first) = all.last().unwrap();
        assert_eq!(
            (*first_id, first.text.as_str(), first.details.len()),
            (1, "first", 0)
        );
        assert!(all.is_sorted_by(|(one, _), (other, _)| one > other));
        assert!(all[0].1.text.len() <= MAX_TEXT && all[0].1.details["stderr"].len() == MAX_DETAIL);
        assert!(
            all[0].0 < 5_000,
            "most of them are only counted: {}",
            all[0].0
        );
    }

    #[test]
    fn a_flood_of_one_team_leaves_the_events_of_others() {
        let [noisy, quiet] = ["noisy", "quiet"].map(|name| TeamName::parse(name).unwrap());
        let log = EventLog::default();
        let fault = |team: Option<&TeamName>, text: &str| {
            let event = Event::new(EventKind::Fault, text);
            log.record(team.map_or_else(|| event.clone(), |team| event.clone().of_team(team)));
        };
        let flood =
            || (0..5_000).for_each(|n| fault(Some(&noisy), &format!("{n}{}", "x".repeat(900))));
        let newest =
            |team: Option<&TeamName>| log.newest(9, |_, event| event.team.as_ref() == team);
        fault(Some(&quiet), "before");
        fault(None, "before");
        flood();
        assert_eq!(
            (newest(Some(&quiet)).len(), newest(None).len()),
            (1, 1),
            "they are not removed"
        );
        fault(Some(&quiet), "after");
        fault(None, "after");
        flood();
        assert_eq!(
            (newest(Some(&quiet)).len(), newest(None).len()),
            (2, 2),
            "they are recorded"
        );
        let bytes: usize = log
            .newest(usize::MAX, |_, _| true)
            .iter()
            .map(|(_, event)| event.bytes())
            .sum();
        assert!(bytes <= LIMITS.bytes, "{bytes}");
    }

    #[test]
    fn says_how_many_events_were_omitted() {
        let log = EventLog::default();
        (0..=1_000).for_each(|_| log.record(Event::new(EventKind::Refusal, "again")));
        let mut state = log.lock();
        let rate = state.kinds[EventKind::Refusal as usize]
            .rates
            .get_mut(&None)
            .unwrap();
        let before = rate.omitted;
        rate.tokens = 1.0;
        drop(state);
        log.record(Event::new(EventKind::Refusal, "last"));
        let (id, last) = log.newest(1, |_, _| true).remove(0);
        assert_eq!(before > 0, last.details.contains_key("omitted"));
        assert_eq!(*log.subscribe().borrow(), id);
        assert!(
            log.newest(9, |id, event| id > 1 && event.kind == EventKind::Fault)
                .is_empty()
        );
    }
}
