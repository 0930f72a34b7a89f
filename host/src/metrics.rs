//! What is counted, and how it is shown to Prometheus. Counting costs a few atomics: no lock, no allocation.
//! Labels are names of teams and providers and words of ours, never a URI or a text from a guest; what is
//! counted of a provider goes with its last revision, so no label outlives what it names.

mod house;
mod loads;
mod number;
mod outcome;
pub mod process;
mod show;
mod tally;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

pub use self::house::{Era, House, Lines, METHODS};
pub use self::loads::{Load, Loads};
pub use self::number::{Count, Hold, Level, Times};
pub use self::outcome::Outcome;
pub use self::tally::{Kept, LastError, Tally};
pub use self::text::{Kind, Text};
use crate::name::{ProviderName, TeamName};

/// Everything that is counted. Clones are the same numbers.
#[derive(Debug, Clone, Default)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    house: House,
    teams: Mutex<BTreeMap<TeamName, Arc<Loads>>>,
    providers: Mutex<BTreeMap<(TeamName, ProviderName), Weak<Tally>>>,
    readings: Mutex<Vec<Reading>>,
    refusals: Mutex<BTreeMap<TeamName, Look>>,
    started: SystemTime,
}

/// A number that somebody else keeps, and that is looked up when it is shown.
struct Reading {
    name: &'static str,
    help: &'static str,
    /// By team, or of the house as a whole.
    looks: Vec<(Option<TeamName>, Look)>,
}

/// Looks a number up.
pub type Look = Box<dyn Fn() -> u64 + Send + Sync>;

impl Default for Inner {
    fn default() -> Self {
        Self {
            house: House::default(),
            teams: Mutex::default(),
            providers: Mutex::default(),
            readings: Mutex::default(),
            refusals: Mutex::default(),
            started: SystemTime::now(),
        }
    }
}

impl Metrics {
    /// What is counted of the house as a whole.
    pub fn house(&self) -> &House {
        &self.0.house
    }

    /// When counting began.
    pub fn started(&self) -> SystemTime {
        self.0.started
    }

    /// What is counted of one team's folder. Teams are those of the configuration, and stay.
    pub fn loads(&self, team: &TeamName) -> Arc<Loads> {
        lock(&self.0.teams).entry(team.clone()).or_default().clone()
    }

    /// What is counted of one provider, over all its revisions that live. Asked for once, when it is loaded.
    pub fn provider(&self, team: &TeamName, name: &ProviderName) -> Arc<Tally> {
        let mut providers = lock(&self.0.providers);
        let key = (team.clone(), name.clone());
        if let Some(tally) = providers.get(&key).and_then(Weak::upgrade) {
            return tally;
        }
        providers.retain(|_, tally| tally.strong_count() > 0);
        let tally = Arc::new(Tally::default());
        providers.insert(key, Arc::downgrade(&tally));
        tally
    }

    /// Shows a number that is kept elsewhere anyway.
    pub fn reading(
        &self,
        name: &'static str,
        help: &'static str,
        look: impl Fn() -> u64 + Send + Sync + 'static,
    ) {
        lock(&self.0.readings).push(Reading { name, help, looks: vec![(None, Box::new(look))] });
    }

    /// The same for one that each team has.
    pub fn readings(&self, name: &'static str, help: &'static str, looks: Vec<(TeamName, Look)>) {
        let looks = looks.into_iter().map(|(team, look)| (Some(team), look)).collect();
        lock(&self.0.readings).push(Reading { name, help, looks });
    }

    /// Shows how often this team was refused something because its quota was used up.
    pub fn refusals(&self, team: &TeamName, look: impl Fn() -> u64 + Send + Sync + 'static) {
        lock(&self.0.refusals).insert(team.clone(), Box::new(look));
    }

    /// Writes all of it.
    pub fn show(&self, text: &mut Text) {
        process::show(text, self.0.started);
        self.0.house.show(text);
        let teams: Vec<_> =
            lock(&self.0.teams).iter().map(|(team, loads)| (team.clone(), loads.clone())).collect();
        loads::show(text, &teams);
        for reading in lock(&self.0.readings).iter() {
            text.family(reading.name, Kind::Gauge, reading.help);
            for (team, look) in &reading.looks {
                let labels: Vec<_> = team.iter().map(|team| ("team", team.as_str())).collect();
                text.sample(reading.name, &labels, look());
            }
        }
        let name = "larder_quota_refusals_total";
        text.family(name, Kind::Counter, "What was refused because a team's quota was used up.");
        for (team, look) in lock(&self.0.refusals).iter() {
            text.sample(name, &[("team", team.as_str())], look());
        }
        show::providers(text, &self.living());
    }

    fn living(&self) -> Vec<(TeamName, ProviderName, Arc<Tally>)> {
        let mut providers = lock(&self.0.providers);
        providers.retain(|_, tally| tally.strong_count() > 0);
        let living = providers
            .iter()
            .filter_map(|((team, name), tally)| Some((team.clone(), name.clone(), tally.upgrade()?)));
        living.collect()
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").field("started", &self.started).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_of_a_provider_goes_with_its_last_revision() {
        let metrics = Metrics::default();
        let of = |name: &str| metrics.provider(&TeamName::sole(), &ProviderName::parse(name).unwrap());
        let shown = || {
            let mut text = Text::default();
            metrics.show(&mut text);
            text.into_string()
        };
        let (old, new) = (of("a"), of("a"));
        old.ended(Outcome::Ok);
        new.ended(Outcome::Ok);
        drop(old);
        let calls = r#"larder_calls_total{team="default",provider="a",outcome="ok"} 2"#;
        assert!(shown().contains(calls), "{}", shown());
        let before = shown().lines().count();
        for n in 0..100 {
            of(&format!("p{n}"));
        }
        assert_eq!(shown().lines().count(), before);
        drop(new);
        assert!(!shown().contains("provider="), "{}", shown());
        assert_eq!(of("a").calls(Outcome::Ok), 0);
    }
}
