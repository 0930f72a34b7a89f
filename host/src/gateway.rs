//! What can be asked, in no protocol: list, read, complete, watch. Listing is data, reading is code.

mod audited;
mod cache;
mod cursor;
mod error;
mod filter;
mod list;
mod read;

use std::sync::Arc;

use self::cache::Cache;
pub use self::cache::Config as CacheConfig;
pub use self::error::Error;
pub use self::filter::Filter;
use crate::audit::Audit;
use crate::catalog::{Catalog, Reader, Watch};
use crate::metrics::Metrics;
use crate::policy::Permit;
use crate::resource::{Call, Caller, Completing, Completion, Freshness, Scope};
use crate::sandbox::{Outbox, Signal};

/// What the operator decides about answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Items on one page of a list; 0 for no limit.
    pub page_size: u32,
    /// What a model is told before what the providers say.
    pub instructions: Option<String>,
    /// How much of what providers call fresh is kept.
    pub cache: CacheConfig,
}

/// Answers questions from the catalog and from the providers in it. Clones are the same gateway.
#[derive(Debug, Clone)]
pub struct Gateway {
    config: Arc<Config>,
    reader: Reader,
    cache: Arc<Cache>,
    signals: Outbox,
    audit: Audit,
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
    /// A gateway to what this reader sees. It signals whose list should be asked for anew.
    pub fn new(config: Config, reader: Reader, signals: Outbox) -> Self {
        let cache = Arc::new(Cache::new(config.cache, reader.clone()));
        Self { config: Arc::new(config), reader, cache, signals, audit: Audit::default() }
    }

    /// Writes down here who read what.
    pub fn with_audit(mut self, audit: Audit) -> Self {
        self.audit = audit;
        self
    }

    /// Shows how much is kept.
    pub fn show_cache(&self, metrics: &Metrics) {
        let (bytes, entries) = (self.cache.clone(), self.cache.clone());
        metrics.reading("larder_cache_bytes", "Bytes of answers that are kept.", move || bytes.size().0);
        metrics.reading("larder_cache_entries", "Answers that are kept.", move || entries.size().1);
    }

    /// Has lists asked for anew that have outlived their time; this question is answered with what there is.
    fn refresh(&self, catalog: &Catalog, call: &Call) {
        let own = list::visible(catalog, call, None);
        for offer in own.filter(|offer| offer.wants_refresh()) {
            // Where so much waits to be worked off, a later question will do.
            self.signals.say(offer.name(), Signal::ListStale);
        }
    }

    /// What this caller's model should know: the operator's words, then each provider's.
    pub fn about(&self, caller: &Caller) -> About {
        let catalog = self.reader.snapshot();
        let own = catalog.offers().iter().filter(|offer| caller.teams.has(offer.provider.team()));
        let said = own.filter_map(|offer| {
            let text = offer.instructions.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
            let title = offer.title.as_deref().unwrap_or(offer.name().as_str());
            let end = text.floor_char_boundary(INSTRUCTIONS);
            Some(format!("{title}: {}", &text[..end]))
        });
        let all: Vec<String> = self.config.instructions.clone().into_iter().chain(said).collect();
        About {
            instructions: (!all.is_empty()).then(|| all.join("\n\n")),
            // The next round may change it, and nothing tells clients when it does.
            freshness: Freshness { ttl: std::time::Duration::ZERO, scope: Scope::Everyone },
        }
    }

    /// Values for a variable of a template.
    pub async fn complete(&self, call: &Arc<Call>, ask: Completing) -> Result<Completion, Error> {
        let catalog = self.reader.snapshot();
        let unknown = || Error::UnknownTemplate { template: ask.template.clone() };
        let (offer, place) = catalog.template(&ask.template).ok_or_else(unknown)?;
        let permit = Permit::ask(call, offer.provider.team()).map_err(|_| unknown())?;
        if !offer.templates[place].pattern.variables().any(|variable| variable == ask.variable) {
            return Err(Error::UnknownVariable { template: ask.template, variable: ask.variable });
        }
        let template = ask.template.clone();
        offer
            .provider
            .complete(permit, ask)
            .await
            .map_err(|error| Error::from_call(offer.name(), &template, None, error))
    }

    /// A watch for this caller, with nothing in it yet.
    pub fn watch(&self, caller: &Caller) -> Watch {
        self.reader.watch(&caller.teams)
    }
}
