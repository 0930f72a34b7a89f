//! What can be asked, in no protocol: list, read, complete, watch. Listing is data, reading is code.

mod audited;
mod cache;
mod cursor;
mod error;
mod fair;
mod filter;
mod list;
mod read;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::cache::Cache;
pub use self::cache::Config as CacheConfig;
pub use self::error::Error;
pub use self::filter::Filter;
use self::view::View;
use crate::audit::Audit;
use crate::catalog::{self, Reader, Watch};
use crate::metrics::{Look, Metrics};
use crate::name::TeamName;
use crate::policy::{Permit, Quota, Ration};
use crate::resource::{Call, Caller, Completing, Completion, Freshness};
use crate::sandbox::{Outbox, Signal};

/// What the operator decides about answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// How much is on one page of a list.
    pub page_size: PageSize,
    /// What a model is told before what the providers say.
    pub instructions: Option<String>,
    /// How much of what providers call fresh is kept.
    pub cache: CacheConfig,
    /// Whether every answer is its caller's own: where there are teams, and where there are credentials.
    pub private: bool,
}

/// Items on one page of each list; 0 for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize {
    /// Of resources.
    pub resources: u32,
    /// Of templates.
    pub templates: u32,
}

/// Answers questions from the catalogs and from the providers in them. Clones are the same gateway.
#[derive(Debug, Clone)]
pub struct Gateway {
    config: Arc<Config>,
    teams: Arc<BTreeMap<TeamName, Arc<Team>>>,
    audit: Audit,
    rations: Arc<BTreeMap<TeamName, Arc<Ration>>>,
    /// Of callers whose teams have none.
    others: Arc<Ration>,
}

/// What the gateway has of one team, and shares with no other.
#[derive(Debug)]
struct Team {
    reader: Reader,
    cache: Cache,
    signals: Outbox,
}

/// What a client is told at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// For the model: what is here, and when to use it.
    pub instructions: Option<String>,
    /// How long that holds.
    pub freshness: Freshness,
}

/// Bytes of instructions that one provider may add to every model's reading.
const INSTRUCTIONS: usize = 4 * 1024;

impl Gateway {
    /// A gateway to what these readers see, one for each team. It signals whose list should be asked for anew.
    pub fn new(config: Config, teams: impl IntoIterator<Item = (Reader, Outbox)>) -> Self {
        let teams: Vec<_> = teams.into_iter().collect();
        let share = config.cache.share(teams.len());
        let team = |(reader, signals): (Reader, _)| {
            let cache = Cache::new(share, reader.clone());
            (reader.team().clone(), Arc::new(Team { reader, cache, signals }))
        };
        let teams = Arc::new(teams.into_iter().map(team).collect());
        let others = Arc::new(Ration::new(Quota::default()));
        let (config, audit) = (Arc::new(config), Audit::default());
        Self { config, teams, audit, rations: Arc::default(), others }
    }

    /// Writes down here who read what.
    pub fn with_audit(mut self, audit: Audit) -> Self {
        self.audit = audit;
        self
    }

    /// Lets requests in by what their teams have left.
    pub fn with_rations(mut self, rations: impl IntoIterator<Item = (TeamName, Arc<Ration>)>) -> Self {
        self.rations = Arc::new(rations.into_iter().collect());
        self
    }

    /// Shows how much is kept, by team.
    pub fn show_cache(&self, metrics: &Metrics) {
        let of = |part: fn((u64, u64)) -> u64| {
            let look = |team: Arc<Team>| -> Look { Box::new(move || part(team.cache.size())) };
            self.teams.iter().map(|(name, team)| (name.clone(), look(team.clone()))).collect()
        };
        metrics.readings("larder_cache_bytes", "Bytes of answers that are kept.", of(|(bytes, _)| bytes));
        metrics.readings("larder_cache_entries", "Answers that are kept.", of(|(_, entries)| entries));
    }

    /// Has lists asked for anew that have outlived their time; this question is answered with what there is.
    fn refresh(view: &View) {
        for part in view.parts().iter().filter(|part| part.catalog.is_stale()) {
            for offer in part.offers().iter().filter(|offer| offer.wants_refresh()) {
                // Where so much waits to be worked off, a later question will do.
                part.team.signals.say(offer.name(), Signal::ListStale);
            }
        }
    }

    /// What this caller's model should know: the operator's words, then each provider's.
    pub fn about(&self, caller: &Caller) -> About {
        let view = self.view(Some(caller));
        let said = view.offers().filter_map(|offer| {
            let text = offer.instructions.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
            let title = offer.title.as_deref().unwrap_or(offer.name().as_str());
            let end = text.floor_char_boundary(INSTRUCTIONS);
            Some(format!("{title}: {}", &text[..end]))
        });
        let all: Vec<String> = self.config.instructions.clone().into_iter().chain(said).collect();
        About {
            instructions: (!all.is_empty()).then(|| all.join("\n\n")),
            // The next round may change it, and nothing tells clients when it does.
            freshness: Freshness { ttl: std::time::Duration::ZERO, ..self.most() },
        }
    }

    /// Values for a variable of a template.
    pub async fn complete(&self, call: &Arc<Call>, ask: Completing) -> Result<Completion, Error> {
        let view = self.view(call.caller.as_ref());
        let unknown = || Error::UnknownTemplate { template: ask.template.clone() };
        let (offer, place) = view.template(&ask.template).ok_or_else(unknown)?;
        let permit = Permit::ask(call, offer.provider.team()).map_err(|_| unknown())?;
        if !offer.templates[place].pattern.variables().any(|variable| variable == ask.variable) {
            return Err(Error::UnknownVariable { template: ask.template, variable: ask.variable });
        }
        let template = ask.template.clone();
        let answer = offer.provider.complete(permit, ask).await;
        let answer = answer.map_err(|error| Error::from_call(offer, &template, None, error))?;
        offer.provider.gave(answer.values.iter().map(String::len).sum());
        Ok(answer)
    }

    /// A watch for this caller, with nothing in it yet.
    pub fn watch(&self, caller: &Caller) -> Watch {
        let own = caller.teams.iter().filter_map(|name| self.teams.get(name));
        catalog::watch(own.map(|team| &team.reader))
    }
}
